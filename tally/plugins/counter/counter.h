/*
 * A plugin of QEMU's TCG that counts every instruction a Tally machine
 * executes between two moments, by address, and knows what a sampler can't
 * see: what is done in a timer interrupt until its return. docs/truth.md says
 * what the counts are compared with.
 *
 * plugin.c is what QEMU calls, follow.c what is done as the machine runs; or,
 * in other runs, calls.c, which knows all calls in progress, for stacks.c (the
 * stacks that pcs should have recorded) or tree.c (the exact profile of
 * scripts/tally). It reads no registers, but for mhartid where there are
 * several harts: a map has the kernel's landmarks, and the execution is
 * followed from one to the next.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin.h"

/* An instruction's address in one program, and how often it was executed. */
struct site {
	uint64_t counted;  /* what a sampler can see */
	uint64_t left_out; /* in timer interrupts */
	uint64_t charged;  /* in user mode, with the kernel's before it */
};

/* An instruction in user mode: in each program that has it there. */
struct place {
	unsigned int first; /* of these */
	struct site *in[];
};

/* Code whose instructions are told apart: the kernel is the first. */
struct program {
	uint64_t start, end;
	unsigned char *text;        /* what it looks like; not the kernel's */
	struct site *sites;         /* one for each two bytes */
	struct function *functions; /* for the tree, by address */
	unsigned int nfunctions;
};

/* A stretch of code that ran with SIE=0. */
struct window {
	uint64_t from, to;
	bool sampler;
	unsigned int longest;
	uint64_t times;
};

/* A place in the kernel that says what it is doing: to follow.c, or to
 * calls.c, where it may access a struct thread at that offset. */
struct mark {
	uint64_t address;
	const struct landmark *what;
	const struct call_mark *call;
	uint64_t offset;
};

#define WINDOWS 4096

extern struct window windows[WINDOWS];
extern struct site elsewhere; /* user code that is in no program */

/* Samples; wrong: another hart than the one sampled had executed until then. */
struct taken {
	uint64_t all, wrong;
};

extern struct taken taken;

/* The landmark of this name; NULL: there is none. */
const struct landmark *landmark_find(const char *name);
/* Is it the load by which a hart goes on with another thread? */
bool landmark_switches(const struct landmark *l);

void follow_init(void);
/* From now on it is this hart that executes. */
void follow_hart(unsigned int hart);

/* What is executed, before it is: of the kernel (udata: its site), the
 * firmware, user mode (its place). */
void kernel_executed(unsigned int vcpu, void *udata);
void firmware_executed(unsigned int vcpu, void *udata);
void user_executed(unsigned int vcpu, void *udata);
/* A landmark (its mark), before it is counted, and after. */
void before_executed(unsigned int vcpu, void *udata);
void after_executed(unsigned int vcpu, void *udata);
/* The load of the registers of a thread that a hart goes on with. */
void switched(unsigned int vcpu, uint32_t info, uint64_t address, void *udata);

/* --- calls.c: instead, with a map that says so --- */

struct hart;
struct process;

/* In the map, a program's function. */
struct function {
	int program;
	uint64_t start, end;
	bool interrupts;  /* what it interrupts may be anywhere */
	bool sets, jumps; /* setjmp, longjmp */
};

/* What is no program's. */
enum { NO_PROGRAM = -1, ELSEWHERE = -2, FIRMWARE_PROGRAM = -3 };

const struct call_mark *calls_landmark(const char *name);

/* stacks.c: for each sample, to this file. */
void stacks_init(const char *file);
void stacks_end(void);
void stacks_executed(unsigned int vcpu, void *udata);
void stacks_write(struct hart *h);

/* tree.c: all that is executed from the command's shell on; or, if there are
 * such landmarks, from each beginning to the next end. */
void tree_wait(void);
void tree_begin(struct hart *h);
void tree_pause(struct hart *h);
void tree_end(const char *file);
void tree_executed(unsigned int vcpu, void *udata);
void tree_firmware(unsigned int vcpu, void *udata);
/* Of the thread that calls fork; NULL of NULL. */
struct process *process_forked(const struct process *parent);

#endif

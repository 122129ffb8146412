/*
 * A TCG plugin that counts every instruction that a Tally machine executes
 * between two moments, by address. It counts apart what a sampler can't see:
 * a timer interrupt until its return. docs/truth.md says what the counts are
 * compared with.
 *
 * QEMU calls plugin.c. As the machine runs, that calls follow.c; or, in other
 * runs, calls.c, which follows all calls, for stacks.c (the stacks that pcs
 * should have recorded) or tree.c (the exact profile of scripts/tally). The
 * plugin reads no registers but mhartid, on several harts: the map has the
 * kernel's landmarks, and execution is followed from one to the next.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin.h"

/* An instruction's address in one program, and how often it was executed. */
struct site {
	uint64_t counted;  /* times that a sampler can see */
	uint64_t left_out; /* times in timer interrupts */
	uint64_t charged;  /* in user mode, with the kernel's before it */
};

/* An instruction in user mode: its site in each program that has it there. */
struct place {
	unsigned int first; /* the first program that has it */
	struct site *in[];  /* by program */
};

/* Code whose instructions are counted one by one: the kernel is the first. */
struct program {
	uint64_t start, end;
	unsigned char *text;        /* its bytes; not the kernel's */
	struct site *sites;         /* one for each two bytes */
	struct function *functions; /* for the tree, by address */
	unsigned int nfunctions;
};

/* Code that ran with SIE=0, from one place to another. */
struct window {
	uint64_t from, to;
	bool sampler;
	unsigned int longest;
	uint64_t times;
};

/* A landmark in the kernel, for follow.c; or for calls.c, where the instruction
 * may access a struct thread at that offset. */
struct mark {
	uint64_t address;
	const struct landmark *what;
	const struct call_mark *call;
	uint64_t offset;
};

#define WINDOWS 4096

extern struct window windows[WINDOWS];
extern struct site elsewhere; /* user code that is in no program */

/* Samples; wrong: the hart that had been executing was not the sampled one. */
struct taken {
	uint64_t all, wrong;
};

extern struct taken taken;

/* The landmark of this name; NULL: there is none. */
const struct landmark *landmark_find(const char *name);
/* Is it the load with which a hart switches to another thread? */
bool landmark_switches(const struct landmark *l);

void follow_init(void);
/* From now on this hart executes. */
void follow_hart(unsigned int hart);

/* Called before each instruction: the kernel's (udata: its site), the
 * firmware's, user mode's (its place). */
void kernel_executed(unsigned int vcpu, void *udata);
void firmware_executed(unsigned int vcpu, void *udata);
void user_executed(unsigned int vcpu, void *udata);
/* Called at a landmark (its mark), before it is counted, and after. */
void before_executed(unsigned int vcpu, void *udata);
void after_executed(unsigned int vcpu, void *udata);
/* The load of the registers of a thread to which a hart switches. */
void switched(unsigned int vcpu, uint32_t info, uint64_t address, void *udata);

/* --- calls.c: used instead if the map says so --- */

struct hart;
struct process;

/* A program's function, from the map. */
struct function {
	int program;
	uint64_t start, end;
	bool interrupts;  /* an interrupt's entry, which may come anywhere */
	bool sets, jumps; /* setjmp, longjmp */
};

/* Code of no program. */
enum { NO_PROGRAM = -1, ELSEWHERE = -2, FIRMWARE_PROGRAM = -3 };

const struct call_mark *calls_landmark(const char *name);

/* stacks.c: writes the calls of each sample to this file. */
void stacks_init(const char *file);
void stacks_end(void);
void stacks_executed(unsigned int vcpu, void *udata);
void stacks_write(struct hart *h);

/* tree.c: counts from the command's shell on; or, if the map has landmarks
 * `begin' and `end', between these. */
void tree_wait(void);
void tree_begin(struct hart *h);
void tree_pause(struct hart *h);
void tree_end(const char *file);
void tree_executed(unsigned int vcpu, void *udata);
void tree_firmware(unsigned int vcpu, void *udata);
/* The process of a forked child; NULL if the parent's is. */
struct process *process_forked(const struct process *parent);

#endif

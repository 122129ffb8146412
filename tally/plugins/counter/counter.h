/*
 * A TCG plugin that counts every instruction that a Tally machine executes
 * between two moments. docs/truth.md says what the counts are compared with.
 *
 * QEMU calls plugin.c, which reads the map and has a function called for each
 * instruction, in one of three modes: counts.c counts by address, and apart
 * what a sampler can't see; stacks.c writes the call stacks that pcs should
 * record; tree.c counts by call path, for the exact profile of scripts/tally.
 * The last two need the calls in progress, from calls.c. All need the threads
 * and traps of follow.c, which finds them by landmarks in the kernel's code,
 * from the map: the plugin reads no registers but mhartid, on several harts.
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

/* A landmark's address, and the offset in struct thread that the instruction
 * accesses. */
struct mark {
	uint64_t address, offset;
	const struct landmark *what;
};

#define WINDOWS 4096

extern struct window windows[WINDOWS];
extern struct site elsewhere; /* user code that is in no program */

/* Samples; wrong: the hart that had been executing was not the sampled one. */
struct taken {
	uint64_t all, wrong;
};

extern struct taken taken;

/* --- counts.c: called before the kernel's instruction (udata: its site), the
 * firmware's, and one in user mode (its place) --- */

void kernel_executed(unsigned int vcpu, void *udata);
void firmware_executed(unsigned int vcpu, void *udata);
void user_executed(unsigned int vcpu, void *udata);

/* --- stacks.c and tree.c: called before an instruction (its step) --- */

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

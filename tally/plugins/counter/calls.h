/*
 * The calls in progress of each thread, by following each call and return, trap
 * and switch. stacks.c writes them down where a sample is taken; tree.c counts
 * what is executed by the path of calls to it.
 */
#ifndef CALLS_H
#define CALLS_H

#include "counter.h"

#define JUMPS 32 /* places that a thread's longjmp may go to */

/* An instruction, as far as it matters here. */
struct step {
	uint64_t at;
	unsigned int size;
	enum { OTHER, SYSCALL, CALL, RETURN, JUMP } kind;
	bool kernel;
	/* For the tree: the functions it is in, one of each program that has
	 * it; the kernel's are in one. */
	unsigned int nfunctions;
	struct function **functions;
};

/*
 * Where a thread is in the tree: in a node, or, if it enters, just behind a
 * call that was made there. The node of what is called isn't known before its
 * first instruction. NULL is the root of whatever the thread runs.
 */
struct cursor {
	struct node *node;
	uint64_t site; /* the return address; odd: one more than what was
			  interrupted */
	bool enters;
};

/* One in a list of calls. The address is where it returns to, but for these. */
#define INTERRUPTED 1UL /* beside a struct step's address */
#define HANDLER     2UL

struct call {
	uint64_t address;
	struct cursor from; /* the caller */
};

/* Calls in progress, the outermost first. */
struct calls {
	struct call *entry;
	size_t n, room;
	struct cursor now;
};

/* A call of setjmp, by its buffer: what longjmp returns to. */
struct jump {
	uint64_t buffer;
	size_t calls;
	struct cursor now;
};

extern unsigned int unfollowed; /* returns to where no call came from */

void calls_init(void);

struct step *step_new(uint64_t at, unsigned int size, uint32_t code,
		      bool kernel);
/* An instruction is about to be executed: where does that bring the thread?
 * True if it was executed before, and a fault kept it from being done. */
bool calls_arrive(struct hart *h, const struct step *s);
/* And where does it lead to? */
void calls_leave(struct hart *h, const struct step *s);

/* What setjmp's first instruction stores to, and longjmp's loads from. */
void calls_setjmp(unsigned int vcpu, uint32_t info, uint64_t buffer, void *);
void calls_longjmp(unsigned int vcpu, uint32_t info, uint64_t buffer, void *);

#endif

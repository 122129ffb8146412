/*
 * Follows which thread each hart executes, and the traps that each thread is
 * in, from one landmark in the kernel's code to the next. Two parts build on
 * this, and each run uses one of them: counts.c and calls.c.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "calls.h"

#define NESTED 32 /* traps within traps */
/* Instructions after a trap until its kind is known: it may spin for a lock. */
#define UNDECIDED 8192

struct trap {
	bool user; /* it came from user mode */
	/* counts.c */
	bool left_out;    /* samplers can't see what it executes */
	uint64_t carried; /* instructions that count for what it interrupted */
	/* calls.c, for traps in the kernel: what was interrupted */
	const struct step *last; /* the last instruction */
	size_t calls;            /* in progress in the kernel */
	struct cursor now;
	bool faulted; /* the interrupted instruction is executed again */
	bool exits;   /* it interrupted the exit to user mode */
};

struct thread {
	uint64_t name; /* its struct's address in the kernel; 0: unknown */
	unsigned int traps;
	struct trap trap[NESTED]; /* the outermost first */

	/* counts.c */
	unsigned int program;
	struct site *interrupted; /* the last instruction before a trap */
	struct site *exit;     /* the same, if that was in the exit; or NULL */
	bool pays;             /* profil's part of a timer interrupt's work */
	uint64_t in_kernel;    /* counted since it left user mode */
	struct site *executed; /* the last in user mode */

	/* calls.c */
	struct process *process;
	bool execs; /* what it executes next in user mode is a new program */
	struct calls user, kernel;
	const struct step *last; /* in user mode; NULL: none yet */
	uint64_t expected;       /* where a return leads to */
	bool faulted;            /* its last instruction is executed again */
	struct jump jump[JUMPS];
	unsigned int jumps;
	const struct jump
	    *jumping; /* the destination of a longjmp in progress */
};

struct hart {
	struct thread *thread;
	struct thread first; /* until the first switch tells its name */
	struct thread *next; /* the thread that is switched to */
	bool in_user;        /* what is executed next, if no trap comes */

	/* counts.c */
	struct site
	    *executed; /* the last in the kernel, which calls firmware */
	/* What a trap, or work on the exit, executes until it is known whether
	 * the timer caused it. */
	bool undecided;
	unsigned int n;
	struct {
		struct site *site;
		uint64_t n;
	} waiting[UNDECIDED];
	/* The instructions since SIE became 0. */
	bool masked;
	bool sampler; /* a timer interrupt is served, */
	bool sampled; /* and a sample was taken in it */
	uint64_t masked_from;
	unsigned int masked_for;
	/* A sample that falls due while SIE is 0 is taken later. So
	 * instructions with SIE=0 count for the one at which it is taken: the
	 * next one, or the one that a trap has interrupted. */
	uint64_t carried;
	enum { EXECUTES, WAITS, NAPS } state; /* for another hart (icount.c) */
	bool enters;         /* the first instructions of an interrupt */
	struct hart *before; /* the hart that executed before the last trap */

	/* calls.c */
	const struct step *last;
	bool in_firmware;
	bool repeats; /* `last' faulted, and is executed again */
};

/*
 * A place in the kernel's code, and what is called: before its instruction is
 * counted, after that, and with the struct thread that the instruction
 * accesses. Tables end with a name that is NULL.
 */
struct landmark {
	const char *name;
	void (*before)(struct hart *h);
	void (*after)(struct hart *h, uint64_t at);
	void (*accessed)(struct hart *h, uint64_t thread);
};

/* Those of thread switches, and of counts.c or calls.c. */
extern const struct landmark follow_landmarks[], counts_landmarks[],
    calls_landmarks[];

extern unsigned int hart_now;

void follow_init(void);
/* From now on this hart executes. */
void follow_hart(unsigned int hart);
struct hart *executing(void);

/* The thread of this name. */
struct thread *thread_of(uint64_t name);
/* The innermost trap that a thread is in; NULL: none. */
struct trap *innermost(struct thread *t);

/* What counts.c and calls.c call at landmarks. */
struct trap *follow_trap(struct hart *h);
/* Returns the trap that ends; NULL: it began before the thread was known. */
struct trap *follow_kernel_return(struct hart *h);
void follow_user_return(struct hart *h);
/* The innermost trap has interrupted the exit, which begins again. */
void follow_in_exit(struct hart *h);
void follow_exit(struct hart *h);

/* QEMU calls these at a landmark; udata is its mark. */
void follow_before(unsigned int vcpu, void *udata);
void follow_after(unsigned int vcpu, void *udata);
void follow_accessed(unsigned int vcpu, uint32_t info, uint64_t address,
		     void *udata);

#endif

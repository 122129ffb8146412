/*
 * A thread: what runs. While it runs, tp points at it, in the kernel for
 * good; in user mode sscratch does.
 */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include <stdint.h>
#include <sys/types.h>

#include "hart.h"

/* The user's registers, saved on entry. trap.S knows this layout. */
struct trapframe {
	unsigned long ra, sp, gp, tp;
	unsigned long t0, t1, t2, s0, s1;
	unsigned long a0, a1, a2, a3, a4, a5, a6, a7;
	unsigned long s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;
	unsigned long t3, t4, t5, t6;
	unsigned long sepc, sstatus, scause, stval;
};

/* What switch.S keeps of a thread that isn't running. */
struct context {
	unsigned long ra, sp;
	unsigned long s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;
	unsigned long gp;
};

struct fpstate {
	uint64_t f[32];
	uint32_t fcsr;
};

enum thread_state {
	THREAD_RUNNABLE,      /* on the run queue, or running */
	THREAD_SLEEPING,      /* a wake-up or a signal makes it runnable */
	THREAD_SLEEPING_HARD, /* only a wake-up does */
	THREAD_DEAD,
};

/* thread.work: what to do on the way back to user mode. */
#define WORK_RESCHED 0x1
#define WORK_SIGNAL  0x2
#define WORK_PROFIL  0x4

/* The place of one in a queue of those that wait for their turn. */
struct share {
	struct list link;
	int64_t had; /* of time, in timer counts; at first TIME_NEW */
};

#define TIME_NEW INT64_MAX

struct runq {
	struct list shares; /* who has had the least is first */
	int64_t floor;      /* the most that the first ever had */
};

#define RUNQ_INIT(q)                            \
	{                                       \
		.shares = LIST_INIT((q).shares) \
	}

struct proc;

struct thread {
	/* Known to trap.S, in this order. */
	struct trapframe tf;
	unsigned long scratch;    /* the user's sp, for a few instructions */
	unsigned long work;       /* WORK_* bits, set with atomics by anyone */
	unsigned long kstack_top; /* where a trap from user mode pushes */
	struct hart *hart;        /* where it runs, or ran last */
	struct context ctx;

	struct proc *proc; /* NULL: the kernel's own (idle) */
	pid_t tid;
	struct list proc_link; /* in proc->threads, under proc->lock */

	/* Scheduling: see proc/sched.c. */
	enum thread_state state; /* under sched_lock */
	struct share share;      /* of its process's time, under sched_lock */
	struct list wait_link;   /* in a wait queue, under that one's lock */

	/* Ticks that profil is still to charge: proc/profil.c. */
	unsigned int profil_ticks; /* where it is in user mode; atomic */
	unsigned int profil_made;  /* made up, by itself, at profil_pc */
	unsigned long profil_pc;

	/* Signals: see proc/signal.c. */
	unsigned long sigmask;       /* blocked; changed by itself only */
	unsigned long sigpending;    /* for this thread; under proc->lock, but
				      * read without it */
	unsigned long sigmask_saved; /* sigsuspend's, restored after delivery */
	bool sigmask_restore;
	bool restart;         /* the call gave -ERESTART: see signal_deliver */
	uint64_t sleep_until; /* nanosleep's, across a restart; 0: none */

	bool tf_changing; /* see tf_change_begin */

	struct fpstate fp; /* of one that isn't running, if its FS isn't off */
};

/*
 * The running thread. A thread keeps its tp wherever it runs, so `current`
 * never changes under it; `current->hart` does, unless the level is raised.
 */
register struct thread *current asm("tp");

/*
 * Around a change of current->tf to where it goes on in user mode elsewhere:
 * meanwhile the frame has registers of two moments, of which the sampler, on
 * this hart, would make a wrong call stack.
 */
static inline void
tf_change_begin(void)
{
	current->tf_changing = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void tf_change_end(void); /* sched.c: a place for `make truth' to know */

/* A new thread of p (or of the kernel), to be woken first. NULL: no memory. */
struct thread *thread_create(struct proc *p, void (*start)(void));
void thread_free(struct thread *t);

/* proc/sched.c */
extern struct spinlock sched_lock; /* last but the uart's in the order */
/* Make t runnable if it sleeps; a signal doesn't wake THREAD_SLEEPING_HARD. */
void thread_wake(struct thread *t, bool signal);
/* Leave the hart: the caller has set its own state, under sched_lock. */
void sched(void);
void thread_yield(void); /* to all that wait */
/* WORK_RESCHED: give way to one that waits, if it has had less time. */
void thread_resched(void);
void thread_exit(void) __attribute__((noreturn));
/* Has t ended, and left its stack? */
bool thread_has_ended(struct thread *t);
void sched_tick(void);
void sched_idle(void) __attribute__((noreturn));
/* Set bits of t->work; if t runs on another hart, make it look. */
void thread_notify(struct thread *t, unsigned long work);
/* The exit stub found something in work: see to it. */
void thread_work(void);

/* proc/fp.c: floating-point registers are saved only when dirty. */
void fp_switch(struct thread *prev, struct thread *next);
void fp_set(const struct fpstate *fp); /* current's from now on */
void fp_save(struct thread *t); /* current's registers to t->fp, if dirty */
/* After an illegal instruction: if it was the first that needs the
 * floating-point registers, provide them; it is then executed again. */
bool fp_first_use(void);

#endif

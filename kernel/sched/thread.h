/*
 * A thread: what runs on a hart. The register tp points at the running thread
 * in the kernel. In user mode tp is the program's, and sscratch points at the
 * thread.
 */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include <stdint.h>
#include <sys/types.h>

#include "hart.h"
#include "poll.h"
#include "watch.h"

/* The user's registers, saved on entry. trap.S knows this layout. */
struct trapframe {
	unsigned long ra, sp, gp, tp;
	unsigned long t0, t1, t2, s0, s1;
	unsigned long a0, a1, a2, a3, a4, a5, a6, a7;
	unsigned long s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;
	unsigned long t3, t4, t5, t6;
	unsigned long sepc, sstatus, scause, stval;
};

/* What a trap of the kernel itself saves, on the kernel stack in use. */
struct ktrapframe {
	unsigned long ra, t0, t1, t2;
	unsigned long a0, a1, a2, a3, a4, a5, a6, a7;
	unsigned long t3, t4, t5, t6;
	unsigned long scause, stval, sie, sstatus;
	unsigned long s0, sepc;
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
	THREAD_RUNNABLE,        /* on the run queue, or running */
	THREAD_SLEEPING,        /* a wake-up or a signal makes it runnable */
	THREAD_UNINTERRUPTIBLE, /* only a wake-up does */
	THREAD_DEAD,
};

/* thread.work: what to do on the way back to user mode (trap.c). */
#define WORK_RESCHED 0x1 /* let another thread run */
#define WORK_SIGNAL  0x2 /* deliver signals, stop or leave */
#define WORK_PROFIL  0x4 /* charge the ticks that profil has put off */

/* A thread's or a process's place in a run queue, and how much time it has had,
 * in timer counts; TIME_NEW before it is first queued. */
struct share {
	struct list link;
	int64_t had;
};

#define TIME_NEW INT64_MAX

struct runq {
	struct list shares; /* sorted by `had', the least first */
	int64_t floor;      /* the most that the first ever had */
};

#define RUNQ_INIT(q)                            \
	{                                       \
		.shares = LIST_INIT((q).shares) \
	}

/* The scheduler's and the clock's part of a process: the first thing in it. */
struct task {
	struct share share GUARDED_BY(sched_lock);
	struct runq ready GUARDED_BY(sched_lock);

	unsigned int nthreads; /* under the process's lock */
	clock_t utime, stime;  /* counted by the tick, atomics */
	bool timed;            /* thread_calls.ticked wants to know of it */
};

struct proc;
struct queued;

/* Signals that are pending: proc/pending.c. */
struct pending {
	unsigned long set;    /* sigmask(sig) for each */
	struct queued *first; /* what is known of them, in the order sent */
};

struct thread {
	/* Known to trap.S, in this order. */
	struct trapframe tf;
	unsigned long scratch;    /* the user's sp, for a few instructions */
	unsigned long work;       /* WORK_* bits, set with atomics by anyone */
	unsigned long kstack_top; /* where a trap from user mode pushes */
	struct hart *hart;        /* where it runs, or ran last */
	struct context ctx;

	struct proc *proc; /* NULL: the kernel's own (idle) */
	struct task *task;
	pid_t tid;
	unsigned short context; /* in records of pcs: <sys/pcs.h>; see proc.h */
	struct list proc_link;  /* in proc->threads, under proc->lock */

	enum thread_state state GUARDED_BY(sched_lock);
	struct share share GUARDED_BY(sched_lock); /* of its process's time */
	struct list wait_link; /* in a wait queue, under that one's lock */

	/* For panic_limit: while it sleeps, the lock of the wait queue, since
	 * which rdtime(), and the mutex that it waits for, or NULL. */
	const struct spinlock *wait_lock;
	uint64_t wait_since;
	const struct mutex *wait_mutex;

	struct watched watched; /* for the profiler of waits */

	/* Ticks that profil is still to charge: dev/profil.c. */
	unsigned int profil_ticks; /* where it is in user mode; atomic */
	unsigned int profil_made;  /* synthetic, of itself, at profil_pc */
	unsigned long profil_pc;

	/* Signals: see proc/signal.c. sigmask is changed by itself only. Under
	 * proc->lock: pending, of which the set is read without it. */
	unsigned long sigmask;  /* blocked */
	unsigned long sigwait;  /* not blocked while sigtimedwait waits */
	struct pending pending; /* for this thread */
	int fault, fault_code;  /* its own exception's signal, or 0 */
	uintptr_t fault_address;
	unsigned long sigmask_saved; /* sigsuspend's, restored after delivery */
	bool sigmask_restore;
	bool restart;         /* the call returned -ERESTART: signal_deliver */
	uint64_t sleep_until; /* nanosleep's, across a restart; 0: none */
	uintptr_t altstack;   /* for handlers that want it: */
	size_t altstack_size; /* 0: there is none */

	struct polled polled; /* while it asks files: sched/poll.h */

	bool tf_changing;

	char name[16]; /* as Linux has it; under proc->lock */
	/* User addresses, or 0: proc/fork.c and futex.c. */
	uintptr_t set_tid;   /* gets its tid when it starts */
	uintptr_t clear_tid; /* becomes 0 when it ends, and is woken */
	uintptr_t robust;    /* its list of robust mutexes */

	struct fpstate fp; /* valid while it isn't running, unless FS is off */
};

/* The running thread. A thread has the same tp on whichever hart it runs, so
 * `current` is constant. `current->hart` isn't, unless the level is raised. */
register struct thread *current asm("tp");

/*
 * These two enclose a change of current->tf by which the thread will go on
 * elsewhere in user mode, as in exec or in a signal's handler. In between the
 * frame has registers of two moments. The sampler may interrupt that, on this
 * hart, and would record a wrong call stack; so it looks at tf_changing. The
 * fences keep the compiler from moving stores out.
 */
static inline void
tf_change_begin(void)
{
	current->tf_changing = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void tf_change_end(void); /* sched.c: a place for `make truth' to know */

/* Make t runnable if it sleeps; a signal doesn't end THREAD_UNINTERRUPTIBLE. */
void thread_wake(struct thread *t, bool signal);
/* Leave the hart. The caller holds sched_lock, and has set its state. */
void sched(void);
/* Let all others that wait run before the current thread runs again. */
void thread_yield(void);
/* Let a thread that waits run, if it has had less time: for WORK_RESCHED. */
void thread_resched(void);
void thread_exit(void) __attribute__((noreturn));
/* Has t ended, and left its stack? */
bool thread_has_ended(struct thread *t);
/* A tick: end the current thread's turn if it is over. At level 5. */
void sched_tick(void);
void sched_idle(void) __attribute__((noreturn));
/* Set bits of t->work; if t runs on another hart, interrupt it to look. */
void thread_notify(struct thread *t, unsigned long work);
/* Sleep until *idling is 0: in switch.S, where it ends at idle_wait_end. An
 * interrupt in it returns to idle_look. */
void idle_wait(volatile unsigned int *idling, unsigned long sip);
extern char idle_look[], idle_wait_end[];

/* What rooms above do for the scheduler. proc_serve sets it. */
struct thread_calls {
	/* This hart is about to run the thread: its address space is loaded. */
	void (*load)(const struct thread *next);
	/* Is a signal to be delivered to current? It ends a wait. */
	bool (*interrupted)(void);
	/* Is current about to end? */
	bool (*killed)(void);
	/* So many ticks are current's, whose task is `timed'. At level 5. */
	void (*ticked)(bool user, clock_t n);
};

extern struct thread_calls thread_calls;

/* Is a signal to be delivered to the current thread? Whoever has one for it
 * sets the bit before anything else (signal_tell). */
static inline bool
thread_interrupted(void)
{
	return current->work & WORK_SIGNAL && thread_calls.interrupted();
}

/* fp.c: floating-point registers are saved only when dirty. */
void fp_switch(struct thread *prev, struct thread *next);
void fp_set(const struct fpstate *fp);
void fp_save(struct thread *t); /* current's registers to t->fp, if dirty */
/* current has met an illegal instruction: if its floating-point registers are
 * off, turn them on and return true. The instruction is then executed again. */
bool fp_first_use(void);

#endif

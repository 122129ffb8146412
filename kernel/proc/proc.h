/*
 * A process: what owns memory, files and children. What runs is its threads
 * (sched/thread.h).
 *
 * Two locks guard most of it. proc_tree_lock, one for all processes, guards how
 * they are related: parents, groups, states. A process's own `lock` guards its
 * threads and signals. Signals are sent by the console's interrupt handler and
 * by the alarms of the tick, too, so both locks are of level 5. The order: a
 * wait queue's or device's lock, the timers' lock (sched/timer.c),
 * proc_tree_lock, a process's lock, sched_lock.
 *
 * The files of this folder: proc.c, the table of processes; fork.c, exec.c with
 * elf.c and auxv.c, exit.c and wait.c, the life of one; group.c, to whom it
 * belongs; threads.c, several threads in one; futex.c, where they wait for one
 * another; of signals: pending.c, those that wait; signal_send.c;
 * signal.c, what is done about them; signal_frame.c and signal_page.c, how
 * handlers run and return; signal_call.c, the system calls; sleep.c, cputimer.c
 * and ptimer.c; and memory.c, who is killed if there is no memory.
 */
#ifndef KERNEL_PROC_H
#define KERNEL_PROC_H

#include <signal.h>

#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/timer.h"

#include "cputimer.h"

/* On the stack of a parent's thread that waits until its child has left the
 * memory that they share; under proc_tree_lock. */
struct vfork {
	struct waitq wait;
	bool over;
};

struct aspace;
struct fdtable;
struct kept;
struct ptimers;
struct histogram;
struct vnode;

#define PID_MAX  32767 /* pcs records have 16 bits for it */
#define NAME_LEN 16

/*
 * Wait status encoding: what waitpid stores, and <sys/_wait.h> takes apart.
 *
 *	0x0300	exited with status 3
 *	0x0009	killed by signal 9
 *	0x117f	stopped by signal 17
 *	0xffff	continued
 */
#define STATUS_EXITED(code) (((code)&0xff) << 8)
#define STATUS_KILLED(sig)  (sig)
#define STATUS_STOPPED(sig) ((sig) << 8 | 0x7f)
#define STATUS_CONTINUED    0xffff

/*
 * ALIVE and STOPPED alternate. From EXITING on there is no way back: the
 * process takes no signals, its exit status is fixed, and all its threads
 * leave. The last one makes it a ZOMBIE, which only waits to be reaped.
 */
enum proc_state { PROC_ALIVE, PROC_STOPPED, PROC_EXITING, PROC_ZOMBIE };

extern struct spinlock proc_tree_lock;

struct proc {
	struct task task; /* what the scheduler and the clock know of it */
	pid_t pid;        /* constant, */
	uint64_t born;    /* as is when it got that, in timer counts */

	/*
	 * Under proc_tree_lock. A process is a child of its parent until it is
	 * reaped; orphans become init's. state is set to EXITING under lock as
	 * well, so either lock keeps a process from beginning to exit.
	 */
	struct list all_link GUARDED_BY(proc_tree_lock); /* in proc_list */
	struct proc *parent GUARDED_BY(proc_tree_lock);
	pid_t ppid; /* its pid; may be read without the lock */
	struct list children GUARDED_BY(proc_tree_lock);
	struct list sibling GUARDED_BY(proc_tree_lock); /* in parent's */
	pid_t pgrp GUARDED_BY(proc_tree_lock);
	pid_t session GUARDED_BY(proc_tree_lock);
	enum proc_state state GUARDED_BY(proc_tree_lock);
	int status GUARDED_BY(proc_tree_lock); /* the last wait status */
	/* No wait has taken the status yet. */
	bool status_new GUARDED_BY(proc_tree_lock);
	/* Since its fork; setpgid asks. */
	bool execed GUARDED_BY(proc_tree_lock);
	/* NULL, or until it execs or ends: its parent's thread waits there. */
	struct vfork *vfork GUARDED_BY(proc_tree_lock);
	/* Where it sleeps for its children, and where while it is stopped. */
	struct waitq child_wait GUARDED_BY(proc_tree_lock);
	struct waitq cont_wait GUARDED_BY(proc_tree_lock);
	/* Ticks of those children that were waited for. */
	clock_t child_utime GUARDED_BY(proc_tree_lock);
	clock_t child_stime GUARDED_BY(proc_tree_lock);

	/*
	 * Under lock. A thread that has ended is moved from threads to gone,
	 * where it stays until it has left its kernel stack.
	 */
	struct spinlock lock;
	struct list threads;     /* of struct thread */
	struct list gone;        /* ended, perhaps still on their stacks */
	int exit_status;         /* wait status of one that is exiting; before,
				  * the one that its first thread left with */
	struct thread *alone;    /* it is in exec: all others leave */
	struct waitq alone_wait; /* and it sleeps here until they have */
	struct pending pending;  /* for any thread; its set is read without the
				 * lock */
	unsigned int nqueued;    /* real-time signals, threads' included */
	struct vnode *cwd;       /* referenced */
	mode_t umask;
	char name[NAME_LEN]; /* the last component of what exec ran */
	struct vnode
	    *program; /* that it runs, referenced; NULL: none any more */

	/*
	 * Guards the list of those who sleep on a futex (futex.c), and is the
	 * lock of nanosleep's waits (sleep.c). The timers' lock comes after it,
	 * and before `lock`: an alarm sends a signal.
	 */
	struct spinlock sleep_lock;
	struct list sleepers;

	/* dev/profil.c. The sampler looks without the lock if there is one. */
	struct mutex profil_lock;
	struct histogram *histogram; /* NULL: off */
	unsigned long profil_stored; /* by pcsample, since its last call */

	/*
	 * as is changed, under lock, only by the last thread that is left: in
	 * exec and at the end. So a thread may use its own process's as without
	 * the lock. fds is constant.
	 */
	struct aspace *as;
	struct fdtable *fds;

	struct kept *kept; /* pages of its pipes; NULL: none made; atomic */

	/* Since memory.c chose it to be killed: when it was seen runnable
	 * last, in timer counts. 0: it wasn't chosen. */
	uint64_t gives_way GUARDED_BY(proc_tree_lock);

	struct timer alarm; /* setitimer's: see sched/timer.c */
	struct cputimer cputimer[CPUTIMERS]; /* and cputimer.c; under lock */
	struct ptimers
	    *ptimers; /* set under lock; NULL: none made (ptimer.c) */

	/* What signals do; under lock. Last, as it is large: proc_alloc leaves
	 * it to be filled in, and the others are found by short offsets. */
	struct sigaction action[NSIG];
};

/*
 * p's state, without proc_tree_lock. A thread of p may ask so, since whoever
 * changes the state tells p's threads afterwards (signal_tell), and they ask
 * again. And a holder of p->lock may ask whether p is exiting, as the state is
 * set to EXITING under that lock, too.
 */
static inline UNGUARDED enum proc_state
proc_state_now(const struct proc *p)
{
	return __atomic_load_n(&p->state, __ATOMIC_RELAXED);
}

/*
 * proc.c: the table of processes. init_proc is constant, the others are under
 * proc_tree_lock; the count is read without it, too.
 */
extern struct proc *init_proc;
extern struct list proc_list GUARDED_BY(proc_tree_lock); /* all, oldest first */
extern unsigned int proc_count; /* how many there are */

void proc_init(void); /* make process 1, which runs /bin/init */
/* A process without memory, threads, pid or open files. NULL: no memory. */
struct proc *proc_alloc(void);
/* Free p and all it has. It isn't in the tree; none of its threads runs. */
void proc_free(struct proc *p);
/*
 * Put p into the tree with a new pid. parent is the current process, or NULL
 * for process 1. 0, or -ERESTART: the parent is about to end or stop.
 */
int proc_enter(struct proc *p, struct proc *parent);
/* The next five need proc_tree_lock. proc_leave takes a zombie out. */
void proc_leave(struct proc *p);
struct proc *proc_find(pid_t pid); /* NULL: there is none */
struct proc *proc_from(pid_t pid); /* the least pid from this one on; or NULL */
bool proc_group_exists(pid_t pgrp);
/*
 * Is p one of those that `pid` means as an argument of kill and waitpid? A pid;
 * 0: the caller's group; -1: all; else the group -pid.
 */
bool proc_matches(const struct proc *p, pid_t pid);
/* p uses its parent's memory no longer: let that go on. */
void proc_end_vfork(struct proc *p);
/* Let the current process go over to as (NULL: none); returns the old one. */
struct aspace *proc_set_aspace(struct aspace *as);

/*
 * The histogram of profil(2) belongs to a higher floor (dev/profil.c): let the
 * child have its parent's; and turn it off, at exec and at the end.
 */
struct proc_profil {
	void (*fork)(struct proc *child, struct proc *parent);
	void (*off)(struct proc *p);
};

extern const struct proc_profil *proc_profil;

/*
 * Who records what becomes of threads belongs to a higher floor, too
 * (dev/pcsevent.c). All are called at level 0 without a lock: born before t
 * runs for the first time, execed before the process goes over to as with this
 * context, exited by its last thread.
 */
struct proc_events {
	void (*born)(const struct proc *p, const struct thread *t);
	void (*execed)(unsigned int context, const char *name,
		       struct vnode *program, const struct aspace *as);
	void (*exited)(int status);
};

extern const struct proc_events *proc_events; /* atomic */
extern const struct proc_events proc_untold;  /* nobody does: at first */

static inline const struct proc_events *
proc_observer(void)
{
	return __atomic_load_n(&proc_events, __ATOMIC_RELAXED);
}

/* First of all at boot: set the pointers by which floors ask one another. */
void proc_serve(const struct proc_profil *profil);

#endif

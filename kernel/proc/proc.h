/*
 * A process: what owns memory, files and children. What runs is its threads.
 *
 * Signals are sent by the console's interrupt and by the tick's alarms too, so
 * proc_tree_lock and a process's `lock` are of level 5. The order: a wait
 * queue's or device's lock, the timers' lock (timer.c), proc_tree_lock, a
 * process's lock, sched_lock.
 */
#ifndef KERNEL_PROC_H
#define KERNEL_PROC_H

#include <signal.h>

#include "../fs/vfs.h"
#include "../mm/mm.h"
#include "../thread.h"

#define PID_MAX       32767 /* pcs records have 16 bits for it */
#define NAME_LEN      16
#define ARG_MAX_BYTES (128 << 10) /* of exec's strings and pointers */

/* How a process fares, as <sys/wait.h> takes it apart. */
#define STATUS_EXITED(code) (((code)&0xff) << 8)
#define STATUS_KILLED(sig)  (sig)
#define STATUS_STOPPED(sig) ((sig) << 8 | 0x7f)
#define STATUS_CONTINUED    0xffff

/* From PROC_EXITING on a process takes no signals, its status stands, and all
 * its threads leave; the last ends it. */
enum proc_state { PROC_ALIVE, PROC_STOPPED, PROC_EXITING, PROC_ZOMBIE };

struct timer {
	struct list link;            /* in the list of those that are set */
	uint64_t deadline, interval; /* timer counts, as timer_set has them */
	void (*ring)(void *arg);
	void *arg;
};

/* The pages of the pipes that a process made. They may outlive it. */
struct kept {
	unsigned int refs; /* atomic */
	size_t pages;      /* atomic */
};

struct proc {
	pid_t pid; /* constant */

	/* Under proc_tree_lock. */
	struct list all_link; /* in proc_list */
	struct proc *parent;
	pid_t ppid; /* its pid; may be read without the lock */
	struct list children, sibling;
	pid_t pgrp;
	enum proc_state state;            /* EXITING: under lock, too */
	int status;                       /* as wait gives it */
	bool status_new;                  /* not waited for yet */
	bool execed;                      /* since its fork; setpgid asks */
	struct waitq child_wait;          /* it sleeps here for its children */
	struct waitq cont_wait;           /* and here while stopped */
	clock_t child_utime, child_stime; /* ticks, of those waited for */

	/* Under lock. */
	struct spinlock lock;
	struct list threads; /* of struct thread */
	struct list gone;    /* ended, but perhaps still on their stacks */
	unsigned int nthreads, tids;
	int exit_status;         /* of one that is exiting */
	struct thread *alone;    /* it execs: all others leave */
	struct waitq alone_wait; /* and it sleeps here until they have */
	struct sigaction action[NSIG];
	uintptr_t sigrestorer;    /* user code that handlers return to */
	unsigned long sigpending; /* for any thread; read without the lock */
	struct vnode *cwd;
	mode_t umask;
	char name[NAME_LEN]; /* the last part of what exec ran */

	/* Guards who sleeps on which word: threads.c. The timers' lock comes
	 * after it, and before `lock`: an alarm sends a signal. */
	struct spinlock sleep_lock;
	struct list sleepers;

	/* All threads' histogram. The sampler looks without the lock whether
	 * there is one. */
	struct mutex profil_lock;
	struct profil *profil;       /* NULL: off */
	unsigned long profil_stored; /* by pcsample, since its last call */

	/* Under sched_lock: its share of the time; its threads that wait. */
	struct share share;
	struct runq ready;

	/* Only its own thread changes these; as, under lock. */
	struct aspace *as;
	struct fdtable *fds;

	struct kept *kept;  /* NULL: it has made no pipe; atomic */
	uint64_t gives_way; /* since when, in timer counts; 0: it doesn't.
			      * Under proc_tree_lock: see memory.c */

	/* Counted by the tick, atomics. */
	clock_t utime, stime;

	struct timer alarm; /* setitimer's: see timer.c */
};

/* proc.c: the table of processes. */
extern struct spinlock proc_tree_lock;
extern struct proc *init_proc;
extern struct list proc_list;   /* all, oldest first */
extern unsigned int proc_count; /* of them */

void proc_init(void); /* make process 1, which runs /bin/init */
/* A process without memory, threads or pid, its files none. NULL: no memory */
struct proc *proc_alloc(void);
/* Give back p and all it has; it isn't in the tree, nothing of it runs. */
void proc_free(struct proc *p);
/* Put p into the tree below parent, the current process (NULL: none), with a
 * new pid. 0, or -ERESTART: the parent is about to end or stop. */
int proc_enter(struct proc *p, struct proc *parent);
/* The next four want proc_tree_lock. */
void proc_leave(struct proc *p);
struct proc *proc_find(pid_t pid); /* NULL: there is none */
bool proc_group_exists(pid_t pgrp);
/* Is p one of those that kill and waitpid call pid? */
bool proc_meant(const struct proc *p, pid_t pid);
/* Go over to another address space (NULL: none); gives the one before. */
struct aspace *proc_set_aspace(struct aspace *as);

/* exec.c, elf.c */
/* Run path in the current process, with the argument arg0 if that isn't NULL,
 * and those of the user's vectors that aren't 0. 0 or a negative errno. */
int exec(const char *path, const char *arg0, uintptr_t argv, uintptr_t envp);
/* Map the program v into as; ENOEXEC for all that isn't one. */
int elf_load(struct vnode *v, struct aspace *as, uintptr_t *entry);

/* memory.c */
/* The current process's, for one more pipe; NULL: no memory. */
struct kept *kept_get(void);
void kept_put(struct kept *k); /* NULL is fine */
/* Make va accessible to the current process, as aspace_fault does; if there is
 * no memory for that, the largest process ends. -ENOMEM: that is this one. */
int memory_fault(uintptr_t va, int prot);

/* exit.c */
void proc_exit(int status) __attribute__((noreturn));
/* The current thread ends, and with the last one its process. */
void thread_leave(void) __attribute__((noreturn));
/* Let p's parent know of p's new status. proc_tree_lock is held. */
void proc_tell_parent(struct proc *p, int status);

/* threads.c */
#define THREADS_MAX 512 /* of a process */
/* Free those of p's threads that are gone and have left their stacks. */
void threads_reap(struct proc *p);
/* Make t one of p's threads; false if p has enough, or wants no more. */
bool threads_add(struct proc *p, struct thread *t);
/* End all threads but this. -ERESTART: it has to end itself. */
int threads_alone(void);

/* Has the current thread been told to leave its process? */
static inline bool
thread_must_leave(void)
{
	struct proc *p = current->proc;

	return p->state >= PROC_EXITING ||
	       (p->alone != NULL && p->alone != current);
}

/*
 * signal.c. Send a signal to a process that can't vanish meanwhile, or to a
 * group; is there anyone to take it? signal_post wants proc_tree_lock, and
 * takes 0 for no signal.
 */
void signal_send(struct proc *p, int sig);
bool signal_send_group(pid_t pgrp, int sig);
bool signal_post(struct proc *p, int sig);
/* Have those of p's threads that don't block sig (none blocks SIGKILL) look at
 * what there is for them, or for p. p->lock is held. */
void signal_tell(struct proc *p, int sig);
/* Is the current process about to end or stop? proc_tree_lock is held. */
bool signal_halting(void);
/* On the way to user mode: act on what is pending. */
void signal_deliver(void);
/* The current thread did something that no one can put right. */
void signal_fault(int sig);
/* exec: handlers are gone with the program they were in. */
void signal_exec(struct proc *p);
/* Have the current thread block what is in mask and nothing else. */
void signal_set_mask(sigset_t mask);

/* signal_frame.c: save what the thread does on the user's stack, and have it
 * go on in a handler. 0, or -EFAULT: there is no such stack. */
int signal_push_frame(const siginfo_t *info, uintptr_t handler);

/* Is there one to deliver to the current thread? Ends an interruptible wait. */
static inline bool
signal_pending(void)
{
	struct proc *p = current->proc;

	return p != NULL &&
	       (thread_must_leave() ||
		((__atomic_load_n(&p->sigpending, __ATOMIC_RELAXED) |
		  __atomic_load_n(&current->sigpending, __ATOMIC_RELAXED)) &
		 ~current->sigmask) != 0);
}

/* Is it about to end, whatever it does? */
static inline bool
proc_is_killed(void)
{
	return thread_must_leave() ||
	       __atomic_load_n(&current->proc->sigpending, __ATOMIC_RELAXED) &
		   sigmask(SIGKILL);
}

/*
 * profil.c. A child's histogram is as its parent's; exec turns it off. Charge
 * to it what the current thread owes, on the way to user mode.
 */
void profil_fork(struct proc *child, struct proc *parent);
void profil_off(struct proc *p);
void profil_pay(void);

/* timer.c. ring(arg) is called when t is due, from a tick, with the lock of all
 * timers held. A new one isn't set. */
void timer_init(struct timer *t, void (*ring)(void *arg), void *arg);
/* Let t be due at deadline, in timer counts (WAIT_FOREVER: never), and then at
 * each interval from there (0: once). */
void timer_set(struct timer *t, uint64_t deadline, uint64_t interval);
/* The soonest deadline; a tick that finds it passed calls timer_tick. */
extern uint64_t timer_soonest;
void timer_tick(uint64_t now);

/* sys/time.c */
void time_init(void);
uint64_t time_realtime_ns(void); /* since 1970 */
/* Sleep until deadline, -ETIMEDOUT, or a signal comes, -ERESTART. */
int time_sleep(uint64_t deadline);
/* A user's struct timespec in timer counts; 0, -EFAULT, or -EINVAL. */
int time_copy_in(uintptr_t user, uint64_t *counts);
/* The same for a time in units of 1/per_sec s after sec: 0, or -EINVAL. */
int time_counts(long sec, unsigned long units, unsigned long per_sec,
		uint64_t *counts);

static inline struct timespec
time_of_ns(uint64_t ns)
{
	return (struct timespec){
	    .tv_sec = ns / 1000000000,
	    .tv_nsec = ns % 1000000000,
	};
}

#endif

/*
 * The table of processes, and the calls that ask about a process or change
 * it in small ways.
 *
 * Its parts, in order: finding a process, putting it into the tree and taking
 * it out; making and freeing one; what lower floors ask about processes;
 * process 1; and the small system calls.
 *
 * Whoever looks for a process, or for a group of them, walks the list of all:
 * there are few. A pid isn't given out again while it names a process or a
 * group; otherwise kill(-pgrp) could hit strangers.
 */
#include "proc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/list.h"
#include "base/panic.h"
#include "base/print.h"
#include "fs/fd.h"
#include "fs/pipe.h"
#include "fs/vfs.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/uaccess.h"
#include "sched/entry.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/timer.h"

#include "exec.h"
#include "pending.h"
#include "signal.h"
#include "threads.h"

#define MODE_MASK    0777
#define INIT_UMASK   022
#define SLEEPERS_MAX 64 /* that the time limit names */

struct spinlock proc_tree_lock = SPINLOCK5("proc tree");
struct proc *init_proc;
struct list proc_list = LIST_INIT(proc_list);
unsigned int proc_count;

struct proc *
proc_find(pid_t pid)
{
	must_hold(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pid == pid)
			return p;
	return NULL;
}

struct proc *
proc_from(pid_t pid)
{
	struct proc *least = NULL;

	must_hold(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pid >= pid && (least == NULL || p->pid < least->pid))
			least = p;
	return least;
}

/* Is the number in use, so that a new process mustn't have it? */
static bool
is_named(pid_t pid)
{
	must_hold(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link)
		if (p->pid == pid || p->pgrp == pid || p->session == pid)
			return true;
	return false;
}

bool
proc_matches(const struct proc *p, pid_t pid)
{
	must_hold(&proc_tree_lock);
	if (pid > 0)
		return p->pid == pid;
	if (pid == 0)
		return p->pgrp == current->proc->pgrp;
	return pid == -1 || -p->pgrp == pid;
}

/*
 * The next pid that names neither a process nor a group nor a session. There
 * is one: each process, zombies included, uses three pids at most, and has at
 * least one kernel stack; there are far fewer stacks (1024, mm/kstack.h) than a
 * third of PID_MAX. The caller holds proc_tree_lock.
 */
static pid_t
next_pid(void)
{
	static pid_t last_pid;

	do {
		last_pid = last_pid % PID_MAX + 1;
	} while (is_named(last_pid));
	return last_pid;
}

/*
 * If a signal that ends or stops the parent is pending, the fork fails. It may
 * have been sent to the whole group at a moment when p wasn't in the tree yet,
 * so p, which it was meant for as well, didn't get it. Otherwise a group of
 * processes that fork and exit all the time couldn't be killed: one that isn't
 * in the list yet would always escape. signal_send_group holds proc_tree_lock,
 * so it comes either before this look or after p is in the list.
 */
int
proc_enter(struct proc *p, struct proc *parent)
{
	spin_lock(&proc_tree_lock);
	if (parent != NULL && signal_halting()) {
		spin_unlock(&proc_tree_lock);
		return -ERESTART;
	}
	proc_count++;
	p->pid = next_pid();
	p->born = rdtime();
	list_each (struct thread, t, &p->threads, proc_link)
		t->tid = p->pid;
	list_append(&proc_list, &p->all_link);
	p->pgrp = p->session = p->pid;
	if (parent != NULL) {
		p->parent = parent;
		p->ppid = parent->pid;
		p->pgrp = parent->pgrp;
		p->session = parent->session;
		list_append(&parent->children, &p->sibling);
	}
	spin_unlock(&proc_tree_lock);
	return 0;
}

void
proc_leave(struct proc *p)
{
	must_hold(&proc_tree_lock);
	proc_count--;
	list_remove(&p->all_link);
	list_remove(&p->sibling);
}

/* setitimer's timer is due. From a tick, with the timers' lock held. */
static void
ring_alarm(void *p)
{
	signal_send(p, SIGALRM);
}

/* A process and its descriptors: one allocation, one to be freed. */
struct whole_proc {
	struct proc proc; /* first: its address is the whole's */
	struct fdtable fds;
};

/* Without locks: nobody else knows of the new process yet. */
UNGUARDED struct proc *
proc_alloc(void)
{
	struct whole_proc *whole = kmalloc(sizeof(*whole));
	struct proc *p;

	if (whole == NULL)
		return NULL;
	p = &whole->proc;
	memset(p, 0, offsetof(struct proc, action));
	fdtable_init(&whole->fds);
	p->fds = &whole->fds;
	p->lock = (struct spinlock)SPINLOCK5("process");
	p->sleep_lock = (struct spinlock)SPINLOCK1("sleepers");
	p->profil_lock = (struct mutex)MUTEX("profil", p->profil_lock);
	list_init(&p->children);
	list_init(&p->sibling);
	list_init(&p->threads);
	list_init(&p->gone);
	list_init(&p->sleepers);
	p->task.share.had = TIME_NEW;
	p->task.ready = (struct runq)RUNQ_INIT(p->task.ready);
	timer_init(&p->alarm, ring_alarm, p);
	p->child_wait = (struct waitq)WAITQ_FOR(p->child_wait, WAITS_CHILD, 0);
	p->cont_wait = (struct waitq)WAITQ_FOR(p->cont_wait, WAITS_STOPPED, 0);
	p->alone_wait = (struct waitq)WAITQ_FOR(p->alone_wait, WAITS_THREADS,
						0);
	return p;
}

/*
 * p is a zombie without threads, or a child whose fork has failed: only that
 * may still have a thread, which has never run, and an address space.
 */
void
proc_free(struct proc *p)
{
	list_each_safe (struct thread, t, &p->threads, proc_link)
		thread_free(t);
	if (p->pending.first != NULL) {
		spin_lock(&p->lock);
		pending_forget(p, &p->pending, ~0UL);
		spin_unlock(&p->lock);
	}
	proc_profil->off(p);
	if (p->as != NULL)
		aspace_put(p->as);
	if (p->cwd != NULL)
		vnode_put(p->cwd);
	if (p->program != NULL)
		vnode_put(p->program);
	kept_put(p->kept);
	kfree(p); /* with its descriptors */
}

void
proc_end_vfork(struct proc *p)
{
	must_hold(&proc_tree_lock);
	if (p->vfork == NULL)
		return;
	p->vfork->over = true;
	wake_all(&p->vfork->wait);
	p->vfork = NULL;
}

struct aspace *
proc_set_aspace(struct aspace *as)
{
	struct proc *p = current->proc;
	struct aspace *old;

	/* For those who look at another process's address space: memory.c. */
	spin_lock(&p->lock);
	old = p->as;
	p->as = as;
	aspace_switch(as);
	spin_unlock(&p->lock);
	return old;
}

/* --- What lower floors ask about processes --- */

/* From sched: a kernel thread gets the kernel's own page table. */
static void
proc_load(const struct thread *next)
{
	aspace_switch(next->proc ? next->proc->as : NULL);
}

/* Referenced, as another thread may change it. NULL: no process yet. */
static struct vnode *
proc_cwd(void)
{
	struct proc *p = current->proc;
	struct vnode *v;

	if (p == NULL)
		return NULL;
	spin_lock(&p->lock);
	v = p->cwd;
	if (v != NULL)
		vnode_ref(v);
	spin_unlock(&p->lock);
	return v;
}

static mode_t
proc_umask(void)
{
	return current->proc ? current->proc->umask : 0;
}

static void
proc_sigpipe(void)
{
	siginfo_t info = signal_info(SIGPIPE, SI_USER);

	spin_lock(&proc_tree_lock);
	signal_post(current->proc, current->tid, &info);
	spin_unlock(&proc_tree_lock);
}

/* For a panic: says which process was running, and takes no lock. */
static void
proc_say(void)
{
	const struct proc *p = current->proc;

	if (p)
		kprintf("process %d (%s)\n", p->pid, p->name);
	else
		kprintf("no process\n");
}

/* For the time limit. UNGUARDED, as the harts have stopped with whatever locks
 * they had. A list that one of them was changing may go in a circle: hence the
 * bound. */
static UNGUARDED void
proc_say_sleepers(void)
{
	int left = SLEEPERS_MAX;

	list_each (struct proc, p, &proc_list, all_link)
		list_each (struct thread, t, &p->threads, proc_link) {
			if (t->state != THREAD_SLEEPING &&
			    t->state != THREAD_UNINTERRUPTIBLE)
				continue;
			if (left-- == 0) {
				kprintf("and others\n");
				return;
			}
			panic_sleeper(t, p->name);
		}
}

const struct proc_profil *proc_profil;
const struct proc_events *proc_events = &proc_untold;

static void
untold_born(const struct proc *, const struct thread *)
{
}

static void
untold_execed(unsigned int, const char *, struct vnode *, const struct aspace *)
{
}

static void
untold_exited(int)
{
}

const struct proc_events proc_untold = {
    .born = untold_born,
    .execed = untold_execed,
    .exited = untold_exited,
};

void
proc_serve(const struct proc_profil *profil)
{
	proc_profil = profil;
	thread_calls = (struct thread_calls){
	    .load = proc_load,
	    .interrupted = signal_pending,
	    .killed = proc_is_killed,
	    .ticked = cputimer_tick,
	};
	vfs_process = (struct vfs_process){
	    .cwd = proc_cwd,
	    .umask = proc_umask,
	    .pipe_broken = proc_sigpipe,
	};
	panic_calls = (struct panic_calls){
	    .process = proc_say,
	    .sleepers = proc_say_sleepers,
	};
}

/* Process 1's first steps, in its own thread: exec needs a current process. */
static void
init_start(void)
{
	int r = vfs_lookup(NULL, "/", &current->proc->cwd);

	if (r < 0)
		panic("process 1 has no root directory: error %d", -r);
	r = exec("/bin/init", "init", 0, 0);
	if (r < 0)
		panic("can't run /bin/init: error %d", -r);
	trap_return_user();
}

void
proc_init(void)
{
	struct thread *t;

	signal_page_init();
	init_proc = proc_alloc();
	if (init_proc == NULL)
		panic("no memory for process 1");
	t = thread_create(init_proc, init_start);
	if (t == NULL)
		panic("no memory for the first thread");
	threads_add(init_proc, t);
	init_proc->umask = INIT_UMASK;
	memset(init_proc->action, 0, sizeof(init_proc->action));
	proc_enter(init_proc, NULL);
	thread_wake(t, false);
}

/* The shortest system call, and so the one to measure others by. */
long
sys_getpid(const unsigned long *)
{
	return current->proc->pid;
}

/* No lock: ppid is a copy of the parent's pid, as the parent may be freed. */
long
sys_getppid(const unsigned long *)
{
	return __atomic_load_n(&current->proc->ppid, __ATOMIC_RELAXED);
}

long
sys_umask(const unsigned long *arg)
{
	struct proc *p = current->proc;
	mode_t old;

	spin_lock(&p->lock);
	old = p->umask;
	p->umask = arg[0] & MODE_MASK;
	spin_unlock(&p->lock);
	return old;
}

/* Set the end of the heap, if that is possible, and return where it is. */
long
sys_brk(const unsigned long *arg)
{
	struct aspace *as = current->proc->as;

	if (arg[0] != 0)
		aspace_set_brk(as, arg[0]);
	return as->brk;
}

long
sys_sched_yield(const unsigned long *)
{
	thread_yield();
	return 0;
}

/* Linux's numbers; the kernel's own, as nothing of it leaves this file. */
#define SET_NAME    15
#define GET_NAME    16
#define PERSONALITY 0 /* Linux's: the only one */
#define NO_RANDOM   0x40000
#define ASK         0xffffffff

/* prctl(what, char name[16]): of what Linux's can do, a thread's name. The
 * first one's is the process's. */
long
sys_prctl(const unsigned long *arg)
{
	struct proc *p = current->proc;
	char name[NAME_LEN] = "";
	ssize_t r;

	if ((int)arg[0] == GET_NAME)
		return copy_out(arg[1], current->name, sizeof(current->name));
	if ((int)arg[0] != SET_NAME)
		return -EINVAL;
	r = copy_in_str(name, arg[1], sizeof(name) - 1);
	if (r < 0 && r != -ENAMETOOLONG)
		return r;
	spin_lock(&p->lock);
	memcpy(current->name, name, sizeof(name));
	if (current->tid == p->pid)
		memcpy(p->name, name, sizeof(name));
	spin_unlock(&p->lock);
	return 0;
}

/* Addresses are never at random: so who asks for that has it. */
long
sys_personality(const unsigned long *arg)
{
	unsigned int wanted = arg[0];

	if (wanted != ASK && (wanted & ~NO_RANDOM) != PERSONALITY)
		return -EINVAL;
	return PERSONALITY;
}

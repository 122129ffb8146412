/*
 * The events of pcs: which threads there are, which programs they execute, and
 * how the sampling clock is set. A profile explains itself by them, however
 * short its processes lived. PROF_EVENTS asks for them; <sys/pcs.h> has the
 * records.
 *
 * An event isn't a sample: it happens at level 0, in a thread that may sleep.
 * So the LOGBUFs here are guarded by a mutex, and no sampler waits for them.
 * They form a ring, like those of a hart's log: `filled' and `emptied' count
 * LOGBUFs since the start. If all are full an event is counted as untold.
 *
 * A context is told before the first sample that can have it, and a reader gets
 * all events before it gets a sample that was recorded after them. So if the
 * stream says nothing of a sample's context, then that was untold.
 *
 * Read event_append first; then what happens (born to exited), and those who
 * live already when it starts (tell_living).
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "fs/vfs.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"
#include "sched/thread.h"
#include "sched/time.h"

#include "pcslog.h"

#define RING  256 /* LOGBUFs: some 800 processes, from birth to exit */
#define NSEC  1000000000L
#define FIRST offsetof(struct LOGBUF, lb_data)
/* There is always room for a SEAL: a LOGBUF may be begun before PROF_SEAL. */
#define END (offsetof(struct LOGBUF, lb_wasted) - sizeof(struct SEAL_RECORD))

static struct mutex lock = MUTEX("events", lock);
static struct LOGBUF *ring GUARDED_BY(lock); /* NULL: nobody has asked */
static unsigned long filled, emptied;        /* changed under lock; atomics */
static size_t used GUARDED_BY(lock); /* bytes of the next; 0: not begun */
static uint64_t untold GUARDED_BY(lock);

static struct LOGBUF *
ring_at(unsigned long n)
{
	must_hold(&lock);
	return &ring[n % RING];
}

/* The LOGBUF that is being filled counts as full, with what it has. */
static void
flush(void)
{
	must_hold(&lock);
	if (used == 0)
		return;
	ring_at(filled)->lb_buf_hdr.h_unused = BSIZE - used;
	used = 0;
	__atomic_store_n(&filled, filled + 1, __ATOMIC_RELAXED);
}

/* Add a record. The reader is woken up for a full LOGBUF: it comes to all
 * others when it reads samples. */
static void
event_append(const struct EVENT *record)
{
	size_t size = record->words * 8;
	bool full = false;

	mutex_lock(&lock);
	if (ring != NULL && used + size > END) {
		flush();
		full = true;
	}
	if (ring != NULL && filled - emptied == RING) {
		untold++;
	} else if (ring != NULL) {
		if (used == 0) {
			memset(ring_at(filled), 0, BSIZE);
			used = FIRST;
		}
		memcpy((char *)ring_at(filled) + used, record, size);
		used += size;
	}
	mutex_unlock(&lock);
	if (full)
		pcs_wake();
}

/* The beginning of a record of this type. */
#define EVENT(record, kind, w)           \
	((struct EVENT){                 \
	    .type = (kind),              \
	    .words = sizeof(record) / 8, \
	    .context = (w).context,      \
	    .pid = (w).pid,              \
	    .time = rdtime(),            \
	})

/* --- What happens --- */

/* Whose an event is. */
struct who {
	pid_t pid, tid;
	unsigned int context;
};

static void
tell_born(struct who w, pid_t parent, unsigned int of)
{
	struct BORN_RECORD r = {
	    .event = EVENT(r, BORN, w),
	    .of = of,
	    .parent = parent,
	    .tid = w.tid,
	};

	event_append(&r.event);
}

/* A program's code, and the path that leads to its file now. */
static void
tell_mapped(struct who w, struct vnode *program, struct span text, off_t offset)
{
	_Alignas(8) char room[END - FIRST] = {0};
	struct MAP_RECORD *r = (struct MAP_RECORD *)room;
	char path[PATH_MAX_LEN];
	struct stat st;

	if (vnode_stat(program, &st) < 0)
		return;
	*r = (struct MAP_RECORD){
	    .event = EVENT(*r, MAPPED, w),
	    .address = text.start,
	    .length = text.end - text.start,
	    .offset = offset,
	    .ino = IN_FILE(st),
	    .mtime = st.st_mtim.tv_sec * NSEC + st.st_mtim.tv_nsec,
	};
	if (vfs_path(program, path) >= 0 &&
	    strlen(path) < sizeof(room) - sizeof(*r))
		memcpy(r->path, path, strlen(path));
	r->event.words += (strlen(r->path) + 8) / 8;
	event_append(&r->event);
}

static void
tell_execed(struct who w, unsigned int of, const char *name)
{
	struct EXEC_RECORD r = {
	    .event = EVENT(r, EXECED, w),
	    .of = of,
	    .tid = w.tid,
	};

	strlcpy(r.name, name, sizeof(r.name));
	event_append(&r.event);
}

static void
born(const struct proc *p, const struct thread *t)
{
	struct who w = {p->pid, t->tid, t->context};

	tell_born(w, current->proc->pid, current->context);
}

static void
execed(unsigned int context, const char *name, struct vnode *program,
       const struct aspace *as)
{
	struct who w = {current->proc->pid, current->tid, context};

	tell_execed(w, current->context, name);
	tell_mapped(w, program, as->text, as->text_offset);
}

static void
exited(int status)
{
	struct who w = {current->proc->pid, current->tid, current->context};
	struct EXIT_RECORD r = {
	    .event = EVENT(r, EXITED, w),
	    .status = status,
	};

	event_append(&r.event);
}

static const struct proc_events events = {
    .born = born,
    .execed = execed,
    .exited = exited,
};

void
event_clock(void)
{
	struct who nobody = {0};
	struct CLOCK_RECORD r = {
	    .event = EVENT(r, CLOCKED, nobody),
	    .hz = profclock.hz,
	    .jitter = profclock.jitter,
	    .seed = profclock.seed,
	    .timebase = machine.timebase,
	    .realtime = time_realtime_ns(),
	};

	event_append(&r.event);
}

/* --- Who lives already --- */

/* A thread, and what it executes. */
struct living {
	struct who who;
	pid_t parent;
	char name[NAME_LEN];
	struct vnode *program; /* referenced */
	struct span text;
	off_t offset;
};

/* p's first thread after l's, if p is l's process, else its first. False: there
 * is none. A process that is about to end has no program any more. */
static bool
next_thread(struct proc *p, struct living *l)
{
	pid_t after = p->pid == l->who.pid ? l->who.tid : 0;
	bool found = false;

	spin_lock(&p->lock);
	list_each (struct thread, t, &p->threads, proc_link) {
		if (found || t->tid <= after || p->program == NULL)
			continue;
		found = true;
		*l = (struct living){
		    .who = {p->pid, t->tid, t->context},
		    .parent = p->ppid,
		    .program = p->program,
		    .text = p->as->text,
		    .offset = p->as->text_offset,
		};
		memcpy(l->name, p->name, NAME_LEN);
		vnode_ref(l->program);
	}
	spin_unlock(&p->lock);
	return found;
}

/* Go on to the next thread, in order of pid and tid. False: there is none. */
static bool
next_living(struct living *l)
{
	pid_t pid = l->who.pid;
	bool found = false;
	struct proc *p;

	spin_lock(&proc_tree_lock);
	while (!found && (p = proc_from(pid)) != NULL) {
		found = next_thread(p, l);
		pid = p->pid + 1;
	}
	spin_unlock(&proc_tree_lock);
	return found;
}

/* Threads that come meanwhile are told by `born', perhaps here, too. */
static void
tell_living(void)
{
	struct living l = {0};

	while (next_living(&l)) {
		tell_born(l.who, l.parent, 0);
		tell_execed(l.who, 0, l.name);
		tell_mapped(l.who, l.program, l.text, l.offset);
		vnode_put(l.program);
	}
}

/* --- For the log (pcsrequest.c, pcsreader.c) --- */

int
event_start(void)
{
	struct LOGBUF *new = kmalloc(RING * sizeof(*new));
	bool started;

	if (new == NULL)
		return -ENOMEM;
	mutex_lock(&lock);
	started = ring != NULL;
	if (!started) {
		ring = new;
		untold = 0;
	}
	mutex_unlock(&lock);
	if (started) {
		kfree(new);
		return 0;
	}
	__atomic_store_n(&proc_events, &events, __ATOMIC_RELAXED);
	event_clock();
	tell_living();
	return 0;
}

void
event_stop(void)
{
	struct LOGBUF *old;

	__atomic_store_n(&proc_events, &proc_untold, __ATOMIC_RELAXED);
	mutex_lock(&lock);
	old = ring;
	ring = NULL;
	filled = emptied = used = 0;
	mutex_unlock(&lock);
	kfree(old);
}

/* Asked with a spinlock held (wait_full in pcs.c), so without the mutex. The
 * contents of a full LOGBUF are loaded with it (event_first). */
bool
event_full(void)
{
	return __atomic_load_n(&filled, __ATOMIC_RELAXED) !=
	       __atomic_load_n(&emptied, __ATOMIC_RELAXED);
}

void
event_flush(void)
{
	mutex_lock(&lock);
	flush();
	mutex_unlock(&lock);
}

/* A LOGBUF that is full isn't written to until it has been emptied. */
const struct LOGBUF *
event_first(void)
{
	const struct LOGBUF *first;

	mutex_lock(&lock);
	first = filled != emptied ? ring_at(emptied) : NULL;
	mutex_unlock(&lock);
	return first;
}

void
event_emptied(void)
{
	mutex_lock(&lock);
	__atomic_store_n(&emptied, emptied + 1, __ATOMIC_RELAXED);
	mutex_unlock(&lock);
}

uint64_t
event_untold(void)
{
	uint64_t n;

	mutex_lock(&lock);
	n = untold;
	mutex_unlock(&lock);
	return n;
}

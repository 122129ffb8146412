/*
 * waits, the profiler off the processor: for how long threads sleep, for what,
 * who wakes them up, and how long they are runnable before they run. waits(4)
 * has the interface, <sys/waits.h> the format.
 *
 * It samples nothing. The scheduler tells of each wait (sched/watch.h), so
 * counts and times are exact: a thread's time is cut into what it ran, what it
 * slept, and what it was runnable, and each piece is added to a record. `upto'
 * says how far that has been done, so no piece is counted twice or left out.
 *
 * The records are in a hash table of a fixed size, allocated by start. What
 * finds no room is counted as lost. waits_table_lock guards them. It's a leaf:
 * it is taken under sched_lock, and by a hart that has spun for any lock and
 * has it now. So nothing here wakes a thread or allocates while it is told of
 * threads. The call path of a wait is recorded by the thread itself after it
 * woke up and before it takes its lock again. There is a path for it then, the
 * one on which it fell asleep, and nobody waits for this hart.
 *
 * When waits are stopped, some threads are still asleep. Their waits until then
 * are recorded as well (settle). The calls of such a thread's program are known
 * only as far as registers tell, unless its memory is the stopping one's.
 *
 * Read account first, then what calls it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/waits.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "fs/ctl.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "lib/number.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "proc/proc.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/timer.h"

#include "pcslog.h"
#include "waits.h"

enum { WAITCTL, WAITDATA, WAITORDER };

#define ROOM      4096 /* records, unless `room' says otherwise */
#define ROOM_MIN  16
#define ROOM_MAX  32768
#define ORDER_MAX 262144
#define PROBES    32 /* slots that are looked at; there are two per record */

_Static_assert(sizeof(struct waits_key) % 8 == 0,
	       "waits_key is hashed in 8-byte words");
_Static_assert(WAITS_PATH > STACK_MAX, "a path must hold a whole stack");

static struct mutex lock = MUTEX("waits", lock); /* of who writes or reads */

struct spinlock waits_table_lock = SPINLOCK5("waits' table");
static struct waits_record *
    record GUARDED_BY(waits_table_lock); /* NULL: none */
static unsigned short *
    slot GUARDED_BY(waits_table_lock); /* 1 + index; 0: empty */
static size_t room GUARDED_BY(waits_table_lock) = ROOM;
static size_t used GUARDED_BY(waits_table_lock);
static uint64_t lost GUARDED_BY(waits_table_lock), lost_time
    GUARDED_BY(waits_table_lock);
/* Only what happens in [started, ended) is recorded. Off: ended is in the past;
 * it is WAIT_FOREVER while on. `begin' and `watched': struct waits_head. */
static uint64_t started GUARDED_BY(waits_table_lock), ended
    GUARDED_BY(waits_table_lock);
static uint64_t begin GUARDED_BY(waits_table_lock), watched
    GUARDED_BY(waits_table_lock);
static pid_t
    only[CTL_ARGS] GUARDED_BY(waits_table_lock); /* 0: no more of them */
static bool
    spins GUARDED_BY(waits_table_lock); /* are spinlocks recorded, too? */

/* --- Records --- */

static size_t
hash(const struct waits_key *key)
{
	const uint64_t *word = (const uint64_t *)key;
	uint64_t h = 0;

	for (size_t i = 0; i < sizeof(*key) / sizeof(*word); i++)
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15;
	return h >> 40;
}

/* The record with this key, made if need be; NULL: there is no room for it. */
static struct waits_record *
find(const struct waits_key *key)
{
	size_t at = hash(key);

	must_hold(&waits_table_lock);
	for (unsigned int i = 0; i < PROBES; i++) {
		unsigned short *s = &slot[(at + i) % (2 * room)];

		if (*s == 0 && used < room) {
			memset(&record[used], 0, sizeof(*record));
			memcpy(&record[used].key, key, sizeof(*key));
			*s = ++used;
		}
		if (*s == 0)
			return NULL;
		if (memcmp(&record[*s - 1].key, key, sizeof(*key)) == 0)
			return &record[*s - 1];
	}
	return NULL;
}

/* Make [*from, *to) the part of it that is to be recorded; false: none is. A
 * wait of no time is one. */
static bool
clip(uint64_t *from, uint64_t *to)
{
	must_hold(&waits_table_lock);
	if (*from < started)
		*from = started;
	if (*to > ended)
		*to = ended;
	return record != NULL && *from <= *to && *from < ended;
}

/* Count a wait of so long for the one who ended it; the last of a record's
 * places is for all who find none. */
static void
add_waker(struct waits_record *r, const struct waits_waker *by, uint64_t time)
{
	const size_t same = offsetof(struct waits_waker, count);
	struct waits_waker *w = r->waker, *last = &w[WAITS_WAKERS - 1];

	while (w < last && w->count != 0 && memcmp(w, by, same) != 0)
		w++;
	if (w->count == 0)
		memcpy(w, by, same);
	else if (w == last && memcmp(w, by, same) != 0)
		*w = (struct waits_waker){
		    .how = WAITS_BY_OTHERS,
		    .count = w->count,
		    .total = w->total,
		};
	w->count++;
	w->total += time;
}

/* Which record it is, for absences. */
static uint32_t
number_of(const struct waits_record *r)
{
	must_hold(&waits_table_lock);
	return r - record;
}

/* A wait: by is NULL if it hasn't ended, or was for a hart. Returns its record,
 * or NULL: it wasn't recorded. */
static struct waits_record *
add_wait(const struct waits_key *key, const struct waits_waker *by,
	 uint64_t from, uint64_t to)
{
	struct waits_record *r;

	must_hold(&waits_table_lock);
	if (!clip(&from, &to))
		return NULL;
	r = find(key);
	if (r == NULL) {
		lost++;
		lost_time += to - from;
		return NULL;
	}
	if (r->count == 0 || to - from > r->longest) {
		r->longest = to - from;
		r->longest_at = from;
	}
	r->count++;
	r->total += to - from;
	if (by != NULL)
		add_waker(r, by, to - from);
	else if (key->kind != WAITS_HART)
		r->unfinished++;
	return r;
}

/* The key is that of a thread's record of kind WAITS_HART. */
static void
add_run(const struct waits_key *key, uint64_t from, uint64_t to)
{
	struct waits_record *r;

	must_hold(&waits_table_lock);
	if (!clip(&from, &to) || from == to)
		return;
	r = find(key);
	if (r != NULL)
		r->ran += to - from;
	else
		lost_time += to - from;
}

/* --- A thread's time --- */

/* What a thread has done since it left its hart, which was at watched.off. */
struct stretch {
	bool slept;   /* it was asleep.. */
	bool woken;   /* ..and isn't any more */
	uint64_t on;  /* when it ran again */
	uint64_t now; /* it has run until then */
};

static bool
is_wanted(pid_t pid)
{
	must_hold(&waits_table_lock);
	for (unsigned int i = 0; i < CTL_ARGS && only[i] != 0; i++)
		if (only[i] == pid)
			return true;
	return only[0] == 0;
}

/* In place: any stack may be nearly full where this is called. */
static void
set_key(struct waits_key *key, const struct thread *t, unsigned int kind)
{
	memset(key, 0, sizeof(*key));
	key->pid = t->proc->pid;
	key->tid = t->tid;
	key->context = t->context;
	key->kind = kind;
}

/* t was off its hart. A new thread counts as off since it was made. */
static void
add_absence(const struct thread *t, uint32_t record, uint64_t off,
	    uint64_t woken, uint64_t on)
{
	const struct watched *w = &t->watched;
	bool by = woken != WAITS_NEVER && (off < woken || w->off == w->woken);

	waitorder_add(&(struct waits_absence){
	    .pid = t->proc->pid,
	    .tid = t->tid,
	    .by_pid = by ? w->by_pid : 0,
	    .by_tid = by ? w->by_tid : 0,
	    .record = record,
	    .off = off,
	    .woken = woken,
	    .on = on,
	});
}

/*
 * Add what became of t: until off it ran, until woken it slept, until s->on it
 * was runnable, until s->now it ran. All before upto has been added already:
 * settle may have come in the middle of a sleep.
 */
static void
divide(struct thread *t, const struct stretch *s, const struct waits_key *sleep)
{
	/* Under the lock there is only one, and a kernel stack is small. */
	static struct waits_key hart GUARDED_BY(waits_table_lock);
	const struct watched *w = &t->watched;
	const struct waits_waker by = {
	    .pid = w->by_pid,
	    .tid = w->by_tid,
	    .context = w->by_context,
	    .how = w->by_how,
	    .pc = w->by_pc,
	};
	uint64_t from = w->upto;

	must_hold(&waits_table_lock);
	set_key(&hart, t, WAITS_HART);
	if (from < s->on) {
		uint64_t off = w->off > from ? w->off : from, runnable = off;
		const struct waits_record *in = NULL, *ready = NULL;

		add_run(&hart, from, off);
		if (s->slept && !s->woken)
			runnable = s->on;
		else if (s->slept && w->woken > off)
			runnable = w->woken;
		if (s->slept)
			in = add_wait(sleep, s->woken ? &by : NULL, off,
				      runnable);
		if (runnable < s->on)
			ready = add_wait(&hart, NULL, runnable, s->on);
		if (!s->slept)
			in = ready;
		if (in != NULL && (s->woken || !s->slept))
			add_absence(t, number_of(in), off, runnable, s->on);
		from = s->on;
	}
	add_run(&hart, from, s->now);
}

/* Account for t's time up to now. Nobody else does so meanwhile: t is current,
 * or doesn't run, or it is running and only `upto' changes. That never goes
 * back: t may tell late of a sleep that settle has accounted for already. */
static void
account(struct thread *t, const struct stretch *s,
	const struct waits_key *sleep)
{
	spin_lock_untold(&waits_table_lock);
	if (is_wanted(t->proc->pid))
		divide(t, s, sleep);
	if (t->watched.upto < s->now)
		t->watched.upto = s->now;
	spin_unlock(&waits_table_lock);
}

/* What t sleeps on, by which calls: as in log_path, of which the first lies in
 * wait_common and says nothing. */
static void
describe(struct waits_key *key, const struct thread *t, unsigned long fp)
{
	const struct waitq *q = t->watched.queue;
	union {
		struct STKSAMPLE stack;
		char room[STACK_BYTES(STACK_MAX)];
	} u;

	set_key(key, t, q->kind);
	log_path(t, fp, &u.stack);
	key->cut = u.stack.cut;
	if (u.stack.nkernel > 0) {
		key->nkernel = u.stack.nkernel - 1;
		key->n = u.stack.n - 1;
		memcpy(key->pc, u.stack.pc + 1, key->n * sizeof(key->pc[0]));
	}
	key->id = q->kind == WAITS_MUTEX ? (unsigned long)q : q->id;
	strlcpy(key->name, t->wait_lock->name, sizeof(key->name));
}

/* --- What the scheduler tells --- */

/* When the current thread has begun to run. Without sched_lock, the level must
 * have been raised since then: so this hart's `on' is still of that. */
static UNGUARDED uint64_t
on_since(void)
{
	return this_hart()->on;
}

static void
waits_woken(struct thread *t, bool signal)
{
	struct watched *w = &t->watched;
	bool thread = this_hart()->depth == 0 && !timer_rings() &&
		      current->proc != NULL;

	must_hold(&sched_lock);
	w->woken = rdtime();
	if (w->off == 0) /* it is new */
		w->off = w->upto = w->woken;
	w->by_how = signal          ? WAITS_BY_SIGNAL
		    : timer_rings() ? WAITS_BY_TIMER
		    : thread        ? WAITS_BY_THREAD
				    : WAITS_BY_INTERRUPT;
	w->by_pid = thread ? current->proc->pid : 0;
	w->by_tid = thread ? current->tid : 0;
	w->by_context = thread ? current->context : 0;
	w->by_pc = !thread                             ? 0
		   : current->tf.scause == CAUSE_ECALL ? current->tf.ra
						       : current->tf.sepc;
}

static void
waits_slept(void)
{
	const unsigned long *frame = __builtin_frame_address(0);
	struct stretch s = {.slept = true, .woken = true};
	struct waits_key sleep;

	describe(&sleep, current, (unsigned long)frame);
	s.on = s.now = on_since();
	account(current, &s, &sleep);
}

static void
waits_resumed(void)
{
	struct stretch s = {.on = on_since(), .now = on_since()};

	must_hold(&sched_lock);
	if (current->proc != NULL)
		account(current, &s, NULL);
}

static void
waits_ends(void)
{
	struct stretch s = {.on = on_since(), .now = rdtime()};
	uint64_t from = s.now, to = from;
	const struct waits_record *r;
	struct waits_key hart;

	must_hold(&sched_lock);
	if (current->proc == NULL)
		return;
	account(current, &s, NULL);
	set_key(&hart, current, WAITS_HART);
	spin_lock_untold(&waits_table_lock);
	if (is_wanted(current->proc->pid) && clip(&from, &to)) {
		r = find(&hart);
		if (r != NULL)
			add_absence(current, number_of(r), s.now, WAITS_NEVER,
				    WAITS_NEVER);
	}
	spin_unlock(&waits_table_lock);
}

static void
add_spin(const struct spinlock *lk, void *pc, void *by, uint64_t start)
{
	static struct waits_key key GUARDED_BY(waits_table_lock);
	const struct waits_waker holder = {
	    .how = WAITS_BY_HOLDER,
	    .pc = (unsigned long)by,
	};

	must_hold(&waits_table_lock);
	memset(&key, 0, sizeof(key));
	key.kind = WAITS_SPIN;
	key.nkernel = key.n = 1;
	key.pc[0] = (unsigned long)pc;
	strlcpy(key.name, lk->name, sizeof(key.name));
	add_wait(&key, &holder, start, rdtime());
}

static void
waits_spun(const struct spinlock *lk, void *pc, void *by, uint64_t start)
{
	spin_lock_untold(&waits_table_lock);
	if (spins)
		add_spin(lk, pc, by, start);
	spin_unlock(&waits_table_lock);
}

void
waits_serve(void)
{
	wait_watch.woken = waits_woken;
	wait_watch.slept = waits_slept;
	wait_watch.resumed = waits_resumed;
	wait_watch.ends = waits_ends;
	wait_watch.spun = waits_spun;
}

/* --- Those who haven't come back --- */

/* When t, which runs, began to; 0: it doesn't. */
static uint64_t
running_since(const struct thread *t)
{
	must_hold(&sched_lock);
	for (unsigned int i = 0; i < nharts; i++)
		if (harts[i].running == t)
			return harts[i].on;
	return 0;
}

/*
 * Account for t's time up to now. If t runs on another hart it may just have
 * come back, and not have told of its last sleep yet. Its stack can't be walked
 * then, so that sleep has no path; and what t tells later is of no time.
 */
static void
settle_thread(struct thread *t, uint64_t now)
{
	struct waits_key sleep;
	struct stretch s = {.now = now, .on = now};
	uint64_t on;

	set_key(&sleep, t, WAITS_OTHER);
	spin_lock(&sched_lock);
	on = running_since(t);
	s.woken = t->state == THREAD_RUNNABLE;
	s.slept = !s.woken || t->watched.woken >= t->watched.off;
	if (on != 0)
		s.on = on;
	else if (s.slept && t->watched.off != 0)
		describe(&sleep, t, t->ctx.s0);
	if (t->state != THREAD_DEAD)
		account(t, &s, &sleep);
	spin_unlock(&sched_lock);
}

/* p's first thread after this one, in order of tid. */
static struct thread *
thread_after(struct proc *p, pid_t tid)
{
	must_hold(&p->lock);
	list_each (struct thread, t, &p->threads, proc_link)
		if (t->tid > tid)
			return t;
	return NULL;
}

/* All locks are released from thread to thread, as there may be thousands. Who
 * is new meanwhile begins after now. */
static void
settle(uint64_t now)
{
	pid_t pid = 0, tid = 0;
	struct proc *p;

	do {
		struct thread *t;

		spin_lock(&proc_tree_lock);
		p = proc_from(pid);
		if (p != NULL) {
			spin_lock(&p->lock);
			t = thread_after(p, p->pid == pid ? tid : 0);
			if (t != NULL)
				settle_thread(t, now);
			pid = t != NULL ? p->pid : p->pid + 1;
			tid = t != NULL ? t->tid : 0;
			spin_unlock(&p->lock);
		}
		spin_unlock(&proc_tree_lock);
	} while (p != NULL);
}

/* --- /dev/waitctl --- */

/* Forget all records; without memory for them if keep is false. */
static void
clear(bool keep)
{
	struct waits_record *old = NULL;
	unsigned short *old_slot = NULL;

	must_hold(&lock);
	spin_lock_untold(&waits_table_lock);
	if (!keep) {
		old = record;
		old_slot = slot;
		record = NULL;
		slot = NULL;
	} else {
		memset(slot, 0, 2 * room * sizeof(*slot));
	}
	used = lost = lost_time = watched = 0;
	begin = started = wait_watch.armed ? rdtime() : 0;
	spin_unlock(&waits_table_lock);
	kfree(old);
	kfree(old_slot);
	waitorder_clear(keep);
}

/* Have memory for records: 0 or -ENOMEM. Only who holds `lock' changes that. */
static UNGUARDED int
make_room(void)
{
	struct waits_record *r;
	unsigned short *s;

	must_hold(&lock);
	if (record != NULL)
		return waitorder_alloc();
	r = kmalloc(room * sizeof(*r));
	s = kzalloc(2 * room * sizeof(*s));
	if (r == NULL || s == NULL) {
		kfree(r);
		kfree(s);
		return -ENOMEM;
	}
	spin_lock_untold(&waits_table_lock);
	record = r;
	slot = s;
	spin_unlock(&waits_table_lock);
	return waitorder_alloc();
}

/* Threads are told of from before the time from which they are recorded. */
static void
begin_recording(const pid_t pids[CTL_ARGS])
{
	must_hold(&lock);
	spin_lock_untold(&waits_table_lock);
	memcpy(only, pids, sizeof(only));
	if (!wait_watch.armed) {
		wait_watch.armed = 1;
		started = rdtime();
		ended = WAIT_FOREVER;
		if (begin == 0)
			begin = started;
	}
	spin_unlock(&waits_table_lock);
}

/* start and startclr, with the pids of processes after it; none: all. */
static int
waits_start(char **argv)
{
	pid_t pids[CTL_ARGS] = {0};
	uint64_t pid;
	int r;

	for (int i = 0; argv[1 + i] != NULL; i++) {
		if (number_parse(argv[1 + i], PID_MAX, &pid) < 0 || pid == 0)
			return -EINVAL;
		pids[i] = pid;
	}
	mutex_lock(&lock);
	r = make_room();
	if (r == 0 && strcmp(argv[0], "startclr") == 0)
		clear(true);
	if (r == 0)
		begin_recording(pids);
	mutex_unlock(&lock);
	return r;
}

/* What is told after `ended' is of no time, so nothing changes after this. */
static int
waits_stop(char **)
{
	uint64_t now;

	mutex_lock(&lock);
	if (wait_watch.armed) {
		spin_lock_untold(&waits_table_lock);
		now = ended = rdtime();
		watched += now - started;
		spin_unlock(&waits_table_lock);
		settle(now);
		wait_watch.armed = 0;
	}
	mutex_unlock(&lock);
	return 0;
}

static int
waits_clear(char **)
{
	mutex_lock(&lock);
	clear(wait_watch.armed);
	mutex_unlock(&lock);
	return 0;
}

/* room N: for so many records, from the next start after a clear. */
static UNGUARDED int
waits_room(char **argv)
{
	uint64_t n;
	int r = 0;

	if (number_parse(argv[1], ROOM_MAX, &n) < 0 || n < ROOM_MIN)
		return -EINVAL;
	mutex_lock(&lock);
	if (record != NULL)
		r = -EBUSY;
	else
		room = n;
	mutex_unlock(&lock);
	return r;
}

/* order N: for so many absences, likewise. */
static UNGUARDED int
waits_order(char **argv)
{
	uint64_t n;
	int r = 0;

	if (number_parse(argv[1], ORDER_MAX, &n) < 0)
		return -EINVAL;
	mutex_lock(&lock);
	if (record != NULL)
		r = -EBUSY;
	else
		waitorder_set(n);
	mutex_unlock(&lock);
	return r;
}

/* spins on or off. */
static int
waits_spins(char **argv)
{
	bool on = strcmp(argv[1], "on") == 0;

	if (!on && strcmp(argv[1], "off") != 0)
		return -EINVAL;
	spin_lock_untold(&waits_table_lock);
	spins = on;
	spin_unlock(&waits_table_lock);
	return 0;
}

static const struct ctlword words[] = {
    {.name = "clear", .run = waits_clear},
    {.name = "order", .run = waits_order, .min = 1, .max = 1},
    {.name = "room", .run = waits_room, .min = 1, .max = 1},
    {.name = "spins", .run = waits_spins, .min = 1, .max = 1},
    {.name = "start", .run = waits_start, .max = CTL_ARGS},
    {.name = "startclr", .run = waits_start, .max = CTL_ARGS},
    {.name = "stop", .run = waits_stop},
    {0},
};

/* --- Reading --- */

static struct waits_head
head_now(void)
{
	struct waits_head h;

	spin_lock_untold(&waits_table_lock);
	h = (struct waits_head){
	    .record_size = sizeof(struct waits_record),
	    .on = wait_watch.armed,
	    .timebase = machine.timebase,
	    .begin = begin,
	    .watched = watched,
	    .records = used,
	    .room = room,
	    .lost = lost,
	    .lost_time = lost_time,
	};
	if (h.on)
		h.watched += rdtime() - started;
	spin_unlock(&waits_table_lock);
	return h;
}

/* Record i as it is at this moment. Those that exist stay while `lock' is held,
 * but may be counted in. */
static struct waits_record
record_now(size_t i)
{
	struct waits_record r = {0};

	spin_lock_untold(&waits_table_lock);
	if (i < used)
		r = record[i];
	spin_unlock(&waits_table_lock);
	return r;
}

static off_t
waits_size(unsigned int id)
{
	struct waits_head h = head_now();

	if (id == WAITORDER)
		return waitorder_size();
	return id == WAITDATA ? (off_t)(sizeof(h) + h.records * h.record_size)
			      : 0;
}

static ssize_t
waitctl_read(struct file *f, struct uio *u)
{
	struct waits_head h = head_now();
	char text[128];
	int n = snprintf(text, sizeof(text),
			 "%s\nroom %lu\nrecords %lu\nlost %lu\n",
			 h.on ? "on" : "off", h.room, h.records, h.lost);

	return device_read_text(f, u, text, n);
}

/* Move what is to be read from the piece of so many bytes at `start'. */
static ssize_t
move_piece(struct uio *u, const void *piece, off_t start, size_t size)
{
	size_t skip = u->offset - start;

	return uio_to(u, (const char *)piece + skip, size - skip);
}

/* The next piece is the head, or the record in which the offset lies. */
static ssize_t
waitdata_read(struct uio *u)
{
	const struct waits_head h = head_now();
	off_t end = sizeof(h) + h.records * sizeof(struct waits_record);
	ssize_t total = 0, moved;

	must_hold(&lock);
	while (u->left > 0 && u->offset < end) {
		if (u->offset < (off_t)sizeof(h)) {
			moved = move_piece(u, &h, 0, sizeof(h));
		} else {
			size_t i = (u->offset - sizeof(h)) /
				   sizeof(struct waits_record);
			struct waits_record r = record_now(i);

			moved = move_piece(u, &r, sizeof(h) + i * sizeof(r),
					   sizeof(r));
		}
		if (moved < 0)
			return total > 0 ? total : moved;
		total += moved;
	}
	return total;
}

static ssize_t
waits_read(struct vnode *v, struct file *f, struct uio *u)
{
	ssize_t n;

	if (device_id(v) == WAITCTL)
		return waitctl_read(f, u);
	mutex_lock(&lock);
	n = device_id(v) == WAITDATA ? waitdata_read(u) : waitorder_read(u);
	mutex_unlock(&lock);
	return n;
}

static ssize_t
waits_write(struct vnode *v, struct file *, struct uio *u)
{
	return device_id(v) == WAITCTL ? ctl_write(u, words) : -EINVAL;
}

static const struct devfile files[] = {
    {.name = "waitctl", .id = WAITCTL, .mode = 0600},
    {.name = "waitdata", .id = WAITDATA, .mode = 0600},
    {.name = "waitorder", .id = WAITORDER, .mode = 0600},
    {0},
};

const struct device waits_device = {
    .files = files,
    .ops.read = waits_read,
    .ops.write = waits_write,
    .size = waits_size,
};

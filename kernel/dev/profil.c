/*
 * profil: a histogram of where a process spends its time, kept in the memory of
 * that process. profil(2) comes in two flavours, that of AIX and that of
 * Solaris. pcsample(2) is a relative: it stores the pcs themselves in an array.
 *
 * The sampler can't write to user memory, since a store there may fault. So
 * profil_count only notes that the interrupted thread owes a tick, and sets
 * WORK_PROFIL. On its way back to user mode the thread finds that bit and calls
 * profil_pay (thread_work in trap/trap.c). There the counter's page may be read
 * in or copied, as for any other access to user memory.
 *
 * A tick is charged to the pc at which the thread returns to user mode. If user
 * mode was interrupted, that is the interrupted pc. If the kernel was, it is
 * the user instruction at which the program continues.
 *
 * A struct histogram is what one call asked for. It never changes: another call
 * makes another one. So parent and child can share it after a fork, by a
 * reference count, and fork needs no memory for it.
 *
 * proc->profil_lock, a mutex, guards proc->histogram and proc->profil_stored.
 * It is also held while a counter is changed, as two threads of a process may
 * want the same one. User memory is touched under it.
 *
 * Read profil_count, profil_pay and profil_charge first. What follows them
 * turns the arguments of the system calls into a histogram.
 */
#include "profil.h"

#include <errno.h>
#include <limits.h>
#include <mon.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/sampleclock.h"
#include "sched/thread.h"

#include "sample.h"

/* The call that turned sampling on. AIX has two forms: profil(buffer, bytes,
 * ..) and profil(ranges, -1, 0, 0). */
enum form { AIX_BUFFER, AIX_RANGES, SOLARIS, PCSAMPLE };

/*
 * A range of text and its counters of 16 bits. A pc from low to below low +
 * size belongs to the counter that contains the byte
 *
 *	((pc - low) * scale >> 16) + up
 *
 * of the counters; if that is beyond the last one, the pc isn't counted. As a
 * counter has two bytes, up = 1 rounds an odd result up to the next even number
 * (AIX), and up = 0 rounds it down (Solaris). For example, with scale 0x8000
 * there is a counter for four bytes of text. The byte for pc = low + 6 is 3: on
 * Solaris that is counter 1, on AIX counter 2.
 */
struct range {
	uintptr_t low, size;
	uintptr_t high;  /* ascends from one range to the next */
	uintptr_t least; /* the lowest low of this range and those after it */
	uintptr_t counters; /* a user address */
	unsigned long ncounters;
	unsigned long scale, up;
};

/* Constant, except for refs. */
struct histogram {
	unsigned int refs; /* atomic: the processes that have it */
	enum form form;
	uintptr_t samples; /* PCSAMPLE: the user's array, and its length */
	unsigned long nsamples;
	unsigned int limit; /* the largest value of a counter */
	unsigned int n;
	struct range range[]; /* n of them: 1 or more, but for PCSAMPLE 0 */
};

/* More than user mode has addresses. With a scale of 32 bits at most, the
 * product in profil_charge fits into 64 bits. */
#define RANGE_MAX (1UL << 32)

/*
 * Note a tick that the current thread owes. On any hart, with SIE=0.
 *
 * This only tests proc->histogram and never follows the pointer. So profil_set
 * may free a histogram without waiting for samplers.
 *
 * A synthetic sample may be one of another process, and is ignored then. If it
 * is one of user mode, it is charged to its own pc. One profil_pc is enough for
 * any number of them: all samples of one write to /dev/profclock have the same
 * pc, and the thread pays for them before it can write again.
 */
static void
profil_count(const struct sample *s)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	/* It is made; or one of a hart that idles, which this one takes
	 * (icount.c). */
	bool other = s->thread != t;

	if (p == NULL ||
	    __atomic_load_n(&p->histogram, __ATOMIC_RELAXED) == NULL)
		return;
	if (other && (p->pid != s->pid || s->mode == SAMPLE_IDLE))
		return;
	if (other && s->mode == SAMPLE_USER) {
		t->profil_pc = s->pc;
		t->profil_made++;
	} else {
		__atomic_add_fetch(&t->profil_ticks, 1, __ATOMIC_RELAXED);
	}
	__atomic_or_fetch(&t->work, WORK_PROFIL, __ATOMIC_RELAXED);
}

/* armed is the number of processes that have a histogram. So while there is
 * none, the sampler doesn't call profil_count. */
struct profiler profil_profiler = {.count = profil_count};

static void
profil_arm(int processes)
{
	__atomic_add_fetch(&profil_profiler.armed, processes, __ATOMIC_RELAXED);
}

/*
 * Replace p's histogram by f, whose reference becomes p's; NULL: none. The
 * caller must hold p->profil_lock. profil_stored stays: if sampling ends by
 * itself, the next call of pcsample still returns how many pcs were stored.
 */
static void
profil_set(struct proc *p, struct histogram *f)
{
	struct histogram *old = p->histogram;

	must_hold(&p->profil_lock);
	__atomic_store_n(&p->histogram, f, __ATOMIC_RELAXED);
	profil_arm((f != NULL) - (old != NULL));
	if (old != NULL &&
	    __atomic_sub_fetch(&old->refs, 1, __ATOMIC_ACQ_REL) == 0)
		kfree(old);
}

/* The child isn't running yet, so only the parent's lock is needed. */
static void
profil_fork(struct proc *child, struct proc *parent)
{
	mutex_lock(&parent->profil_lock);
	child->histogram = parent->histogram;
	child->profil_stored = parent->profil_stored;
	if (child->histogram != NULL) {
		__atomic_add_fetch(&child->histogram->refs, 1,
				   __ATOMIC_RELAXED);
		profil_arm(1);
	}
	mutex_unlock(&parent->profil_lock);
}

/* As profil_set. Returns how many pcs pcsample has stored since its last call,
 * and begins to count anew. */
static unsigned long
replace(struct proc *p, struct histogram *f)
{
	unsigned long stored;

	mutex_lock(&p->profil_lock);
	stored = p->profil_stored;
	p->profil_stored = 0;
	profil_set(p, f);
	mutex_unlock(&p->profil_lock);
	return stored;
}

static void
profil_off(struct proc *p)
{
	replace(p, NULL);
}

/* For pcsample: store pc n times. Sampling ends when the array is full, isn't
 * aligned to its elements, or can't be written. */
static SLOW_PATH void
store(struct proc *p, const struct histogram *f, uintptr_t pc, unsigned int n)
{
	bool good = f->samples % sizeof(pc) == 0;

	while (good && n-- && p->profil_stored < f->nsamples) {
		good = copy_out(f->samples + p->profil_stored * sizeof(pc), &pc,
				sizeof(pc)) == 0;
		p->profil_stored += good;
	}
	if (!good || p->profil_stored == f->nsamples)
		profil_set(p, NULL);
}

/* The part of this hart's time until now that isn't charged to a thread yet.
 * What other harts take in between (icount.c) isn't in it: both loads of since
 * are of before that, or of after it. */
static UNGUARDED uint64_t
uncharged(void)
{
	uint64_t since, now;

	do {
		since = __atomic_load_n(&this_hart()->since, __ATOMIC_RELAXED);
		now = rdtime();
	} while (__atomic_load_n(&this_hart()->since, __ATOMIC_RELAXED) !=
		 since);
	return now - since;
}

/*
 * The range that contains pc: if ranges overlap, the first one that does; NULL:
 * none. Ranges that end before pc are passed over by halves. (If pc is below
 * low, the difference wraps around, and is larger than any size.)
 */
static const struct range *
find(const struct histogram *f, uintptr_t pc)
{
	const struct range *r = f->range;

	for (size_t n = f->n; n > 1; n -= n / 2)
		if (r[n / 2 - 1].high <= pc)
			r += n / 2;
	do
		if (pc - r->low < r->size)
			return r;
	while (++r < f->range + f->n && r->least <= pc);
	return NULL;
}

/* The same. There may be many ranges, so the sampling clock is told how long
 * this takes beyond an interrupt's time, which it allows for. If the thread has
 * left the hart and come back, what is sure is the time from there on. */
static const struct range *
find_measured(const struct histogram *f, uintptr_t pc)
{
	uint64_t begin = uncharged(), end, time;
	const struct range *r = find(f, pc);

	end = uncharged();
	time = end >= begin ? end - begin : end;
	if (time > interrupt_cost)
		sampleclock_paid(time - interrupt_cost);
	return r;
}

/*
 * Add n ticks to the counter of r that pc belongs to.
 *
 * With AIX, a counter that has reached its limit stays there, and a failed
 * store is ignored. With Solaris, both turn profiling off: count_user returns
 * the limit, or -EFAULT, which as an unsigned number is larger.
 */
static inline void
count_in(struct proc *p, const struct range *r, uintptr_t pc, unsigned int n)
{
	const struct histogram *f = p->histogram;
	unsigned long byte = ((pc - r->low) * r->scale >> 16) + r->up;
	unsigned long slot = byte / sizeof(HISTCOUNTER);
	int value;

	if (slot >= r->ncounters)
		return;
	value = count_user(r->counters + slot * sizeof(HISTCOUNTER), n,
			   f->limit);
	if ((unsigned int)value >= f->limit && f->form == SOLARIS)
		profil_set(p, NULL); /* -EFAULT, too */
}

/* Charge n ticks to pc for a form or a number of ranges that is rare. */
static SLOW_PATH void
charge_slowly(struct proc *p, uintptr_t pc, unsigned int n)
{
	const struct histogram *f = p->histogram;
	const struct range *r;

	if (f->form == PCSAMPLE)
		return store(p, f, pc, n);
	r = find_measured(f, pc);
	if (r != NULL)
		count_in(p, r, pc, n);
}

/* Charge n ticks to pc. The caller must hold p->profil_lock. */
static inline void
profil_charge(struct proc *p, uintptr_t pc, unsigned int n)
{
	const struct histogram *f = p->histogram;

	must_hold(&p->profil_lock);
	if (f == NULL || n == 0)
		return;
	if (f->n != 1)
		charge_slowly(p, pc, n);
	else if (pc - f->range->low < f->range->size)
		count_in(p, f->range, pc, n);
}

/* Synthetic samples have a pc of their own. */
static SLOW_PATH void
pay_for_made(struct proc *p, struct thread *t)
{
	unsigned int n = t->profil_made;

	t->profil_made = 0;
	profil_charge(p, t->profil_pc, n);
}

/*
 * All other samples have the pc of the trap frame. profil_ticks is fetched and
 * cleared in one step, since a tick may interrupt this code and add to it. Such
 * a tick sets WORK_PROFIL again: the thread comes back here before it enters
 * user mode.
 */
void
profil_pay(void)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned int ticks;

	mutex_lock(&p->profil_lock);
	if (t->profil_made != 0)
		pay_for_made(p, t);
	ticks = __atomic_exchange_n(&t->profil_ticks, 0, __ATOMIC_RELAXED);
	profil_charge(p, t->tf.sepc, ticks);
	mutex_unlock(&p->profil_lock);
}

/* A histogram with one reference and room for n ranges; NULL: no memory. */
static struct histogram *
profil_new(enum form form, unsigned int n)
{
	size_t size = sizeof(struct histogram) + n * sizeof(struct range);
	struct histogram *f = NULL;

	if (page_spare(1 + size / PAGE_SIZE, LEFT_BY_PROGRAMS))
		f = kzalloc(size);
	if (f != NULL) {
		f->refs = 1;
		f->form = form;
		f->limit = form == SOLARIS ? SHRT_MAX : USHRT_MAX;
		f->n = n;
	}
	return f;
}

/* The range that the plain form of the call describes: buffer and bytes, all
 * addresses from low on, and scale. */
static struct prof
range_of(const unsigned long *arg, uintptr_t low, unsigned int scale)
{
	return (struct prof){
	    .p_low = low,
	    .p_high = ULONG_MAX,
	    .p_buff = (HISTCOUNTER *)arg[0],
	    .p_bufsize = arg[1],
	    .p_scale = scale,
	};
}

/*
 * Compute from the arguments what the sampler's formula needs. With a scale of
 * 0 or 1 a range has no counters, and so counts nothing. AIX's scale 2 means
 * one counter for the whole range. This is stored as scale 0: the formula then
 * yields byte 1, in the first counter, for every pc.
 */
static struct range
range_make(const struct prof *r, enum form form, unsigned int scale)
{
	uintptr_t size = r->p_low < r->p_high ? r->p_high - r->p_low : 0;
	unsigned int bytes = scale > 1 ? r->p_bufsize : 0;

	return (struct range){
	    .low = r->p_low,
	    .high = r->p_high,
	    .least = r->p_low,
	    .size = size < RANGE_MAX ? size : RANGE_MAX,
	    .counters = (uintptr_t)r->p_buff,
	    .ncounters = bytes / sizeof(HISTCOUNTER),
	    .scale = form != SOLARIS && scale == 2 ? 0 : scale,
	    .up = form != SOLARIS,
	};
}

/* The smallest block of memory that contains all buffers of a call. */
struct space {
	uintptr_t start, end;
};

/*
 * AIX pins buffers in memory. Here a buffer is only made present: each of its
 * pages is read in, and copied if it was shared since a fork. The buffer is
 * added to the space of all buffers.
 */
static int
buffer_pin(const struct prof *r, struct space *all)
{
	uintptr_t start = (uintptr_t)r->p_buff;
	uintptr_t end = start + (unsigned int)r->p_bufsize;

	if (start == end)
		return 0;
	if (start % sizeof(HISTCOUNTER) != 0 || start > USER_TOP ||
	    end > USER_TOP)
		return -EFAULT;
	for (uintptr_t va = start; va < end; va += PAGE_SIZE - va % PAGE_SIZE)
		if (aspace_fault(current->proc->as, va, PROT_W) < 0)
			return -EFAULT;
	all->start = start < all->start ? start : all->start;
	all->end = end > all->end ? end : all->end;
	return 0;
}

/*
 * The scale of a range. A p_scale of -1 stands for the largest scale with which
 * the last pc of the range still has a counter. As AIX rounds odd results up,
 * the byte of that pc must be at most bytes - 2, where the last counter begins:
 *
 *	last * scale >> 16 <= bytes - 2
 *	last * scale       <= ((bytes - 1) << 16) - 1
 *
 * If not even 2 satisfies that, the scale is 2: one counter for the range.
 */
static unsigned int
range_scale(const struct prof *r)
{
	unsigned long bytes = (unsigned int)r->p_bufsize / 2 * 2;
	unsigned long last = r->p_high - r->p_low - 1, scale;

	if (r->p_scale != UINT_MAX)
		return r->p_scale & USHRT_MAX;
	scale = (((bytes - 1) << 16) - 1) / (last ? last : 1);
	if (scale < 2)
		return 2;
	return scale < USHRT_MAX ? scale : USHRT_MAX;
}

/* Returns the number of ranges in a user's array, which ends with a p_high of
 * 0; -EFAULT if it can't be read, or has more than PROF_MAX. */
static int
ranges_count(uintptr_t array)
{
	struct prof r;

	for (int n = 0; n <= PROF_MAX; n++, array += sizeof(r)) {
		if (copy_in(&r, array, sizeof(r)) < 0)
			return -EFAULT;
		if (r.p_high == 0)
			return n;
	}
	return -EFAULT;
}

/*
 * Fill in f's ranges: from the user's array, or from r, the only one. Returns
 * -EINVAL if p_high doesn't ascend; -EFAULT if the process can't write to a
 * buffer, or to some memory between two of them: AIX wants all buffers in one
 * block of memory.
 *
 * ranges_count has read the array before, and another thread may have changed
 * it since. That does no harm: f->n stays, and what is read now is checked now.
 */
static int
ranges_make(struct histogram *f, uintptr_t array, struct prof r)
{
	struct space all = {USER_TOP, 0};
	uintptr_t high = 0; /* of the one before */

	for (unsigned int i = 0; i < f->n; i++, array += sizeof(r)) {
		if (f->form == AIX_RANGES && copy_in(&r, array, sizeof(r)) < 0)
			return -EFAULT;
		if (i > 0 && r.p_high <= high)
			return -EINVAL;
		if (buffer_pin(&r, &all) < 0)
			return -EFAULT;
		high = r.p_high;
		f->range[i] = range_make(&r, f->form, range_scale(&r));
	}
	for (unsigned int i = f->n - 1; i > 0; i--)
		if (f->range[i].least < f->range[i - 1].least)
			f->range[i - 1].least = f->range[i].least;
	return aspace_writable(current->proc->as, all.start, all.end) ? 0
								      : -EFAULT;
}

/*
 * Both forms of AIX's call, which never replaces a histogram. It does nothing,
 * and succeeds, if sampling is on already, or off already, or was turned on by
 * another form and is to be turned off by this one. Only an array that can't be
 * read is an error even then. Without memory it fails with EFAULT, AIX's error
 * when it can't pin a buffer. The caller must hold p->profil_lock.
 */
static int
aix_profil(struct proc *p, const unsigned long *arg)
{
	bool ranges = (unsigned int)arg[1] == UINT_MAX;
	enum form form = ranges ? AIX_RANGES : AIX_BUFFER;
	unsigned int scale = arg[3] & USHRT_MAX;
	int n = ranges ? ranges_count(arg[0]) : scale > 1; /* 0: off */
	struct histogram *f;
	int r;

	must_hold(&p->profil_lock);
	if (n == 0 && p->histogram != NULL && p->histogram->form == form)
		profil_set(p, NULL);
	if (n <= 0 || p->histogram != NULL)
		return n < 0 ? n : 0;
	f = profil_new(form, n);
	if (f == NULL)
		return -EFAULT;
	r = ranges_make(f, arg[0], range_of(arg, arg[2], scale));
	if (r < 0) {
		kfree(f);
	} else {
		profil_set(p, f);
		p->profil_stored = 0;
	}
	return r;
}

long
sys_aix_profil(const unsigned long *arg)
{
	struct proc *p = current->proc;
	int r;

	mutex_lock(&p->profil_lock);
	r = aix_profil(p, arg);
	mutex_unlock(&p->profil_lock);
	return r;
}

/* Solaris's call replaces whatever there was, and checks nothing. A bad buffer
 * is noticed when a counter can't be changed: that turns profiling off. */
long
sys_profil(const unsigned long *arg)
{
	unsigned int offset = arg[2], scale = arg[3];
	struct histogram *f = NULL;
	struct prof r;

	if (scale > 1) {
		f = profil_new(SOLARIS, 1);
		if (f == NULL)
			return -ENOMEM;
		r = range_of(arg, offset, scale);
		f->range[0] = range_make(&r, SOLARIS, scale);
	}
	replace(current->proc, f);
	return 0;
}

/* Solaris's, too: it replaces whatever there was, and doesn't check the array.
 * Returns how many pcs have been stored since the last call. */
long
sys_pcsample(const unsigned long *arg)
{
	struct histogram *f = NULL;

	if ((long)arg[1] < 0)
		return -EINVAL;
	if (arg[1] != 0) {
		f = profil_new(PCSAMPLE, 0);
		if (f == NULL)
			return -ENOMEM;
		f->samples = arg[0];
		f->nsamples = arg[1];
	}
	return replace(current->proc, f);
}

const struct proc_profil profil_calls = {
    .fork = profil_fork,
    .off = profil_off,
};

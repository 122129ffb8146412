/*
 * profil: a histogram of where a process is at the clock's ticks, kept in its
 * own memory. profil(2) has the two flavours of it, AIX's and Solaris's;
 * pcsample(2) keeps the addresses themselves instead.
 *
 * The sampler can't touch user memory. It notes that the interrupted thread
 * owes a tick; on its way back to user mode the thread charges what it owes,
 * where counters may be faulted in or copied. A tick is charged at the pc that
 * it returns to: that is where it was interrupted if that was in user mode.
 *
 * What a call asked for, struct profil, never changes: another call makes
 * another one. So a fork can share it, and can't fail for it.
 */
#include <limits.h>
#include <mon.h>

#include "../sample.h"
#include "../syscall.h"
#include "proc.h"

/* Which call turned it on. */
enum form { AIX_BUFFER, AIX_RANGES, SOLARIS, PCSAMPLE };

/* A pc from low on, and so many, has counter (offset * scale >> 16) + up, in
 * bytes, rounded down, if there are so many. */
struct range {
	uintptr_t low, size;
	uintptr_t counters; /* the user's address */
	unsigned long ncounters;
	unsigned long scale, up;
};

struct profil {
	unsigned int refs; /* atomic: processes */
	enum form form;
	uintptr_t samples; /* PCSAMPLE: the user's array, and its length */
	unsigned long nsamples;
	unsigned int limit; /* of counters */
	unsigned int n;
	struct range range[]; /* n of them */
};

#define RANGE_MAX (1UL << 32) /* more than user mode has addresses */

/* Any hart, SIE=0. A made-up sample may be of another process. */
static void
profil_count(const struct sample *s)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	bool made = s->thread == NULL;

	if (p == NULL || __atomic_load_n(&p->profil, __ATOMIC_RELAXED) == NULL)
		return;
	if (made && (p->pid != s->pid || s->mode == SAMPLE_IDLE))
		return;
	if (made && s->mode == SAMPLE_USER) {
		t->profil_pc = s->pc;
		t->profil_made++;
	} else {
		__atomic_add_fetch(&t->profil_ticks, 1, __ATOMIC_RELAXED);
	}
	__atomic_or_fetch(&t->work, WORK_PROFIL, __ATOMIC_RELAXED);
}

/* armed is how many processes have one. */
struct profiler profil_profiler = {.count = profil_count};

static void
arm(int processes)
{
	__atomic_add_fetch(&profil_profiler.armed, processes, __ATOMIC_RELAXED);
}

static void
profil_put(struct profil *f)
{
	if (f != NULL && __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) == 0)
		kfree(f);
}

/* Let p have f from now on, NULL for none. Its lock is held. What pcsample
 * stored is counted until the next call. */
static void
profil_set(struct proc *p, struct profil *f)
{
	struct profil *old = p->profil;

	__atomic_store_n(&p->profil, f, __ATOMIC_RELAXED);
	arm((f != NULL) - (old != NULL));
	profil_put(old);
}

void
profil_fork(struct proc *child, struct proc *parent)
{
	mutex_lock(&parent->profil_lock);
	child->profil = parent->profil;
	child->profil_stored = parent->profil_stored;
	if (child->profil != NULL) {
		__atomic_add_fetch(&child->profil->refs, 1, __ATOMIC_RELAXED);
		arm(1);
	}
	mutex_unlock(&parent->profil_lock);
}

/* From now on p has f, whatever there was. Gives what pcsample had stored. */
static unsigned long
replace(struct proc *p, struct profil *f)
{
	unsigned long stored;

	mutex_lock(&p->profil_lock);
	stored = p->profil_stored;
	p->profil_stored = 0;
	profil_set(p, f);
	mutex_unlock(&p->profil_lock);
	return stored;
}

void
profil_off(struct proc *p)
{
	replace(p, NULL);
}

/* Store pc n times; a full array, or one that can't be written, ends it. */
static __attribute__((noinline)) void
store(struct proc *p, const struct profil *f, uintptr_t pc, unsigned int n)
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

/* Charge n ticks at pc. The lock is held. Of ranges that overlap the first
 * counts. */
static inline void
charge(struct proc *p, uintptr_t pc, unsigned int n)
{
	const struct profil *f = p->profil;
	const struct range *r;
	unsigned long slot;
	int value;

	if (f == NULL || n == 0)
		return;
	if (f->form == PCSAMPLE)
		return store(p, f, pc, n);
	for (r = f->range; pc - r->low >= r->size; r++)
		if (r == &f->range[f->n - 1])
			return;
	slot = (((pc - r->low) * r->scale >> 16) + r->up) / sizeof(HISTCOUNTER);
	if (slot >= r->ncounters)
		return;
	value = count_user(r->counters + slot * sizeof(HISTCOUNTER), n,
			   f->limit);
	if ((unsigned int)value >= f->limit && f->form == SOLARIS)
		profil_set(p, NULL); /* -EFAULT, too */
}

void
profil_pay(void)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned int made = t->profil_made;

	mutex_lock(&p->profil_lock);
	if (made != 0) {
		t->profil_made = 0;
		charge(p, t->profil_pc, made);
	}
	charge(p, t->tf.sepc,
	       __atomic_exchange_n(&t->profil_ticks, 0, __ATOMIC_RELAXED));
	mutex_unlock(&p->profil_lock);
}

/* A new one, with room for n ranges. NULL: no memory. */
static struct profil *
profil_new(enum form form, unsigned int n)
{
	size_t size = sizeof(struct profil) + n * sizeof(struct range);
	struct profil *f = NULL;

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

/* The range that four plain arguments mean. */
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

/* With scale 0 or 1 it counts nothing; AIX's 2 is for one counter in all. */
static struct range
range_make(const struct prof *r, enum form form, unsigned int scale)
{
	uintptr_t size = r->p_low < r->p_high ? r->p_high - r->p_low : 0;
	unsigned int bytes = scale > 1 ? r->p_bufsize : 0;

	return (struct range){
	    .low = r->p_low,
	    .size = size < RANGE_MAX ? size : RANGE_MAX,
	    .counters = (uintptr_t)r->p_buff,
	    .ncounters = bytes / sizeof(HISTCOUNTER),
	    .scale = form != SOLARIS && scale == 2 ? 0 : scale,
	    .up = form != SOLARIS,
	};
}

struct space {
	uintptr_t start, end;
};

/* AIX pins a buffer: here it is at least present, and the process's own. Widen
 * the space of all buffers by it. */
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
 * The scale of a range. -1 leaves it to be computed: the largest with which the
 * last pc has a counter too. As results are rounded up, its byte must come to
 * bytes - 2 at most. A range too large for its buffer has one counter for all.
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

/* How many ranges there are before the end of a user's array; or -EFAULT. */
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

/* Make f's ranges of a user's array, or of the only one. Are they in order,
 * their buffers good, and the space that these lie in without a hole? */
static int
ranges_make(struct profil *f, uintptr_t array, struct prof r)
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
	return aspace_writable(current->proc->as, all.start, all.end) ? 0
								      : -EFAULT;
}

/*
 * AIX: whether the call is to do anything, the present state decides first.
 * The lock is held.
 */
static int
aix_profil(struct proc *p, const unsigned long *arg)
{
	bool ranges = (unsigned int)arg[1] == UINT_MAX;
	enum form form = ranges ? AIX_RANGES : AIX_BUFFER;
	unsigned int scale = arg[3] & USHRT_MAX;
	int n = ranges ? ranges_count(arg[0]) : scale > 1; /* 0: off */
	struct profil *f;
	int r;

	if (n == 0 && p->profil != NULL && p->profil->form == form)
		profil_set(p, NULL);
	if (n <= 0 || p->profil != NULL)
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

/* Solaris: each call replaces what there was, and checks nothing. */
long
sys_profil(const unsigned long *arg)
{
	unsigned int offset = arg[2], scale = arg[3];
	struct profil *f = NULL;
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

/* As Solaris has it: it, too, replaces what there was, and checks nothing. */
long
sys_pcsample(const unsigned long *arg)
{
	struct profil *f = NULL;

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

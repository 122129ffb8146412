/*
 * profil32: a histogram of 32-bit counters in the process's own memory. See
 * README.md of the lab.
 *
 * The sampler may not touch user memory. It notes what a thread owes, and the
 * thread pays on its way back to user mode, where it may fault.
 */
#include <errno.h>
#include <sys/profil32.h>

#include "base/syscall.h"
#include "lab.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "profil.h"
#include "sample.h"

#define SHIFT_MAX 31
#define USER_END  (1UL << 38)

struct profil32_histogram {
	struct profil32 p;
	uint64_t n; /* counters */
	uint64_t charged;
};

static void
profil32_count(const struct sample *s)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	bool made = s->thread == NULL;

	if (p == NULL ||
	    __atomic_load_n(&p->profil32, __ATOMIC_RELAXED) == NULL)
		return;
	if (s->mode == SAMPLE_IDLE || (made && p->pid != s->pid))
		return;
	if (s->mode != SAMPLE_USER && !LAB_KERNEL)
		return;
	if (made && s->mode == SAMPLE_USER) {
		t->profil32_pc = s->pc;
		t->profil32_made++;
	} else {
		__atomic_add_fetch(&t->profil32_ticks, 1, __ATOMIC_RELAXED);
	}
	__atomic_or_fetch(&t->work, WORK_PROFIL, __ATOMIC_RELAXED);
}

struct profiler profil32_profiler = {.armed = 1, .count = profil32_count};

/* The number of a pc's counter, or n: it has none. */
static uint64_t
counter_of(const struct profil32_histogram *h, uint64_t pc)
{
	uint64_t from = pc - h->p.low, i;

	if (pc < h->p.low)
		return LAB_OUTSIDE(h->n);
	i = (from + LAB_ROUND(h->p.shift)) >> h->p.shift;
	return i < h->n ? i : LAB_OUTSIDE(h->n);
}

/* Replace it by another, or NULL. The caller holds the lock. */
static uint64_t
put(struct proc *p, struct profil32_histogram *new)
{
	struct profil32_histogram *old = p->profil32;
	uint64_t charged = old != NULL ? old->charged : 0;

	__atomic_store_n(&p->profil32, new, __ATOMIC_RELAXED);
	kfree(old);
	return charged;
}

/* The caller holds the lock, which is a mutex: this may fault. */
static void
charge(struct proc *p, uint64_t pc, unsigned int n)
{
	struct profil32_histogram *h = p->profil32;
	uint64_t i, at;
	uint32_t value;

	if (h == NULL || n == 0)
		return;
	i = counter_of(h, pc);
	if (i >= h->n)
		return;
	at = h->p.buffer + i * sizeof(value);
	if (copy_in(&value, at, sizeof(value)) < 0)
		goto gone;
	value = LAB_WRAPS || n <= UINT32_MAX - value ? value + n : UINT32_MAX;
	if (copy_out(at, &value, sizeof(value)) < 0)
		goto gone;
	h->charged += n;
	return;
gone:
	if (LAB_GONE_OFF)
		put(p, NULL);
}

void
profil32_pay(void)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned int made = t->profil32_made;

	t->profil32_made = 0;
	mutex_lock(&p->profil32_lock);
	charge(p, t->profil32_pc, made);
	charge(p, t->tf.sepc,
	       __atomic_exchange_n(&t->profil32_ticks, 0, __ATOMIC_RELAXED));
	mutex_unlock(&p->profil32_lock);
}

void
profil32_fork(struct proc *child, struct proc *parent)
{
	struct profil32_histogram *h = NULL;

	mutex_lock(&parent->profil32_lock);
	if (LAB_INHERITS && parent->profil32 != NULL)
		h = kmalloc(sizeof(*h));
	if (h != NULL) {
		*h = *parent->profil32;
		h->charged = 0;
	}
	child->profil32 = h;
	mutex_unlock(&parent->profil32_lock);
}

void
profil32_off(struct proc *p)
{
	mutex_lock(&p->profil32_lock);
	put(p, NULL);
	mutex_unlock(&p->profil32_lock);
}

/* What the arguments ask for: 0, or an error. */
static int
make(uintptr_t from, struct profil32_histogram **out)
{
	struct profil32_histogram *h, new = {0};

	if (copy_in(&new.p, from, sizeof(new.p)) < 0)
		return -EFAULT;
	new.n = LAB_COUNTERS(new.p.size);
	if (new.p.buffer % sizeof(uint32_t) != 0 || new.p.shift > SHIFT_MAX ||
	    new.n == 0)
		return -EINVAL;
	if (new.p.buffer >= USER_END ||
	    new.n > (USER_END - new.p.buffer) / sizeof(uint32_t))
		return -EFAULT;
	if (LAB_CHECKED &&
	    !aspace_writable(current->proc->as, new.p.buffer,
			     new.p.buffer + new.n * sizeof(uint32_t)))
		return -EFAULT;
	h = kmalloc(sizeof(*h));
	if (h == NULL)
		return -ENOMEM;
	*h = new;
	*out = h;
	return 0;
}

long
sys_profil32(const unsigned long *arg)
{
	struct proc *p = current->proc;
	struct profil32_histogram *new = NULL;
	long charged;
	int r = arg[0] != 0 ? make(arg[0], &new) : 0;

	if (r < 0)
		return r;
	mutex_lock(&p->profil32_lock);
	charged = put(p, new);
	mutex_unlock(&p->profil32_lock);
	return charged;
}

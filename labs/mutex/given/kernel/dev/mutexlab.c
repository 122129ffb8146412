/*
 * /dev/mutexlab: makes the order visible in which threads get a mutex.
 *
 * A program can't take a mutex of the kernel's and return to user mode with it.
 * So it asks, by an ioctl, for something to be done with a mutex held:
 *
 *	hold	Keep the mutex until another process lets the holder go, as
 *		often as the argument says, asking again right after each time.
 *	add	Add 1 to a sum, without atomics; a lost addition shows that two
 *		threads had the mutex at once.
 *	relay	Pass the mutex round among some callers. Each keeps it until all
 *		others want it, so every release finds all of them waiting.
 *
 * None of this may be ended by a signal, since a mutex is waited for without.
 */
#include <errno.h>

#include "base/riscv.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "sched/check_locks.h"
#include "sched/lock.h"

#include "mutexlab.h"

#define MUTEXES  2
#define PATIENCE 100 /* ms */

static struct place {
	struct mutex mutex;
	unsigned int sum; /* under mutex */

	struct spinlock lock; /* guards these: */
	struct waitq changed; /* one of the next three was */
	unsigned int holder;  /* its name; 0: nobody holds */
	unsigned int asking;  /* how many want the mutex, to hold or relay */
	unsigned int done;    /* how many of a relay have come to its end */

	unsigned int wanted, left; /* atomics */
} places[MUTEXES];

static void
mutexlab_init(void)
{
	for (unsigned int i = 0; i < MUTEXES; i++) {
		struct place *p = &places[i];

		p->mutex = (struct mutex)MUTEX("mutexlab", p->mutex);
		p->lock = (struct spinlock)SPINLOCK1("mutexlab place");
		p->changed = (struct waitq)WAITQ_INIT(p->changed);
	}
}

/* Take p's mutex, and then p->lock. */
static void
enter(struct place *p)
{
	spin_lock(&p->lock);
	p->asking++;
	wake_all(&p->changed);
	spin_unlock(&p->lock);
	mutex_lock(&p->mutex);
	spin_lock(&p->lock);
	p->asking--;
}

static void
leave(struct place *p)
{
	spin_unlock(&p->lock);
	mutex_unlock(&p->mutex);
}

static void
hold(struct place *p, unsigned int name, unsigned int times)
{
	while (times-- > 0) {
		enter(p);
		p->holder = name;
		wake_all(&p->changed);
		while (p->holder == name)
			wait_uninterruptible(&p->changed, &p->lock);
		leave(p);
	}
}

/* Wait until n callers want p's mutex and haven't got it; but not for long, as
 * it may have gone to one of them that doesn't want it again. */
static int
wait_asking(struct place *p, unsigned int n)
{
	unsigned long deadline = rdtime() + machine.timebase / 1000 * PATIENCE;
	int r = 0;

	spin_lock(&p->lock);
	while (p->asking < n && r == 0)
		r = wait_until(&p->changed, &p->lock, deadline);
	if (r == -ETIMEDOUT)
		r = 0;
	spin_unlock(&p->lock);
	return r;
}

static int
look(struct place *p)
{
	int r = 0;

	spin_lock(&p->lock);
	while (p->holder == 0 && r == 0)
		r = wait_on(&p->changed, &p->lock);
	if (r == 0)
		r = p->holder;
	spin_unlock(&p->lock);
	return r;
}

static void
let_go(struct place *p)
{
	spin_lock(&p->lock);
	p->holder = 0;
	wake_all(&p->changed);
	spin_unlock(&p->lock);
}

static inline void
go_round(volatile unsigned int rounds)
{
	while (rounds > 0)
		rounds--;
}

/* Rounds with the mutex make it likely that another thread finds it taken;
 * rounds without, that it finds it free. */
static void
add(struct place *p, unsigned int with, unsigned int without,
    unsigned int times)
{
	while (times-- > 0) {
		unsigned int sum;

		mutex_lock(&p->mutex);
		sum = p->sum;
		go_round(with);
		p->sum = sum + 1;
		mutex_unlock(&p->mutex);
		go_round(without);
	}
}

static int
take_sum(struct place *p)
{
	unsigned int sum;

	mutex_lock(&p->mutex);
	sum = p->sum;
	p->sum = 0;
	mutex_unlock(&p->mutex);
	return sum;
}

static void
relay(struct place *p, unsigned int members, unsigned int times)
{
	while (times-- > 0) {
		enter(p);
		while (p->asking + p->done < members - 1)
			wait_uninterruptible(&p->changed, &p->lock);
		leave(p);
	}
	spin_lock(&p->lock);
	if (++p->done == members)
		p->done = 0;
	wake_all(&p->changed);
	spin_unlock(&p->lock);
}

/*
 * The ordinary build tells its checks nothing. Here it does, and counts what
 * they would hear about these mutexes. The debug build has checks of its own.
 */
#ifdef CHECKS
#define COUNTED(n) (-ENOSYS)
#else
#define COUNTED(n) __atomic_load_n(&(n), __ATOMIC_RELAXED)

static struct place *
place_of(const struct mutex *m)
{
	for (unsigned int i = 0; i < MUTEXES; i++)
		if (m == &places[i].mutex)
			return &places[i];
	return NULL;
}

void
check_mutex_lock(const struct mutex *m, void *)
{
	struct place *p = place_of(m);

	if (p)
		__atomic_add_fetch(&p->wanted, 1, __ATOMIC_RELAXED);
}

void
check_mutex_unlock(const struct mutex *m)
{
	struct place *p = place_of(m);

	if (p)
		__atomic_add_fetch(&p->left, 1, __ATOMIC_RELAXED);
}
#endif

static int
mutexlab_ioctl(struct vnode *, struct file *, unsigned int cmd, uintptr_t arg)
{
	unsigned int mutex = arg & 15, a = arg >> 4 & 0xfff, b = arg >> 16;
	struct place *p = &places[mutex % MUTEXES];

	if (mutex >= MUTEXES)
		return -EINVAL;
	switch (cmd) {
	case MUTEX_HOLD:
		hold(p, a, b);
		return 0;
	case MUTEX_LOOK:
		return look(p);
	case MUTEX_ASKING:
		return wait_asking(p, a);
	case MUTEX_LET_GO:
		let_go(p);
		return 0;
	case MUTEX_ADD:
		add(p, a & 63, a >> 6, b);
		return 0;
	case MUTEX_SUM:
		return take_sum(p);
	case MUTEX_RELAY:
		relay(p, a, b);
		return 0;
	case MUTEX_WANTED:
		return COUNTED(p->wanted);
	case MUTEX_LEFT:
		return COUNTED(p->left);
	}
	return -ENOTTY;
}

static const struct devfile files[] = {
    {.name = "mutexlab", .mode = 0600},
    {0},
};

const struct device mutexlab_device = {
    .files = files,
    .stream = true,
    .init = mutexlab_init,
    .ops.ioctl = mutexlab_ioctl,
};

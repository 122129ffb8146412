/*
 * select and poll: waiting for any of several files.
 *
 * First the files are asked what is ready; mostly something is, and that's
 * all. Else the thread puts a waiter on the queues of all files, which each
 * file's poll does through poll_wait, as it's asked once more; and sleeps
 * until one is woken. A waiter of this kind doesn't wake the thread itself:
 * it calls poll_woken, which leaves a mark. So a wake-up that comes before
 * the thread sleeps, while it still asks other files, isn't lost.
 */
#include <errno.h>
#include <poll.h>
#include <sys/select.h>

#include "../machine.h"
#include "../print.h"
#include "../proc/proc.h"
#include "../syscall.h"
#include "vfs.h"

#define US_PER_S 1000000

/* One file of interest. */
struct watch {
	struct file *file;        /* referenced; NULL: nothing to watch */
	unsigned int want, ready; /* POLL* */
};

/* A place in a queue. */
struct place {
	struct waiter waiter;
	struct spinlock *lock; /* guards that queue */
};

struct poller {
	struct spinlock lock; /* level 5; guards woken and wait */
	bool woken;
	struct waitq wait; /* the thread */

	/* The thread's own. */
	unsigned int nplaces, max;
	struct place place[];
};

void
poll_wait(struct poller *p, struct waitq *q, struct spinlock *lk)
{
	struct place *place;

	if (p == NULL)
		return;
	assert(p->nplaces < p->max);
	place = &p->place[p->nplaces++];
	*place = (struct place){.waiter.poller = p, .lock = lk};
	list_append(&q->waiters, &place->waiter.link);
}

/* From wake_all, for a waiter that poll_wait has put there. The lock that
 * guards its queue is held, so the poller can't go away. */
void
poll_woken(struct poller *p)
{
	spin_lock(&p->lock);
	p->woken = true;
	wake_all(&p->wait);
	spin_unlock(&p->lock);
}

/* One for n files. */
static struct poller *
poller_create(unsigned int n)
{
	unsigned int max = n * POLL_QUEUES;
	struct poller *p = kmalloc(sizeof *p + max * sizeof p->place[0]);

	if (p == NULL)
		return NULL;
	p->max = max;
	p->lock = (struct spinlock)SPINLOCK5("poller");
	p->woken = false;
	waitq_init(&p->wait);
	p->nplaces = 0;
	return p;
}

/* Leave all queues. */
static void
poller_leave(struct poller *p)
{
	for (unsigned int i = 0; i < p->nplaces; i++) {
		struct place *place = &p->place[i];

		spin_lock(place->lock);
		list_remove(&place->waiter.link);
		spin_unlock(place->lock);
	}
	p->nplaces = 0;
}

/* Sleep until woken; 0, or -ERESTART or -ETIMEDOUT. */
static int
poller_sleep(struct poller *p, unsigned long deadline)
{
	int r = 0;

	spin_lock(&p->lock);
	while (!p->woken && r == 0)
		r = wait_until(&p->wait, &p->lock, deadline);
	p->woken = false;
	spin_unlock(&p->lock);
	return r;
}

/* Ask all files; gives how many have something of interest. */
static int
scan(struct watch *w, unsigned int n, struct poller *p)
{
	int count = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (w[i].file != NULL)
			w[i].ready = file_poll(w[i].file, p) & w[i].want;
		count += w[i].ready != 0;
	}
	return count;
}

/* Wait until a file is ready or deadline has passed (0: has long). Gives how
 * many are ready, -EINTR, or -ENOMEM. */
static int
watch_wait(struct watch *w, unsigned int n, unsigned long deadline)
{
	int count = scan(w, n, NULL), r = 0;
	struct poller *p;

	if (count > 0 || deadline == 0)
		return count;
	p = poller_create(n);
	if (p == NULL)
		return -ENOMEM;
	while ((count = scan(w, n, p)) == 0 && r == 0) {
		r = poller_sleep(p, deadline);
		poller_leave(p);
	}
	poller_leave(p);
	kfree(p);
	return count == 0 && r == -ERESTART ? -EINTR : count;
}

static void
watch_release(struct watch *w, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (w[i].file != NULL)
			file_put(w[i].file);
	kfree(w);
}

/* The deadline, in counts of rdtime, that is so far away; 0: at once. */
static unsigned long
deadline_after(uint64_t seconds, uint64_t us)
{
	uint64_t now = rdtime();

	if (seconds == 0 && us == 0)
		return 0;
	if (seconds >= (WAIT_FOREVER - now) / machine.timebase - 1)
		return WAIT_FOREVER;
	/* Rounded up: never early. */
	return now + seconds * machine.timebase +
	       (us * machine.timebase + US_PER_S - 1) / US_PER_S;
}

/* poll's list becomes watches; an entry whose descriptor is bad is ready. */
static void
watch_pollfds(struct watch *w, const struct pollfd *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (fds[i].fd < 0)
			continue;
		w[i].file = fd_get(fds[i].fd);
		w[i].want = (unsigned short)fds[i].events | POLLERR | POLLHUP;
		w[i].ready = w[i].file == NULL ? POLLNVAL : 0;
	}
}

static long
poll_fds(struct pollfd *fds, unsigned int n, unsigned long deadline)
{
	struct watch *w = kzalloc(n * sizeof *w);
	int r;

	if (w == NULL)
		return -ENOMEM;
	watch_pollfds(w, fds, n);
	r = watch_wait(w, n, deadline);
	for (unsigned int i = 0; i < n; i++)
		fds[i].revents = w[i].ready;
	watch_release(w, n);
	return r;
}

long
sys_poll(const unsigned long *arg)
{
	unsigned long n = arg[1];
	int ms = arg[2];
	unsigned long deadline = WAIT_FOREVER;
	struct pollfd *fds;
	long r;

	if (n > FD_MAX)
		return -EINVAL;
	fds = kmalloc((n + 1) * sizeof *fds); /* n may be 0: a plain sleep */
	if (fds == NULL)
		return -ENOMEM;
	if (ms >= 0)
		deadline = deadline_after(ms / 1000, ms % 1000 * 1000);
	r = copy_in(fds, arg[0], n * sizeof *fds);
	if (r == 0)
		r = poll_fds(fds, n, deadline);
	if (r >= 0 && copy_out(arg[0], fds, n * sizeof *fds) < 0)
		r = -EFAULT;
	kfree(fds);
	return r;
}

/* select's three sets, as poll's events; and what fills each in the answer. */
enum { SETS = 3 };

static const unsigned int set_want[SETS] = {
    POLLIN | POLLHUP | POLLERR,
    POLLOUT | POLLERR,
    POLLPRI,
};

_Static_assert(sizeof(fd_set) == sizeof(uint64_t) && FD_SETSIZE == FD_MAX,
	       "a set of descriptors is one word");

/* The sets become watches; -EBADF if one names a bad descriptor. */
static int
watch_sets(struct watch *w, const uint64_t set[SETS], unsigned int n)
{
	for (unsigned int fd = 0; fd < n; fd++) {
		for (int i = 0; i < SETS; i++)
			if (set[i] >> fd & 1)
				w[fd].want |= set_want[i];
		if (w[fd].want == 0)
			continue;
		w[fd].file = fd_get(fd);
		if (w[fd].file == NULL)
			return -EBADF;
	}
	return 0;
}

/* The sets become the answer: gives how many bits they have. */
static int
answer_sets(const struct watch *w, uint64_t set[SETS], unsigned int n)
{
	int count = 0;

	for (int i = 0; i < SETS; i++) {
		uint64_t ready = 0;

		for (unsigned int fd = 0; fd < n; fd++)
			if (set[i] >> fd & 1 && w[fd].ready & set_want[i]) {
				ready |= (uint64_t)1 << fd;
				count++;
			}
		set[i] = ready;
	}
	return count;
}

static int
select_sets(uint64_t set[SETS], unsigned int n, unsigned long deadline)
{
	struct watch *w = kzalloc((n + 1) * sizeof *w);
	int r;

	if (w == NULL)
		return -ENOMEM;
	r = watch_sets(w, set, n);
	if (r == 0)
		r = watch_wait(w, n, deadline);
	if (r >= 0)
		r = answer_sets(w, set, n);
	watch_release(w, n);
	return r;
}

/* select's time limit at address user; 0 means none. */
static int
copy_in_deadline(uintptr_t user, unsigned long *deadline)
{
	struct timeval tv;

	*deadline = WAIT_FOREVER;
	if (user == 0)
		return 0;
	if (copy_in(&tv, user, sizeof tv) < 0)
		return -EFAULT;
	if (tv.tv_sec < 0 || tv.tv_usec < 0 || tv.tv_usec >= US_PER_S)
		return -EINVAL;
	*deadline = deadline_after(tv.tv_sec, tv.tv_usec);
	return 0;
}

long
sys_select(const unsigned long *arg)
{
	int n = arg[0], r;
	const unsigned long *user = &arg[1]; /* the sets' addresses, or 0 */
	uint64_t set[SETS] = {0};
	unsigned long deadline;

	if (n < 0 || n > FD_SETSIZE)
		return -EINVAL;
	for (int i = 0; i < SETS; i++)
		if (user[i] && copy_in(&set[i], user[i], sizeof set[i]) < 0)
			return -EFAULT;
	r = copy_in_deadline(arg[4], &deadline);
	if (r == 0)
		r = select_sets(set, n, deadline);
	if (r < 0)
		return r;
	for (int i = 0; i < SETS; i++)
		if (user[i] && copy_out(user[i], &set[i], sizeof set[i]) < 0)
			return -EFAULT;
	return r;
}

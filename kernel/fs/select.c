/*
 * select and poll: waiting for any of several files.
 *
 * A file that is asked what is ready marks those of its queues that are woken
 * when that changes as polled. To wake one of these is to wake every thread
 * that sleeps here: each asks its files once more. None is missed: changes are
 * counted, and who has asked sleeps only if the count is what it was before.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/select.h>

#include "../proc/proc.h"
#include "../riscv.h"
#include "../syscall.h"
#include "vfs.h"

#define US_PER_S 1000000

/* What a call asks, and what it's told: poll's own terms; select's sets are
 * put in these. */
struct question {
	unsigned int n;
	struct pollfd fd[FD_MAX];
	struct file *file[FD_MAX]; /* referenced; NULL: none */
	unsigned int always;       /* events told even if not asked for */
};

static struct spinlock poll_lock = SPINLOCK5("poll");
/* Under poll_lock: */
static struct waitq pollers = WAITQ_INIT(pollers);
static unsigned long changes; /* of what files are polled for */

void
poll_wake(void)
{
	spin_lock(&poll_lock);
	changes++;
	wake_all(&pollers);
	spin_unlock(&poll_lock);
}

/* Sleep until there are other changes than were seen; 0, or -ERESTART or
 * -ETIMEDOUT. */
static int
await_change(unsigned long seen, unsigned long deadline)
{
	int r = 0;

	spin_lock(&poll_lock);
	while (changes == seen && r == 0)
		r = wait_until(&pollers, &poll_lock, deadline);
	spin_unlock(&poll_lock);
	return r;
}

/* Ask all files; gives how many have something to tell. */
static int
scan(struct question *q)
{
	int count = 0;

	for (unsigned int i = 0; i < q->n; i++) {
		struct pollfd *fd = &q->fd[i];

		fd->revents = 0;
		if (q->file[i] != NULL)
			fd->revents = file_poll(q->file[i]) &
				      (fd->events | q->always);
		else if (fd->fd >= 0)
			fd->revents = POLLNVAL;
		count += fd->revents != 0;
	}
	return count;
}

/* Ask until a file has something to tell or deadline has passed (0: has long).
 * Gives how many have, or -EINTR. */
static int
scan_until(struct question *q, unsigned long deadline)
{
	int r = 0;

	for (;;) {
		unsigned long seen = __atomic_load_n(&changes,
						     __ATOMIC_ACQUIRE);
		int count = scan(q);

		if (count > 0 || deadline == 0 || r == -ETIMEDOUT)
			return count;
		if (r < 0)
			return -EINTR;
		r = await_change(seen, deadline);
	}
}

static int
ask(struct question *q, unsigned long deadline)
{
	int r;

	for (unsigned int i = 0; i < q->n; i++)
		q->file[i] = fd_get(q->fd[i].fd);
	r = scan_until(q, deadline);
	for (unsigned int i = 0; i < q->n; i++)
		if (q->file[i] != NULL)
			file_put(q->file[i]);
	return r;
}

/* The deadline that is so far away, or 0: at once; 0 or -EINVAL. */
static int
deadline_after(time_t sec, long us, unsigned long *deadline)
{
	int r = time_counts(sec, us, US_PER_S, deadline);

	if (r == 0 && *deadline != 0)
		*deadline += rdtime();
	return r;
}

long
sys_poll(const unsigned long *arg)
{
	struct question q;
	unsigned long deadline = WAIT_FOREVER;
	size_t size = arg[1] * sizeof q.fd[0];
	int ms = arg[2], r;

	if (arg[1] > FD_MAX)
		return -EINVAL;
	if (ms >= 0)
		deadline_after(ms / 1000, ms % 1000 * 1000, &deadline);
	if (copy_in(q.fd, arg[0], size) < 0)
		return -EFAULT;
	q.n = arg[1];
	q.always = POLLERR | POLLHUP;
	r = ask(&q, deadline);
	return r >= 0 && copy_out(arg[0], q.fd, size) < 0 ? -EFAULT : r;
}

/* select's three sets, as poll's events: what fills each in the answer. */
enum { SETS = 3 };

static const unsigned int set_events[SETS] = {
    POLLIN | POLLHUP | POLLERR,
    POLLOUT | POLLERR,
    POLLPRI,
};

_Static_assert(sizeof(fd_set) == sizeof(uint64_t) && FD_SETSIZE == FD_MAX,
	       "a set of descriptors is one word");

/* A question for each descriptor that is in any of the sets. */
static void
ask_sets(struct question *q, const uint64_t set[SETS], int n)
{
	uint64_t any = 0;

	q->n = 0;
	q->always = 0;
	for (int i = 0; i < SETS; i++)
		any |= set[i];
	for (int fd = 0; fd < n && any >> fd; fd++) {
		struct pollfd p = {.fd = fd};

		for (int i = 0; i < SETS; i++)
			if (set[i] >> fd & 1)
				p.events |= set_events[i];
		if (p.events != 0)
			q->fd[q->n++] = p;
	}
}

/* The sets become the answer: gives how many bits they have, or -EBADF. */
static int
answer_sets(const struct question *q, uint64_t set[SETS])
{
	uint64_t ready[SETS] = {0};
	int count = 0;

	for (unsigned int k = 0; k < q->n; k++) {
		const struct pollfd *p = &q->fd[k];

		if (p->revents & POLLNVAL)
			return -EBADF;
		for (int i = 0; i < SETS; i++)
			if (set[i] >> p->fd & 1 && p->revents & set_events[i]) {
				ready[i] |= (uint64_t)1 << p->fd;
				count++;
			}
	}
	memcpy(set, ready, sizeof ready);
	return count;
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
	return deadline_after(tv.tv_sec, tv.tv_usec, deadline);
}

long
sys_select(const unsigned long *arg)
{
	int n = arg[0], r;
	const unsigned long *user = &arg[1]; /* the sets' addresses, or 0 */
	struct question q;
	uint64_t set[SETS] = {0};
	unsigned long deadline;

	if (n < 0 || n > FD_SETSIZE)
		return -EINVAL;
	for (int i = 0; i < SETS; i++)
		if (user[i] && copy_in(&set[i], user[i], sizeof set[i]) < 0)
			return -EFAULT;
	r = copy_in_deadline(arg[4], &deadline);
	if (r < 0)
		return r;
	ask_sets(&q, set, n);
	r = ask(&q, deadline);
	if (r >= 0)
		r = answer_sets(&q, set);
	if (r < 0)
		return r;
	for (int i = 0; i < SETS; i++)
		if (user[i] && copy_out(user[i], &set[i], sizeof set[i]) < 0)
			return -EFAULT;
	return r;
}

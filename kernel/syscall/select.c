/*
 * select and poll: waiting for any of several files.
 *
 * A thread asks each of its files what is ready (file_poll). A file that is
 * asked marks as polled those of its wait queues that are woken up when the
 * answer changes. If nothing is ready, the thread sleeps in poll_wait. When any
 * polled queue is woken up, all threads that sleep there wake up, and each asks
 * its files again.
 *
 * No change is missed: changes are counted (sched/poll.c). A thread takes the
 * count before it asks, and sleeps only if the count is still the same. For
 * example, if a file has become ready after it was asked, the count is greater
 * than before, and the thread asks again at once.
 *
 * Both calls use the same code, in poll's terms: select's three sets are turned
 * into poll's events before, and its answer back into sets.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/select.h>

#include "base/riscv.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"
#include "sched/time.h"

#define US_PER_S 1000000

/* What a call asks, and the answer (fd[].revents). */
struct question {
	unsigned int n;
	struct pollfd fd[FD_MAX];
	struct file *file[FD_MAX]; /* referenced; NULL: none */
	unsigned int always;       /* events told even if not asked for */
};

/*
 * Ask all files. Returns how many have an answer other than 0. As in POSIX, a
 * negative descriptor is passed over, and one that isn't open is POLLNVAL.
 */
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

/*
 * Ask until a file has an answer or rdtime() has reached deadline; with
 * deadline 0, ask only once. Returns how many files have an answer, or -EINTR.
 * After a timeout or a signal the files are asked once more, as one may have
 * become ready just then.
 */
static int
scan_until(struct question *q, unsigned long deadline)
{
	int r = 0;

	for (;;) {
		unsigned long seen = poll_changes();
		int count = scan(q);

		if (count > 0 || deadline == 0 || r == -ETIMEDOUT)
			return count;
		if (r < 0)
			return -EINTR;
		r = poll_wait(seen, deadline);
	}
}

/* A reference to each file is held during the wait, as another thread may close
 * the descriptor. Returns what scan_until does. */
static int
ask(struct question *q, unsigned long deadline)
{
	int r;

	for (unsigned int i = 0; i < q->n; i++)
		q->file[i] = fd_get(current->proc->fds, q->fd[i].fd);
	r = scan_until(q, deadline);
	for (unsigned int i = 0; i < q->n; i++)
		if (q->file[i] != NULL)
			file_put(q->file[i]);
	return r;
}

/* Compute the deadline that is sec seconds and us microseconds from now; 0 if
 * that is no time at all. Returns 0, or -EINVAL for a bad time. */
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
	size_t size = arg[1] * sizeof(q.fd[0]);
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

/* Make the question: each of the first n descriptors that is in any of the
 * sets. set_events has errors and hangups, so nothing is asked `always'. */
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

/*
 * Replace the sets by the answer. A descriptor stays in a set if it was there
 * and any of the set's events has come. Returns how many bits are set in all
 * three; -EBADF if a descriptor isn't open, and then the sets are unchanged.
 */
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
	memcpy(set, ready, sizeof(ready));
	return count;
}

/* Compute the deadline from select's struct timeval at address user, which is 0
 * if there is no time limit. */
static int
copy_in_deadline(uintptr_t user, unsigned long *deadline)
{
	struct timeval tv;

	*deadline = WAIT_FOREVER;
	if (user == 0)
		return 0;
	if (copy_in(&tv, user, sizeof(tv)) < 0)
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
		if (user[i] && copy_in(&set[i], user[i], sizeof(set[i])) < 0)
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
		if (user[i] && copy_out(user[i], &set[i], sizeof(set[i])) < 0)
			return -EFAULT;
	return r;
}

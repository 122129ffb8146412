/*
 * pselect6 and ppoll: waiting for any of several files.
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
#include "mm/kmalloc.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "proc/signal.h"
#include "proc/sleep.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"
#include "sched/time.h"

#include "select.h"

#define FEW 64 /* files in a question on the kernel stack */

/* What a call asks, and the answer (fd[].revents). */
struct question {
	unsigned int n;
	struct pollfd *fd;
	struct file **file;  /* referenced; NULL: none */
	unsigned int always; /* events told even if not asked for */
	struct pollfd few_fd[FEW];
	struct file *few_file[FEW];
};

/* Make room for n files: 0 or -ENOMEM. */
static int
question_begin(struct question *q, unsigned int n)
{
	q->fd = q->few_fd;
	q->file = q->few_file;
	if (n <= FEW)
		return 0;
	q->file = kmalloc(n * (sizeof(*q->file) + sizeof(*q->fd)));
	q->fd = (struct pollfd *)(q->file + n);
	return q->file != NULL ? 0 : -ENOMEM;
}

static void
question_end(struct question *q)
{
	if (q->file != q->few_file)
		kfree(q->file);
}

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

/* Compute the deadline from the time limit, a struct timespec at address user:
 * 0 if that is no time at all; without one there is no deadline. */
static int
copy_in_deadline(uintptr_t user, unsigned long *deadline)
{
	int r;

	*deadline = WAIT_FOREVER;
	if (user == 0)
		return 0;
	r = sleep_copy_in(user, deadline);
	if (r == 0 && *deadline != 0)
		*deadline += rdtime();
	return r;
}

/* What is left of the time limit takes its place, as Linux has it. Where it
 * can't be written that is no error: the call has done what was asked for. */
static void
copy_out_rest(uintptr_t user, unsigned long deadline)
{
	uint64_t now = rdtime();
	struct timespec rest;

	if (user == 0 || deadline == 0)
		return;
	rest = time_of_ns(time_of_counts(deadline > now ? deadline - now : 0));
	(void)copy_out(user, &rest, sizeof(rest));
}

int
select_mask_begin(uintptr_t user, size_t size)
{
	sigset_t mask;
	int r;

	if (user == 0)
		return 0;
	r = signal_copy_in_set(&mask, user, size);
	if (r == 0)
		signal_swap_mask(mask);
	return r;
}

int
select_mask_end(uintptr_t user, int r)
{
	if (user != 0 && r != -EINTR)
		signal_unswap_mask();
	return r;
}

/* Ask about what the caller has in its array of pollfds, and answer there. */
static int
poll_user(struct question *q, const unsigned long *arg, unsigned long deadline)
{
	size_t size = arg[1] * sizeof(q->fd[0]);
	int r;

	if (copy_in(q->fd, arg[0], size) < 0)
		return -EFAULT;
	q->n = arg[1];
	q->always = POLLERR | POLLHUP;
	r = select_mask_begin(arg[3], arg[4]);
	if (r < 0)
		return r;
	r = select_mask_end(arg[3], ask(q, deadline));
	return r >= 0 && copy_out(arg[0], q->fd, size) < 0 ? -EFAULT : r;
}

/* ppoll(fds, n, timespec, mask, its size) */
long
sys_ppoll(const unsigned long *arg)
{
	struct question q;
	unsigned long deadline;
	int r;

	if (arg[1] > FD_MAX)
		return -EINVAL;
	r = copy_in_deadline(arg[2], &deadline);
	if (r == 0)
		r = question_begin(&q, arg[1]);
	if (r < 0)
		return r;
	r = poll_user(&q, arg, deadline);
	question_end(&q);
	copy_out_rest(arg[2], deadline);
	return r;
}

/* select's three sets, as poll's events: what fills each in the answer. */
enum { SETS = 3 };

static const unsigned int set_events[SETS] = {
    POLLIN | POLLHUP | POLLERR,
    POLLOUT | POLLERR,
    POLLPRI,
};

/* A set of descriptors: of the user's, which may have more bits, as many words
 * as the first n descriptors need. */
#define SET_WORDS (FD_MAX / 64)

struct sets {
	int n;
	uint64_t word[SETS][SET_WORDS];
};

static bool
has(const struct sets *s, int i, int fd)
{
	return s->word[i][fd / 64] >> fd % 64 & 1;
}

/* Copy the sets in or out; one whose address is 0 is empty. */
static int
copy_sets(struct sets *s, const unsigned long *user, bool in)
{
	size_t size = (s->n + 63) / 64 * sizeof(uint64_t);

	for (int i = 0; i < SETS; i++) {
		int r = 0;

		if (user[i] != 0)
			r = in ? copy_in(s->word[i], user[i], size)
			       : copy_out(user[i], s->word[i], size);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Make the question: each of the first n descriptors that is in any of the
 * sets. set_events has errors and hangups, so nothing is asked `always'. */
static void
ask_sets(struct question *q, const struct sets *s)
{
	q->n = 0;
	q->always = 0;
	for (int fd = 0; fd < s->n; fd++) {
		struct pollfd p = {.fd = fd};

		for (int i = 0; i < SETS; i++)
			if (has(s, i, fd))
				p.events |= set_events[i];
		if (p.events != 0)
			q->fd[q->n++] = p;
	}
}

/*
 * Replace the sets by the answer. A descriptor stays in a set if it was there
 * and any of the set's events has come. Returns how many bits are set in all
 * three; -EBADF if a descriptor isn't open.
 */
static int
answer_sets(const struct question *q, struct sets *s)
{
	struct sets asked = *s;
	int count = 0;

	memset(s->word, 0, sizeof(s->word));
	for (unsigned int k = 0; k < q->n; k++) {
		const struct pollfd *p = &q->fd[k];

		if (p->revents & POLLNVAL)
			return -EBADF;
		for (int i = 0; i < SETS; i++)
			if (has(&asked, i, p->fd) &&
			    p->revents & set_events[i]) {
				s->word[i][p->fd / 64] |= 1UL << p->fd % 64;
				count++;
			}
	}
	return count;
}

/* Ask about the sets at the addresses in user, and answer there, unless there
 * is an error. */
static int
select_user(struct question *q, const unsigned long *user, struct sets *s,
	    unsigned long deadline, const unsigned long mask[2])
{
	int r = copy_sets(s, user, true);

	if (r == 0)
		r = select_mask_begin(mask[0], mask[1]);
	if (r < 0)
		return r;
	ask_sets(q, s);
	r = select_mask_end(mask[0], ask(q, deadline));
	if (r >= 0)
		r = answer_sets(q, s);
	return r >= 0 && copy_sets(s, user, false) < 0 ? -EFAULT : r;
}

/* pselect6(n, read, write, except, timespec, {mask, its size} *): of n, only as
 * many count as there may be. */
long
sys_pselect6(const unsigned long *arg)
{
	int n = arg[0], r;
	unsigned long mask[2] = {0};
	struct sets s = {.n = n < FD_MAX ? n : FD_MAX};
	struct question q;
	unsigned long deadline;

	if (n < 0)
		return -EINVAL;
	if (arg[5] != 0 && copy_in(mask, arg[5], sizeof(mask)) < 0)
		return -EFAULT;
	r = copy_in_deadline(arg[4], &deadline);
	if (r == 0)
		r = question_begin(&q, s.n);
	if (r < 0)
		return r;
	r = select_user(&q, &arg[1], &s, deadline, mask);
	question_end(&q);
	copy_out_rest(arg[4], deadline);
	return r;
}

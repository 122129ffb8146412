/*
 * The profilers, turned on and off while all else goes on: what they say of
 * one time agrees, and the account of pcs adds up.
 */
#include <pthread.h>

#include "pcs.h"
#include "prf.h"
#include "stress.h"

#define N       64   /* addresses of a table */
#define SLOTS   2000 /* of a histogram, half of a byte of text */
#define GUARD   0x5a5a
#define BUFFERS 20 /* that a round reads */

int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

/* What the kernel counts in, and words beside it that it must leave alone. */
static struct {
	unsigned short before[8], slot[SLOTS], after[8];
} histogram;

/* This process's text is profiled from now on, in either way. */
void
profil_any(void)
{
	memset(histogram.before, 0x5a, sizeof(histogram.before));
	memset(histogram.after, 0x5a, sizeof(histogram.after));
	if (chance(2))
		__aix_profil(histogram.slot, sizeof(histogram.slot), 0x10000,
			     1 + chance(0xffff));
	else
		profil(histogram.slot, sizeof(histogram.slot), 0x10000,
		       2 + chance(0x10000));
}

static void *
busy(void *arg)
{
	burn_us(2000);
	return arg;
}

/* With threads and children, which have it on as well. */
void
round_of_profil(void)
{
	pthread_t t;
	pid_t pid;

	profil_any();
	pid = split();
	if (pid != 0 && pthread_create(&t, NULL, busy, NULL) == 0) {
		if (chance(2))
			profil_any();
		busy(NULL);
		pthread_join(t, NULL);
	}
	if (pid == 0) {
		busy(NULL);
		if (chance(2))
			profil(histogram.slot, 0, 0, 0);
		_exit(0);
	}
	for (int i = 0; i < 8; i++)
		must(histogram.before[i] == GUARD &&
		     histogram.after[i] == GUARD);
	must(exited(pid, 0));
}

/* The hits of a buffer's records, all of which are of a known type. */
static long
hits_of(const struct LOGBUF *b)
{
	size_t bytes = BSIZE - sizeof(b->lb_buf_hdr) - b->lb_buf_hdr.h_unused;
	long hits = 0;

	must(b->lb_buf_hdr.h_unused < BSIZE && bytes % 8 == 0);
	for (size_t i = 0; i < bytes / 8; i++) {
		const struct PSAMPLE *p = &b->lb_data[i];

		must(p->type == KERNEL || p->type == USER ||
		     p->type == KERNELI || merged_type(p->type));
		hits += hits_in(p);
	}
	return hits;
}

static void
must_add_up(int fd)
{
	struct pcs_stat s = account_of(fd);

	must(adds_up(&s));
}

/* Read to the end what is there when no more is counted; its hits. */
static long
hits_at_end(int fd)
{
	struct LOGBUF b;
	struct pcs_stat s;
	long hits = 0;

	do {
		must(ioctl(fd, PCS_END, NULL) == 0);
		while (buffer_read(fd, &b) == BSIZE)
			hits += hits_of(&b);
		s = account_of(fd);
		must(adds_up(&s));
	} while (s.pending > 0 || s.unread > 0);
	return hits;
}

/* Record, and read what comes: nothing is lost but what is said to be. */
void
round_of_pcs(void)
{
	static const int requests[] = {PROF_ALL, PROF_KERNEL};
	bool stacks = chance(3) == 0;
	struct pcs_stat s;
	struct LOGBUF b;
	long hits = 0;
	int fd = pcs_open();

	must(fd >= 0);
	ioctl(fd, BUF_INCR, chance(MAX_BUFS - DEF_BUFNO) + 1);
	if (stacks)
		must(ioctl(fd, PROF_STACK, NULL) == 0);
	must(ioctl(fd, requests[chance(2)], NULL) == 0);
	for (int i = chance(BUFFERS); i > 0; i--) {
		must(read(fd, &b, sizeof(b)) == BSIZE);
		hits += stacks ? 0 : hits_of(&b);
		must_add_up(fd);
	}
	if (!stacks) {
		hits += hits_at_end(fd);
		s = account_of(fd);
		must(hits == (long)(s.recorded + s.merged));
	}
	close(fd);
}

/* kprof's total: idle and user clocks are in it, the buckets have the rest. */
static unsigned long
check_kprof(void)
{
	static unsigned char words[1 << 20];
	int fd = open(KPDATA, O_RDONLY);
	ssize_t n = read(fd, words, sizeof(words));
	unsigned long sum = 0;

	close(fd);
	must(n > 8 && n < (ssize_t)sizeof(words));
	for (ssize_t i = 8; i < n; i += 4)
		sum += count_of(words + i);
	must(sum == count_of(words + 4));
	must(sum <= count_of(words));
	return count_of(words);
}

/* kprof and prf over the same time, which they begin and end with the clock
 * held: they have the same number of samples, on each hart and on all. */
void
round_of_tables(void)
{
	static unsigned long table[N];
	int minor[HARTS + 1];
	unsigned int harts = prf_open_all(minor, table, N);
	unsigned long total, sum = 0;

	ctl(PROFCLOCK, "hold");
	ctl(KPCTL, "startclr");
	prf_switch_all(minor, harts, table, N, PRF_ON);
	ctl(PROFCLOCK, "go");
	burn_us(chance(20000));
	ctl(PROFCLOCK, "hold");
	ctl(KPCTL, "stop");
	prf_switch_all(minor, harts, table, N, 0);
	ctl(PROFCLOCK, "go");
	total = check_kprof();
	must(prf_get(minor[ALL], N) && prf_sum(N) == total);
	for (unsigned int i = 0; i < harts; i++) {
		must(prf_get(minor[i], N));
		sum += prf_sum(N);
		close(minor[i]);
	}
	close(minor[ALL]);
	must(sum == total);
}

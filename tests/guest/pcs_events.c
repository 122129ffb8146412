/*
 * pcs with events: the device's answers to PROF_EVENTS, and that each sample of
 * a process has a context that was told before, of that process. What getpc
 * and tally make of it is in test_events.py.
 */
#include "pcs.h"

#define FAST     2000 /* samples a second on each hart */
#define BUFFERS  8
#define SPINS    2000 /* calls of a process that ends then */
#define CONTEXTS 65536
#define LOOPERS  3
#define TICK_US  10000

/* The pid that each context was told to be of; and what was found. */
static int whose[CONTEXTS];
static struct {
	unsigned int samples, strangers, unmarked, early, late, exits;
	unsigned int baseless; /* times with no MOMENT before them */
} seen;

static size_t
size_of(const char *record)
{
	const struct STKSAMPLE *s = (const void *)record;

	if (*record == STACK)
		return STACK_BYTES(s->n);
	return *record >= MOMENT ? (unsigned char)record[1] * 8 : 8;
}

/* The records of one buffer: the context begins with 0 in each. */
static void
look(const struct LOGBUF *b, bool times)
{
	const char *at = (const char *)b->lb_data;
	const char *end = (const char *)b + BSIZE - b->lb_buf_hdr.h_unused;
	unsigned int context = 0;
	uint64_t moment = 0;

	for (; at < end; at += size_of(at)) {
		const struct PSAMPLE *p = (const void *)at;
		struct AT_RECORD a;
		struct EVENT e;

		memcpy(&a, at, sizeof(a));
		memcpy(&e, at, sizeof(e));
		if (*at == AT) {
			context = a.context;
			seen.baseless += times && moment == 0;
		}
		if (*at == BORN || *at == EXECED)
			whose[e.context] = e.pid;
		else if (*at == EXITED)
			seen.exits++;
		else if (*at == MOMENT)
			moment = e.time;
		if (*at != USER && *at != KERNEL && *at != KERNELI)
			continue;
		seen.samples++;
		seen.unmarked += p->pid != 0 && context == 0;
		seen.strangers += p->pid != 0 && whose[context] != p->pid;
		seen.early += times && moment == 0;
		seen.late += !times && moment != 0;
	}
}

static void
read_some(int fd, int buffers, bool times)
{
	struct LOGBUF b;

	memset(&seen, 0, sizeof(seen));
	for (int n = 0; n < buffers; n++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int i = 0; i < SPINS; i++)
				getppid();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		while (buffer_read(fd, &b) == BSIZE)
			look(&b, times);
	}
}

static void
test_contexts(bool times)
{
	int fd = pcs_open();
	pid_t loopers[LOOPERS];

	for (int i = 0; i < LOOPERS; i++)
		if ((loopers[i] = fork()) == 0)
			for (;;)
				getppid();
	CHECK(ioctl(fd, PROF_EVENTS, times) == 0, "events are to be told");
	CHECK(ioctl(fd, PROF_EVENTS, times) == 0, "which may be said again");
	ctl(PROFCLOCK, "hz %d", FAST);
	CHECK(ioctl(fd, PROF_ALL, 0) == 0, "and all samples");
	read_some(fd, 10 * BUFFERS, times);
	for (int i = 0; i < LOOPERS; i++) {
		kill(loopers[i], SIGKILL);
		waitpid(loopers[i], NULL, 0);
	}
	CHECK(seen.samples > 100, "samples came");
	CHECK(seen.exits > BUFFERS, "and the ends of processes");
	CHECK(seen.unmarked == 0, "each of a process has a context");
	CHECK(seen.strangers == 0, "told before, and of that process");
	CHECK(seen.early == 0 && seen.late == 0, "times only where asked for");
	close(fd);
	ctl(PROFCLOCK, "hz 100");
}

/* When buffers have samples already. */
static void
test_asked_late(void)
{
	int fd = pcs_open();
	struct LOGBUF b;

	memset(&seen, 0, sizeof(seen));
	ctl(PROFCLOCK, "hz %d", FAST);
	ioctl(fd, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	ioctl(fd, PROF_ALL, 0);
	burn_us(TICK_US);
	CHECK(ioctl(fd, PROF_EVENTS, 1) == 0, "times for later samples");
	burn_us(5 * TICK_US);
	ioctl(fd, PCS_END, 0);
	while (buffer_read(fd, &b) == BSIZE)
		look(&b, true);
	CHECK(seen.early > 0, "earlier ones have none");
	CHECK(seen.early < seen.samples && seen.baseless == 0,
	      "the others' count from a MOMENT in their buffer: %u don't",
	      seen.baseless);
	close(fd);
	ctl(PROFCLOCK, "hz 100");
}

static void
test_requests(void)
{
	int fd = pcs_open();
	struct LOGBUF b;
	ssize_t n;

	CHECK_ERRNO(ioctl(fd, PROF_EVENTS, 2), EINVAL, "no other argument");
	CHECK(ioctl(fd, PROF_EVENTS, 1) == 0, "events");
	CHECK(pcstat("requests events"), "pcstat tells");
	CHECK(ioctl(fd, PCS_END, 0) == 0, "the end");
	n = buffer_read(fd, &b);
	CHECK(n == BSIZE && *(char *)b.lb_data == CLOCKED, "clock's settings");
	close(fd);

	fd = pcs_open();
	CHECK(ioctl(fd, PROF_EVENTS, 0) == 0, "once more");
	CHECK(ioctl(fd, PCS_END, 0) == 0, "and ended, but not read");
	close(fd);

	fd = pcs_open();
	n = buffer_read(fd, &b);
	CHECK(n < 0 && errno == EAGAIN, "a close has forgotten the rest");
	CHECK(ioctl(fd, PROF_ALL, 0) == 0, "plain again");
	memset(&seen, 0, sizeof(seen));
	samples("user", 0, getpid(), 0, USER_PC, 63);
	n = buffer_read(fd, &b);
	CHECK(n == BSIZE && b.lb_data[0].type == USER &&
		  b.lb_buf_hdr.h_unused == NUMWASTE,
	      "with room for 63");
	close(fd);
}

int
main(void)
{
	alarm(100);
	test_contexts(false);
	test_contexts(true);
	test_asked_late();
	ctl(PROFCLOCK, "hold");
	test_requests();
	ctl(PROFCLOCK, "go");
	return check_done();
}

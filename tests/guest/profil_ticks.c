/*
 * profil with the real clock: every tick of the process is counted, where it
 * was, by processes on all harts at once, and while pages come and go.
 */
#include <sys/times.h>

#include "profil.h"

#define LOAD_US  250000
#define SLACK    3 /* ticks that profil and times may see apart */
#define CHILDREN 6
#define THREADS  3
#define FORKS    20
#define ENOUGH   20 /* ticks */
#define TICK_US  10000
#define AREA     64        /* bytes of text that hold spin's loop */
#define LONG     (4 << 20) /* bytes, which take a call many ticks */
#define MOST     10        /* such calls, at most */

/* AIX's: with scale 2 a clock, whose one counter goes on to 65535. */
int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

static volatile bool finished;                /* threads may end */
static volatile unsigned long beats[THREADS]; /* each goes on */

/* As it is now: the kernel writes it. */
static int
counter(int slot)
{
	return *(volatile unsigned short *)&buf[slot];
}

/* Be busy in user mode, here only, for some ticks. */
static void __attribute__((noinline)) spin(void)
{
	for (volatile int i = 0; i < 1500000; i++)
		;
}

static clock_t
ticks_used(void)
{
	struct tms t;

	times(&t);
	return t.tms_utime + t.tms_stime;
}

/* Be busy in the kernel. */
static void
call_us(uint64_t us)
{
	uint64_t end = now_us() + us;

	while (now_us() < end)
		for (int i = 0; i < 100; i++)
			getppid();
}

static void
sleep_us(uint64_t us)
{
	usleep(us);
}

/* What a load costs, as times and profil have it. */
struct cost {
	int used, counted;
	bool possible; /* no more is counted than time has passed */
};

static struct cost
measure(void (*load)(uint64_t us))
{
	uint64_t begun = now_us();
	struct cost c;

	buf[0] = 0;
	__aix_profil(buf, 2, 0, 2);
	c.used = -ticks_used();
	load(LOAD_US);
	c.used += ticks_used();
	__aix_profil(buf, 2, 0, 0);
	c.counted = buf[0];
	c.possible = c.counted > 0 &&
		     c.counted <= (int)((now_us() - begun) / TICK_US + SLACK);
	return c;
}

static void
check_alone(void (*load)(uint64_t us), const char *name)
{
	struct cost c = measure(load);

	CHECK(c.possible && abs(c.used - c.counted) <= SLACK, "%s", name);
}

static void *
spinner(void *beat)
{
	while (!finished)
		++*(volatile unsigned long *)beat;
	return NULL;
}

/* Each has been in user mode since this was called: so it has paid for all of
 * its ticks before that. */
static void
spinners_pay(void)
{
	unsigned long before[THREADS];

	for (int i = 0; i < THREADS; i++)
		before[i] = beats[i];
	for (int i = 0; i < THREADS; i++)
		while (beats[i] == before[i])
			;
}

static void
spinners_start(pthread_t *t)
{
	finished = false;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, spinner, (void *)&beats[i]);
	spinners_pay();
}

/*
 * Three threads that know nothing of profil, made before or after it is turned
 * on, and this one, until enough is counted. They run on until both are read:
 * one that ends never pays for the ticks that it spent on that, which are many
 * where harts have to wait. For the same reason what is counted by then may be
 * less than what is used, but not when all have paid: except for a tick that
 * was due while a hart changed over to a new thread. Its sample was of what ran
 * before, and times has it for the thread; one for each, on harts that wait for
 * the host. Between a call and the next, the other threads may have many ticks:
 * so what is used is read before and after profil is turned on.
 */
static void
check_threads(bool before, const char *name)
{
	pthread_t t[THREADS];
	int off, on, used, counted, paid;

	buf[0] = 0;
	if (before)
		spinners_start(t);
	off = ticks_used();
	__aix_profil(buf, 2, 0, 2);
	on = ticks_used();
	if (!before)
		spinners_start(t);
	while (counter(0) < THREADS * ENOUGH)
		;
	counted = counter(0);
	used = ticks_used();
	spinners_pay();
	paid = counter(0);
	finished = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	__aix_profil(buf, 2, 0, 0);
	CHECK(counted <= used - off + SLACK &&
		  used - on <= paid + SLACK + (before ? 0 : THREADS),
	      "%s", name);
}

static void
check_sleep(void)
{
	struct cost c = measure(sleep_us);

	CHECK(c.used <= SLACK && c.counted <= SLACK,
	      "none is counted while it sleeps");
}

/*
 * Each has a histogram and a clock of its own. A tick that comes while a
 * hart changes over to another process may be that one's to times, so only
 * the sums agree.
 */
static void
check_children(void)
{
	int fd[2], used = 0, counted = 0, good = 0;
	int harts = system_now().harts;
	uint64_t begun = now_us();
	struct cost c;

	pipe(fd);
	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0) {
			c = measure(i % 2 ? burn_us : call_us);
			write(fd[1], &c, sizeof(c));
			_exit(0);
		}
	for (int i = 0; i < CHILDREN; i++) {
		read(fd[0], &c, sizeof(c));
		used += c.used;
		counted += c.counted;
		good += c.possible;
	}
	while (wait(NULL) > 0)
		;
	CHECK(good == CHILDREN, "processes side by side have each its own");
	CHECK(abs(used - counted) <= CHILDREN * SLACK,
	      "and all their ticks are counted");
	CHECK(counted <= harts * (int)((now_us() - begun) / TICK_US + 1),
	      "which are no more than the harts have time");
}

/* The ticks in spin. */
static int
ticks_here(void)
{
	int sum = 0;

	for (int i = 0; i < AREA / 2; i++)
		sum += counter(i);
	return sum;
}

/* Where was it? Some of the ticks are of the calls of profil and times. */
static void
check_place(void)
{
	int used = ticks_used();

	memset(buf, 0, sizeof(buf));
	profil(buf, AREA, (unsigned long)spin, 0x10000);
	while (ticks_here() < ENOUGH)
		spin();
	profil(NULL, 0, 0, 0);
	used = ticks_used() - used;
	CHECK(ticks_here() + SLACK >= used, "they are where it was busy");
}

/* A tick is paid when the process returns to user mode: a call that takes long
 * pays for many at once. */
static void
check_call(void)
{
	static char bytes[LONG];
	int fd = open("/tmp/profil_ticks", O_RDWR | O_CREAT, 0600), calls = 0;

	ctl(PROFCLOCK, "hz 5000");
	buf[0] = 0;
	__aix_profil(buf, 2, 0, 2);
	while (counter(0) < MOST * ENOUGH && calls < MOST)
		calls += pwrite(fd, bytes, LONG, 0) == LONG;
	__aix_profil(buf, 2, 0, 0);
	ctl(PROFCLOCK, "hz 100");
	close(fd);
	unlink("/tmp/profil_ticks");
	CHECK(buf[0] > 2 * calls, "all ticks of one call are counted");
}

/* At a high rate, with pages that become shared between any two ticks. */
static void
check_storm(void)
{
	int good = 0;
	unsigned int sum;

	ctl(PROFCLOCK, "hz 2000");
	memset(buf, 0, sizeof(buf));
	__aix_profil(buf, sizeof(buf), TEXT, 0x1000);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			burn_us(3000);
			_exit(0);
		}
		good += child_wait(pid) == 0;
	}
	burn_us(20000);
	__aix_profil(buf, sizeof(buf), TEXT, 0);
	ctl(PROFCLOCK, "hz 100");
	sum = 0;
	for (int i = 0; i < SLOTS; i++)
		sum += buf[i];
	CHECK(good == FORKS && sum > 0, "forks at 2000 ticks a second");
}

int
main(void)
{
	alarm(DEADLINE);
	check_alone(burn_us, "every tick in user mode is counted");
	check_alone(call_us, "every tick in the kernel is counted");
	check_threads(false, "every tick of all threads is counted");
	check_threads(true, "every tick of threads that were there before is "
			    "counted");
	check_sleep();
	check_children();
	check_place();
	check_call();
	check_storm();
	return check_done();
}

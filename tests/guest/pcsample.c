/*
 * Solaris's pcsample. Most ticks are made up, so every sample is known. The
 * numbers are clauses of docs/conformance.md.
 */
#include <limits.h>
#include <pcsample.h>
#include <sys/times.h>

#include "profil.h"

#define ROOM    8
#define KERNEL  0xffffffff80200000UL
#define ENOUGH  20 /* ticks */
#define AREA    64 /* bytes of text that hold spin's loop */
#define THREADS 3

static uintptr_t pcs[ROOM + 1]; /* the last is none of the kernel's */

/* Are these n of them pc, and the others 0? Then all are 0. */
static bool
stored(int n, uintptr_t pc)
{
	bool good = true;

	for (int i = 0; i <= ROOM; i++)
		good = good && pcs[i] == (i < n ? pc : 0);
	memset(pcs, 0, sizeof(pcs));
	return good;
}

static void
check_session(void)
{
	CHECK(pcsample(pcs, ROOM) == 0, "SOL-21 the first call gives 0");
	hit(TEXT + 1, 1);
	hit(1UL << 40, 1);
	tick("user", getppid(), TEXT, 1);
	tick("idle", getpid(), TEXT, 1);
	CHECK(pcs[0] == TEXT + 1 && pcs[1] == 1UL << 40 && pcs[2] == 0,
	      "SOL-22 each tick's pc is stored as it is");
	CHECK(pcsample(pcs, 0) == 2,
	      "SOL-23 the next gives how many there were");
	hit(TEXT, 1);
	CHECK(pcs[2] == 0, "SOL-24 with none wanted, none is stored");
	CHECK(pcsample(pcs, 0) == 0, "SOL-23 nor counted");
	memset(pcs, 0, sizeof(pcs));
	pcsample(pcs, ROOM);
	hit(TEXT, 3);
	CHECK(pcsample(pcs, ROOM) == 3, "SOL-23 so does one that starts anew");
	hit(TEXT + 2, 1);
	CHECK(pcs[0] == TEXT + 2 && pcs[1] == TEXT, "SOL-23 at the beginning");
	memset(pcs, 0, sizeof(pcs));
}

int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

/* Which it can't while sampling of any kind is on. */
static bool
aix_may_begin(void)
{
	__aix_profil(buf, sizeof(buf), TEXT, 0xffff);
	hit(TEXT, 1);
	__aix_profil(buf, sizeof(buf), TEXT, 0);
	return only(0, 1);
}

static void
check_full(void)
{
	pcsample(pcs, ROOM);
	hit(TEXT, ROOM - 1);
	hit(TEXT, 5);
	CHECK(stored(ROOM, TEXT), "SOL-25 a full array isn't written past");
	hit(TEXT, 1);
	CHECK(stored(0, 0), "SOL-25 nor again");
	CHECK(aix_may_begin(), "SOL-25 sampling is off then");
	pcsample(pcs, ROOM);
	hit(TEXT, ROOM);
	CHECK(pcsample(pcs, 0) == ROOM, "SOL-25 and its length is the count");
	CHECK(aix_may_begin(), "SOL-24 a length of 0 turns it off");
	memset(pcs, 0, sizeof(pcs));
}

/* An array in a page that comes and goes, and others that can't be one. */
static void
check_fault(void)
{
	char *end = memory_end();

	CHECK(pcsample((uintptr_t *)(end - 8), ROOM) == 0,
	      "SOL-26 an array that isn't all there is taken");
	hit(TEXT, 2);
	__brk(end + PAGE);
	hit(TEXT, 1);
	CHECK(*(uintptr_t *)end == 0, "SOL-26 a fault turns it off");
	CHECK(pcsample(NULL, 1) == 1, "SOL-26 what went before counts");
	__brk(end);
	hit(TEXT, 1);
	CHECK(pcsample((uintptr_t *)KERNEL, 1) == 0, "SOL-26 NULL is a fault");
	hit(TEXT, 1);
	CHECK(pcsample((uintptr_t *)((char *)pcs + 4), 1) == 0,
	      "SOL-26 so is the kernel");
	hit(TEXT, 1);
	CHECK(pcsample(NULL, 0) == 0 && stored(0, 0),
	      "SOL-26 so is an address that isn't a multiple of 8");
}

static void
check_errors(void)
{
	pcsample(pcs, ROOM);
	CHECK_ERRNO(pcsample(pcs, -1), EINVAL, "SOL-27 a negative length");
	CHECK_ERRNO(pcsample(pcs, LONG_MIN), EINVAL,
		    "SOL-27 the most negative");
	hit(TEXT, 2);
	CHECK(stored(2, TEXT), "SOL-27 changes nothing");
	CHECK(pcsample(NULL, 0) == 2, "SOL-27 not the count, either");
}

static void
check_processes(const char *self)
{
	pid_t pid;

	pcsample(pcs, ROOM);
	hit(TEXT, 2);
	pid = fork();
	if (pid == 0) {
		hit(TEXT, 1);
		_exit(stored(3, TEXT) ? pcsample(NULL, 0) : 100);
	}
	CHECK(child_wait(pid) == 3, "SOL-28 on in the child of a fork");
	hit(TEXT, 2);
	CHECK(stored(4, TEXT),
	      "SOL-28 on in the parent, with an array of its own");
	pid = fork();
	if (pid == 0) {
		execlp(self, self, "again", NULL);
		_exit(100);
	}
	CHECK(child_wait(pid) == 0, "SOL-29 exec turns it off");
	CHECK(pcsample(NULL, 0) == 4, "SOL-29 but not in the parent");
}

/* profil and pcsample are one: each replaces the other, but AIX's profil. */
static void
check_profil(void)
{
	pcsample(pcs, ROOM);
	hit(TEXT, 1);
	profil(buf, sizeof(buf), TEXT, 0x10000);
	hit(TEXT, 1);
	CHECK(stored(1, TEXT) && only(0, 1), "SOL-30 profil replaces it");
	CHECK(pcsample(pcs, ROOM) == 0, "SOL-30 and forgets the count");
	hit(TEXT, 1);
	CHECK(stored(1, TEXT) && none(), "SOL-30 it replaces profil");
	__aix_profil(buf, sizeof(buf), TEXT, 0xffff);
	__aix_profil(buf, sizeof(buf), TEXT, 0);
	hit(TEXT, 1);
	CHECK(none() && pcs[1] == TEXT, "SOL-30 AIX's does nothing to it");
	pcsample(NULL, 0);
	memset(pcs, 0, sizeof(pcs));
}

static void
check_caller(void)
{
	pcsample(pcs, ROOM);
	tick("kernel", getpid(), KERNEL, 1);
	pcsample(NULL, 0);
	CHECK(pcs[0] - (uintptr_t)write < 16,
	      "SOL-22 a tick in the kernel is its caller's");
	memset(pcs, 0, sizeof(pcs));
}

/* Threads of before and after the call. */
static void
check_hitters(void)
{
	struct hitter before, after;

	hitter_make(&before);
	pcsample(pcs, ROOM);
	hitter_hit(&before);
	CHECK(stored(1, TEXT), "SOL-31 a thread that is there at the call");
	hitter_make(&after);
	hitter_hit(&after);
	CHECK(pcs[1] == TEXT, "SOL-31 and one that is made after it");
	pcsample(NULL, 0);
	memset(pcs, 0, sizeof(pcs));
}

/* Be busy here only. */
static void __attribute__((noinline)) spin(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

static void *
spin_on(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		spin();
	return NULL;
}

/* On the real clock: threads on several harts fill one array. */
static void
check_threads(void)
{
	static uintptr_t many[1000];
	pthread_t thread[THREADS];
	int stop = 0, in = 0;
	long n = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, spin_on, &stop);
	pcsample(many, 1000);
	while (__atomic_load_n(&many[ENOUGH * THREADS - 1], __ATOMIC_RELAXED) ==
	       0)
		spin();
	n = pcsample(NULL, 0);
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 1000; i++)
		in += many[i] - (uintptr_t)spin < AREA;
	CHECK(n >= ENOUGH * THREADS && many[n - 1] && (n == 1000 || !many[n]),
	      "SOL-31 all threads' ticks, one after the other");
	CHECK(in * 10 >= n * 9, "SOL-31 are where they were busy");
}

int
main(int argc, char **argv)
{
	alarm(DEADLINE);
	if (argc > 1) {
		hit(TEXT, 1);
		return pcsample(NULL, 0) != 0;
	}
	ctl(PROFCLOCK, "hold");
	check_session();
	check_full();
	check_fault();
	check_errors();
	check_processes(argv[0]);
	check_profil();
	check_caller();
	check_hitters();
	ctl(PROFCLOCK, "go");
	check_threads();
	return check_done();
}

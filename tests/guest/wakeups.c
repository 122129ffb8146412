/*
 * Who has slept runs before those that only compute, as soon as it's woken;
 * and who sleeps now and then, or makes others all the time, leaves those their
 * share. Whatever harts compute, they do at once what is asked of them.
 */
#include <signal.h>
#include <sys/wait.h>

#include "moments.h"

#define TICK_US  10000
#define RUN_US   1000000
#define NAPS     20
#define PER      2 /* that compute, for each hart */
#define RIVALS   3 /* that sleep now and then */
#define AT_ONCE  16
#define SECONDS  2   /* whose mean is taken */
#define NEAREST  250 /* counts before a tick, at which one falls asleep */
#define FARTHEST 550
#define ASKS     100 /* times, of which the shortest counts */
#define ANSWER   400 /* us for each hart, until all have answered */

static int harts;

static _Noreturn int
compute(void)
{
	for (;;)
		;
}

/* Compute for most of a tick, sleep until the next one: again and again. */
static _Noreturn int
nibble(void)
{
	struct timespec nap = {.tv_nsec = 1000};

	for (;;) {
		uint64_t end = now_us() / TICK_US * TICK_US + TICK_US * 9 / 10;

		while (now_us() < end)
			;
		nanosleep(&nap, NULL);
	}
}

/* Have children that compute for half a tick, one after another. */
static int
breed(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			burn_us(TICK_US / 2);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* Compute from one time to another, and tell how much it was. */
static void
work(uint64_t start, uint64_t end, int out)
{
	uint64_t n = 0;

	while (now_us() < start)
		burn_us(1000);
	for (; now_us() < end; n++)
		for (volatile int i = 0; i < 200; i++)
			;
	write(out, &n, sizeof(n));
	_exit(0);
}

static void
nap_us(uint64_t us)
{
	struct timespec nap = {.tv_nsec = us * 1000};

	nanosleep(&nap, NULL);
}

/* How late one wakes who sleeps for so long: the most of some times. */
static uint64_t
worst_nap(unsigned int us)
{
	uint64_t worst = 0;

	for (int i = 0; i < NAPS; i++) {
		uint64_t start = now_us(), late;

		nap_us(us);
		late = now_us() - start - us;
		worst = late > worst ? late : worst;
	}
	return worst;
}

/* A tick, until the end is noticed, and one more; but the first has to let the
 * others have what it has had before. */
static void
check_sleeper(void)
{
	pid_t rivals[PER * HARTS];
	uint64_t worst;

	for (int i = 0; i < PER * harts; i++)
		rivals[i] = child_start(compute);
	worst_nap(TICK_US);
	for (unsigned int us = TICK_US / 2; us < 20 * TICK_US; us *= 6) {
		worst = worst_nap(us);
		CHECK(worst <= 2 * TICK_US,
		      "who sleeps for %u us runs soon after (%lu us)", us,
		      (unsigned long)worst);
	}
	for (int i = 0; i < PER * harts; i++)
		child_end(rivals[i]);
}

/* Many that sleep until the same moment: so long after the first one the last
 * wakes. */
static uint64_t
spread_of_wakes(void)
{
	uint64_t until = now_us() + 20 * TICK_US, woke, first = -1UL, last = 0;
	int fds[2];

	pipe(fds);
	for (int i = 0; i < AT_ONCE; i++)
		if (fork() == 0) {
			nap_us(until - now_us());
			woke = now_us();
			write(fds[1], &woke, sizeof(woke));
			_exit(0);
		}
	for (int i = 0; i < AT_ONCE; i++) {
		read(fds[0], &woke, sizeof(woke));
		wait(NULL);
		first = woke < first ? woke : first;
		last = woke > last ? woke : last;
	}
	close(fds[0]);
	close(fds[1]);
	return last - first;
}

static void
check_all_wake(void)
{
	uint64_t spread = spread_of_wakes();

	CHECK(spread <= 4 * TICK_US,
	      "those who sleep until one moment wake together (%lu us)",
	      (unsigned long)spread);
}

/* Sleep until a tick, from so many counts before: is one awake soon after? */
static bool
wakes_at_tick(unsigned int before)
{
	uint64_t tick = nth_tick(1);
	struct timespec nap = {.tv_nsec = (before - 100) * 1000 / US(1)};

	spin_till(tick - before);
	nanosleep(&nap, NULL);
	return rdtime() < tick + TICK / 2;
}

/*
 * A hart that has nothing to do looks for the last time, and waits. The tick
 * that comes between these two instructions wakes somebody, and then it must
 * not wait. When one has to fall asleep for that to happen is tried out.
 */
static void
check_last_look(void)
{
	int n = 0, good = 0;

	for (unsigned int i = NEAREST; i < FARTHEST; i++, n++)
		good += wakes_at_tick(i);
	CHECK(good == n, "who sleeps until a tick wakes then, %d of %d", good,
	      n);
}

/* What one for each hart can compute in a while, all together, beside so many
 * rivals for each hart. */
static uint64_t
work_beside(int (*rival)(void), int count)
{
	uint64_t start = now_us() + RUN_US / 5, one, sum = 0;
	pid_t rivals[RIVALS * HARTS];
	int fds[2];

	pipe(fds);
	for (int i = 0; i < count * harts; i++)
		rivals[i] = child_start(rival);
	for (int i = 0; i < harts; i++)
		if (fork() == 0)
			work(start, start + RUN_US, fds[1]);
	for (int i = 0; i < harts; i++) {
		read(fds[0], &one, sizeof(one));
		wait(NULL);
		sum += one;
	}
	for (int i = 0; i < count * harts; i++)
		child_end(rivals[i]);
	close(fds[0]);
	close(fds[1]);
	return sum;
}

/* Fair are 250 and 500. */
static void
check_shares(void)
{
	uint64_t alone = work_beside(NULL, 0);
	uint64_t nibbled = 0;
	uint64_t crowded = work_beside(breed, 1) * 1000 / alone;

	/* How they lie to the ticks makes it 100 to 300 in one second. */
	for (int i = 0; i < SECONDS; i++)
		nibbled += work_beside(nibble, RIVALS) * 1000 / alone / SECONDS;
	CHECK(nibbled >= 100, "those who sleep now and then leave a share (%d)",
	      (int)nibbled);
	CHECK(crowded >= 350, "and who has many children (%d)", (int)crowded);
}

/* New settings of the clock have to be seen by every hart. Where harts take
 * turns, which are of a millisecond, none may wait for its own. */
static void
check_answers(void)
{
	pid_t others[HARTS];
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < harts - 1; i++)
		others[i] = child_start(compute);
	for (int i = 0; i < ASKS; i++) {
		uint64_t start = now_us(), took;

		ctl(PROFCLOCK, "seed 1");
		took = now_us() - start;
		least = took < least ? took : least;
	}
	for (int i = 0; i < harts - 1; i++)
		child_end(others[i]);
	CHECK(least <= (uint64_t)ANSWER * harts,
	      "harts that compute do what they are asked at once (%lu us)",
	      (unsigned long)least);
}

int
main(void)
{
	harts = system_now().harts;
	if (harts > 1)
		check_answers();
	check_sleeper();
	check_all_wake();
	if (harts == 1)
		check_last_look();
	check_shares();
	return check_done();
}

/* Time: letting it go by, looking at the clock, and made-up samples of it. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe.h"

#define NS_PER_TICK 100 /* The time CSR of QEMU's machine counts at 10 MHz. */

long
now_ns(void)
{
	long ticks;

	asm volatile("rdtime %0" : "=r"(ticks));
	return ticks * NS_PER_TICK;
}

void
nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * NS_PER_MS};

	nanosleep(&t, NULL);
}

static void
do_sleep(void)
{
	nap(number());
	answer_number(0);
}

static void
do_spin(void)
{
	long until = now_ns() + number() * NS_PER_MS;

	while (now_ns() < until)
		;
	answer_number(0);
}

/* gaps MS LEAST: spin for so long, and look at the clock all the time. The
 * answer is the longest time between two looks, and the sum of those times that
 * were LEAST or more; all in microseconds. */
static void
do_gaps(void)
{
	long last = now_ns(), until = last + number() * NS_PER_MS;
	long least = number() * 1000, longest = 0, sum = 0;
	char text[48];

	while (last < until) {
		long now = now_ns(), gap = now - last;

		if (gap > longest)
			longest = gap;
		if (gap >= least)
			sum += gap;
		last = now;
	}
	snprintf(text, sizeof(text), "%ld %ld", longest / 1000, sum / 1000);
	answer(text);
}

static void
do_clock(void)
{
	answer_number(now_ns());
}

/* mark: the same. Besides, tally/plugins/cap recognizes this instruction, which
 * no compiler makes, and notes how many instructions the machine has executed:
 * no kernel can lie about that. */
static void
do_mark(void)
{
	asm volatile("slti x0, x0, 0x5a1");
	answer_number(now_ns());
}

/* sample SLOT MODE PC COUNT: tell the device of the sampling clock to make up
 * samples of this process. */
static void
do_sample(void)
{
	int file = files[number()];
	const char *mode = word();
	char line[96];

	snprintf(line, sizeof(line), "sample %s 0 %d 0 %s", mode, getpid(),
		 text());
	answer_number(write(file, line, strlen(line)) < 0 ? -1 : 0);
}

const struct operation clock_operations[] = {
    {"sleep", do_sleep}, {"spin", do_spin}, {"gaps", do_gaps},
    {"clock", do_clock}, {"mark", do_mark}, {"sample", do_sample},
    {NULL, NULL},
};

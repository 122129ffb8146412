/*
 * One thread spins, and another makes more and more of them: new kernel stacks,
 * which each hart is told of. None keeps that waiting, at whatever moment it is
 * between two ticks.
 */
#include <pthread.h>
#include <stdlib.h>

#include "children.h"
#include "profiling.h"

#define SLEEPERS 120
#define WORST    200000 /* us: twenty ticks */

static struct gate end;

static void *
spin(void *arg)
{
	for (volatile bool on = true; on;)
		;
	return arg;
}

static void *
sleeper(void *arg)
{
	gate_pass(end);
	return arg;
}

int
main(void)
{
	uint64_t worst = 0;
	unsigned int made = 0;
	pthread_t t;

	end = gate_make();
	pthread_create(&t, NULL, spin, NULL);
	for (unsigned int i = 0; i < SLEEPERS; i++) {
		uint64_t before;

		burn_us(i * 977 % 10000); /* another part of the tick */
		before = now_us();
		made += pthread_create(&t, NULL, sleeper, NULL) == 0;
		before = now_us() - before;
		worst = before > worst ? before : worst;
	}
	CHECK(made == SLEEPERS, "threads are made");
	CHECK(worst < WORST, "each at once (%lu us)", worst);
	return check_done();
}

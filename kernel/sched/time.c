/* The time of day, and times in other units: see time.h. */
#include "time.h"

#include <errno.h>

#include "base/riscv.h"
#include "machine/machine.h"

static uint64_t boot_ns; /* ns since 1970, when rdtime() was 0 */

/* In two parts: at 10 MHz counts * NS_PER_SEC overflows after half an hour. */
uint64_t
time_of_counts(uint64_t counts)
{
	uint64_t sec = counts / machine.timebase;
	uint64_t rest = counts % machine.timebase;

	return sec * NS_PER_SEC + rest * NS_PER_SEC / machine.timebase;
}

/* Without a real-time clock it was 1970 when rdtime() was 0. */
void
time_init(uint64_t now_ns)
{
	if (now_ns != 0)
		boot_ns = now_ns - time_of_counts(rdtime());
}

uint64_t
time_realtime_ns(void)
{
	return boot_ns + time_of_counts(rdtime());
}

/* Linux's longest time: INT64_MAX ns. More can't be told again in ns. */
#define SECONDS_MAX (INT64_MAX / NS_PER_SEC)

/* Rounded up, so that no wait is too short. The limit also lets a caller add
 * rdtime() without an overflow. */
int
time_counts(long sec, unsigned long units, unsigned long per_sec,
	    uint64_t *counts)
{
	if (sec < 0 || units >= per_sec)
		return -EINVAL;
	if (sec >= (long)SECONDS_MAX)
		*counts = SECONDS_MAX * machine.timebase;
	else
		*counts = sec * machine.timebase +
			  (units * machine.timebase + per_sec - 1) / per_sec;
	return 0;
}

uint64_t
time_since_1970(uint64_t counts)
{
	uint64_t boot;

	time_counts(boot_ns / NS_PER_SEC, boot_ns % NS_PER_SEC, NS_PER_SEC,
		    &boot);
	return counts > boot ? counts - boot : 0;
}

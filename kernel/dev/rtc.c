/* The goldfish real-time clock: nanoseconds since 1970, when asked. */
#include <stdint.h>

#include "../layout.h"
#include "../machine.h"
#include "dev.h"

/* Registers, by their distance in words. */
#define TIME_LOW  0 /* reading it latches the other half */
#define TIME_HIGH 1

uint64_t
rtc_read_ns(void)
{
	volatile uint32_t *rtc = pa_to_va(machine.rtc);
	uint64_t low;

	if (!machine.rtc)
		return 0;
	low = rtc[TIME_LOW];
	return (uint64_t)rtc[TIME_HIGH] << 32 | low;
}

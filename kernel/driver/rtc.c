/* The goldfish real-time clock: nanoseconds since 1970. boot_main reads it,
 * once. */
#include "rtc.h"

#include <stdint.h>

#include "base/layout.h"
#include "machine/machine.h"

/* Registers, in words. Reading the low half latches the high one, so that both
 * are of one moment. */
#define TIME_LOW  0
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

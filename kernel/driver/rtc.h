/* The real-time clock, for the time of day. Read once, at boot. */
#ifndef KERNEL_RTC_H
#define KERNEL_RTC_H

#include <stdint.h>

uint64_t rtc_read_ns(void); /* since 1970; 0: there is no clock */

#endif

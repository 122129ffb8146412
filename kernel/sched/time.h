/* The time of day, and the times that system calls are given. */
#ifndef KERNEL_TIME_H
#define KERNEL_TIME_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000L

void time_init(uint64_t now_ns);          /* since 1970; 0: nobody knows */
uint64_t time_realtime_ns(void);          /* since 1970 */
uint64_t time_of_counts(uint64_t counts); /* in ns */
/* Convert sec seconds and `units' units, of which per_sec are a second, to
 * timer counts. -EINVAL: sec is negative, or units are a second or more. */
int time_counts(long sec, unsigned long units, unsigned long per_sec,
		uint64_t *counts);

/* When it is `counts' after 1970, in timer counts since boot; 0: that was
 * before. */
uint64_t time_since_1970(uint64_t counts);

static inline struct timespec
time_of_ns(uint64_t ns)
{
	return (struct timespec){
	    .tv_sec = ns / NS_PER_SEC,
	    .tv_nsec = ns % NS_PER_SEC,
	};
}

#endif

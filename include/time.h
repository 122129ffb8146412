/* The C library's, some versions of which use a type they don't declare; with
 * Linux's numbers of clocks. */
#include <sys/types.h>

#include_next <time.h>

#include <sys/cdefs.h>

#ifndef _TALLY_TIME_H
#define _TALLY_TIME_H

#undef CLOCK_REALTIME_COARSE
#undef CLOCK_REALTIME
#undef CLOCK_PROCESS_CPUTIME_ID
#undef CLOCK_THREAD_CPUTIME_ID
#undef CLOCK_MONOTONIC
#undef CLOCK_MONOTONIC_RAW
#undef CLOCK_MONOTONIC_COARSE
#undef CLOCK_BOOTTIME
#undef CLOCK_REALTIME_ALARM
#undef CLOCK_BOOTTIME_ALARM
#undef TIMER_ABSTIME

#define CLOCK_REALTIME           0
#define CLOCK_MONOTONIC          1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_MONOTONIC_RAW      4
#define CLOCK_REALTIME_COARSE    5
#define CLOCK_MONOTONIC_COARSE   6
#define CLOCK_BOOTTIME           7
#define TIMER_ABSTIME            1

__BEGIN_DECLS
struct sigevent;
int timer_create(clockid_t clock, struct sigevent *__restrict event,
		 timer_t *__restrict timer);
int timer_delete(timer_t timer);
int timer_settime(timer_t timer, int flags,
		  const struct itimerspec *__restrict value,
		  struct itimerspec *__restrict old);
int timer_gettime(timer_t timer, struct itimerspec *value);
int timer_getoverrun(timer_t timer);
/* Returns an error's number. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
		    struct timespec *left);
__END_DECLS

#endif

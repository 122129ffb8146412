/* timerfd: a time that is a file. The numbers are Linux's. */
#ifndef _SYS_TIMERFD_H
#define _SYS_TIMERFD_H

#include <sys/cdefs.h>
#include <time.h>

#define TFD_TIMER_ABSTIME       1
#define TFD_TIMER_CANCEL_ON_SET 2

__BEGIN_DECLS
int timerfd_create(int clock, int flags);
int timerfd_settime(int fd, int flags, const struct itimerspec *value,
		    struct itimerspec *old);
int timerfd_gettime(int fd, struct itimerspec *value);
__END_DECLS
#endif

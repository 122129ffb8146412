/*
 * Time: what can be said in terms of clock_gettime, nanosleep, setitimer,
 * times and utimens, which are system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define NS_PER_US 1000
#define US_PER_S  1000000

time_t
time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec now;

	(void)zone; /* obsolete: nothing is said of it */
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / NS_PER_US;
	return 0;
}

clock_t
clock(void)
{
	struct tms t;

	times(&t);
	return (t.tms_utime + t.tms_stime) *
	       (CLOCKS_PER_SEC / sysconf(_SC_CLK_TCK));
}

int __clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
		      struct timespec *left);

int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
		struct timespec *left)
{
	int before = errno, error = 0;

	if (__clock_nanosleep(clock, flags, time, left) < 0)
		error = errno;
	errno = before;
	return error;
}

/* The kernel's timer_t is an int. */
int __timer_create(clockid_t clock, struct sigevent *event, int *id);

int
timer_create(clockid_t clock, struct sigevent *restrict event,
	     timer_t *restrict timer)
{
	int id, r = __timer_create(clock, event, &id);

	if (r == 0)
		*timer = id;
	return r;
}

/* Gives the seconds left if a signal came. */
unsigned int
sleep(unsigned int seconds)
{
	struct timespec t = {.tv_sec = seconds};

	if (nanosleep(&t, &t) == 0)
		return 0;
	return t.tv_sec + (t.tv_nsec > 0);
}

int
usleep(useconds_t us)
{
	struct timespec t = {
	    .tv_sec = us / US_PER_S,
	    .tv_nsec = (long)(us % US_PER_S) * NS_PER_US,
	};
	return nanosleep(&t, NULL);
}

/* Set the real-time timer; what it had left. */
static struct timeval
set_alarm(struct timeval value, struct timeval interval)
{
	struct itimerval new = {.it_value = value, .it_interval = interval};
	struct itimerval old = {0};

	setitimer(ITIMER_REAL, &new, &old);
	return old.it_value;
}

unsigned int
alarm(unsigned int seconds)
{
	struct timeval left = set_alarm((struct timeval){.tv_sec = seconds},
					(struct timeval){0});
	return left.tv_sec + (left.tv_usec > 0);
}

useconds_t
ualarm(useconds_t us, useconds_t interval)
{
	struct timeval left = set_alarm(
	    (struct timeval){us / US_PER_S, us % US_PER_S},
	    (struct timeval){interval / US_PER_S, interval % US_PER_S});
	return left.tv_sec * US_PER_S + left.tv_usec;
}

int
utimes(const char *path, const struct timeval tv[2])
{
	struct timespec ts[2];

	if (tv == NULL)
		return utimens(path, NULL);
	for (int i = 0; i < 2; i++) {
		ts[i].tv_sec = tv[i].tv_sec;
		ts[i].tv_nsec = tv[i].tv_usec * NS_PER_US;
	}
	return utimens(path, ts);
}

int
utime(const char *path, const struct utimbuf *times)
{
	if (times == NULL)
		return utimens(path, NULL);
	struct timespec ts[2] = {
	    {.tv_sec = times->actime},
	    {.tv_sec = times->modtime},
	};
	return utimens(path, ts);
}

/* The C library's, with what POSIX adds and older versions of it lack. */
#ifndef _TALLY_SYS_STAT_H
#define _TALLY_SYS_STAT_H

#include_next <sys/stat.h>

/* In place of tv_nsec in utimens(2)'s times. */
#ifndef UTIME_NOW
#define UTIME_NOW  (-2L) /* the time it is */
#define UTIME_OMIT (-1L) /* leave it as it was */
#endif

#ifdef __cplusplus
extern "C" {
#endif
int lstat(const char *path, struct stat *st); /* stat: no symbolic links */
/* The system call: times of access and of change; NULL: now. */
int utimens(const char *path, const struct timespec times[2]);
#ifdef __cplusplus
}
#endif
#endif

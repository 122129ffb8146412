/*
 * What of POSIX's options there is: the C library's headers declare some
 * things (clock_gettime, CLOCK_MONOTONIC) only for systems that claim them.
 */
#ifndef _TALLY_SYS_FEATURES_H
#define _TALLY_SYS_FEATURES_H

#include_next <sys/features.h>

#ifndef _POSIX_TIMERS
#define _POSIX_TIMERS 1
#endif
#ifndef _POSIX_MONOTONIC_CLOCK
#define _POSIX_MONOTONIC_CLOCK 200809L
#endif
#ifndef _POSIX_CPUTIME
#define _POSIX_CPUTIME 200809L
#endif

#endif

/* Scheduling: all that Tally has of it. */
#ifndef _SCHED_H
#define _SCHED_H

#include <sys/cdefs.h>

__BEGIN_DECLS
int sched_yield(void);
__END_DECLS
#endif

/* What a process has used: a struct as Linux has it. Tally counts the times;
 * the rest is 0. */
#ifndef _SYS_RESOURCE_H
#define _SYS_RESOURCE_H

#include <sys/cdefs.h>
#include <sys/time.h>

struct rusage {
	struct timeval ru_utime, ru_stime; /* in user mode, in the kernel */
	long ru_maxrss, ru_ixrss, ru_idrss, ru_isrss, ru_minflt, ru_majflt,
	    ru_nswap, ru_inblock, ru_oublock, ru_msgsnd, ru_msgrcv, ru_nsignals,
	    ru_nvcsw, ru_nivcsw;
};

#define RUSAGE_SELF     0
#define RUSAGE_CHILDREN (-1)

__BEGIN_DECLS
int getrusage(int who, struct rusage *usage);
__END_DECLS
#endif

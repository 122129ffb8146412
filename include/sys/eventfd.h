/* eventfd: a count that is a file. The numbers are Linux's. */
#ifndef _SYS_EVENTFD_H
#define _SYS_EVENTFD_H

#include <sys/cdefs.h>

#define EFD_SEMAPHORE 1 /* a read takes 1 away; the rest are open's flags */

__BEGIN_DECLS
int eventfd2(unsigned int count, int flags);
__END_DECLS
#endif

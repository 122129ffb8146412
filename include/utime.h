/* utime: a file's times of access and change, in seconds. (Some releases of
 * picolibc declare the struct only.) */
#ifndef _UTIME_H
#define _UTIME_H

#include <sys/cdefs.h>
#include <sys/types.h>

struct utimbuf {
	time_t actime;
	time_t modtime;
};

__BEGIN_DECLS
/* times may be NULL: now. Errors: EFAULT and what a path brings. */
int utime(const char *path, const struct utimbuf *times);
__END_DECLS

#endif

/* Locks on whole files. */
#ifndef _SYS_FILE_H
#define _SYS_FILE_H

#include <fcntl.h>
#include <sys/cdefs.h>

#define LOCK_SH 1 /* shared */
#define LOCK_EX 2 /* exclusive */
#define LOCK_NB 4 /* with one of these: EWOULDBLOCK, and no waiting */
#define LOCK_UN 8

__BEGIN_DECLS
int flock(int fd, int operation);
__END_DECLS
#endif

/* Waiting for children. */
#ifndef _SYS_WAIT_H
#define _SYS_WAIT_H

#include <sys/_wait.h>
#include <sys/cdefs.h>
#include <sys/types.h>

__BEGIN_DECLS
pid_t wait(int *status);
pid_t waitpid(pid_t pid, int *status, int options);
struct rusage;
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage);
__END_DECLS
#endif

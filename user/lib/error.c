/* How a system call fails: its stub in stubs.S comes here. */
#include <errno.h>

long __syscall_error(long result);

/* Remember what went wrong; what the caller of the stub gets. */
long
__syscall_error(long result)
{
	errno = -result;
	return -1;
}

/*
 * Users and groups of users: there is one of each, 0, who may do all. Another
 * one is EINVAL, as in a name space that knows no other.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/syscall.h"
#include "mm/uaccess.h"

#define SAME (-1) /* an argument of setreuid and the like: leave it */

/* May these be set? Only to what they are. */
static long
set_ids(const unsigned long *arg, int n, bool same_allowed)
{
	for (int i = 0; i < n; i++)
		if ((int)arg[i] != 0 && !(same_allowed && (int)arg[i] == SAME))
			return -EINVAL;
	return 0;
}

static long
get_ids(const unsigned long *arg)
{
	const uid_t zero = 0;
	int r = 0;

	for (int i = 0; i < 3 && r == 0; i++)
		r = copy_out(arg[i], &zero, sizeof(zero));
	return r;
}

long
sys_getuid(const unsigned long *)
{
	return 0;
}

long
sys_geteuid(const unsigned long *)
{
	return 0;
}

long
sys_getgid(const unsigned long *)
{
	return 0;
}

long
sys_getegid(const unsigned long *)
{
	return 0;
}

long
sys_setuid(const unsigned long *arg)
{
	return set_ids(arg, 1, false);
}

long
sys_setgid(const unsigned long *arg)
{
	return set_ids(arg, 1, false);
}

long
sys_setreuid(const unsigned long *arg)
{
	return set_ids(arg, 2, true);
}

long
sys_setregid(const unsigned long *arg)
{
	return set_ids(arg, 2, true);
}

long
sys_setresuid(const unsigned long *arg)
{
	return set_ids(arg, 3, true);
}

long
sys_setresgid(const unsigned long *arg)
{
	return set_ids(arg, 3, true);
}

long
sys_getresuid(const unsigned long *arg)
{
	return get_ids(arg);
}

long
sys_getresgid(const unsigned long *arg)
{
	return get_ids(arg);
}

/* getgroups(n, gid_t *): there are no others. */
long
sys_getgroups(const unsigned long *arg)
{
	return (int)arg[0] < 0 ? -EINVAL : 0;
}

long
sys_setgroups(const unsigned long *arg)
{
	return arg[0] == 0 ? 0 : -EINVAL;
}

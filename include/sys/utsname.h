/* uname(2). */
#ifndef _SYS_UTSNAME_H
#define _SYS_UTSNAME_H

#include <sys/cdefs.h>

struct utsname {
	char sysname[32], nodename[32], release[32], version[64], machine[32];
};

__BEGIN_DECLS
int uname(struct utsname *u);
__END_DECLS
#endif

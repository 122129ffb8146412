/* uname(2): a struct as Linux has it. */
#ifndef _SYS_UTSNAME_H
#define _SYS_UTSNAME_H

#include <sys/cdefs.h>

struct utsname {
	char sysname[65], nodename[65], release[65], version[65], machine[65],
	    domainname[65];
};

__BEGIN_DECLS
int uname(struct utsname *u);
__END_DECLS
#endif

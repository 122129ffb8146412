/* What the system says about itself: info.c, for /proc as well. */
#ifndef KERNEL_INFO_H
#define KERNEL_INFO_H

#include <sys/sysinfo.h>
#include <sys/utsname.h>

struct proc;

extern const struct utsname info_system;
/* Fill in what ps shows of p. The caller must hold proc_tree_lock. */
void info_describe(struct proc *p, struct psinfo *ps);

#endif

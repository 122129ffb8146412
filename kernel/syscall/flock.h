/* fcntl's commands on locks: see flock.c. */
#ifndef KERNEL_FLOCK_H
#define KERNEL_FLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct file;

bool flock_is_command(int cmd);
/* f is what fd stands for; user is the address of a struct flock. */
long flock_fcntl(struct file *f, int fd, int cmd, uintptr_t user);

#endif

/* Sleeping: for a time, or until a signal comes. */
#ifndef KERNEL_SLEEP_H
#define KERNEL_SLEEP_H

#include <stdint.h>

/* Returns -ETIMEDOUT when rdtime() reaches deadline, -ERESTART for a signal. */
int sleep_until(uint64_t deadline);
/* Convert a user's struct timespec to timer counts: 0, -EFAULT, or -EINVAL. */
int sleep_copy_in(uintptr_t user, uint64_t *counts);

#endif

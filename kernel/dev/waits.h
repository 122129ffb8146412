/* The profiler of waits (waits.c), and the order in which they were
 * (waitorder.c). */
#ifndef KERNEL_WAITS_H
#define KERNEL_WAITS_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/waits.h>

#include "sched/lock.h"

struct uio;

void waits_serve(void); /* set wait_watch: at boot, before anything else */

/* --- For waits.c --- */

/* Of the records, and of who adds to the order. */
extern struct spinlock waits_table_lock;

/* Add an absence, if there is room. With waits_table_lock. */
void waitorder_add(const struct waits_absence *a);

/* The rest needs the mutex of who controls and reads the profiler. */

/* Have memory for as many as waitorder_set has said: 0 or -ENOMEM. */
int waitorder_alloc(void);
/* Forget all; and give the memory back unless it is to be kept. */
void waitorder_clear(bool keep);
/* Have room for so many, 0 at first. There must be no memory yet. */
void waitorder_set(size_t n);
off_t waitorder_size(void);
ssize_t waitorder_read(struct uio *u);

#endif

/* What a thread's end means to words of user memory: futex.c. */
#ifndef KERNEL_FUTEX_H
#define KERNEL_FUTEX_H

/*
 * The current thread ends, or goes over to another program: release its robust
 * mutexes, zero the word that was to tell of it, and wake up who sleeps there.
 * At level 0, as it may fault.
 */
void futex_leave(void);

#endif

/*
 * The library's own locks: recursive, and free of charge until a program makes
 * its second thread.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include <stdbool.h>
#include <time.h>

/* The C library knows this name, and leaves the rest to us (locks.c). */
struct __lock {
	int word; /* 0 free, 1 taken, 2 taken and perhaps waited for */
	int depth;
	void *owner; /* a thread's tp */
};

/* Set by the first pthread_create; from then on locks are taken. */
extern bool __threaded;

void lock_take(struct __lock *lock);
bool lock_try(struct __lock *lock);
void lock_give(struct __lock *lock);

/* The word alone: what a mutex is made of. until is as futex_wait's. 0, or
 * ETIMEDOUT. */
int word_lock(int *word, const struct timespec *until);
bool word_try(int *word);
void word_unlock(int *word);

/* The system call futex. until is a time of CLOCK_MONOTONIC; NULL: for ever. */
int futex_wait(const int *word, int value, const struct timespec *until);
int futex_wake(const int *word, int count);

#endif

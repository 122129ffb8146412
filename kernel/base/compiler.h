/* Macros for what C has no word for. */
#ifndef KERNEL_COMPILER_H
#define KERNEL_COMPILER_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Marks the rare case of a frequent operation. Were it inlined, each caller
 * would save the registers that it needs: ten to thirty instructions. */
#define SLOW_PATH __attribute__((noinline))

/*
 * What `make locks` has Clang check; nothing in any other build. Every use of
 * what is GUARDED_BY(lock) must be where Clang knows that the lock is held:
 * after spin_lock, mutex_lock or must_hold. (C has no name for a lock that is a
 * field of the same structure. A comment above such fields says that it guards
 * them.) UNGUARDED takes a function out of the check. A comment says why it
 * needs no lock, or why Clang can't see that it has one.
 */
#ifdef CHECK_LOCKS
#define LOCK_TYPE(kind)  __attribute__((capability(kind)))
#define GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#define ACQUIRES(lock)   __attribute__((acquire_capability(lock)))
#define RELEASES(lock)   __attribute__((release_capability(lock)))
#define ASSUMES(lock)    __attribute__((assert_capability(lock)))
#define UNGUARDED        __attribute__((no_thread_safety_analysis))
#else
#define LOCK_TYPE(kind)
#define GUARDED_BY(lock)
#define ACQUIRES(lock)
#define RELEASES(lock)
#define ASSUMES(lock)
#define UNGUARDED
#endif

#endif

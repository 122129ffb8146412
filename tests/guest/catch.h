/*
 * What the tests of signals share: a handler that counts, and the mask.
 */
#ifndef CATCH_H
#define CATCH_H

#include <signal.h>

#include "children.h"

static volatile int hits, last_sig;

static inline void
count_signal(int sig)
{
	last_sig = sig;
	hits++;
}

/* Have sig counted, with these flags and mask; from 0. */
static inline int
catch_signal(int sig, int flags, sigset_t mask)
{
	struct sigaction act = {
	    .sa_handler = count_signal,
	    .sa_flags = flags,
	    .sa_mask = mask,
	};

	hits = 0;
	return sigaction(sig, &act, NULL);
}

static inline void
set_mask(sigset_t mask)
{
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

static inline sigset_t
get_mask(void)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	return mask;
}

static inline sigset_t
get_pending(void)
{
	sigset_t set;

	sigpending(&set);
	return set;
}

#endif

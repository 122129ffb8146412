/* Program counter samples as Solaris has them: pcsample(2). */
#ifndef _PCSAMPLE_H
#define _PCSAMPLE_H

#include <stdint.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
/*
 * Store where in its text the process is at each clock tick, one of HZ a
 * second, in samples, an array of nsamples program counters, until it is full
 * or can't be written; nsamples 0: no more. It replaces what profil(2) was
 * told, and the other way round. Gives how many samples have been stored since
 * the call before, 0 if there was none; or -1 and nothing has changed: EINVAL,
 * nsamples is negative; ENOMEM.
 */
long pcsample(uintptr_t samples[], long nsamples);
__END_DECLS

#endif

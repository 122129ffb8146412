/*
 * Program address sampling as AIX has it: profil(2), and monitor(3), which
 * writes its counts to a file. (Solaris's profil is that of <unistd.h>; a file
 * that includes both has this one, from here on.)
 */
#ifndef _MON_H
#define _MON_H

#include <stdint.h>
#include <sys/cdefs.h>

typedef unsigned short HISTCOUNTER;

/* A range of text, and the counters for it. */
struct prof {
	uintptr_t p_low, p_high; /* addresses from p_low to below p_high */
	HISTCOUNTER *p_buff;     /* anywhere in the space that all are in */
	int p_bufsize;           /* bytes */
	unsigned int p_scale;    /* as Scale; -1: made for range and buffer */
};

#define PROF_MAX 1000 /* ranges, at most */

__BEGIN_DECLS
/*
 * Count where in its text the process is at each clock tick, one of HZ a
 * second, in counters of 16 bits that stay at 65535.
 *
 * profil(buffer, bytes, offset, scale): a pc counts at byte
 * ((pc - offset) * (scale & 0xffff)) >> 16, rounded up to an even number, if
 * that is in the buffer; with scale 2 at byte 0 always. Scale 0 or 1: off.
 *
 * profil(ranges, -1, 0, 0): an array of struct prof, p_high ascending; a
 * p_high of 0 ends it. If that is the first one's: off. A p_scale of -1 is the
 * largest with which the range's last address has a counter.
 *
 * A call does nothing if sampling is on already, or off already, or was
 * turned on by the other form and is to be turned off by this one. 0, or -1:
 * EFAULT, the array or a buffer can't be used, or an odd address, buffers
 * with memory between them that the process can't write, more than PROF_MAX
 * ranges, no memory; EINVAL, p_high isn't ascending.
 */
int __aix_profil(void *buffer, unsigned int bytes, unsigned long offset,
		 unsigned int scale);
#define profil __aix_profil

/*
 * Profile the text from low to below high: a histogram, and, of what was
 * compiled with -pg, calls. What an earlier call began is dropped. The buffer
 * has size counters; 8 for each of nfunction functions hold call counts, the
 * others the histogram, of one counter for 2, 4, 8... bytes. `monitor(0)` ends
 * it and writes mon.out, or gmon.out (monitor(3)). 0, or -1: EINVAL, the range
 * is empty or the buffer too small; or as profil, open and write.
 */
int monitor(void *low, ... /* void *high, HISTCOUNTER *buffer, int size,
			      int nfunction */);

/* The same with a buffer that is allocated, of a counter for 2 bytes. Also
 * ENOMEM. */
int monstartup(void *low, void *high);

/* Halt profiling (0), or go on (1). Gives what was before, 0 or 1; or -1, as
 * profil; EINVAL if nothing has been begun. */
int moncontrol(int mode);
__END_DECLS

#endif

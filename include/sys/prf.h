/*
 * prf, the kernel profiler of DG/UX: prf(7) of DG/UX 4.00; here prf(4).
 *
 * /dev/prf0, /dev/prf1.. profile one hart each, /dev/prf all of them. Each has
 * an array of addresses, counters and a state of its own.
 *
 * write	N kernel addresses of 8 bytes, in ascending order: the new
 *		array. All of them in one write.
 * read		unsigned long [2 * N + 2]: the addresses, a counter for each,
 *		in samples, then those of user mode and of idling. From the
 *		start, whatever the file's offset is. ENXIO: no array.
 * ioctl	as below; 0 or more, or -1 and errno: EINVAL, an unknown
 *		request; EFAULT, a bad address.
 *
 * A write fails, and has changed nothing, with ENOSPC: more than PRF_GETMAX
 * says; E2BIG: fewer than 3, or a part of one; EBUSY: it is on; ENOMEM. It
 * fails, and leaves no array, with EINVAL: not ascending; EFAULT.
 */
#ifndef _SYS_PRF_H
#define _SYS_PRF_H

#define PRF_ALL 255 /* the minor number of /dev/prf: all harts */

/* Requests, and what ioctl's third argument is. */
#define PRF_GETSTATUS 0x5001 /* int *: set to the state */
#define PRF_GETSIZE   0x5002 /* int *: set to N; 0: there is no array */
#define PRF_SETSTATE  0x5003 /* int: PRF_ON, or 0; needs an array */
#define PRF_GETMAX    0x5004 /* int * or null: the largest N; also returned */

/* The bits of the state. */
#define PRF_ON    0x1 /* samples are counted */
#define PRF_VALID 0x2 /* there is an array; else it can't be on */

#endif

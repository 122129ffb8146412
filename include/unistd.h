/* The C library's, and profil(2) as Solaris has it. */
#ifndef _TALLY_UNISTD_H
#define _TALLY_UNISTD_H

#include_next <unistd.h>

#ifndef _MON_H /* which has another profil, and precedence */
__BEGIN_DECLS
/*
 * Count where in its text the process is at each clock tick, one of HZ a
 * second: a pc counts at byte ((pc - offset) * scale) >> 16 of the buffer,
 * rounded down to an even number, if it has one. Scale 0x10000 is a byte of
 * buffer per byte of text; 0 and 1 turn counting off. It goes off, too, when a
 * counter reaches 32767 or can't be written. Gives 0; or -1, ENOMEM, and
 * nothing has changed.
 */
int profil(unsigned short *buffer, unsigned int bytes, unsigned int offset,
	   unsigned int scale);
__END_DECLS
#endif

#endif

/*
 * What a wait status says, for <sys/wait.h> and <stdlib.h>, in place of the
 * C library's own. A status is 0xEE00: exited with EE; 0x00SS: killed by
 * signal SS; 0xSS7f: stopped by it; 0xffff: continued.
 */
#ifndef _SYS__WAIT_H
#define _SYS__WAIT_H

#define WNOHANG    1
#define WUNTRACED  2
#define WCONTINUED 8

/* waitid's alone, but for WNOHANG and WCONTINUED. */
#define WSTOPPED 2
#define WEXITED  4
#define WNOWAIT  0x01000000 /* the status can be taken once more */
#define __WALL   0x40000000 /* no effect here: there are no other children */

enum { P_ALL, P_PID, P_PGID };
typedef int idtype_t;

#define WIFEXITED(w)    (((w)&0x7f) == 0)
#define WEXITSTATUS(w)  (((w) >> 8) & 0xff)
#define WIFSIGNALED(w)  (((w)&0x7f) != 0 && ((w)&0x7f) != 0x7f)
#define WTERMSIG(w)     ((w)&0x7f)
#define WIFSTOPPED(w)   (((w)&0xff) == 0x7f)
#define WSTOPSIG(w)     (((w) >> 8) & 0xff)
#define WIFCONTINUED(w) ((w) == 0xffff)
#define WCOREDUMP(w)    0

#endif

/* Terminal settings: what the console's line discipline knows; laid out and
 * numbered as Linux has them. */
#ifndef _SYS_TERMIOS_H
#define _SYS_TERMIOS_H

#include <sys/cdefs.h>
#include <sys/types.h>

typedef unsigned int tcflag_t;
typedef unsigned char cc_t;
typedef unsigned int speed_t;

#define NCCS 19

struct termios {
	tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
	cc_t c_line; /* Linux's line discipline: 0 */
	cc_t c_cc[NCCS];
};

/* c_iflag */
#define ICRNL  0x0100 /* a return typed is a newline */
#define IUTF8  0x4000 /* VERASE erases characters of UTF-8 */
#define IXON   0x0400 /* accepted, without effect */
#define BRKINT 0x0002
#define INPCK  0x0010
#define ISTRIP 0x0020
/* c_oflag */
#define OPOST 0x0001 /* ONLCR counts only with this */
#define ONLCR 0x0004 /* a newline written is return, newline */
/* c_cflag */
#define CS8 0x0030
/* c_lflag */
#define ISIG   0x0001 /* VINTR, VQUIT and VSUSP send signals */
#define ICANON 0x0002 /* lines, with VERASE and VKILL, VEOF ends */
#define ECHO   0x0008
#define ECHOE  0x0010
#define ECHOK  0x0020
#define ECHONL 0x0040
#define NOFLSH 0x0080
#define TOSTOP 0x0100
#define IEXTEN 0x8000
/* c_cc */
#define VINTR  0
#define VQUIT  1
#define VERASE 2
#define VKILL  3
#define VEOF   4
#define VTIME  5
#define VMIN   6
#define VSUSP  10

#define TCSANOW   0
#define TCSADRAIN 1
#define TCSAFLUSH 2

__BEGIN_DECLS
int tcgetattr(int fd, struct termios *t);
int tcsetattr(int fd, int when, const struct termios *t);
pid_t tcgetpgrp(int fd);
int tcsetpgrp(int fd, pid_t pgrp);
__END_DECLS
#endif

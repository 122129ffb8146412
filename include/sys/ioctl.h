/* ioctl(2), and the console's requests. */
#ifndef _SYS_IOCTL_H
#define _SYS_IOCTL_H

#include <sys/cdefs.h>

struct winsize {
	unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

/* Any file's. */
#define FIONBIO  0x5421 /* arg points at an int: may calls not wait? */
#define FIONCLEX 0x5450 /* no arg: exec keeps the descriptor, */
#define FIOCLEX  0x5451 /* or closes it */

/* The console's; any other file answers ENOTTY, but pipes and regular files to
 * FIONREAD. arg points at: */
#define TCGETS     0x5401 /* struct termios, filled in */
#define TCSETS     0x5402 /* struct termios, now */
#define TCSETSW    0x5403 /* the same, when output has drained */
#define TCSETSF    0x5404 /* the same, and forget what was typed */
#define TCSBRK     0x5409 /* no pointer: wait until output has drained */
#define TCXONC     0x540a /* no pointer: without effect */
#define TCFLSH     0x540b /* no pointer: 0 or 2 forget what was typed */
#define TIOCSCTTY  0x540e /* no pointer: it is everybody's terminal already */
#define TIOCGSID   0x5429 /* pid_t: the caller's session */
#define TIOCGPGRP  0x540f /* pid_t: the foreground group */
#define TIOCSPGRP  0x5410
#define TIOCGWINSZ 0x5413 /* struct winsize: 24 by 80 until set */
#define TIOCSWINSZ 0x5414
#define FIONREAD   0x541b /* int: bytes that a read would give now */

__BEGIN_DECLS
int ioctl(int fd, unsigned long request, ...);
__END_DECLS
#endif

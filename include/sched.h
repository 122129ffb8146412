/* Scheduling: all that Tally has of it; and what clone takes. */
#ifndef _SCHED_H
#define _SCHED_H

#include <sys/cdefs.h>

#define CLONE_VM             0x00000100 /* memory is shared */
#define CLONE_FS             0x00000200 /* so are directory and umask */
#define CLONE_FILES          0x00000400 /* descriptors */
#define CLONE_SIGHAND        0x00000800 /* what is done about signals */
#define CLONE_VFORK          0x00004000 /* the caller waits for exec or end */
#define CLONE_THREAD         0x00010000 /* a thread of the same process */
#define CLONE_SYSVSEM        0x00040000 /* nothing here */
#define CLONE_SETTLS         0x00080000 /* tp is an argument */
#define CLONE_PARENT_SETTID  0x00100000 /* *parent_tid = tid */
#define CLONE_CHILD_CLEARTID 0x00200000 /* at its end *child_tid = 0 */
#define CLONE_DETACHED       0x00400000 /* nothing, in Linux either */
#define CLONE_CHILD_SETTID   0x01000000 /* in its memory *child_tid = tid */

__BEGIN_DECLS
int sched_yield(void);
__END_DECLS
#endif

/* /dev/mutexlab: two mutexes, which programs may take. See mutexlab.c. */
#ifndef KERNEL_MUTEXLAB_H
#define KERNEL_MUTEXLAB_H

/* The ioctls. The argument is mutex | a << 4 | b << 16: which mutex, and two
 * numbers. */
#define MUTEX_HOLD   1 /* a: the caller's name, b: how often */
#define MUTEX_LOOK   2 /* wait until somebody holds it: the name */
#define MUTEX_ASKING 3 /* wait until `a' callers want it */
#define MUTEX_LET_GO 4 /* the holder goes on */
#define MUTEX_ADD    5 /* a: rounds with it | without << 6, b: how often */
#define MUTEX_SUM    6 /* how many additions there were; then 0 */
#define MUTEX_RELAY  7 /* a: how many callers take part, b: how often */
#define MUTEX_WANTED 8 /* how often check_mutex_lock was told */
#define MUTEX_LEFT   9 /* how often check_mutex_unlock was told */

#endif

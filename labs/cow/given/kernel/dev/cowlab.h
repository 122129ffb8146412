/* The ioctls of /dev/cow: see cowlab.c. All are about the caller's memory. */
#ifndef KERNEL_COWLAB_H
#define KERNEL_COWLAB_H

#define COW_MAP       1 /* zeroes, at address | pages << 1 | COW_MAP_WRITE */
#define COW_REFS      2 /* how many references the page at an address has */
#define COW_PAGE      3 /* which one it is */
#define COW_FAIL      4 /* bit n: its nth copy from now on finds no page */
#define COW_LEAVE     5 /* take pages until n are left, or give some back */
#define COW_FREE      6 /* how many are free */
#define COW_PRESENT   7 /* how many it has; 0: of those it may write */
#define COW_FAIL_FORK 8 /* as COW_FAIL, of the copies that its forks make */

#define COW_MAP_WRITE 1

#endif

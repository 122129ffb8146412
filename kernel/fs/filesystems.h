/* The file systems, in the order in which they are set up at boot. */
#ifndef KERNEL_FILESYSTEMS_H
#define KERNEL_FILESYSTEMS_H

#include <stddef.h>

struct vnode;

struct vnode *ramfs_root(void); /* of a new, empty one; NULL: no memory */
void ustar_unpack(const void *archive, size_t size); /* into / */
void devfs_init(void);                               /* mount /dev */
void hostfs_init(void); /* mount /host, if the machine has one */

#endif

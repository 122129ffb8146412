/* Memory that a program maps. The numbers are Linux's. */
#ifndef _SYS_MMAN_H
#define _SYS_MMAN_H

#include <stddef.h>
#include <sys/cdefs.h>
#include <sys/types.h>

#define PROT_NONE  0
#define PROT_READ  1
#define PROT_WRITE 2
#define PROT_EXEC  4

/* Of the first three, one; of the others any. */
#define MAP_SHARED          0x01
#define MAP_PRIVATE         0x02
#define MAP_SHARED_VALIDATE 0x03 /* shared; unknown flags are an error */
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_ANON            MAP_ANONYMOUS
#define MAP_GROWSDOWN       0x0100 /* from here to MAP_NORESERVE: ignored */
#define MAP_DENYWRITE       0x0800
#define MAP_EXECUTABLE      0x1000
#define MAP_LOCKED          0x2000
#define MAP_NORESERVE       0x4000
#define MAP_POPULATE        0x8000 /* these three, too */
#define MAP_NONBLOCK        0x10000
#define MAP_STACK           0x20000
#define MAP_FIXED_NOREPLACE 0x100000

#define MAP_FAILED ((void *)-1)

#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED   2

#define MS_ASYNC      1
#define MS_INVALIDATE 2
#define MS_SYNC       4

#define MCL_CURRENT 1
#define MCL_FUTURE  2
#define MCL_ONFAULT 4

#define MADV_NORMAL      0
#define MADV_RANDOM      1
#define MADV_SEQUENTIAL  2
#define MADV_WILLNEED    3
#define MADV_DONTNEED    4
#define MADV_FREE        8
#define MADV_MERGEABLE   12
#define MADV_UNMERGEABLE 13
#define MADV_HUGEPAGE    14
#define MADV_NOHUGEPAGE  15
#define MADV_DONTDUMP    16
#define MADV_DODUMP      17
#define MADV_COLD        20
#define MADV_PAGEOUT     21
#define MADV_COLLAPSE    25

__BEGIN_DECLS
void *mmap(void *address, size_t size, int prot, int flags, int fd,
	   off_t offset);
int munmap(void *address, size_t size);
int mprotect(void *address, size_t size, int prot);
void *mremap(void *old, size_t old_size, size_t size, int flags, ...);
int madvise(void *address, size_t size, int advice);
int msync(void *address, size_t size, int flags);
int mlock(const void *address, size_t size);
int mlock2(const void *address, size_t size, unsigned int flags);
int munlock(const void *address, size_t size);
int mlockall(int flags);
int munlockall(void);
__END_DECLS
#endif

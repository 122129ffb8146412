/*
 * System calls on a program's memory, but for brk: mmap, munmap, mprotect,
 * mremap, madvise, and those that only have something to check. This file knows
 * Linux's flags and errors; mm/remap.c does what is asked for.
 *
 * Memory is promised as a heap's is (mm/aspace.c): who asks for more than is
 * free gets ENOMEM. What can't be written, or was mapped with MAP_NORESERVE, is
 * promised to nobody, and costs nothing as long as it isn't touched.
 *
 * No memory is both written and executed unless a program says in one call that
 * it is to be: whoever translates code at run time does, and must flush
 * (riscv_flush_icache). Programs' files never get such memory (proc/elf.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/layout.h"
#include "base/syscall.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "fs/ramfs.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/page.h"
#include "proc/proc.h"
#include "sched/thread.h"

#define PROT_ALL  (PROT_READ | PROT_WRITE | PROT_EXEC)
#define MAP_TYPE  0xf
#define MAP_KNOWN 0x1fff3f /* what MAP_SHARED_VALIDATE may be used with */

/* What can be written can be read: entries know nothing else. */
static int
rights(int prot)
{
	return (prot & (PROT_READ | PROT_WRITE) ? PROT_R : 0) |
	       (prot & PROT_WRITE ? PROT_W : 0) |
	       (prot & PROT_EXEC ? PROT_X : 0);
}

/* Set *end to that of size bytes at start, in whole pages: 0, or error if start
 * isn't a page's, or the end lies above USER_TOP. */
static int
range(uintptr_t start, size_t size, uintptr_t *end)
{
	if (start % PAGE_SIZE != 0)
		return -EINVAL;
	if (start > USER_TOP || size > USER_TOP - start)
		return -ENOMEM;
	*end = page_round_up(start + size);
	return 0;
}

/* --- mmap --- */

/* Like Linux's, a hint is rounded down, and one that can't be is ignored. */
static int
map_range(struct region *r, uintptr_t start, size_t size, int flags)
{
	bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);

	if (size == 0)
		return -EINVAL;
	if (size > USER_TOP)
		return -ENOMEM;
	size = page_round_up(size);
	if (!fixed) {
		start = page_round_down(start);
		if (start > USER_TOP - size)
			start = 0;
	}
	if (start % PAGE_SIZE != 0)
		return -EINVAL;
	if (start > USER_TOP - size)
		return -ENOMEM;
	if (fixed && start < USER_BASE)
		return -EPERM;
	r->start = start;
	r->end = start + size;
	return 0;
}

/*
 * The region is to show the file. A shared one of a file that isn't in memory
 * can't be written; what is read there are copies, as if it were private.
 */
static int
map_file(struct region *r, struct file *f, int prot, int flags)
{
	struct vnode *v = f->vnode;
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	bool writes = (f->flags & O_ACCMODE) != O_RDONLY;

	if ((shared && prot & PROT_WRITE && !writes) ||
	    (f->flags & O_ACCMODE) == O_WRONLY)
		return -EACCES;
	if (v->type != S_IFREG || v->ops->getpage == NULL)
		return -ENODEV;
	if (shared && prot & PROT_WRITE && v->ops->share == NULL)
		return -EINVAL;
	if (shared && (!writes || v->ops->share == NULL))
		r->never = PROT_W;
	r->shared = shared && v->ops->share != NULL;
	r->vnode = v;
	vnode_ref(v);
	return r->shared ? v->ops->share(v) : 0;
}

/* Shared memory without a file is one without a name. */
static int
map_anonymous(struct region *r, int flags)
{
	if ((flags & MAP_TYPE) == MAP_PRIVATE)
		return 0;
	r->vnode = ramfs_unnamed(r->end - r->start);
	if (r->vnode == NULL)
		return -ENOMEM;
	r->shared = true;
	r->offset = 0;
	return r->vnode->ops->share(r->vnode);
}

/* Have the pages been promised to others? */
static bool
too_much(const struct region *r, int flags)
{
	return r->prot & PROT_W && !(flags & MAP_NORESERVE) &&
	       !page_spare((r->end - r->start) / PAGE_SIZE, LEFT_BY_PROGRAMS);
}

static int
check_flags(int flags)
{
	int type = flags & MAP_TYPE;

	if (type < MAP_SHARED || type > MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (type == MAP_SHARED_VALIDATE && flags & ~MAP_KNOWN)
		return -EOPNOTSUPP;
	return 0;
}

/* f is NULL for memory without a file. The reference that sharing takes is the
 * region's, too, once it is there; so it is dropped in any case. */
static long
map(struct region *r, struct file *f, int prot, int flags)
{
	enum placing place = flags & MAP_FIXED_NOREPLACE ? PLACE_FREE
			     : flags & MAP_FIXED         ? PLACE_FIXED
							 : PLACE_HINT;
	int error = check_flags(flags);

	if (error == 0)
		error = f != NULL ? map_file(r, f, prot, flags)
				  : map_anonymous(r, flags);
	if (r->vnode != NULL)
		r->filled = r->end - r->start;
	if (error == 0 && too_much(r, flags))
		error = -ENOMEM;
	else if (error == 0)
		error = aspace_place(current->proc->as, r, place, f != NULL);
	if (r->vnode != NULL) {
		if (r->shared)
			vnode_unshare(r->vnode);
		vnode_put(r->vnode);
	}
	return error == 0 ? (long)r->start : error;
}

/* mmap(address, size, prot, flags, fd, offset): the flags that it doesn't know,
 * and those that are hints, are ignored. */
long
sys_mmap(const unsigned long *arg)
{
	struct region r = {.prot = rights(arg[2]), .offset = arg[5]};
	int flags = arg[3];
	struct file *f = NULL;
	long result;

	if (arg[5] % PAGE_SIZE != 0)
		return -EINVAL;
	if (!(flags & MAP_ANONYMOUS)) {
		f = fd_get(current->proc->fds, arg[4]);
		if (f == NULL)
			return -EBADF;
	}
	result = map_range(&r, arg[0], arg[1], flags);
	if (result == 0 && arg[5] > INT64_MAX - USER_TOP)
		result = -EOVERFLOW;
	if (result == 0)
		result = map(&r, f, arg[2], flags);
	if (f != NULL)
		file_put(f);
	return result;
}

/* munmap(address, size) */
long
sys_munmap(const unsigned long *arg)
{
	uintptr_t end;

	if (range(arg[0], arg[1], &end) < 0 || arg[1] == 0)
		return -EINVAL;
	return aspace_unmap(current->proc->as, arg[0], end);
}

/* mprotect(address, size, prot). What is above TEXT_TOP can't be executed:
 * EACCES. Pages that can be written from now on are promised. */
long
sys_mprotect(const unsigned long *arg)
{
	uintptr_t end;
	int r = range(arg[0], arg[1], &end);

	if (r == -EINVAL || arg[2] & ~(unsigned long)PROT_ALL)
		return -EINVAL;
	if (r < 0 || arg[1] == 0)
		return r;
	return aspace_protect(current->proc->as, arg[0], end, rights(arg[2]));
}

/* mremap(old, old_size, size, flags, new). Left out are MREMAP_DONTUNMAP, and
 * an old size of 0, which would make a second mapping of shared memory. */
long
sys_mremap(const unsigned long *arg)
{
	struct move m = {
	    .start = arg[0],
	    .size = page_round_up(arg[1]),
	    .new_size = page_round_up(arg[2]),
	    .may_move = arg[3] & MREMAP_MAYMOVE,
	};
	bool fixed = arg[3] & MREMAP_FIXED;

	if (arg[3] & ~(unsigned long)(MREMAP_MAYMOVE | MREMAP_FIXED) ||
	    m.start % PAGE_SIZE != 0 || m.size == 0 || m.new_size == 0 ||
	    (fixed && (!m.may_move || arg[4] % PAGE_SIZE != 0)))
		return -EINVAL;
	if (fixed && (m.new_size > USER_TOP || arg[4] > USER_TOP - m.new_size))
		return -EINVAL;
	if (m.start >= USER_TOP || m.size > USER_TOP - m.start)
		return -EFAULT;
	if (m.new_size > USER_TOP)
		return -ENOMEM;
	if (fixed && arg[4] < USER_BASE)
		return -EPERM;
	if (fixed && arg[4] < m.start + m.size && m.start < arg[4] + m.new_size)
		return -EINVAL;
	m.to = fixed ? arg[4] : 0;
	return aspace_move(current->proc->as, &m);
}

/* --- Hints --- */

static bool
advice_known(unsigned long advice)
{
	return advice <= MADV_DONTNEED || advice == MADV_FREE ||
	       (advice >= MADV_MERGEABLE && advice <= MADV_DODUMP) ||
	       advice == MADV_COLD || advice == MADV_PAGEOUT ||
	       advice == MADV_COLLAPSE;
}

/*
 * madvise(address, size, advice). MADV_DONTNEED drops pages, and MADV_FREE does
 * the same at once. The other hints are taken, and change nothing. Advice that
 * is more than a hint (for forks, for instance) is unknown here: EINVAL.
 */
long
sys_madvise(const unsigned long *arg)
{
	struct aspace *as = current->proc->as;
	uintptr_t end;
	int r = range(arg[0], arg[1], &end);

	if (r == -EINVAL || !advice_known((int)arg[2]))
		return -EINVAL;
	if (r < 0 || arg[1] == 0)
		return r < 0 ? -EINVAL : 0;
	if (arg[2] == MADV_DONTNEED || arg[2] == MADV_FREE)
		aspace_discard(as, arg[0], end);
	return aspace_covers(as, arg[0], end) ? 0 : -ENOMEM;
}

/* 0 if [start, start + size) is mapped; else an errno. */
static int
check_mapped(uintptr_t start, size_t size)
{
	uintptr_t end;
	int r = range(start, size, &end);

	if (r < 0)
		return r;
	return aspace_covers(current->proc->as, start, end) ? 0 : -ENOMEM;
}

/* msync(address, size, flags): what is shared is in the file at once. */
long
sys_msync(const unsigned long *arg)
{
	unsigned long flags = arg[2];

	if (flags & ~(unsigned long)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) ||
	    (flags & MS_ASYNC && flags & MS_SYNC))
		return -EINVAL;
	return check_mapped(arg[0], arg[1]);
}

/* mlock(address, size) and its like: the kernel never takes pages back. */
static int
lock_range(uintptr_t start, size_t size)
{
	size_t at = start % PAGE_SIZE;

	if (size > SIZE_MAX - at)
		return -EINVAL;
	return check_mapped(start - at, size + at);
}

long
sys_mlock(const unsigned long *arg)
{
	return arg[1] == 0 ? 0 : lock_range(arg[0], arg[1]);
}

long
sys_munlock(const unsigned long *arg)
{
	return arg[1] == 0 ? 0 : lock_range(arg[0], arg[1]);
}

/* mlock2(address, size, flags): MLOCK_ONFAULT is the only flag. */
long
sys_mlock2(const unsigned long *arg)
{
	if (arg[2] & ~1UL)
		return -EINVAL;
	return arg[1] == 0 ? 0 : lock_range(arg[0], arg[1]);
}

long
sys_mlockall(const unsigned long *arg)
{
	unsigned long known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;

	return arg[0] == 0 || arg[0] & ~known || arg[0] == MCL_ONFAULT ? -EINVAL
								       : 0;
}

long
sys_munlockall(const unsigned long *)
{
	return 0;
}

/* riscv_flush_icache(start, end, flags): all that was fetched is forgotten, on
 * all harts that run the process, or will. Flag 1 asks for this thread's alone,
 * which may go to another hart: so it makes no difference. */
long
sys_riscv_flush_icache(const unsigned long *arg)
{
	if (arg[2] & ~1UL)
		return -EINVAL;
	aspace_flush_text(current->proc->as);
	return 0;
}

/*
 * Memory: pages, small blocks, address spaces, kernel stacks, and the only
 * ways to touch a user's memory.
 */
#ifndef KERNEL_MM_H
#define KERNEL_MM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../layout.h"
#include "../lock.h"
#include "../riscv.h"

struct vnode;

typedef uint64_t pte_t;

static inline uintptr_t
page_round_down(uintptr_t va)
{
	return va & ~(uintptr_t)(PAGE_SIZE - 1);
}

static inline uintptr_t
page_round_up(uintptr_t va)
{
	return page_round_down(va + PAGE_SIZE - 1);
}

/* Kernel stacks (kstack.c): the top of one, or 0. At level 0, as all harts may
 * have to flush. */
uintptr_t kstack_alloc(void);
void kstack_free(uintptr_t top); /* not the one it runs on */
/* Give up stacks kept for reuse; false if there were none. reclaimable: the
 * pages that would bring. */
bool kstack_reclaim(void);
size_t kstack_reclaimable(void);

/*
 * Pages (page.c), named by their address in the direct map. Each has a
 * reference count: 1 when allocated; the last page_free gives it back.
 * Nothing panics for want of memory: NULL says so.
 *
 * page_init hands over the physical memory [start, end), except a hole, which
 * may be empty (0, 0). page_add frees the hole later, or a part of it. Both
 * widen it to whole pages.
 */
void page_init(uint64_t start, uint64_t end, uint64_t hole_start,
	       uint64_t hole_end);
void page_add(uint64_t start, uint64_t end);
void *page_alloc(void); /* contents undefined */
void *page_alloc_zero(void);
void page_ref(void *page);
void page_free(void *page);
unsigned int page_refs(const void *page);
size_t page_count_free(void); /* exact while nothing allocates or frees */
size_t page_count_total(void);
/*
 * What is left to others by whoever wants pages for something new, in pages.
 * When files have taken all they may, one can still make a name, and run a
 * program that removes some; when programs have, another one can be started,
 * to end them; and those that run find the pages that they were promised.
 */
enum {
	LEFT_BY_FILES = 256,
	LEFT_BY_NAMES = 224,
	LEFT_BY_PROGRAMS = 96,
	LEFT_BY_FORK = 64,
	LEFT_BY_FAULTS = 32,
};
extern size_t page_nfree; /* atomic; what harts keep doesn't count */
/* Would so many be left, if n more were taken? */
static inline bool
page_spare(size_t n, size_t left)
{
	size_t free = __atomic_load_n(&page_nfree, __ATOMIC_RELAXED);

	return free >= n + left || free + kstack_reclaimable() >= n + left;
}

/* Blocks of any size (kmalloc.c); those larger than 2048 bytes have pages of
 * their own, and start with one. */
void *kmalloc(size_t size);
void *kzalloc(size_t size);
void kfree(void *block); /* NULL is fine */

/* A test's: what it is true for fails, as if there were no memory. */
extern bool (*alloc_fails)(void);

/* Address spaces (aspace.c, fault.c). */

/* What may be done, as the bits that page table entries have for it. */
enum { PROT_R = PTE_R, PROT_W = PTE_W, PROT_X = PTE_X };

/*
 * A range with one meaning; page aligned. What is touched, is filled in. After
 * `filled` come zeroes; but in a region that can't be written, the last page
 * of the file's part is shared with the file to its end.
 */
struct region {
	uintptr_t start, end;
	int prot;
	struct vnode *vnode; /* NULL: zeroes */
	off_t offset;        /* in vnode, of start */
	size_t filled;       /* bytes from start that come from vnode */
	uintptr_t low, high; /* aspace.c's: nothing outside was ever touched */
};

#define REGION_MAX 12

struct aspace {
	bool going; /* it is being freed */
	pte_t *root;
	struct list tables;  /* all its page tables: table.h */
	size_t ntables;      /* of them; others read it */
	unsigned long harts; /* atomic: bits by hart id, where it is loaded */

	struct mutex lock; /* guards what follows, and the tables */
	struct region region[REGION_MAX]; /* the heap's first, then any order */
	unsigned int nregions;
	uintptr_t brk;   /* the heap's region ends at its page */
	size_t size;     /* bytes of all regions, and.. */
	size_t resident; /* ..pages mapped; others read both without the lock */

	/* Constant: the program's code; what of it has no frame pointers. */
	struct span {
		uintptr_t start, end;
	} text, frameless;
};

void aspace_init(void); /* the kernel's own tables, final form */
struct aspace *aspace_create(void);
struct aspace *aspace_fork(struct aspace *as); /* copy on write */
/* Free as, which no thread has that may still run. */
void aspace_free(struct aspace *as);
/*
 * Add a region; 0, -EINVAL for a bad or overlapping range, one both writable
 * and executable, or an unaligned offset; -ENOMEM. References the vnode.
 */
int aspace_map(struct aspace *as, const struct region *r);
/* Let the heap begin at start, page aligned. It is empty so far, and as new. */
void aspace_start_heap(struct aspace *as, uintptr_t start);
/* Set the break; 0 or -ENOMEM. Lowering it gives pages back. */
int aspace_set_brk(struct aspace *as, uintptr_t brk);
/* Load as (NULL: none, the kernel's root) on this hart. Level raised. */
void aspace_switch(struct aspace *as);
/* Is it the one that this hart has loaded? At level 7. */
bool aspace_is_loaded(const struct aspace *as);
void tlb_serve(void);
/*
 * Make va accessible for prot (one PROT_ bit): demand fill, copy on write.
 * 0; -EFAULT: not allowed; -ENOMEM. May sleep.
 */
int aspace_fault(struct aspace *as, uintptr_t va, int prot);
/* May all of [start, end) be written, be it there yet or not? */
bool aspace_writable(struct aspace *as, uintptr_t start, uintptr_t end);

/*
 * User memory (uaccess.S). These fault pages in, so level 0 and no spinlock.
 * copy_in, copy_out: 0 or -EFAULT. copy_in_str: the length without the NUL,
 * -EFAULT, or -ENAMETOOLONG when size bytes hold no NUL.
 */
int copy_in(void *dst, uintptr_t user_src, size_t n);
int copy_out(uintptr_t user_dst, const void *src, size_t n);
ssize_t copy_in_str(char *dst, uintptr_t user_src, size_t size);
/* Add n to a 16-bit counter, up to limit: its value then, or -EFAULT; also if
 * its address is odd. */
int count_user(uintptr_t counter, unsigned int n, unsigned int limit);
/* For the sampler: two words, if they are present; or -EFAULT. */
int peek(unsigned long dst[2], uintptr_t user_src);

#endif

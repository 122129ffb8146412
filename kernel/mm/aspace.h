/*
 * Address spaces: what a program may touch. aspace.c makes and changes them,
 * fault.c serves their page faults, ktable.c loads them on harts. table.h has
 * what only these files and table.c need.
 */
#ifndef KERNEL_ASPACE_H
#define KERNEL_ASPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/riscv.h"
#include "sched/lock.h"

struct vnode;

typedef uint64_t pte_t;

/* The rights to read, write and execute, as the bits of page table entries. */
enum { PROT_R = PTE_R, PROT_W = PTE_W, PROT_X = PTE_X };

/*
 * A range of addresses with one meaning; both ends are page aligned. A page of
 * it has bytes of a file as far as `filled` reaches, and zeroes beyond. For
 * example, a data segment of 0x1800 bytes in the file and 0x4000 in memory has
 * two pages with bytes of the file, the second of which ends with 0x800 zero
 * bytes, and two pages of zeroes. But in a region that can't be written, the
 * last page with bytes of the file is the file's own page, and has after
 * `filled` whatever the file has there.
 */
struct region {
	uintptr_t start, end;
	int prot;
	struct vnode *vnode; /* NULL: zeroes */
	off_t offset;        /* in vnode, of start */
	size_t filled;       /* bytes from start that come from vnode */
	uintptr_t low, high; /* nothing outside was touched; equal: nothing */
};

#define REGION_MAX 12

struct aspace {
	bool going; /* it is being freed */
	pte_t *root;
	struct list tables;  /* all page tables, root included; under lock */
	size_t ntables;      /* how many; others read it without the lock */
	unsigned long harts; /* atomic; bit n: hart number n has it loaded */

	/* Guards what follows, but for the spans, and the page tables. */
	struct mutex lock;
	struct region region[REGION_MAX]; /* the heap's first, then any order */
	unsigned int nregions;
	uintptr_t brk;   /* the heap's region ends at the next page boundary */
	size_t size;     /* bytes of all regions */
	size_t resident; /* pages mapped; others read both without the lock */

	/* Constant after exec: all code, and that without frame pointers; and
	 * where in its file the code begins. */
	struct span {
		uintptr_t start, end;
	} text, frameless;
	off_t text_offset;
};

/* Set and explained by fs/vfs.c: files are a higher floor (docs/tour.md). */
struct aspace_files {
	void (*hold)(struct vnode *v, bool text);
	void (*release)(struct vnode *v, bool text);
	/* The page with that byte, referenced; only to be read. May sleep. */
	int (*find_page)(struct vnode *v, off_t offset, void **page);
};

extern struct aspace_files aspace_files;

/* At boot: replace the boot page table, which allows everything everywhere. */
void aspace_init(void);
/* An address space with nothing but an empty heap; NULL: no memory. */
struct aspace *aspace_create(void);
/* A copy that shares all pages until one side writes; NULL: no memory. */
struct aspace *aspace_fork(struct aspace *as);
/* Free as, which no thread has that may still run. At level 0: may wait. */
void aspace_free(struct aspace *as);
/*
 * Add a region, and hold its vnode. 0; -EINVAL for a bad or overlapping range,
 * one both writable and executable, or an unaligned offset; or -ENOMEM.
 */
int aspace_map(struct aspace *as, const struct region *r);
/* Let the empty heap of a new as begin at start, which is page aligned. */
void aspace_start_heap(struct aspace *as, uintptr_t start);
/* Set the break; 0 or -ENOMEM. Lowering it frees the pages above. */
int aspace_set_brk(struct aspace *as, uintptr_t brk);
/* Load as, or for NULL the kernel's root, on this hart. Level raised. */
void aspace_switch(struct aspace *as);
/* Is it the one that this hart has loaded? For the sampler, at level 7. */
bool aspace_is_loaded(const struct aspace *as);
/* Flush, if another hart has asked this one to: at each interrupt. */
void tlb_serve(void);
/*
 * Serve a page fault: make the page at va accessible for prot, one PROT_ bit.
 * 0; -EFAULT if no region allows it, or its file can't be read; or -ENOMEM.
 */
int aspace_fault(struct aspace *as, uintptr_t va, int prot);
/* Do writable regions cover all of [start, end)? It need not be mapped. */
bool aspace_writable(struct aspace *as, uintptr_t start, uintptr_t end);

#endif

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

#include "base/list.h"
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
 *
 * A shared region shows the file itself: what is written there is in the file.
 */
struct region {
	struct list link;         /* in as->regions; region.c sets these two */
	struct region *branch[2]; /* below it in the tree */
	uintptr_t start, end;
	int prot;
	int never;           /* PROT_ bits that it mustn't get later */
	bool shared;         /* as long as it is, filled is all of it */
	bool text;           /* its file can't be opened for writing */
	struct vnode *vnode; /* NULL: zeroes */
	off_t offset;        /* in vnode, of start */
	size_t filled;       /* bytes from start that come from vnode */
	uintptr_t low, high; /* nothing outside was touched; equal: nothing */
};

#define REGIONS_MAX    65530 /* of an address space: Linux's number */
#define REGIONS_WITHIN 12

struct aspace {
	unsigned int refs; /* of processes, and who looks (look.c); atomic */
	bool going;        /* it is being freed */
	pte_t *root;
	struct list tables;  /* all page tables, root included; under lock */
	size_t ntables;      /* how many; others read it without the lock */
	unsigned long harts; /* atomic; bit n: hart number n has it loaded */

	/* Guards what follows, but for the spans, and the page tables. */
	struct mutex lock;
	struct list regions;  /* by address */
	struct region *top;   /* of the tree of the same: region.c */
	uintptr_t heap, brk;  /* where the heap starts, and ends */
	size_t size;          /* bytes of all regions */
	size_t resident;      /* pages mapped */
	size_t nregions;      /* others read these three without the lock */
	struct region *spare; /* of first[], that were in use; by branch[0] */
	unsigned int nfirst;  /* from here on none of first[] ever was */

	/* Constant after exec: all code, and that without frame pointers; and
	 * where in its file the code begins; arguments and environment. */
	struct span {
		uintptr_t start, end;
	} text, frameless, args, env;
	off_t text_offset;

	struct region first[REGIONS_WITHIN];
};

/* Set and explained by fs/vfs.c: files are a higher floor (docs/tour.md). */
struct aspace_files {
	/* For a region that has a vnode: that is referenced, and counted. */
	void (*hold)(const struct region *r);
	void (*release)(const struct region *r);
	/* The page with that byte, referenced. May sleep. Unless r is shared
	 * it's only to be read. */
	int (*find_page)(const struct region *r, off_t offset, void **page);
};

extern struct aspace_files aspace_files;

/* At boot: replace the boot page table, which allows everything everywhere. */
void aspace_init(void);
/* An address space with nothing but an empty heap; NULL: no memory. */
struct aspace *aspace_create(void);
/* A copy that shares all pages until one side writes; NULL: no memory. */
struct aspace *aspace_fork(struct aspace *as);
/* Another process uses as, too, or looks at it. */
void aspace_ref(struct aspace *as);
/* No thread that uses as by this reference may still run. The last one frees
 * it. At level 0: may wait. */
void aspace_put(struct aspace *as);
/*
 * Add a region, and hold its vnode. 0; -EINVAL for a bad or overlapping range,
 * one both writable and executable, one executable that isn't below TEXT_TOP,
 * or an unaligned offset; or -ENOMEM.
 */
int aspace_map(struct aspace *as, const struct region *r);
/*
 * The highest free range of so many bytes, a multiple of pages: below FILES_TOP
 * if low is set, else above TEXT_TOP. 0: there is none. The caller holds
 * as->lock, or nobody else knows as.
 */
uintptr_t aspace_find(struct aspace *as, size_t size, bool low);
/* Let the empty heap of a new as begin at start, which is page aligned. */
void aspace_start_heap(struct aspace *as, uintptr_t start);
/* Set the break; 0 or -ENOMEM. Lowering it frees the pages above. */
int aspace_set_brk(struct aspace *as, uintptr_t brk);
/* Where aspace_place may put a region. */
enum placing {
	PLACE_HINT,  /* at its start, or where there is room */
	PLACE_FREE,  /* at its start, or nowhere */
	PLACE_FIXED, /* at its start, in place of what is there */
};
/*
 * For these see remap.c. Their ranges are of whole pages, and end at or below
 * USER_TOP.
 *
 * aspace_place: add a region, like aspace_map, and set its start and end; low:
 * below TEXT_TOP, if it may choose. 0; -ENOMEM, also for a place where it must
 * not be; or -EEXIST. With PLACE_FIXED what was there may have gone.
 * aspace_unmap: 0 or -ENOMEM.
 * aspace_protect: 0; -ENOMEM, also if not all of the range is mapped; or
 * -EACCES.
 * aspace_covers: do regions cover all of the range?
 * aspace_discard: drop its pages.
 */
int aspace_place(struct aspace *as, struct region *r, enum placing place,
		 bool low);
int aspace_unmap(struct aspace *as, uintptr_t start, uintptr_t end);
int aspace_protect(struct aspace *as, uintptr_t start, uintptr_t end, int prot);
bool aspace_covers(struct aspace *as, uintptr_t start, uintptr_t end);
void aspace_discard(struct aspace *as, uintptr_t start, uintptr_t end);
/*
 * Give a part of one region another size, and another place: `to', or if that
 * is 0 the same, or if it may move and has no room there, any. Returns where it
 * is; -EFAULT if it isn't of one region; -EINVAL if its file can't be as long;
 * or -ENOMEM.
 */
struct move {
	uintptr_t start;
	size_t size, new_size;
	uintptr_t to;
	bool may_move;
};
long aspace_move(struct aspace *as, const struct move *m);
/* Load as, or for NULL the kernel's root, on this hart. Level raised. */
void aspace_switch(struct aspace *as);
/* All harts that have as loaded forget fetched instructions: after the text is
 * complete, and before it is mapped. At level 0. */
void aspace_flush_text(struct aspace *as);
/* Is it the one that this hart has loaded? For the sampler, at level 7. */
bool aspace_is_loaded(const struct aspace *as);
/* Flush, if another hart has asked this one to: at each interrupt. */
void tlb_serve(void);
/*
 * Serve a page fault: make the page at va accessible for prot, one PROT_ bit.
 * 0; -EFAULT if no region is there; -EIO if its file can't be read, or has
 * ended; -EACCES if the
 * region doesn't allow it; or -ENOMEM.
 */
int aspace_fault(struct aspace *as, uintptr_t va, int prot);
/* Do writable regions cover all of [start, end)? It need not be mapped. */
bool aspace_writable(struct aspace *as, uintptr_t start, uintptr_t end);

#endif

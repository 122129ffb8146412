/*
 * Blocks of memory of any size. Small ones, called objects here, have sizes
 * that are powers of two from 16 to 2048 bytes, and are carved from single
 * pages. Larger requests get whole pages, in a row.
 *
 * There is a class for each of the eight sizes, with a lock of its own. A class
 * keeps a list of its pages that have room; full pages are on no list. A page
 * is freed with the last of its objects.
 *
 * The free objects of a page form a list through their first words. Objects
 * that were never handed out aren't on that list, so a new page needs no
 * preparation. They are handed out only when the list is empty; then all others
 * are in use, and `used`, which counts these, tells where the fresh ones start:
 *
 *	| in use | in use | in use | fresh | fresh ..	used = 3, no free list
 *
 * kfree isn't told the size: it finds the class, or the number of pages, in the
 * struct page of the block's first page.
 */
#include "kmalloc.h"

#include <string.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/panic.h"
#include "sched/lock.h"

#include "check_memory.h"
#include "page.h"
#include "pages.h"

#define CLASS_MIN 16
#define CLASSES   8
#define SMALL_MAX (CLASS_MIN << (CLASSES - 1))

static struct class
{
	struct spinlock lock; /* level 1; guards the rest, and the pages */
	struct list partial;  /* of struct page: pages with room */
} classes[CLASSES] = {
#define CLASS(i)                                                    \
	{                                                           \
		SPINLOCK1("kmalloc"), LIST_INIT(classes[i].partial) \
	}
    CLASS(0), CLASS(1), CLASS(2), CLASS(3),
    CLASS(4), CLASS(5), CLASS(6), CLASS(7),
#undef CLASS
};

static unsigned int
class_for(size_t size)
{
	unsigned int c = 0;

	while ((size_t)CLASS_MIN << c < size)
		c++;
	return c;
}

static unsigned int
capacity(unsigned int c)
{
	return PAGE_SIZE / CLASS_MIN >> c;
}

/* Take an object from a page with room. The caller holds the class's lock. */
static void *
object_take(struct page *p)
{
	void *object = p->objects;

	if (object != NULL) {
		p->objects = *(void **)object;
		check_block_allocated(object, CLASS_MIN << p->class);
	} else {
		object = (char *)page_address(p) +
			 (p->used * CLASS_MIN << p->class);
	}
	p->used++;
	if (p->used == capacity(p->class))
		list_remove(&p->link);
	return object;
}

/* A new page for class c, empty and on no list; NULL: no memory. */
static struct page *
class_page(unsigned int c)
{
	void *page = page_alloc();
	struct page *p;

	if (page == NULL)
		return NULL;
	p = page_of(page);
	p->use = PAGE_SMALL;
	p->class = c;
	p->used = 0;
	p->objects = NULL;
	return p;
}

static void *
small_alloc(unsigned int c)
{
	struct class *class = &classes[c];
	struct page *p;
	void *object;

	spin_lock(&class->lock);
	if (list_empty(&class->partial)) {
		/* Not under the lock, a leaf: page_alloc may take others. */
		spin_unlock(&class->lock);
		p = class_page(c);
		if (p == NULL)
			return NULL;
		spin_lock(&class->lock);
		list_append(&class->partial, &p->link);
	}
	p = container_of(class->partial.prev, struct page, link);
	object = object_take(p);
	spin_unlock(&class->lock);
	return object;
}

/* A full page has room again; an empty one is freed, without the lock. pc is
 * the caller of kfree. */
static void
small_free(struct page *p, void *object, void *pc)
{
	struct class *class = &classes[p->class];
	bool empty;

	spin_lock(&class->lock);
	if (p->used == capacity(p->class))
		list_append(&class->partial, &p->link);
	check_block_freed(object, CLASS_MIN << p->class, pc);
	if (object == p->objects) /* others are found by the debug build only */
		panic("freed twice: %p", object);
	*(void **)object = p->objects;
	p->objects = object;
	p->used--;
	empty = p->used == 0;
	if (empty) {
		list_remove(&p->link);
		p->use = PAGE_OTHER;
	}
	spin_unlock(&class->lock);
	if (empty)
		page_free(page_address(p));
}

/* pc is the caller of kmalloc or kzalloc: for the debug build, which also adds
 * CHECK_ROOM bytes to a small block, to find who writes past its end. Inlined,
 * so that the ordinary build doesn't pass pc on. */
static inline __attribute__((always_inline)) void *
allocate(size_t size, void *pc)
{
	size_t n = (size - 1) / PAGE_SIZE + 1;
	unsigned int c;
	void *block;

	if (alloc_fails != NULL && alloc_fails())
		return NULL;
	if (size + CHECK_ROOM <= SMALL_MAX) {
		c = class_for(size + CHECK_ROOM);
		block = small_alloc(c);
		if (block != NULL)
			check_block_end(block, CLASS_MIN << c, size, pc);
		return block;
	}
	block = pages_alloc(n);
	if (block != NULL) {
		page_of(block)->use = PAGE_LARGE;
		page_of(block)->npages = n;
	}
	return block;
}

void *
kmalloc(size_t size)
{
	return allocate(size, __builtin_return_address(0));
}

void *
kzalloc(size_t size)
{
	void *block = allocate(size, __builtin_return_address(0));

	return block == NULL ? NULL : memset(block, 0, size);
}

void
kfree(void *block)
{
	struct page *p;

	if (block == NULL)
		return;
	p = page_of(block);
	if (p->use == PAGE_SMALL) {
		small_free(p, block, __builtin_return_address(0));
		return;
	}
	/* If it was the last object of its page, that may be anybody's now. */
	if (p->use != PAGE_LARGE)
		panic("freed twice: %p", block);
	p->use = PAGE_OTHER;
	pages_free(block, p->npages);
}

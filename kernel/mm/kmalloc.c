/*
 * Small blocks of memory: powers of two from 16 to 2048 bytes, carved from
 * single pages. Larger requests get whole pages, in a row.
 *
 * A class keeps a list of its pages that have room. A page's free objects
 * form a list through their first words; those never handed out yet follow
 * the others in the page. When that list is empty, all objects ever handed
 * out are in use, so the count of those tells where the fresh ones start. A
 * page goes back when its last object does.
 */
#include "page.h"

#include <checks.h>
#include <string.h>

#define CLASS_MIN 16
#define CLASSES   8
#define SMALL_MAX (CLASS_MIN << (CLASSES - 1))

static struct class
{
	struct spinlock lock; /* level 1; guards the rest, and the pages */
	struct list partial;  /* of struct page: those with room */
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

/* How many objects a page of class c holds. */
static unsigned int
capacity(unsigned int c)
{
	return PAGE_SIZE / CLASS_MIN >> c;
}

/* Take an object from a page that has room. The class's lock is held. */
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

/* A page for class c, empty and on no list; NULL: no memory. */
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
		/* Not under the lock: finding a page may take others. */
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

static void
small_free(struct page *p, void *object)
{
	struct class *class = &classes[p->class];
	bool empty;

	spin_lock(&class->lock);
	if (p->used == capacity(p->class))
		list_append(&class->partial, &p->link);
	check_block_freed(object, CLASS_MIN << p->class);
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

void *
kmalloc(size_t size)
{
	size_t n = (size - 1) / PAGE_SIZE + 1;
	void *block;

	if (alloc_fails != NULL && alloc_fails())
		return NULL;
	if (size <= SMALL_MAX)
		return small_alloc(class_for(size));
	block = pages_alloc(n);
	if (block != NULL)
		page_of(block)->npages = n;
	return block;
}

void *
kzalloc(size_t size)
{
	void *block = kmalloc(size);

	return block == NULL ? NULL : memset(block, 0, size);
}

void
kfree(void *block)
{
	struct page *p;

	if (block == NULL)
		return;
	p = page_of(block);
	if (p->use == PAGE_SMALL)
		small_free(p, block);
	else
		pages_free(block, p->npages);
}

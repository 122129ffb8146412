/*
 * ramfs, the contents of files: an array of pages that grows by doubling.
 *
 * A page may be shared: mapped by programs, or held by a reader for a moment.
 * A shared page is never written; the file gets a copy of its own first, and
 * a page that is written in full is simply exchanged for a new one. So a
 * reader takes a reference, lets go of the lock and copies at leisure, and
 * what a process has mapped stays as it was. What lies past the end of the
 * file in its last page is zero.
 *
 * A file that was in the initrd has no pages at first: its bytes stay where
 * they are in that archive, and a page is copied from there when it's to be
 * mapped or written.
 *
 * Writers take turns by the node's mutex, and hold it while they touch user
 * memory; readers and faults get by with the spinlock.
 */
#include <errno.h>
#include <string.h>

#include "../proc/proc.h"
#include "ramfs.h"

#define FILE_SIZE_MAX ((off_t)1 << 40) /* bytes */
#define FIRST_PAGES   4                /* room in a new array */
/* Pages that files leave to others: when a disk is full, one can still start
 * a program that removes something. */
#define PAGES_LEFT 256

/* The page that index names, referenced; or NULL, a hole. */
static void *
page_get(struct ramnode *n, size_t index)
{
	void *page = NULL;

	spin_lock(&n->page_lock);
	if (index < n->max_page)
		page = n->page[index];
	if (page != NULL)
		page_ref(page);
	spin_unlock(&n->page_lock);
	return page;
}

/* A number that someone may be changing: size, archived. */
static off_t
look(const off_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* What is at an offset where the file has no page: *size bytes, or fewer, which
 * *size then says. */
static const char *
unpaged(const struct ramnode *n, off_t offset, size_t *size)
{
	off_t archived = look(&n->archived);

	if (offset >= archived)
		return zeroes;
	if ((off_t)*size > archived - offset)
		*size = archived - offset;
	return n->archive + offset;
}

static ssize_t
ramfile_read(struct vnode *v, struct file *, struct uio *u)
{
	struct ramnode *n = ramnode_of(v);
	off_t size = look(&n->size);
	size_t total = 0;

	while (u->left > 0 && u->offset < size) {
		size_t at = u->offset % PAGE_SIZE;
		size_t chunk = PAGE_SIZE - at;
		char *page = page_get(n, u->offset / PAGE_SIZE);
		const char *src;
		ssize_t r;

		if ((off_t)chunk > size - u->offset)
			chunk = size - u->offset;
		src = page != NULL ? page + at : unpaged(n, u->offset, &chunk);
		r = uio_to(u, src, chunk);
		if (page != NULL)
			page_free(page);
		if (r < 0)
			return total ? (ssize_t)total : r;
		total += r;
	}
	n->atime = time_realtime_ns();
	return total;
}

/* Make room in the array for page index. 0 or -ENOSPC. n->lock is held. */
static int
array_grow(struct ramnode *n, size_t index)
{
	size_t max = n->max_page ? n->max_page : FIRST_PAGES;
	void **old = n->page, **new;

	if (index < n->max_page)
		return 0;
	while (max <= index)
		max *= 2;
	new = kzalloc(max * sizeof *new);
	if (new == NULL)
		return -ENOSPC;
	if (old != NULL)
		memcpy(new, old, n->max_page * sizeof *old);
	spin_lock(&n->page_lock);
	n->page = new;
	n->max_page = max;
	spin_unlock(&n->page_lock);
	kfree(old);
	return 0;
}

/* Put page in the place of the one at index, which is let go. page may be
 * NULL, for a hole. n->lock is held. */
static void
page_exchange(struct ramnode *n, size_t index, void *page)
{
	void *old;

	spin_lock(&n->page_lock);
	old = n->page[index];
	n->page[index] = page;
	n->npages += (page != NULL) - (old != NULL);
	spin_unlock(&n->page_lock);
	if (old != NULL)
		page_free(old);
}

/* A new page with what is at index where the file has none. NULL: no memory. */
static char *
page_create(const struct ramnode *n, size_t index)
{
	size_t size = PAGE_SIZE;
	const char *src = unpaged(n, index * PAGE_SIZE, &size);
	char *page = page_alloc();

	if (page != NULL) {
		memcpy(page, src, size);
		memset(page + size, 0, PAGE_SIZE - size);
	}
	return page;
}

/* A new page to take the place of what is at index when so many bytes of it
 * will be written. NULL: no memory. n->lock is held. */
static char *
page_renew(const struct ramnode *n, size_t index, size_t written)
{
	const char *old = n->page[index];
	char *page;

	if (old == NULL && written < PAGE_SIZE)
		return page_create(n, index);
	page = page_alloc();
	if (page != NULL && written < PAGE_SIZE)
		memcpy(page, old, PAGE_SIZE);
	return page;
}

/* Drop what lies at and past size. 0 or -ENOSPC. n->lock is held. */
static int
cut(struct ramnode *n, off_t size)
{
	size_t index = size / PAGE_SIZE, at = size % PAGE_SIZE;

	if (at != 0 && index < n->max_page &&
	    (n->page[index] != NULL || size < n->archived)) {
		char *page = n->page[index];

		if (page == NULL || page_refs(page) > 1) {
			page = page_renew(n, index, PAGE_SIZE - at);
			if (page == NULL)
				return -ENOSPC;
			page_exchange(n, index, page);
		}
		memset(page + at, 0, PAGE_SIZE - at);
	}
	if (at != 0)
		index++;
	spin_lock(&n->page_lock);
	if (size < n->archived)
		n->archived = size;
	spin_unlock(&n->page_lock);
	for (; n->npages > 0 && index < n->max_page; index++)
		if (n->page[index] != NULL)
			page_exchange(n, index, NULL);
	return 0;
}

/* Write what goes into the page at u->offset. n->lock is held. */
static ssize_t
write_page(struct ramnode *n, struct uio *u)
{
	size_t index = u->offset / PAGE_SIZE, at = u->offset % PAGE_SIZE;
	size_t chunk = PAGE_SIZE - at;
	char *old, *page;
	ssize_t r;

	if (chunk > u->left)
		chunk = u->left;
	if (array_grow(n, index) < 0)
		return -ENOSPC;
	old = page = n->page[index];
	if (old == NULL || page_refs(old) > 1) {
		if (page_count_free() < PAGES_LEFT)
			return -ENOSPC;
		page = page_renew(n, index, chunk);
		if (page == NULL)
			return -ENOSPC;
	}
	r = uio_from(u, page + at, chunk);
	if (r < 0 && page != old)
		page_free(page);
	else if (r < 0)
		cut(n, n->size); /* some bytes may have come past the end */
	else if (page != old)
		page_exchange(n, index, page);
	return r;
}

static ssize_t
write_locked(struct ramnode *n, struct uio *u)
{
	size_t total = 0;
	ssize_t r = 0;

	if (u->append)
		u->offset = n->size;
	if (u->left > 0 && u->offset >= FILE_SIZE_MAX)
		return -EFBIG;
	while (u->left > 0 && u->offset < FILE_SIZE_MAX) {
		r = write_page(n, u);
		if (r < 0)
			break;
		total += r;
		if (u->offset > n->size)
			__atomic_store_n(&n->size, u->offset, __ATOMIC_RELEASE);
	}
	if (total > 0)
		n->mtime = n->ctime = time_realtime_ns();
	return total > 0 ? (ssize_t)total : r;
}

static ssize_t
ramfile_write(struct vnode *v, struct file *, struct uio *u)
{
	struct ramnode *n = ramnode_of(v);
	ssize_t r;

	mutex_lock(&n->lock);
	r = write_locked(n, u);
	mutex_unlock(&n->lock);
	return r;
}

static int
ramfile_truncate(struct vnode *v, off_t size)
{
	struct ramnode *n = ramnode_of(v);
	int r = 0;

	if (size > FILE_SIZE_MAX)
		return -EFBIG;
	mutex_lock(&n->lock);
	if (size < n->size)
		r = cut(n, size);
	if (r == 0) {
		__atomic_store_n(&n->size, size, __ATOMIC_RELEASE);
		n->mtime = n->ctime = time_realtime_ns();
	}
	mutex_unlock(&n->lock);
	return r;
}

/* Let the file keep a page that was created for its archived bytes; but not if
 * it has one by now, or if some of them were cut off meanwhile. */
static void
page_keep(struct ramnode *n, size_t index, void *page, off_t archived)
{
	spin_lock(&n->page_lock);
	if ((off_t)(index * PAGE_SIZE) < archived && archived == n->archived &&
	    n->page[index] == NULL) {
		page_ref(page);
		n->page[index] = page;
		n->npages++;
	}
	spin_unlock(&n->page_lock);
}

/* A hole is mapped as a page of zeroes that the file doesn't keep. */
static int
ramfile_getpage(struct vnode *v, off_t offset, void **page)
{
	struct ramnode *n = ramnode_of(v);
	size_t index = offset / PAGE_SIZE;
	off_t archived = look(&n->archived);

	if (offset < 0 || offset >= look(&n->size))
		return -EFAULT;
	*page = page_get(n, index);
	if (*page != NULL)
		return 0;
	*page = page_create(n, index);
	if (*page == NULL)
		return -ENOMEM;
	page_keep(n, index, *page, archived);
	return 0;
}

int
ramfile_start(struct vnode *v, const char *contents, size_t size)
{
	struct ramnode *n = ramnode_of(v);

	if (size > 0 && array_grow(n, (size - 1) / PAGE_SIZE) < 0)
		return -ENOSPC;
	n->archive = contents;
	n->archived = n->size = size;
	return 0;
}

void
ramfile_clear(struct ramnode *n)
{
	cut(n, 0);
	kfree(n->page);
}

const struct vnode_ops ramfile_ops = {
    .read = ramfile_read,
    .write = ramfile_write,
    .truncate = ramfile_truncate,
    .stat = ramnode_stat,
    .setattr = ramnode_setattr,
    .getpage = ramfile_getpage,
    .free = ramnode_free,
};

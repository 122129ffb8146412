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
 * Writers take turns by the node's mutex, and hold it while they touch user
 * memory; readers and faults get by with the spinlock.
 */
#include <errno.h>
#include <string.h>

#include "../proc/proc.h"
#include "ramfs.h"

#define FILE_SIZE_MAX ((off_t)1 << 40) /* bytes */
#define FIRST_PAGES   4                /* room in a new array */

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

static off_t
ramfile_size(struct ramnode *n)
{
	return __atomic_load_n(&n->size, __ATOMIC_RELAXED);
}

static ssize_t
ramfile_read(struct vnode *v, struct file *, struct uio *u)
{
	struct ramnode *n = ramnode_of(v);
	off_t size = ramfile_size(n);
	size_t total = 0;

	while (u->left > 0 && u->offset < size) {
		size_t at = u->offset % PAGE_SIZE;
		size_t chunk = PAGE_SIZE - at;
		char *page = page_get(n, u->offset / PAGE_SIZE);
		ssize_t r;

		if ((off_t)chunk > size - u->offset)
			chunk = size - u->offset;
		r = uio_to(u, page != NULL ? page + at : zeroes, chunk);
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
	if (!page_spare(max * sizeof *new / PAGE_SIZE, LEFT_BY_FILES))
		return -ENOSPC;
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
	spin_unlock(&n->page_lock);
	n->npages += (page != NULL) - (old != NULL);
	if (old != NULL)
		page_free(old);
}

/* A new page to take the place of old (NULL: a hole), where n bytes from `at`
 * on will be written. NULL: no memory. */
static char *
page_renew(const char *old, size_t at, size_t n)
{
	char *page = page_alloc();

	if (page == NULL || n == PAGE_SIZE)
		return page;
	if (old != NULL)
		return memcpy(page, old, PAGE_SIZE);
	memset(page, 0, at);
	memset(page + at + n, 0, PAGE_SIZE - at - n);
	return page;
}

/* Drop what lies at and past size. 0 or -ENOSPC. n->lock is held. */
static int
cut(struct ramnode *n, off_t size)
{
	size_t index = size / PAGE_SIZE, at = size % PAGE_SIZE;

	if (at != 0 && index < n->max_page && n->page[index] != NULL) {
		char *page = n->page[index];

		if (page_refs(page) > 1) {
			page = page_renew(page, at, PAGE_SIZE - at);
			if (page == NULL)
				return -ENOSPC;
			page_exchange(n, index, page);
		}
		memset(page + at, 0, PAGE_SIZE - at);
	}
	if (at != 0)
		index++;
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
	char *old, *page, last;
	ssize_t r;

	if (chunk > u->left)
		chunk = u->left;
	if (array_grow(n, index) < 0)
		return -ENOSPC;
	old = page = n->page[index];
	if (old == NULL || page_refs(old) > 1) {
		if (!page_spare(1, LEFT_BY_FILES))
			return -ENOSPC;
		page = page_renew(old, at, chunk);
		if (page == NULL)
			return -ENOSPC;
	} else if (!u->kernel && copy_in(&last, u->base + chunk - 1, 1) < 0) {
		return -EFAULT; /* before the bytes of another page are lost */
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

/* A hole is mapped as a page of zeroes that the file doesn't keep. */
static int
ramfile_getpage(struct vnode *v, off_t offset, void **page)
{
	struct ramnode *n = ramnode_of(v);

	if (offset < 0 || offset >= ramfile_size(n))
		return -EFAULT;
	*page = page_get(n, offset / PAGE_SIZE);
	if (*page == NULL)
		*page = page_alloc_zero();
	return *page != NULL ? 0 : -ENOMEM;
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

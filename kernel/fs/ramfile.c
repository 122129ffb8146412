/*
 * ramfs, the contents of files: an array of pages, which grows by doubling. An
 * element is NULL where the file has a hole, which reads as zeroes.
 *
 * Pages are shared. A page fault that maps a page of a file into a program
 * takes a reference to it, and so does a reader for as long as it copies. The
 * file itself has one. So a page with a count of 1 can be written in place;
 * otherwise a write gives the file a new page, a copy of the old one with the
 * change in it, and the others keep the old one:
 *
 *	before		file and program -> page P (2 references)
 *	after a write	file             -> page Q (1), P with the change
 *			program          -> page P (1), as it was
 *
 * So a reader takes a reference under the spinlock and copies after releasing
 * it, which may fault and sleep; and a program's pages don't change under it.
 * The count is looked at once, before the bytes of a page are written. Whoever
 * takes a reference to the page while that write is under way may see a part of
 * it, which nothing forbids.
 *
 * But while a file is mapped shared, its pages stay the same ones, and each
 * write is in place. Who has mapped it privately, or reads it, may then see a
 * write before it is done, which nothing forbids. A page that is cut off while
 * a program has it mapped stays that program's, and the file's no more.
 *
 * What lies past the end of the file in its last page is zero, so that a file
 * which grows later grows by zeroes. There are no pages past the end.
 *
 * ramfs.h explains the two locks. Read write_page with page_renew,
 * page_exchange and cut.
 */
#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/time.h"

#include "file.h"
#include "ramfs.h"
#include "uio.h"
#include "vnode.h"

#define FILE_SIZE_MAX ((off_t)1 << 40) /* bytes */
#define FIRST_PAGES   4                /* room in a new array */

/* The page at index, referenced; NULL: a hole. The reference is taken under
 * page_lock, so a writer can't drop the file's own before. */
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

/* How long the file is, for those who don't hold n->lock. The pages up to there
 * are then found by page_get (docs/locks.md, "size"). */
static off_t
ramfile_size(struct ramnode *n)
{
	return __atomic_load_n(&n->size, __ATOMIC_RELAXED);
}

/* A write meanwhile may change the next page; the size is that of the
 * beginning. An error after some bytes returns their number. */
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

static bool
is_shared(struct ramnode *n)
{
	return __atomic_load_n(&n->vnode.shares, __ATOMIC_RELAXED) != 0;
}

/*
 * The page at index, referenced; a hole, below `limit' or the file's size, gets
 * one first. NULL: no memory. Two threads may do this at once, and the first
 * one's page stays; and not while a cut has begun to take the pages away.
 */
static void *
page_fill(struct ramnode *n, size_t index, off_t limit)
{
	void *page = page_get(n, index), *new;

	if (page != NULL)
		return page;
	new = page_alloc_zero();
	if (new == NULL)
		return NULL;
	spin_lock(&n->page_lock);
	if (limit < n->size)
		limit = n->size;
	if (index < n->max_page && (off_t)(index * PAGE_SIZE) < limit) {
		if (n->page[index] == NULL) {
			n->page[index] = new;
			n->npages++;
			page_ref(new);
		}
		page = n->page[index];
	}
	if (page != NULL && page != new)
		page_ref(page);
	spin_unlock(&n->page_lock);
	if (page != new)
		page_free(new);
	return page;
}

/* Make room in the array for page index: 0 or -ENOSPC. A new array is filled
 * first, and then takes the place of the old one under page_lock; after that no
 * reader looks at the old one any more, and it is freed. */
static int
array_grow(struct ramnode *n, size_t index)
{
	size_t max = n->max_page ? n->max_page : FIRST_PAGES;
	void **old = n->page, **new;

	must_hold(&n->lock);
	if (index < n->max_page)
		return 0;
	while (max <= index)
		max *= 2;
	if (!page_spare(max * sizeof(*new) / PAGE_SIZE, LEFT_BY_FILES))
		return -ENOSPC;
	new = kzalloc(max * sizeof(*new));
	if (new == NULL)
		return -ENOSPC;
	spin_lock(&n->page_lock);
	if (old != NULL) /* under the lock, as a fault may fill a hole */
		memcpy(new, old, n->max_page * sizeof(*old));
	n->page = new;
	n->max_page = max;
	spin_unlock(&n->page_lock);
	kfree(old);
	return 0;
}

/* Put page (NULL: a hole) in the place of the one at index, and drop the file's
 * reference to that. The caller holds n->lock, or n is being freed. */
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

/* A new page to take the place of old (NULL: a hole). The caller is about to
 * write n bytes of it from `at` on, so these may have any contents; the others
 * are those of the old page, or zeroes. NULL: no memory. */
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

/*
 * Drop what lies at and past size: 0 or -ENOSPC. For example, a cut to 5000
 * bytes sets the last 3192 bytes of page 1 to zero, and frees pages 2 and up.
 * If page 1 is shared it has to be copied for that; so for lack of memory even
 * a cut may fail, and then changes nothing. The caller holds n->lock, or n is
 * being freed.
 */
static int
cut(struct ramnode *n, off_t size)
{
	size_t index = size / PAGE_SIZE, at = size % PAGE_SIZE;

	if (at != 0 && index < n->max_page && n->page[index] != NULL) {
		char *page = n->page[index];

		if (page_refs(page) > 1 && !is_shared(n)) {
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

/* So that a page can be written in place: is there one, by now? */
static bool
hole_fill(struct ramnode *n, size_t index, off_t limit)
{
	void *page = n->page[index];

	must_hold(&n->lock);
	if (page != NULL)
		return true;
	if (page_spare(1, LEFT_BY_FILES))
		page = page_fill(n, index, limit);
	if (page != NULL)
		page_free(page); /* the file has its own reference */
	return page != NULL;
}

/*
 * Write as many bytes from u as go into the page at u->offset. Returns how
 * many, or an errno. There are two ways to write a page:
 *
 *   A new page, if there was a hole or the old one is shared. It takes its
 *   place when all bytes have come; until then readers find the old one.
 *
 *   In place, if only the file has the page, or it is shared: then a hole is
 *   filled first. An error half way through would
 *   leave some of its bytes overwritten. But the source lies on two pages of
 *   user memory at most. If the first can't be read, nothing is copied. So it
 *   is enough to see beforehand that the last byte can be read, and with it the
 *   second page. Only if another thread takes that away at this moment does the
 *   copy end in the middle; then what lies past the end is made zero again.
 */
static ssize_t
write_page(struct ramnode *n, struct uio *u)
{
	size_t index = u->offset / PAGE_SIZE, at = u->offset % PAGE_SIZE;
	size_t chunk = PAGE_SIZE - at;
	char *old, *page, last;
	ssize_t r;

	must_hold(&n->lock);
	if (chunk > uio_piece(u))
		chunk = uio_piece(u);
	if (array_grow(n, index) < 0)
		return -ENOSPC;
	if (is_shared(n) && !hole_fill(n, index, u->offset + chunk))
		return -ENOSPC;
	old = page = n->page[index];
	if (old == NULL || (page_refs(old) > 1 && !is_shared(n))) {
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

/* Under n->lock, so an append knows where the end is. size follows each page
 * with a release: whoever sees it finds the bytes (docs/locks.md, "size"). */
static ssize_t
write_locked(struct ramnode *n, struct uio *u)
{
	size_t total = 0;
	ssize_t r = 0;

	if (u->append)
		u->offset = n->size;
	if (u->left > 0 && u->offset >= FILE_SIZE_MAX)
		return -EFBIG;
	if (u->offset > n->size && is_shared(n))
		cut(n, n->size); /* what was stored past the end */
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

/* So that faults find room in the array, or no longer fill what is cut off, as
 * the size goes before the pages do. Here the cut can't fail. */
static int
shared_truncate(struct ramnode *n, off_t size)
{
	must_hold(&n->lock);
	if (size > n->size) {
		cut(n, n->size); /* what was stored past the end */
		return array_grow(n, (size - 1) / PAGE_SIZE);
	}
	spin_lock(&n->page_lock);
	n->size = size;
	spin_unlock(&n->page_lock);
	return cut(n, size);
}

/* To make a file longer is to set its size: past its end are only zeroes. */
static int
ramfile_truncate(struct vnode *v, off_t size)
{
	struct ramnode *n = ramnode_of(v);
	int r = 0;

	if (size > FILE_SIZE_MAX)
		return -EFBIG;
	mutex_lock(&n->lock);
	if (is_shared(n))
		r = shared_truncate(n, size);
	else if (size < n->size)
		r = cut(n, size);
	if (r == 0) {
		__atomic_store_n(&n->size, size, __ATOMIC_RELEASE);
		n->mtime = n->ctime = time_realtime_ns();
	}
	mutex_unlock(&n->lock);
	return r;
}

/* Under n->lock no write is half way through that began when the file wasn't
 * shared, and gives it a new page in place of one that is mapped meanwhile. */
static int
ramfile_share(struct vnode *v)
{
	struct ramnode *n = ramnode_of(v);
	int r = 0;

	mutex_lock(&n->lock);
	__atomic_fetch_add(&v->shares, 1, __ATOMIC_RELAXED);
	if (n->size > 0)
		r = array_grow(n, (n->size - 1) / PAGE_SIZE);
	mutex_unlock(&n->lock);
	return r == 0 ? 0 : -ENOMEM;
}

/* The page is the file's own, with another reference, by which write_page knows
 * that others have it. A hole is filled if the mapping is shared; if not, this
 * is a page of zeroes, which the file won't keep. */
static int
ramfile_getpage(struct vnode *v, off_t offset, bool shared, void **page)
{
	struct ramnode *n = ramnode_of(v);
	size_t index = offset / PAGE_SIZE;

	if (offset < 0 || offset >= ramfile_size(n))
		return -EFAULT;
	*page = page_get(n, index);
	if (*page == NULL && page_spare(1, LEFT_BY_FAULTS))
		*page = shared ? page_fill(n, index, 0) : page_alloc_zero();
	if (*page == NULL) /* unless the file was cut meanwhile */
		return offset < ramfile_size(n) ? -ENOMEM : -EFAULT;
	return 0;
}

/* cut can't fail here: with size 0 no page is cut in the middle. */
void
ramfile_clear(struct ramnode *n)
{
	cut(n, 0);
	kfree(n->page);
}

const struct vnode_ops ramfile_ops = {
    .lookup = ramnode_lookup,
    .name = ramnode_name,
    .read = ramfile_read,
    .write = ramfile_write,
    .truncate = ramfile_truncate,
    .stat = ramnode_stat,
    .statfs = ramnode_statfs,
    .setattr = ramnode_setattr,
    .getpage = ramfile_getpage,
    .share = ramfile_share,
    .free = ramnode_free,
};

/*
 * The contents of files and directories in /host. Nothing is cached, so each
 * side sees at once what the other has written. Only a page that a program has
 * mapped stays as it was when it was read.
 *
 * Data pass through a buffer of the kernel: the device needs contiguous memory,
 * and 9p's mutex mustn't be held while user memory is touched. That may fault,
 * and to serve the fault a page may have to be read from /host.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/layout.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "file.h"
#include "hostfs.h"
#include "p9.h"
#include "uio.h"
#include "vnode.h"
#include "walk.h"

#define L_O_APPEND 02000 /* Linux's number */
#define LEAST      512   /* bytes of entries: any name fits */

/* Guards `reading` of all nodes. Page faults take it, so no user memory is
 * touched under it; a request is made under it, so 9p's mutex comes after. */
static struct mutex opening = MUTEX("host", opening);

/* An open file's own, in its `private`; its address makes the open fid. The
 * fields are for readdir, whose caller holds the open file's lock. */
struct hostopen {
	/* A page of what the server has listed: size bytes, of which those
	 * before `at` have been used. NULL: nothing was read yet. */
	uint8_t *entries;
	size_t size, at;
	off_t position; /* entries taken so far, "." and ".." included */
	uint64_t next;  /* the server's cookie for what follows these */
};

/* Clone the node's fid, and open the clone. The vnode's type says only whether
 * it is a directory; what else the file is on the host is asked first. */
int
hostfile_open(struct vnode *v, struct file *f)
{
	struct hostnode *n = hostnode_of(v);
	struct hostopen *o = kzalloc(sizeof(*o));
	unsigned int flags = f->flags & O_ACCMODE;
	uint64_t attr[P9_REPLIES];
	int r = o != NULL ? host_getattr(n, attr) : -ENOMEM;

	if (r == 0 && !S_ISREG(attr[ATTR_MODE]) && !S_ISDIR(attr[ATTR_MODE]))
		r = -ENXIO; /* a pipe or a device of the host's is not ours */
	if (r == 0 && !S_ISDIR(v->type))
		host_opened(n);
	if (r == 0)
		r = host_clone(n, o);
	if (r == 0) {
		if (f->flags & O_APPEND)
			flags |= L_O_APPEND;
		r = p9_call(P9_LOPEN, NULL, NULL, "", "dd", fid_of(o), flags);
		if (r < 0)
			host_clunk(o);
	}
	if (r < 0)
		kfree(o);
	else
		f->private = o;
	return r;
}

void
hostfile_close(struct vnode *, struct file *f)
{
	struct hostopen *o = f->private;

	host_clunk(o);
	if (o->entries != NULL)
		page_free(o->entries);
	kfree(o);
}

int
hostfile_fsync(struct vnode *, struct file *f)
{
	return p9_call(P9_FSYNC, NULL, NULL, "", "dd", fid_of(f->private), 0);
}

/* A buffer for size bytes, or as many as one exchange carries; only for a page
 * if memory is short. The caller frees d->bytes. */
static int
data_get(struct p9_data *d, size_t size)
{
	d->size = size < p9_io ? size : p9_io;
	d->bytes = kmalloc(d->size);
	if (d->bytes == NULL && d->size > PAGE_SIZE) {
		d->size = PAGE_SIZE;
		d->bytes = kmalloc(d->size);
	}
	return d->bytes != NULL ? 0 : -ENOMEM;
}

/* Read as many bytes as one exchange carries; 0 at the end of the file. */
static ssize_t
read_some(unsigned int fid, struct uio *u)
{
	struct p9_data d;
	uint64_t reply[P9_REPLIES];
	ssize_t r = data_get(&d, u->left);

	if (r < 0)
		return r;
	r = p9_call(P9_READ, &d, reply, "d", "dqd", fid,
		    (unsigned long)u->offset, (unsigned int)d.size);
	if (r == 0)
		r = uio_to(u, d.bytes, d.size);
	kfree(d.bytes);
	return r;
}

/* Write as many bytes as one exchange carries. The server may write fewer, or
 * none. u has been advanced by all that were sent, so it is set back, and
 * advanced by what was written. */
static ssize_t
write_some(unsigned int fid, struct uio *u)
{
	struct p9_data d;
	uint64_t reply[P9_REPLIES];
	struct uio before = *u;
	ssize_t r = data_get(&d, u->left);

	if (r < 0)
		return r;
	r = uio_from(u, d.bytes, d.size);
	if (r >= 0)
		r = p9_call(P9_WRITE, &d, reply, "d", "dqd", fid,
			    (unsigned long)before.offset, (unsigned int)d.size);
	kfree(d.bytes);
	if (r == 0 && (reply[0] == 0 || reply[0] > d.size))
		r = -EIO;
	*u = before;
	if (r < 0)
		return r;
	uio_skip(u, reply[0]);
	return reply[0];
}

/* Move all of u, one exchange after another. If an error or the end of the file
 * comes after some bytes, their number is returned. */
static ssize_t
transfer(unsigned int fid, struct uio *u,
	 ssize_t (*some_of)(unsigned int, struct uio *))
{
	ssize_t total = 0;

	while (u->left > 0) {
		ssize_t n = some_of(fid, u);

		if (n <= 0)
			return total > 0 ? total : n;
		total += n;
	}
	return total;
}

/* For vnode_read, which has no open file: open the node's own fid, once, and
 * leave it open. A server doesn't clone an open fid, so hostfile_open would
 * fail afterwards. But the node is a program's: exec has looked it up for
 * itself, and nobody else has it to open it. */
static int
reader_open(struct hostnode *n)
{
	int r = 0;

	mutex_lock(&opening);
	if (!n->reading)
		r = p9_call(P9_LOPEN, NULL, NULL, "", "dd", fid_of(n),
			    O_RDONLY);
	n->reading = r == 0;
	mutex_unlock(&opening);
	return r;
}

ssize_t
hostfile_read(struct vnode *v, struct file *f, struct uio *u)
{
	struct hostnode *n = hostnode_of(v);
	int r = f == NULL ? reader_open(n) : 0;

	if (r < 0)
		return r;
	return transfer(fid_of(f != NULL ? f->private : n), u, read_some);
}

/* A write message needs an offset, so for an append the server is asked for the
 * size of the file first. */
ssize_t
hostfile_write(struct vnode *v, struct file *f, struct uio *u)
{
	uint64_t attr[P9_REPLIES];
	int r = u->append ? host_getattr(hostnode_of(v), attr) : 0;

	if (r < 0)
		return r;
	if (u->append)
		u->offset = attr[ATTR_SIZE];
	return transfer(fid_of(f->private), u, write_some);
}

/* A page for a program. It is read anew each time, so whoever maps it has a
 * copy that no write to the file changes. The rest of the last page is zero. */
int
hostfile_getpage(struct vnode *v, off_t offset, bool, void **page)
{
	ssize_t n;

	*page = page_alloc_zero();
	if (*page == NULL)
		return -ENOMEM;
	n = vnode_read(v, *page, PAGE_SIZE, offset & -(off_t)PAGE_SIZE);
	if (n > 0)
		return 0;
	page_free(*page);
	return n < 0 ? n : -EFAULT;
}

/* --- Directories' contents --- */

/* Read the entries that follow; size is 0 at the end of the directory. One that
 * QEMU can't stat, as it was just removed, spoils all of an answer: then fewer
 * are asked for. */
static int
fill(struct hostopen *o)
{
	struct p9_data d;
	uint64_t reply[P9_REPLIES];
	size_t size = PAGE_SIZE;
	int r;

	if (o->entries == NULL && page_spare(1, LEFT_BY_PROGRAMS))
		o->entries = page_alloc();
	if (o->entries == NULL)
		return -ENOMEM;
	do {
		d = (struct p9_data){o->entries, size};
		r = p9_call(P9_READDIR, &d, reply, "d", "dqd", fid_of(o),
			    o->next, size);
		size /= 2;
	} while (r < 0 && size >= LEAST);
	o->at = 0;
	o->size = r == 0 ? d.size : 0;
	return r;
}

/*
 * Take the next entry from the page, which is filled first if it is used up.
 * Returns 1, 0 at the end, or an errno. An entry's parts, by offset in bytes:
 *
 *	0	qid: type (1), version (4), number of the file (8)
 *	13	the cookie of what follows (8)
 *	21	a type (1)
 *	22	the name: its length (2), its characters
 *
 * The server isn't trusted: an entry must lie within what came, and its name be
 * one component of a path.
 */
static int
next_entry(struct hostopen *o, struct dirent *de)
{
	const size_t fixed = 13 + 8 + 1 + 2;
	const uint8_t *e;
	size_t length;
	int r = o->at == o->size ? fill(o) : 0;

	if (r < 0 || o->size == 0)
		return r;
	e = o->entries + o->at;
	if (o->size - o->at < fixed)
		return -EIO;
	length = p9_number(e + fixed - 2, 'w');
	if (length > NAME_MAX_LEN || length > o->size - o->at - fixed)
		return -EIO;
	if (length == 0 || memchr(e + fixed, '/', length) != NULL ||
	    memchr(e + fixed, '\0', length) != NULL)
		return -EIO; /* it could lead out of the directory */
	de->d_ino = p9_number(e + 5, 'q');
	de->d_type = e[0] & QTDIR ? DT_DIR : e[0] & QTSYMLINK ? DT_LNK : DT_REG;
	memcpy(de->d_name, e + fixed, length);
	de->d_name[length] = '\0';
	o->next = p9_number(e + 13, 'q');
	o->at += fixed + length;
	o->position++;
	return 1;
}

/*
 * A cookie is DIR_COOKIE plus the number of entries before; the server's own
 * cookies are too large. After an lseek the entry may be an earlier one: then
 * the directory is read again from the start; or a later one: then what lies
 * before it is passed over, as "." and ".." are anyway. A directory that grows
 * all the time could go on for ever, so a signal ends it.
 */
int
hostfile_readdir(struct vnode *, struct file *f, off_t *cookie,
		 struct dirent *de)
{
	struct hostopen *o = f->private;
	int r;

	if (*cookie - DIR_COOKIE < o->position) { /* once more from the start */
		o->position = 0;
		o->next = o->at = o->size = 0;
	}
	while ((r = next_entry(o, de)) > 0 &&
	       (o->position <= *cookie - DIR_COOKIE || is_dots(de->d_name)))
		if (thread_interrupted())
			return -ERESTART;
	*cookie = o->position + DIR_COOKIE;
	return r;
}

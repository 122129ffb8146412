/*
 * What is in /host's files and directories: open files, and reading and
 * writing them. Nothing of it is kept, so both sides see what the other writes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../proc/proc.h"
#include "../syscall.h"
#include "hostfs.h"
#include "walk.h"

#define L_O_APPEND 02000 /* Linux's number */

/* Guards every node's reading. */
static struct mutex opening = MUTEX("host", opening);

/* What a file's private is. Its address is the fid of the open file. */
struct hostopen {
	/* A directory's: a page of what the server has listed, from one
	 * position on. A position is the number of entries before it. */
	uint8_t *entries;
	size_t size, at;
	off_t position;
	uint64_t next; /* the server's cookie for what follows the page */
};

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

/* Room for size bytes, or as many as one exchange carries; but only a page when
 * memory is short. */
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

/* One exchange's worth of a read: how many bytes. No lock is held while they
 * are copied, which may fault and for that read a file here. */
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
	if (r < 0)
		return r;
	if (reply[0] == 0 || reply[0] > d.size)
		return -EIO;
	u->base = before.base + reply[0];
	u->left = before.left - reply[0];
	u->offset = before.offset + reply[0];
	return reply[0];
}

/* All of u, by some_of; a part, if then comes an error or the end. */
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

/* Let vnode_read's reads go by the node's own fid. The server clones no fid
 * that is open; but a program's node, which this is, no one opens as well. */
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

/* A page of a program's: a copy for each who maps it. */
int
hostfile_getpage(struct vnode *v, off_t offset, void **page)
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

/* Read what follows into the page of entries. */
static int
fill(struct hostopen *o)
{
	struct p9_data d;
	uint64_t reply[P9_REPLIES];
	int r;

	if (o->entries == NULL && page_spare(1, LEFT_BY_PROGRAMS))
		o->entries = page_alloc();
	if (o->entries == NULL)
		return -ENOMEM;
	d = (struct p9_data){o->entries, PAGE_SIZE};
	r = p9_call(P9_READDIR, &d, reply, "d", "dqd", fid_of(o), o->next,
		    PAGE_SIZE);
	o->at = 0;
	o->size = r == 0 ? d.size : 0;
	return r;
}

/*
 * The next entry: a qid (type, version, path), the cookie of what follows, a
 * type, a name with its length. 1, 0 at the end, or an errno.
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
	de->d_type = e[0] & QTDIR ? DT_DIR : DT_REG;
	memcpy(de->d_name, e + fixed, length);
	de->d_name[length] = '\0';
	o->next = p9_number(e + 13, 'q');
	o->at += fixed + length;
	o->position++;
	return 1;
}

/* A cookie is DIR_COOKIE and the position; the server's own are too large. */
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
		if (signal_pending()) /* who knows when it ends */
			return -ERESTART;
	*cookie = o->position + DIR_COOKIE;
	return r;
}

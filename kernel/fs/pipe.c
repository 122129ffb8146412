/*
 * Pipes: a ring of pages between two open files.
 *
 * Positions count bytes; position p lies in the ring's page p / PAGE_SIZE.
 * Pages are found as writing reaches them, and kept until the pipe goes. An
 * empty pipe starts again at position 0, so one that is read as fast as it's
 * written stays on its first page.
 *
 * One reader and one writer at a time move bytes, without the spinlock, for
 * that may fault and sleep: the reader from head up, the writer from tail up.
 * `busy` says that an end is taken: unlike a mutex, it can be waited for until
 * a signal comes. A write of at most PIPE_BUF bytes waits for room for all of
 * them, and publishes them at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "../print.h"
#include "../proc/proc.h"
#include "../syscall.h"
#include "vfs.h"

#define PIPE_PAGES 16
#define PIPE_SIZE  (PIPE_PAGES * PAGE_SIZE) /* bytes */
#define PIPE_BUF   PAGE_SIZE                /* written in one piece */

struct pipe_end {
	bool open;
	bool busy; /* a thread moves bytes at this end */
	struct waitq wait;
};

struct pipe {
	struct vnode vnode; /* first: the vnode's address is the pipe's */
	unsigned long ino;
	struct spinlock lock; /* level 1; guards the rest */
	struct pipe_end reader, writer;
	size_t head, tail;      /* read so far; written so far */
	char *page[PIPE_PAGES]; /* changed by the writer alone */
};

static const struct vnode_ops pipe_ops;

static struct pipe *
pipe_of(struct vnode *v)
{
	return (struct pipe *)v;
}

static void
wake(struct pipe_end *end)
{
	if (!list_empty(&end->wait.waiters))
		wake_all(&end->wait);
}

/* How many bytes can be written. The lock is held. */
static size_t
room(const struct pipe *p)
{
	return PIPE_SIZE - (p->tail - p->head);
}

/* The slot of the page that position pos lies in. */
static char **
slot(struct pipe *p, size_t pos)
{
	return &p->page[pos / PAGE_SIZE % PIPE_PAGES];
}

/* How many of n bytes from position pos on lie in one page. */
static size_t
within_page(size_t pos, size_t n)
{
	size_t rest = PAGE_SIZE - pos % PAGE_SIZE;

	return n < rest ? n : rest;
}

/* Move n bytes from position pos on to u; an error if none were. */
static ssize_t
copy_from_ring(struct pipe *p, size_t pos, size_t n, struct uio *u)
{
	size_t end = pos + n, at = pos;

	while (at < end) {
		ssize_t r = uio_to(u, *slot(p, at) + at % PAGE_SIZE,
				   within_page(at, end - at));

		if (r < 0)
			return at > pos ? (ssize_t)(at - pos) : r;
		at += r;
	}
	return n;
}

/* Move n bytes from u to position pos on: all of them, or an error. */
static ssize_t
copy_to_ring(struct pipe *p, size_t pos, size_t n, struct uio *u)
{
	size_t end = pos + n, at = pos;

	while (at < end) {
		char **page = slot(p, at);
		ssize_t r;

		if (*page == NULL)
			*page = page_alloc();
		if (*page == NULL)
			return -ENOMEM;
		r = uio_from(u, *page + at % PAGE_SIZE,
			     within_page(at, end - at));
		if (r < 0)
			return r;
		at += r;
	}
	return n;
}

/* Wait until there is something to read, and no other reader; gives how much,
 * 0 at the end of it. The lock is held. */
static ssize_t
wait_for_data(struct pipe *p, struct file *f)
{
	while (p->reader.busy || p->head == p->tail) {
		int r;

		if (p->head == p->tail && !p->writer.open)
			return 0;
		if (p->head == p->tail && f->flags & O_NONBLOCK)
			return -EAGAIN;
		r = wait_on(&p->reader.wait, &p->lock);
		if (r < 0)
			return r;
	}
	return p->tail - p->head;
}

static ssize_t
pipe_read(struct vnode *v, struct file *f, struct uio *u)
{
	struct pipe *p = pipe_of(v);
	ssize_t n;
	size_t head;

	if (u->left == 0)
		return 0;
	spin_lock(&p->lock);
	n = wait_for_data(p, f);
	if (n <= 0) {
		spin_unlock(&p->lock);
		return n;
	}
	p->reader.busy = true;
	head = p->head;
	spin_unlock(&p->lock);

	if ((size_t)n > u->left)
		n = u->left;
	n = copy_from_ring(p, head, n, u);

	spin_lock(&p->lock);
	p->reader.busy = false;
	if (n > 0)
		p->head += n;
	if (p->head == p->tail && !p->writer.busy)
		p->head = p->tail = 0;
	/* Not for each byte of room: a writer asks for a page's at most. */
	if (room(p) >= PIPE_BUF)
		wake(&p->writer);
	wake(&p->reader); /* another may have waited for its turn */
	spin_unlock(&p->lock);
	return n;
}

/* Wait until there is room for want bytes, and no other writer; gives how
 * much there is. The lock is held. */
static ssize_t
wait_for_room(struct pipe *p, struct file *f, size_t want)
{
	for (;;) {
		int r;

		if (!p->reader.open)
			return -EPIPE;
		if (!p->writer.busy && room(p) >= want)
			return room(p);
		if (room(p) < want && f->flags & O_NONBLOCK)
			return -EAGAIN;
		r = wait_on(&p->writer.wait, &p->lock);
		if (r < 0)
			return r;
	}
}

/* One piece of a write: what there is room for. */
static ssize_t
write_piece(struct pipe *p, struct file *f, struct uio *u, size_t want)
{
	size_t tail;
	ssize_t n;

	spin_lock(&p->lock);
	n = wait_for_room(p, f, want);
	if (n < 0) {
		spin_unlock(&p->lock);
		return n;
	}
	p->writer.busy = true;
	tail = p->tail;
	spin_unlock(&p->lock);

	if ((size_t)n > u->left)
		n = u->left;
	n = copy_to_ring(p, tail, n, u);

	spin_lock(&p->lock);
	p->writer.busy = false;
	if (n > 0)
		p->tail += n;
	wake(&p->reader);
	wake(&p->writer);
	spin_unlock(&p->lock);
	return n;
}

/*
 * A long write goes piece by piece, and others' may come between; it waits
 * for a page's room each time, unless it must not wait: then any will do.
 */
static ssize_t
pipe_write(struct vnode *v, struct file *f, struct uio *u)
{
	bool whole = u->left <= PIPE_BUF;
	size_t total = 0;
	ssize_t n = 0;

	while (u->left > 0) {
		size_t want = u->left < PIPE_BUF ? u->left : PIPE_BUF;

		if (!whole && f->flags & O_NONBLOCK)
			want = 1;
		n = write_piece(pipe_of(v), f, u, want);
		if (n < 0)
			break;
		total += n;
	}
	if (n == -EPIPE)
		signal_send(current->proc, SIGPIPE);
	return total > 0 ? (ssize_t)total : n;
}

static bool
is_reader(const struct file *f)
{
	return (f->flags & O_ACCMODE) == O_RDONLY;
}

static unsigned int
pipe_poll(struct vnode *v, struct file *f, struct poller *poller)
{
	struct pipe *p = pipe_of(v);
	unsigned int ready = 0;

	spin_lock(&p->lock);
	if (is_reader(f)) {
		poll_wait(poller, &p->reader.wait, &p->lock);
		if (p->head != p->tail)
			ready |= POLLIN;
		if (!p->writer.open)
			ready |= POLLHUP;
	} else {
		poll_wait(poller, &p->writer.wait, &p->lock);
		if (room(p) >= PIPE_BUF)
			ready |= POLLOUT;
		if (!p->reader.open)
			ready |= POLLERR;
	}
	spin_unlock(&p->lock);
	return ready;
}

/* The last descriptor of an end is gone; the other end must notice. */
static void
pipe_close(struct vnode *v, struct file *f)
{
	struct pipe *p = pipe_of(v);

	spin_lock(&p->lock);
	if (is_reader(f))
		p->reader.open = false;
	else
		p->writer.open = false;
	wake(&p->reader);
	wake(&p->writer);
	spin_unlock(&p->lock);
}

static int
pipe_stat(struct vnode *v, struct stat *st)
{
	struct pipe *p = pipe_of(v);

	st->st_ino = p->ino;
	st->st_mode = S_IFIFO | 0600;
	st->st_nlink = 1;
	st->st_blksize = PIPE_BUF;
	return 0;
}

static void
pipe_free(struct vnode *v)
{
	struct pipe *p = pipe_of(v);

	for (int i = 0; i < PIPE_PAGES; i++)
		if (p->page[i] != NULL)
			page_free(p->page[i]);
	kfree(p);
}

static const struct vnode_ops pipe_ops = {
    .close = pipe_close,
    .read = pipe_read,
    .write = pipe_write,
    .poll = pipe_poll,
    .stat = pipe_stat,
    .free = pipe_free,
};

static struct pipe *
pipe_alloc(void)
{
	static unsigned long last_ino; /* atomic */
	struct pipe *p = kzalloc(sizeof *p);

	if (p == NULL)
		return NULL;
	vnode_init(&p->vnode, &pipe_ops, S_IFIFO);
	p->vnode.stream = true;
	p->ino = __atomic_add_fetch(&last_ino, 1, __ATOMIC_RELAXED);
	p->lock = (struct spinlock)SPINLOCK1("pipe");
	p->reader.open = p->writer.open = true;
	waitq_init(&p->reader.wait);
	waitq_init(&p->writer.wait);
	return p;
}

int
pipe_create(struct file *end[2])
{
	struct pipe *p = pipe_alloc();

	end[0] = file_alloc();
	end[1] = file_alloc();
	if (p == NULL || end[0] == NULL || end[1] == NULL) {
		kfree(end[0]);
		kfree(end[1]);
		kfree(p);
		return -ENOMEM;
	}
	vnode_ref(&p->vnode); /* one for each end */
	file_open(end[0], &p->vnode, O_RDONLY);
	file_open(end[1], &p->vnode, O_WRONLY);
	return 0;
}

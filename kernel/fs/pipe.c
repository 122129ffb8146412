/*
 * Pipes: a ring of pages between two open files.
 *
 * Each end has a position, which counts the bytes that have passed there;
 * position p lies in the ring's page p / PAGE_SIZE. Pages are found as writing
 * reaches them, and kept until the pipe goes. An empty pipe starts again at
 * position 0, so one that is read as fast as it's written stays on its first
 * page.
 *
 * One thread at an end at a time moves bytes, without the spinlock, for that
 * may fault and sleep: the reader from its position up, the writer from its.
 * `busy` says that an end is taken: unlike a mutex, it can be waited for until
 * a signal comes. A write of at most PIPE_BUF bytes waits for room for all of
 * them, and publishes them at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "../proc/proc.h"
#include "../syscall.h"
#include "vfs.h"

#define PIPE_PAGES 16
#define PIPE_SIZE  (PIPE_PAGES * PAGE_SIZE) /* bytes */
#define PIPE_BUF   PAGE_SIZE                /* written in one piece */

/* The ends, by how a file that is one was opened. */
enum { READER = O_RDONLY, WRITER = O_WRONLY, ENDS };

struct pipe_end {
	bool open;
	bool busy;    /* a thread moves bytes at this end */
	bool awaited; /* there may be threads that wait or poll at it */
	size_t pos;   /* changed with the lock held, when not busy */
	struct waitq wait;
};

struct pipe {
	struct vnode vnode; /* first: the vnode's address is the pipe's */
	unsigned long ino;
	struct kept *kept;    /* of who made it */
	struct spinlock lock; /* level 1; guards the rest */
	struct pipe_end end[ENDS];
	char *page[PIPE_PAGES]; /* changed by the writer alone */
};

static const struct vnode_ops pipe_ops;

static struct pipe *
pipe_of(struct vnode *v)
{
	return (struct pipe *)v;
}

static int
side_of(const struct file *f)
{
	return f->flags & O_ACCMODE;
}

static void
wake(struct pipe_end *end)
{
	if (!end->awaited)
		return;
	end->awaited = false;
	wake_all(&end->wait);
}

/*
 * The next four do the work for both ends. They are inlined into pipe_read and
 * pipe_write, where the side is a constant.
 */
#define INLINED static inline __attribute__((always_inline))

/* How many bytes can be moved at an end. The lock is held. */
INLINED size_t
available(const struct pipe *p, int side)
{
	size_t unread = p->end[WRITER].pos - p->end[READER].pos;

	return side == READER ? unread : PIPE_SIZE - unread;
}

/* A page for the ring, charged to who made the pipe. NULL: no memory. Out of
 * line: it's wanted once for many moves. */
static __attribute__((noinline)) char *
ring_page(struct pipe *p)
{
	char *page = NULL;

	if (page_spare(1, LEFT_BY_PROGRAMS))
		page = page_alloc();
	if (page != NULL)
		__atomic_add_fetch(&p->kept->pages, 1, __ATOMIC_RELAXED);
	return page;
}

/*
 * Move up to n bytes between u and the ring. Gives how many, or an error if
 * that came before the first; of PIPE_BUF or fewer, all are moved or none.
 */
INLINED ssize_t
copy(struct pipe *p, int side, size_t n, struct uio *u)
{
	size_t start = p->end[side].pos, at = start;
	size_t end = start + (n < u->left ? n : u->left);
	ssize_t r = 0;

	while (r >= 0 && at != end) {
		char **page = &p->page[at / PAGE_SIZE % PIPE_PAGES];
		size_t rest = PAGE_SIZE - at % PAGE_SIZE;

		if (rest > end - at)
			rest = end - at;
		if (*page == NULL)
			*page = ring_page(p);
		if (*page == NULL)
			r = -ENOMEM;
		else if (side == READER)
			r = uio_to(u, *page + at % PAGE_SIZE, rest);
		else
			r = uio_from(u, *page + at % PAGE_SIZE, rest);
		if (r > 0)
			at += r;
	}
	return r >= 0 || at - start >= PIPE_BUF ? (ssize_t)(at - start) : r;
}

/* Wait until want bytes can be moved at an end where no one else does; gives
 * how many, 0 at the end of all reading. The lock is held. */
INLINED ssize_t
wait_for(struct pipe *p, int side, struct file *f, size_t want)
{
	for (;;) {
		size_t n = available(p, side);
		int r;

		if (side == WRITER && !p->end[READER].open)
			return -EPIPE;
		if (side == READER && n == 0 && !p->end[WRITER].open)
			return 0;
		if (n >= want && !p->end[side].busy)
			return n;
		if (n < want && f->flags & O_NONBLOCK)
			return -EAGAIN;
		p->end[side].awaited = true;
		r = wait_on(&p->end[side].wait, &p->lock);
		if (r < 0)
			return r;
	}
}

/* Move what can be moved at f's end once that is want bytes. */
INLINED ssize_t
move(struct pipe *p, int side, struct file *f, struct uio *u, size_t want)
{
	struct pipe_end *end = &p->end[side];
	ssize_t n;

	spin_lock(&p->lock);
	n = wait_for(p, side, f, want);
	if (n > 0) {
		end->busy = true;
		spin_unlock(&p->lock);
		n = copy(p, side, n, u);
		spin_lock(&p->lock);
		end->busy = false;
		if (n > 0)
			end->pos += n;
		if (available(p, READER) == 0 && !p->end[WRITER].busy)
			p->end[READER].pos = p->end[WRITER].pos = 0;
		/* Those who wait for their turn at this end; and the other end,
		 * but a writer not for each byte of room: it asks for a page's
		 * at most. */
		wake(&p->end[READER]);
		if (side == WRITER || available(p, WRITER) >= PIPE_BUF)
			wake(&p->end[WRITER]);
	}
	spin_unlock(&p->lock);
	return n;
}

static ssize_t
pipe_read(struct vnode *v, struct file *f, struct uio *u)
{
	return u->left > 0 ? move(pipe_of(v), READER, f, u, 1) : 0;
}

/*
 * A long write goes piece by piece, and others' may come between; it waits
 * for a page's room each time, unless it must not wait: then any will do.
 */
static ssize_t
pipe_write(struct vnode *v, struct file *f, struct uio *u)
{
	size_t want = u->left;
	ssize_t n = 0, total = 0;

	if (want > PIPE_BUF)
		want = f->flags & O_NONBLOCK ? 1 : PIPE_BUF;
	while (want > 0 && n >= 0) {
		n = move(pipe_of(v), WRITER, f, u, want);
		if (n > 0)
			total += n;
		if (want > u->left)
			want = u->left;
	}
	if (n == -EPIPE)
		signal_send(current->proc, SIGPIPE);
	return total > 0 ? total : n;
}

static unsigned int
pipe_poll(struct vnode *v, struct file *f)
{
	struct pipe *p = pipe_of(v);
	int side = side_of(f);
	unsigned int ready = 0;

	spin_lock(&p->lock);
	p->end[side].awaited = p->end[side].wait.polled = true;
	if (side == READER) {
		if (available(p, READER) > 0)
			ready |= POLLIN;
		if (!p->end[WRITER].open)
			ready |= POLLHUP;
	} else {
		if (available(p, WRITER) >= PIPE_BUF)
			ready |= POLLOUT;
		if (!p->end[READER].open)
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
	p->end[side_of(f)].open = false;
	wake(&p->end[READER]);
	wake(&p->end[WRITER]);
	spin_unlock(&p->lock);
}

static int
pipe_stat(struct vnode *v, struct stat *st)
{
	st->st_ino = pipe_of(v)->ino;
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
		if (p->page[i] != NULL) {
			page_free(p->page[i]);
			__atomic_sub_fetch(&p->kept->pages, 1,
					   __ATOMIC_RELAXED);
		}
	kept_put(p->kept);
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

int
pipe_create(struct file *end[2])
{
	static unsigned long last_ino; /* atomic */
	struct pipe *p = kzalloc(sizeof *p);
	struct kept *kept = kept_get();

	end[READER] = file_alloc();
	end[WRITER] = file_alloc();
	if (p == NULL || kept == NULL || end[READER] == NULL ||
	    end[WRITER] == NULL) {
		kept_put(kept);
		kfree(end[READER]);
		kfree(end[WRITER]);
		kfree(p);
		return -ENOMEM;
	}
	vnode_init(&p->vnode, &pipe_ops, S_IFIFO);
	p->vnode.refs = ENDS;
	p->vnode.stream = true;
	p->kept = kept;
	p->ino = __atomic_add_fetch(&last_ino, 1, __ATOMIC_RELAXED);
	p->lock = (struct spinlock)SPINLOCK1("pipe");
	for (int side = 0; side < ENDS; side++) {
		struct pipe_end *e = &p->end[side];

		*e = (struct pipe_end){.open = true,
				       .wait = WAITQ_INIT(e->wait)};
		file_open(end[side], &p->vnode, side);
	}
	return 0;
}

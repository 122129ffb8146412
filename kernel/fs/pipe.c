/*
 * Pipes: a ring of pages between two open files.
 *
 * Each end has a position, which counts the bytes that have passed there. The
 * difference of the two is what is in the pipe. Position p lies in page
 * p / PAGE_SIZE % PIPE_PAGES of the ring. For example, with reader and writer
 * at 4000 and 8292, there are 4292 unread bytes: 96 at the end of page 0, 4096
 * in page 1, and 100 at the start of page 2.
 *
 * A page is allocated when writing first reaches it, and kept until the pipe is
 * freed. A pipe that becomes empty starts again at position 0, so one that is
 * read as fast as it is written stays on its first page.
 *
 * Bytes are moved without the spinlock, since user memory may fault, and the
 * thread sleep. At each end one thread at a time does so: it sets `busy`,
 * releases the lock, copies, takes the lock again and only then advances its
 * position. So reader and writer copy at the same time, the one below the
 * writer's position, the other at and above it. `busy` isn't a mutex, because a
 * thread that waits for it must be able to leave when a signal comes.
 *
 * A write of at most PIPE_BUF bytes isn't mixed with those of others: it waits
 * until there is room for all of it, and its bytes become readable together.
 *
 * Read struct pipe first, then move with wait_for and copy.
 */
#include "pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/poll.h"

#include "file.h"
#include "uio.h"
#include "vfs.h"
#include "vnode.h"

#define PIPE_PAGES 16
#define PIPE_SIZE  (PIPE_PAGES * PAGE_SIZE) /* bytes */
#define PIPE_BUF   PAGE_SIZE                /* written in one piece */

/* The ends, by how a file that is one was opened. */
enum { READER = O_RDONLY, WRITER = O_WRONLY, ENDS };

/* All fields are guarded by the pipe's lock. */
struct pipe_end {
	unsigned int open; /* files that are this end */
	bool busy;         /* a thread moves bytes at this end */
	bool awaited;      /* there may be threads that wait or poll at it */
	size_t pos;        /* changed with the lock held, when not busy */
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

void
kept_put(struct kept *k)
{
	if (k != NULL && __atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL) == 0)
		kfree(k);
}

/* The caller holds the lock. Most often nobody waits or polls at this end. If
 * there are no news, only those who wait for another thread here go on. */
static void
wake(struct pipe_end *end, bool news)
{
	if (!end->awaited)
		return;
	end->awaited = !news && end->wait.polled;
	if (news)
		wake_all(&end->wait);
	else
		wake_waiters(&end->wait);
}

/* For parts of pipe_read and pipe_write, where the side is a constant. */
#define INLINED static inline __attribute__((always_inline))

/* How many bytes can be moved at an end: unread ones for the reader, free ones
 * for the writer. The caller holds p->lock. */
INLINED size_t
available(const struct pipe *p, int side)
{
	size_t unread = p->end[WRITER].pos - p->end[READER].pos;

	return side == READER ? unread : PIPE_SIZE - unread;
}

/* A page for the ring, charged to the process that made the pipe. NULL: no
 * memory but what is left to others (LEFT_BY_PROGRAMS in mm/page.h). */
static SLOW_PATH char *
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
 * Move up to n bytes between u and the ring; n is what is available at the end.
 * Called without the lock, by the thread that has set `busy`. Only the writer
 * allocates pages: the reader finds them, as their bytes were published under
 * the lock.
 *
 * If an error ends it before PIPE_BUF bytes have been moved, the error is
 * returned, and they count as not moved: the caller leaves the position where
 * it was. So a write of up to PIPE_BUF bytes is done as a whole or not at all.
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

/*
 * Wait until at least `want` bytes can be moved at an end, and no other thread
 * is moving any there. Returns how many can be moved; 0 if all has been read
 * and no writer is left; -EPIPE if no reader is left; -EAGAIN if f must not
 * wait for bytes; or -ERESTART if a signal came. O_NONBLOCK doesn't apply to
 * waiting for another thread that is moving bytes. p->lock is released while
 * asleep, so everything is looked at again afterwards.
 */
INLINED ssize_t
wait_for(struct pipe *p, int side, struct file *f, size_t want)
{
	must_hold(&p->lock);
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

/* Wait until at least `want` bytes can be moved at f's end, and move as many as
 * can be. Returns their number, 0 at the end of reading, or an errno. */
INLINED ssize_t
move(struct pipe *p, int side, struct file *f, struct uio *u, size_t want)
{
	struct pipe_end *end = &p->end[side];
	bool was_full;
	ssize_t n;

	spin_lock(&p->lock);
	n = wait_for(p, side, f, want);
	if (n > 0) {
		end->busy = true;
		spin_unlock(&p->lock);
		n = copy(p, side, n, u);
		spin_lock(&p->lock);
		end->busy = false;
		was_full = available(p, WRITER) < PIPE_BUF;
		if (n > 0)
			end->pos += n;
		/* A writer that is copying does so from its old position up. No
		 * reader can be: while one is, what it reads isn't taken off
		 * yet, and so the pipe isn't empty. */
		if (available(p, READER) == 0 && !p->end[WRITER].busy)
			p->end[READER].pos = p->end[WRITER].pos = 0;
		/*
		 * Wake those who wait here, and those at the other end. But
		 * writers aren't woken for each byte of room: none waits for
		 * more than a page's, so then the first of them can go on.
		 */
		wake(&p->end[READER], side == WRITER);
		if (side == WRITER || available(p, WRITER) >= PIPE_BUF)
			wake(&p->end[WRITER], side == READER && was_full);
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
 * A write of up to PIPE_BUF bytes is one transfer. A longer one is made piece
 * by piece, and the bytes of others may come in between. Each piece waits until
 * a page's room is free; with O_NONBLOCK it takes whatever room there is. If it
 * fails after some bytes have been written, their number is returned, and not
 * the error. SIGPIPE is sent in any case.
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
		vfs_process.pipe_broken();
	return total > 0 ? total : n;
}

/* The marks are set before the pipe is looked at, and under the lock: whatever
 * changes afterwards finds them and wakes the poller. A writer is ready when
 * there is room for any write of up to PIPE_BUF bytes. */
static unsigned int
pipe_poll(struct vnode *v, struct file *f)
{
	struct pipe *p = pipe_of(v);
	int side = side_of(f);
	unsigned int ready = 0;

	spin_lock(&p->lock);
	p->end[side].awaited = true;
	if (side == READER) {
		poll_in(&p->end[READER].wait);
		if (available(p, READER) > 0)
			ready |= POLLIN;
		if (!p->end[WRITER].open)
			ready |= POLLHUP;
	} else {
		poll_out(&p->end[WRITER].wait);
		if (available(p, WRITER) >= PIPE_BUF)
			ready |= POLLOUT;
		if (!p->end[READER].open)
			ready |= POLLERR;
	}
	spin_unlock(&p->lock);
	return ready;
}

/* FIONREAD: how many bytes there are. */
static int
pipe_ioctl(struct vnode *v, struct file *, unsigned int cmd, uintptr_t arg)
{
	struct pipe *p = pipe_of(v);
	int count;

	if (cmd != FIONREAD)
		return -ENOTTY;
	spin_lock(&p->lock);
	count = available(p, READER);
	spin_unlock(&p->lock);
	return copy_out(arg, &count, sizeof(count));
}

/* By a link of /proc an end may be opened once more. */
static int
pipe_open(struct vnode *v, struct file *f)
{
	struct pipe *p = pipe_of(v);

	if (side_of(f) >= ENDS)
		return -EACCES;
	spin_lock(&p->lock);
	p->end[side_of(f)].open++;
	spin_unlock(&p->lock);
	return 0;
}

/* The last descriptor of a file is gone: those who wait must look again. */
static void
pipe_close(struct vnode *v, struct file *f)
{
	struct pipe *p = pipe_of(v);

	spin_lock(&p->lock);
	p->end[side_of(f)].open--;
	wake(&p->end[READER], true);
	wake(&p->end[WRITER], true);
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
    .open = pipe_open,
    .close = pipe_close,
    .read = pipe_read,
    .write = pipe_write,
    .ioctl = pipe_ioctl,
    .poll = pipe_poll,
    .stat = pipe_stat,
    .free = pipe_free,
};

int
pipe_room(const struct file *f, unsigned int wanted)
{
	if (f->vnode->ops != &pipe_ops)
		return -EBADF;
	return wanted <= PIPE_SIZE ? PIPE_SIZE : -EPERM;
}

/* Everything that can fail comes first. file_open can't: pipe_open refuses
 * only other sides. The vnode's two references become those of the files. */
int
pipe_create(struct file *end[2], struct kept *kept)
{
	static unsigned long last_ino; /* atomic */
	struct pipe *p = kzalloc(sizeof(*p));

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

		*e = (struct pipe_end){
		    .wait = WAITQ_FOR(e->wait, WAITS_PIPE_READ + side, p->ino),
		};
		file_open(end[side], &p->vnode, side);
	}
	return 0;
}

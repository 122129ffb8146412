/*
 * Epolls: lists of files to be asked what is ready.
 *
 * An epoll has a watch for each file and descriptor number that was added. All
 * are asked at each epoll_pwait; that isn't faster than poll, but programs made
 * for Linux expect it. Asking, and waiting for a change, is as in poll
 * (syscall/select.c).
 *
 * A watch with EPOLLET reports only what has come since it was asked last, even
 * if the file was emptied in between. It knows by the file's counts of its news
 * (sched/poll.h).
 *
 * A watch has no reference to its file, as it must not keep the file open. The
 * last file_put of a watched file comes to epoll_forget before anything else,
 * and waits there for epoll_lock. So under that lock all files of watches are
 * still whole. An epoll watches no other: then one could hold its own lock.
 */
#include "epoll.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "base/list.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"
#include "sched/poll.h"
#include "sched/thread.h"

#include "anon.h"
#include "file.h"
#include "vnode.h"

#define WATCHES_MAX 4096 /* of all epolls together */

/* The flags among the events; the events that a watch always reports; and those
 * that mean input. */
#define FLAGS  (EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE)
#define ALWAYS (POLLERR | POLLHUP)
#define INPUT  (POLLIN | POLLPRI | ALWAYS)

/* Guards all watches, and the lists of them. */
static struct mutex epoll_lock = MUTEX("epoll", epoll_lock);

struct watch {
	struct list of_epoll, of_all;
	unsigned long id;
	struct file *file; /* without a reference */
	int fd;
	struct epoll_event event;
	bool fresh;           /* not asked yet since it was set */
	bool spent;           /* EPOLLONESHOT, and it has reported */
	unsigned int last;    /* the answer when it was asked last */
	unsigned int in, out; /* and the counts of news */
};

struct epoll {
	struct vnode vnode; /* first: the vnode's address is the epoll's */
	struct list watches GUARDED_BY(epoll_lock); /* asked last: at the end */
};

static struct list all_watches GUARDED_BY(epoll_lock) = LIST_INIT(all_watches);
static unsigned int watch_count GUARDED_BY(epoll_lock);
static unsigned long last_id GUARDED_BY(epoll_lock);

static struct epoll *
epoll_of(struct vnode *v)
{
	return (struct epoll *)v;
}

static struct watch *
watch_find(struct epoll *e, const struct file *f, int fd)
{
	must_hold(&epoll_lock);
	list_each (struct watch, w, &e->watches, of_epoll)
		if (w->file == f && w->fd == fd)
			return w;
	return NULL;
}

static void
watch_remove(struct watch *w)
{
	must_hold(&epoll_lock);
	list_remove(&w->of_epoll);
	list_remove(&w->of_all);
	watch_count--;
	kfree(w);
}

static void
watch_set(struct watch *w, const struct epoll_event *event)
{
	must_hold(&epoll_lock);
	w->event = *event;
	w->fresh = true;
	w->spent = false;
	w->last = 0;
}

static int
watch_add(struct epoll *e, struct file *f, int fd,
	  const struct epoll_event *event)
{
	struct watch *w = NULL;

	must_hold(&epoll_lock);
	if (watch_count == WATCHES_MAX)
		return -ENOSPC;
	if (page_spare(1, LEFT_BY_PROGRAMS))
		w = kzalloc(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	f->watched = true;
	watch_count++;
	w->id = ++last_id;
	w->file = f;
	w->fd = fd;
	list_append(&all_watches, &w->of_all);
	list_append(&e->watches, &w->of_epoll);
	watch_set(w, event);
	return 0;
}

int
epoll_control(struct vnode *v, int op, struct file *f, int fd,
	      const struct epoll_event *event)
{
	struct epoll *e = epoll_of(v);
	struct watch *w;
	int r = 0;

	mutex_lock(&epoll_lock);
	w = watch_find(e, f, fd);
	if (op != EPOLL_CTL_ADD && w == NULL)
		r = -ENOENT;
	else if (op == EPOLL_CTL_ADD)
		r = w == NULL ? watch_add(e, f, fd, event) : -EEXIST;
	else if (op == EPOLL_CTL_MOD)
		watch_set(w, event);
	else
		watch_remove(w);
	mutex_unlock(&epoll_lock);
	if (r == 0) /* those who wait ask anew */
		poll_wake();
	return r;
}

/* Ask w's file: what is to be reported. If it is reported, and not only looked
 * at, the watch remembers that. */
static unsigned int
watch_ask(struct watch *w, bool report)
{
	struct polled *p = &current->polled;
	uint32_t wanted = w->event.events | ALWAYS;
	unsigned int ready;
	bool news;

	must_hold(&epoll_lock);
	if (w->spent)
		return 0;
	p->in = p->out = 0;
	ready = file_poll(w->file) & wanted & ~FLAGS;
	news = w->fresh || !(wanted & EPOLLET) || ready & ~w->last ||
	       (wanted & INPUT && p->in != w->in) ||
	       (wanted & POLLOUT && p->out != w->out);
	if (report) {
		w->fresh = false;
		w->last = ready;
		w->in = p->in;
		w->out = p->out;
		w->spent = ready != 0 && wanted & EPOLLONESHOT;
	}
	return news ? ready : 0;
}

/* Each watch that is asked moves to the end: if there are more events than max,
 * the next call begins with those that weren't asked. */
int
epoll_collect(struct vnode *v, struct epoll_report *report, int max)
{
	struct epoll *e = epoll_of(v);
	int n = 0;

	mutex_lock(&epoll_lock);
	for (struct list *l = e->watches.next, *last = e->watches.prev, *next;
	     n < max && l != &e->watches; l = l == last ? &e->watches : next) {
		struct watch *w = container_of(l, struct watch, of_epoll);
		unsigned int ready = watch_ask(w, true);

		next = l->next;
		list_remove(l);
		list_append(&e->watches, l);
		if (ready != 0)
			report[n++] = (struct epoll_report){
			    .event = {.events = ready, .data = w->event.data},
			    .watch = w->id,
			};
	}
	mutex_unlock(&epoll_lock);
	return n;
}

void
epoll_give_back(struct vnode *v, const struct epoll_report *report)
{
	mutex_lock(&epoll_lock);
	list_each (struct watch, w, &epoll_of(v)->watches, of_epoll)
		if (w->id == report->watch) {
			w->fresh = true;
			w->spent = false;
		}
	mutex_unlock(&epoll_lock);
}

void
epoll_forget(struct file *f)
{
	mutex_lock(&epoll_lock);
	list_each_safe (struct watch, w, &all_watches, of_all)
		if (w->file == f)
			watch_remove(w);
	mutex_unlock(&epoll_lock);
}

static unsigned int
epoll_poll(struct vnode *v, struct file *)
{
	unsigned int ready = 0;

	mutex_lock(&epoll_lock);
	list_each (struct watch, w, &epoll_of(v)->watches, of_epoll)
		if (watch_ask(w, false) != 0)
			ready = POLLIN;
	mutex_unlock(&epoll_lock);
	return ready;
}

static void
epoll_free(struct vnode *v)
{
	struct epoll *e = epoll_of(v);

	mutex_lock(&epoll_lock);
	list_each_safe (struct watch, w, &e->watches, of_epoll)
		watch_remove(w);
	mutex_unlock(&epoll_lock);
	kfree(e);
}

static const struct vnode_ops epoll_ops = {
    .read = anon_refuse,
    .write = anon_refuse,
    .poll = epoll_poll,
    .stat = anon_stat,
    .free = epoll_free,
};

bool
epoll_is(const struct file *f)
{
	return f->vnode->ops == &epoll_ops;
}

int
epoll_create(struct fdtable *t, int flags)
{
	struct epoll *e = kzalloc(sizeof(*e));

	if (e == NULL)
		return -ENOMEM;
	anon_init(&e->vnode, &epoll_ops);
	list_init(&e->watches);
	return anon_open(t, &e->vnode, flags);
}

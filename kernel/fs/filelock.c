/*
 * Advisory locks on files. They stop nobody from reading or writing; programs
 * ask for them to agree among each other. There are two kinds, which don't see
 * each other:
 *
 *	fcntl	on a range of bytes, for reading (shared) or for writing. The
 *		owner is a process, more exactly its table of descriptors, and
 *		loses all locks on a file when it closes any descriptor of it;
 *		or, with F_OFD_SETLK, an open file.
 *	flock	on the whole file, shared or exclusive. The owner is an open
 *		file.
 *
 * An open file loses its locks when it is closed for good.
 *
 * All locks are in one list, as there are few: FILELOCKS_MAX at most. Those of
 * one owner on one file never overlap: a new one takes the place of the parts
 * of old ones that it covers. For example, if bytes 0 to 99 are locked for
 * writing, and bytes 40 to 59 are to be for reading:
 *
 *	before		write 0..99
 *	after		write 0..39, read 40..59, write 60..99
 *
 * Whoever waits is woken up when any lock goes, and looks again.
 */
#include "filelock.h"

#include <errno.h>
#include <fcntl.h>

#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"

#include "vnode.h"

#define FILELOCKS_MAX 1024
#define CHAIN_MAX     16 /* who waits for whom, as far as it is looked at */

/* A process that waits for a lock; on its stack. */
struct waiter {
	struct list link;
	const void *owner, *waits_for;
};

static struct spinlock filelock_lock = SPINLOCK1("file locks");
static struct list locks GUARDED_BY(filelock_lock) = LIST_INIT(locks);
static unsigned int count GUARDED_BY(filelock_lock);
static struct list waiting GUARDED_BY(filelock_lock) = LIST_INIT(waiting);
static struct waitq removed GUARDED_BY(filelock_lock) = WAITQ_INIT(removed);

int
filelock_key(struct vnode *v, struct filelock_key *key)
{
	struct stat st;
	int r = vnode_stat(v, &st);

	if (r == 0)
		*key = (struct filelock_key){st.st_dev, st.st_ino};
	return r;
}

static bool
is_on(const struct filelock *l, const struct filelock_key *on)
{
	return l->on.dev == on->dev && l->on.ino == on->ino;
}

/* Are both of the same kind, and on the same file? */
static bool
is_beside(const struct filelock *a, const struct filelock *b)
{
	return a->whole == b->whole && is_on(a, &b->on);
}

static bool
overlaps(const struct filelock *a, const struct filelock *b)
{
	return a->start <= b->end && b->start <= a->end;
}

/* Does one begin where the other ends, if they don't overlap? */
static bool
touches(const struct filelock *a, const struct filelock *b)
{
	return overlaps(a, b) || (a->start > 0 && b->end == a->start - 1) ||
	       (b->start > 0 && a->end == b->start - 1);
}

/* The first lock that keeps the request from being granted, or NULL. */
static const struct filelock *
conflict(const struct filelock *request)
{
	must_hold(&filelock_lock);
	list_each (struct filelock, l, &locks, link)
		if (l->owner != request->owner && is_beside(l, request) &&
		    overlaps(l, request) &&
		    (l->type == F_WRLCK || request->type == F_WRLCK))
			return l;
	return NULL;
}

/* If owner waited for this one, would that one wait, by way of others perhaps,
 * for owner? Only processes are looked at: an open file may be unlocked by
 * anybody who has it. */
static bool
would_deadlock(const void *owner, const void *waits_for)
{
	must_hold(&filelock_lock);
	for (int i = 0; i < CHAIN_MAX; i++) {
		const struct waiter *next = NULL;

		list_each (struct waiter, w, &waiting, link)
			if (w->owner == waits_for)
				next = w;
		if (next == NULL)
			return false;
		waits_for = next->waits_for;
		if (waits_for == owner)
			return true;
	}
	return false;
}

/* Wait until nothing conflicts with the request. */
static int
wait_granted(const struct filelock *request, bool wait)
{
	const struct filelock *l;
	int r = 0;

	must_hold(&filelock_lock);
	while (r == 0 && (l = conflict(request)) != NULL) {
		struct waiter w = {.owner = request->owner,
				   .waits_for = l->owner};

		if (!wait)
			return -EAGAIN;
		if (request->pid != -1 && would_deadlock(w.owner, w.waits_for))
			return -EDEADLK;
		list_append(&waiting, &w.link);
		r = wait_on(&removed, &filelock_lock);
		list_remove(&w.link);
	}
	return r;
}

/* A lock that is out of the list; those that are left over are freed when
 * filelock_lock has been released. */
static void
take_out(struct filelock *l, struct list *spare)
{
	must_hold(&filelock_lock);
	list_remove(&l->link);
	list_append(spare, &l->link);
	count--;
}

static void
put_in(const struct filelock *from, struct list *spare)
{
	struct filelock *l = container_of(spare->next, struct filelock, link);

	must_hold(&filelock_lock);
	list_remove(&l->link);
	*l = *from;
	list_append(&locks, &l->link);
	count++;
}

/*
 * Let the request take the place of what its owner has there. Locks of the same
 * type that it overlaps or touches become one with it. At most one lock is cut
 * in two, so two spare ones are enough: for its second part, and for the new
 * lock.
 */
static void
replace(struct filelock new, struct list *spare)
{
	must_hold(&filelock_lock);
	list_each_safe (struct filelock, l, &locks, link) {
		struct filelock first = *l, last = *l;

		if (l->owner != new.owner || !is_beside(l, &new))
			continue;
		if (l->type == new.type && touches(l, &new)) {
			if (l->start < new.start)
				new.start = l->start;
			if (l->end > new.end)
				new.end = l->end;
			take_out(l, spare);
		} else if (overlaps(l, &new)) {
			take_out(l, spare);
			if (first.start < new.start) {
				first.end = new.start - 1;
				put_in(&first, spare);
			}
			if (last.end > new.end) {
				last.start = new.end + 1;
				put_in(&last, spare);
			}
		}
	}
	if (new.type != F_UNLCK)
		put_in(&new, spare);
}

/* flock changes the type of a lock by removing it first: then others may come
 * before. False: it is of that type already. */
static bool
must_change(const struct filelock *request, struct list *spare)
{
	struct filelock none = *request;

	must_hold(&filelock_lock);
	list_each (struct filelock, l, &locks, link)
		if (l->owner == request->owner && is_beside(l, request) &&
		    l->type == request->type)
			return false;
	none.type = F_UNLCK;
	replace(none, spare);
	wake_all(&removed);
	return true;
}

static void
free_all(struct list *spare)
{
	list_each_safe (struct filelock, l, spare, link)
		kfree(l);
}

/* False: there is no memory for two spare locks. */
static bool
get_spare(struct list *spare)
{
	for (int i = 0; i < 2; i++) {
		struct filelock *l = NULL;

		if (page_spare(1, LEFT_BY_PROGRAMS))
			l = kmalloc(sizeof(*l));
		if (l == NULL)
			return false;
		list_append(spare, &l->link);
	}
	return true;
}

int
filelock_set(const struct filelock *request, bool wait)
{
	struct list spare = LIST_INIT(spare);
	int r = 0;

	if (!get_spare(&spare)) {
		free_all(&spare);
		return -ENOLCK;
	}
	spin_lock(&filelock_lock);
	if (!request->whole || must_change(request, &spare)) {
		if (request->type != F_UNLCK)
			r = wait_granted(request, wait);
		/* Even what is unlocked may add a lock, by a cut. */
		if (r == 0 && count + 2 > FILELOCKS_MAX)
			r = -ENOLCK;
		if (r == 0) {
			replace(*request, &spare);
			wake_all(&removed);
		}
	}
	spin_unlock(&filelock_lock);
	free_all(&spare);
	return r;
}

bool
filelock_find(const struct filelock *request, struct filelock *found)
{
	const struct filelock *l;

	spin_lock(&filelock_lock);
	l = conflict(request);
	if (l != NULL)
		*found = *l;
	spin_unlock(&filelock_lock);
	return l != NULL;
}

void
filelock_release(const void *owner, const struct filelock_key *on)
{
	struct list spare = LIST_INIT(spare);

	spin_lock(&filelock_lock);
	list_each_safe (struct filelock, l, &locks, link)
		if (l->owner == owner && (on == NULL || is_on(l, on)))
			take_out(l, &spare);
	if (!list_empty(&spare))
		wake_all(&removed);
	spin_unlock(&filelock_lock);
	free_all(&spare);
}

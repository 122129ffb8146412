/*
 * The order of waits: /dev/waitorder, for waits(4).
 *
 * A record of waits.c is a sum, and tells no longer which wait came after
 * which. Here each is a line of its own: when a thread left its hart, when it
 * was woken up and by whom, when it ran again. From that follows what a run's
 * time hangs on, its critical path. There is one place for each line, allocated
 * by start; nothing is allocated unless `order' has asked for it. Lines that
 * find no place are the last ones, and are counted: so what is there is without
 * a gap.
 *
 * The lock is that of the records. Lines that are in place never change until
 * they are cleared, which takes the mutex that readers have: so they are read
 * without the lock.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "fs/uio.h"
#include "mm/kmalloc.h"

#include "waits.h"

static size_t room; /* changes only while there is no memory, by one writer */
static struct waits_absence *absence GUARDED_BY(waits_table_lock);
static size_t used GUARDED_BY(waits_table_lock);
static uint64_t lost GUARDED_BY(waits_table_lock);

void
waitorder_add(const struct waits_absence *a)
{
	must_hold(&waits_table_lock);
	if (absence == NULL)
		return;
	if (used < room)
		absence[used++] = *a;
	else
		lost++;
}

/* Only who holds the mutex changes whether there is memory. */
UNGUARDED int
waitorder_alloc(void)
{
	struct waits_absence *a;

	if (absence != NULL || room == 0)
		return 0;
	a = kmalloc(room * sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	spin_lock_untold(&waits_table_lock);
	absence = a;
	spin_unlock(&waits_table_lock);
	return 0;
}

void
waitorder_clear(bool keep)
{
	struct waits_absence *old = NULL;

	spin_lock_untold(&waits_table_lock);
	if (!keep) {
		old = absence;
		absence = NULL;
	}
	used = lost = 0;
	spin_unlock(&waits_table_lock);
	kfree(old);
}

void
waitorder_set(size_t n)
{
	room = n;
}

static struct waits_order
head_now(void)
{
	struct waits_order h;

	spin_lock_untold(&waits_table_lock);
	h = (struct waits_order){
	    .absence_size = sizeof(struct waits_absence),
	    .absences = used,
	    .room = room,
	    .lost = lost,
	};
	spin_unlock(&waits_table_lock);
	return h;
}

off_t
waitorder_size(void)
{
	return sizeof(struct waits_order) +
	       head_now().absences * sizeof(struct waits_absence);
}

/* The head, and then what lies behind it, as far as it is asked for. */
UNGUARDED ssize_t
waitorder_read(struct uio *u)
{
	const struct waits_order h = head_now();
	size_t size = h.absences * sizeof(struct waits_absence);
	ssize_t first = 0, rest = 0;

	if (u->offset < (off_t)sizeof(h))
		first = uio_to(u, (const char *)&h + u->offset,
			       sizeof(h) - u->offset);
	if (first < 0)
		return first;
	if (u->left > 0 && u->offset - sizeof(h) < size)
		rest = uio_to(u,
			      (const char *)absence + (u->offset - sizeof(h)),
			      size - (u->offset - sizeof(h)));
	return rest < 0 && first > 0 ? first : rest < 0 ? rest : first + rest;
}

/*
 * ramfs, the names in directories.
 *
 * A directory has its names twice: in a binary tree, to find one, and in a list
 * in the order in which they came, for readdir.
 *
 * The tree is ordered by the bits of the names' hashes. At the top, bit 0 of
 * the hash looked for says whether to go to branch 0 or 1; one level below it
 * is bit 1, and so on. Every node of the tree is a name, and the search ends at
 * the right one. For example, with four names whose hashes end in the bits
 * ..010, ..011, ..000 and ..110, added in this order:
 *
 *		..010			the first name
 *		/     \			bit 0
 *	    ..000    ..011
 *	        \			bit 1
 *	        ..110
 *
 * So an empty directory costs nothing, a big one a few words for each name, and
 * nothing is ever built anew as a directory grows. The hash has a secret key,
 * so nobody can choose names that make one long branch.
 *
 * All of this is under ramfs_lock, but for ramname_create.
 */
#include <string.h>

#include "base/list.h"
#include "machine/machine.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "sched/lock.h"
#include "sched/time.h"

#include "ramfs.h"

static off_t next_cookie GUARDED_BY(ramfs_lock) = DIR_COOKIE;

/* Each byte goes through a 128-bit product, whose halves are combined; so any
 * bit of the name may change any bit of the hash, in a way that depends on the
 * key, which machine.c makes from a random seed. */
static uint64_t
hash_text(const char *text)
{
	uint64_t h = machine.key[0];

	for (; *text != '\0'; text++) {
		unsigned __int128 product = h ^ (unsigned char)*text;

		product *= machine.key[1];
		h = product ^ product >> 64;
	}
	return h;
}

/* The place of a name in dir's tree: the pointer that leads to it, or the NULL
 * where it would be added. Two names with the same hash are told apart by
 * strcmp, and lie one below the other. */
static struct ramname **
place_of(struct ramnode *dir, const char *text, uint64_t hash)
{
	struct ramname **at = &dir->top;

	must_hold(&ramfs_lock);
	for (uint64_t bits = hash; *at != NULL; bits >>= 1) {
		if ((*at)->hash == hash && strcmp((*at)->text, text) == 0)
			break;
		at = &(*at)->branch[bits & 1];
	}
	return at;
}

struct ramname *
ramname_find(struct ramnode *dir, const char *text)
{
	return *place_of(dir, text, hash_text(text));
}

/* Names leave fewer pages to others than contents of files do: when files have
 * taken all they may, one can still be renamed (mm/page.h). */
struct ramname *
ramname_create(const char *text)
{
	size_t size = strlen(text) + 1;
	struct ramname *e = NULL;

	if (page_spare(1, LEFT_BY_NAMES))
		e = kmalloc(sizeof(*e) + size);
	if (e == NULL)
		return NULL;
	*e = (struct ramname){.hash = hash_text(text)};
	memcpy(e->text, text, size);
	return e;
}

/* The cookie is the greatest so far, so that the list, to whose end the name is
 * added, is in the order of cookies. */
void
ramname_add(struct ramnode *dir, struct ramname *e, struct ramnode *n)
{
	must_hold(&ramfs_lock);
	e->node = n;
	e->dir = dir;
	list_append(&n->names, &e->other);
	n->links++;
	e->branch[0] = e->branch[1] = NULL;
	*place_of(dir, e->text, e->hash) = e;
	e->cookie = next_cookie++;
	list_append(&dir->children, &e->sibling);
	dir->subdirs += is_ramdir(n);
	n->ctime = dir->mtime = dir->ctime = time_realtime_ns();
}

/* Take e off dir's tree. A leaf from below e takes its place. Any will do: all
 * names below e share the bits that lead to e; and a leaf has nothing below it
 * that would have to move, too. */
static void
tree_remove(struct ramnode *dir, struct ramname *e)
{
	struct ramname **at = place_of(dir, e->text, e->hash), **end = at;
	struct ramname *leaf;

	while ((*end)->branch[0] != NULL || (*end)->branch[1] != NULL)
		end = &(*end)->branch[(*end)->branch[0] == NULL];
	leaf = *end;
	*end = NULL;
	if (leaf == e)
		return;
	leaf->branch[0] = e->branch[0];
	leaf->branch[1] = e->branch[1];
	*at = leaf;
}

/* A readdir that stood at e goes on from the one before. */
void
ramname_remove(struct ramname *e)
{
	struct ramnode *dir = e->dir, *n = e->node;

	must_hold(&ramfs_lock);
	tree_remove(dir, e);
	if (dir->cursor == &e->sibling)
		dir->cursor = e->sibling.prev;
	list_remove(&e->sibling);
	dir->subdirs -= is_ramdir(n);
	list_remove(&e->other);
	n->links--;
	n->ctime = dir->mtime = dir->ctime = time_realtime_ns();
}

static void
name_lead_to(struct ramname *e, struct ramnode *n)
{
	list_remove(&e->other);
	list_append(&n->names, &e->other);
	e->node = n;
	e->dir->subdirs += is_ramdir(n);
	n->ctime = e->dir->mtime = e->dir->ctime = time_realtime_ns();
}

/* Neither name moves; and each of the nodes has as many as before. */
void
ramname_exchange(struct ramname *a, struct ramname *b)
{
	struct ramnode *n = a->node;

	must_hold(&ramfs_lock);
	a->dir->subdirs -= is_ramdir(a->node);
	b->dir->subdirs -= is_ramdir(b->node);
	name_lead_to(a, b->node);
	name_lead_to(b, n);
}

static struct ramname *
name_of(struct list *l)
{
	return container_of(l, struct ramname, sibling);
}

/* The search begins at the cursor, where the last one ended, unless that is
 * past the cookie; so reading a whole directory passes through it once. The
 * cursor is only a hint: if several read the directory, each still finds its
 * name. */
struct ramname *
ramname_at(struct ramnode *dir, off_t cookie)
{
	struct list *l = dir->cursor;

	must_hold(&ramfs_lock);
	if (l == &dir->children || name_of(l)->cookie > cookie)
		l = dir->children.next;
	while (l != &dir->children && name_of(l)->cookie < cookie)
		l = l->next;
	dir->cursor = l;
	return l != &dir->children ? name_of(l) : NULL;
}

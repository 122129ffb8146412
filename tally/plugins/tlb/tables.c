/*
 * Page tables, and the entries that harts may have cached.
 *
 * A hart may read any entry of the tables of its satp at any time, and use it
 * until the hart executes an sfence.vma that is ordered after the entry's next
 * change. So each change is stored, with the harts that may still use the old
 * entry, as long as it can do harm:
 *
 * - In user space an old entry with fewer rights only costs a fault: the kernel
 *   finds the new entry, flushes and continues. An old entry with more rights,
 *   or for another page or table, is harmless until the change is complete:
 *   when its thread unlocks the address space, which is the next mutex that it
 *   unlocks, or frees the old page. By then every hart must have flushed, and
 *   the thread must be ordered after that. If the new entry is for another
 *   page, it may allow stores only then: harts that read the old page would not
 *   see them.
 * - In the kernel a fault is a panic, so every change counts at once, even of
 *   invalid entries. But only an access is an error: the kernel may free a page
 *   for which harts have old entries, if nothing uses that address any more.
 *
 * A hart that loads satp after a change may still read the old entry, unless
 * the change is ordered before the hart's sfence.vma.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define ENTRIES   512
#define ROOTS     128
#define KERNEL    0 /* the root of tables that all roots share */
#define RETIRED   8
#define SATP_SV39 8
#define VALID     1

/* Each page of RAM, which may be a table. */
static struct table {
	unsigned char level; /* 3: a root, 1: its entries are leaves, 0: none */
	unsigned char root;
	uint64_t va;        /* that its first entry maps */
	uint64_t *entries;  /* a copy, after the last change */
	struct table *next; /* of the same root */
} * tables;

enum state { NEVER, MAY_REMEMBER, FORGOT };

/* A change of one entry. */
struct change {
	uint64_t va, size; /* the addresses that the entry maps */
	uint64_t old, pc, thread;
	unsigned int root, hart, level;
	uint32_t moment; /* of the hart that made it */
	bool complete;
	struct {
		enum state state;
		uint32_t moment; /* when it flushed */
	} of[HARTS];
};

static struct root {
	uint64_t pa;
	unsigned int harts; /* bits: harts that may walk here; 0: unused */
	struct table *tables;
	/* The last changes that all harts have flushed. A hart that loads this
	 * root later may still read the old entries. */
	struct change retired[RETIRED];
	unsigned int next;
} roots[ROOTS];

/* The root in each hart's satp, and the instruction that wrote it. */
static struct {
	unsigned int root; /* KERNEL: none yet */
	uint64_t pc;
} loaded[HARTS];

/* Changes that are incomplete, or whose old entry a hart may use; unordered. */
static struct change *changes;
static size_t nchanges, room;

unsigned int remembered[HARTS];
uint64_t tables_changes;

void
tables_init(void)
{
	tables = calloc(npages, sizeof(*tables));
	if (tables == NULL)
		die("no memory");
}

/* --- Entries --- */

static uint64_t
entry_pa(uint64_t entry)
{
	return (entry >> 10) << 12;
}

static bool
is_leaf(uint64_t entry)
{
	return entry & (READ | WRITE | EXECUTE);
}

static unsigned int
shift_of(unsigned int level)
{
	return 3 + 9 * level;
}

static uint64_t
entry_at(uint64_t table, uint64_t va, unsigned int level)
{
	return ram_word(table + (va >> shift_of(level)) % ENTRIES * 8);
}

/* The leaf at which a walk from a table of this level ends, or 0. */
static uint64_t
walk(uint64_t table, uint64_t va, unsigned int level)
{
	for (; level > 0; level--) {
		uint64_t entry;

		if (page_number(table) >= npages)
			return 0;
		entry = entry_at(table, va, level);
		if (!(entry & VALID))
			return 0;
		if (is_leaf(entry))
			return entry;
		table = entry_pa(entry);
	}
	return 0;
}

/* Do two leaves treat this kind of access in the same way? */
static bool
same(uint64_t one, uint64_t other, enum access kind)
{
	return (one & kind) == (other & kind) &&
	       entry_pa(one) == entry_pa(other);
}

/* --- Tables --- */

static void
table_add(uint64_t pa, unsigned int root, uint64_t va, unsigned int level)
{
	size_t page = page_number(pa);
	struct table *t = &tables[page];

	if (page >= npages || t->level != 0)
		return;
	t->entries = malloc(PAGE_SIZE);
	if (t->entries == NULL)
		die("no memory");
	memcpy(t->entries, ram + page * PAGE_SIZE, PAGE_SIZE);
	t->level = level;
	t->root = root;
	t->va = va;
	t->next = roots[root].tables;
	roots[root].tables = t;
	for (unsigned int i = 0; level > 1 && i < ENTRIES; i++) {
		uint64_t entry = t->entries[i];
		bool high = level == 3 && i >= ENTRIES / 2;
		uint64_t at = va + ((uint64_t)i << shift_of(level));

		if ((entry & VALID) && !is_leaf(entry))
			table_add(entry_pa(entry), high ? KERNEL : root,
				  high ? at | ~0UL << 39 : at, level - 1);
	}
}

static void
table_remove(struct table *t)
{
	struct table **at = &roots[t->root].tables;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free(t->entries);
	t->level = 0;
}

bool
tables_is_table(size_t page)
{
	return tables[page].level != 0;
}

/* The leaf that a hart finds for va if it uses the old entry, or 0. */
static uint64_t
old_leaf(const struct change *c, uint64_t va)
{
	if (!(c->old & VALID))
		return 0;
	return is_leaf(c->old) ? c->old
			       : walk(entry_pa(c->old), va, c->level - 1);
}

/* --- Old entries --- */

/* Must no hart use the old entry any more? */
static bool
counts(const struct change *c)
{
	return c->root == KERNEL || c->complete;
}

static void
recount(unsigned int hart)
{
	unsigned int held = 0;

	remembered[hart] = 0;
	for (size_t i = 0; i < nchanges; i++)
		if (counts(&changes[i]) &&
		    changes[i].of[hart].state == MAY_REMEMBER)
			remembered[hart]++;
	for (unsigned int r = 1; r < ROOTS; r++)
		held += roots[r].harts >> hart & 1;
	if (held > 1)
		remembered[hart]++;
}

static void
change_add(const struct change *new)
{
	if (nchanges == room) {
		room = room ? 2 * room : 64;
		changes = realloc(changes, room * sizeof(*changes));
		if (changes == NULL)
			die("no memory");
	}
	changes[nchanges++] = *new;
}

static void
change_drop(struct change *c)
{
	*c = changes[--nchanges];
}

/* Drop a change if it is complete and no hart may use the old entry. */
static void
retire(struct change *c)
{
	struct root *r = &roots[c->root];

	if (!counts(c))
		return;
	for (unsigned int h = 0; h < nharts; h++)
		if (c->of[h].state == MAY_REMEMBER)
			return;
	r->retired[r->next++ % RETIRED] = *c;
	change_drop(c);
}

/* Forget a root; no hart can walk its tables any more. */
static void
root_drop(struct root *r)
{
	while (r->tables != NULL)
		table_remove(r->tables);
	for (size_t i = nchanges; i-- > 0;)
		if (&roots[changes[i].root] == r)
			change_drop(&changes[i]);
	memset(r, 0, sizeof(*r));
}

static unsigned int
root_find(uint64_t pa)
{
	unsigned int unused = 0;

	for (unsigned int r = 1; r < ROOTS; r++)
		if (roots[r].harts == 0)
			unused = r;
		else if (roots[r].pa == pa)
			return r;
	if (unused == 0)
		die("there are too many address spaces");
	roots[unused].pa = pa;
	table_add(pa, unused, 0, 3);
	return unused;
}

/* The hart loads r. Note the changes that it may not see yet. */
static void
come_late(unsigned int hart, struct root *r)
{
	struct vclock v = order_before_reads(hart);

	for (struct change *c = r->retired; c < r->retired + RETIRED; c++) {
		struct change again = *c;

		if (c->of[hart].state != NEVER || v.at[c->hart] >= c->moment)
			continue;
		c->of[hart].state = MAY_REMEMBER; /* once is enough */
		memset(again.of, 0, sizeof(again.of));
		again.of[hart].state = MAY_REMEMBER;
		change_add(&again);
	}
	for (size_t i = 0; i < nchanges; i++) {
		struct change *c = &changes[i];

		if (&roots[c->root] == r && c->of[hart].state == NEVER &&
		    v.at[c->hart] < c->moment)
			c->of[hart].state = MAY_REMEMBER;
	}
}

void
tables_switch(unsigned int hart, uint64_t satp, uint64_t pc)
{
	unsigned int r;

	if (satp >> 60 != SATP_SV39)
		return;
	if (loaded[hart].root == KERNEL)
		order_start(hart);
	r = root_find(satp << 12 & ~0UL >> 8);
	roots[r].harts |= 1U << hart;
	roots[KERNEL].harts |= 1U << hart;
	loaded[hart].root = r;
	loaded[hart].pc = pc;
	come_late(hart, &roots[r]);
	recount(hart);
}

/* Does an sfence.vma flush the hart's old entry? With an address it only orders
 * leaves. The tables of other roots can't be read again, so those entries are
 * flushed in any case. */
static bool
flushes(const struct change *c, unsigned int hart, bool all, uint64_t va,
	bool global, const struct vclock *v)
{
	if (!global && c->root == KERNEL)
		return false;
	if (all && c->root != KERNEL && c->root != loaded[hart].root)
		return true;
	if (!all && (c->level > 1 || va - c->va >= c->size))
		return false;
	return v->at[c->hart] >= c->moment;
}

void
tables_flush(unsigned int hart, bool all, uint64_t va, bool global)
{
	struct vclock v = order_before_reads(hart);

	for (size_t i = nchanges; i-- > 0;) {
		struct change *c = &changes[i];

		if (c->of[hart].state != MAY_REMEMBER ||
		    !flushes(c, hart, all, va, global, &v))
			continue;
		c->of[hart].state = FORGOT;
		c->of[hart].moment = order_now(hart);
		retire(c);
	}
	for (unsigned int r = 1; all && r < ROOTS; r++)
		if (r != loaded[hart].root && roots[r].harts >> hart & 1) {
			roots[r].harts &= ~(1U << hart);
			if (roots[r].harts == 0)
				root_drop(&roots[r]);
		}
	recount(hart);
}

/* --- Changes --- */

/* Can it do harm if a hart uses the old entry? */
static bool
matters(const struct table *t, uint64_t old, uint64_t new)
{
	const unsigned int rights = READ | WRITE | EXECUTE;

	if (t->root == KERNEL)
		return !same(old & VALID ? old : 0, new &VALID ? new : 0,
			     rights);
	if (!(old & VALID))
		return false;
	return !(new &VALID) || entry_pa(old) != entry_pa(new) ||
	       (old & ~new &rights);
}

/* An entry is for a new page or table. Other harts may find it at once, so all
 * stores to the page must be ordered before, and code that they may execute
 * must be flushed. */
static void
check_published(unsigned int hart, const struct table *t, uint64_t va,
		uint64_t entry, uint64_t pc)
{
	size_t page = page_number(entry_pa(entry));
	unsigned int others = roots[t->root].harts & ~(1U << hart), other;
	uint64_t at;

	if (t->root == KERNEL || others == 0 || page >= npages)
		return;
	if (!pages_published(hart, page, &other, &at))
		report("early", hart, pc, va, other, at);
	for (unsigned int h = 0; (entry & EXECUTE) && h < nharts; h++)
		if (others >> h & 1)
			pages_fetched(h, page, va, pc);
}

/*
 * The entry allows stores to its page. All harts must see them: so none may
 * still read another page there, by an old entry that this one, or an earlier
 * one of the same change, has replaced.
 */
static void
check_stale(unsigned int hart, const struct table *t, uint64_t va,
	    uint64_t entry, uint64_t pc)
{
	struct vclock v = order_before_stores(hart);

	if (t->root == KERNEL || !(entry & VALID) || !(entry & WRITE))
		return;
	for (size_t i = 0; i < nchanges; i++) {
		const struct change *c = &changes[i];
		uint64_t old;

		if (c->root != t->root || va - c->va >= c->size)
			continue;
		old = old_leaf(c, va);
		if (!(old & READ) || entry_pa(old) == entry_pa(entry))
			continue;
		for (unsigned int h = 0; h < nharts; h++)
			if (c->of[h].state == MAY_REMEMBER ||
			    (h != hart && c->of[h].state == FORGOT &&
			     v.at[h] < c->of[h].moment))
				report("stale", h, pc, va, c->hart, c->pc);
	}
}

/* Note a change that matters: from now on the entry is old for all harts. */
static void
remember(const struct table *t, struct change *c)
{
	tables_changes++;
	if ((c->old & VALID) && !is_leaf(c->old) &&
	    tables_is_table(page_number(entry_pa(c->old))))
		table_remove(&tables[page_number(entry_pa(c->old))]);
	for (unsigned int h = 0; h < nharts; h++)
		if (roots[t->root].harts >> h & 1)
			c->of[h].state = MAY_REMEMBER;
	change_add(c);
	for (unsigned int h = 0; t->root == KERNEL && h < nharts; h++)
		recount(h);
}

void
tables_stored(unsigned int hart, uint64_t thread, uint64_t pa, uint64_t pc)
{
	struct table *t = &tables[page_number(pa)];
	unsigned int i = pa % PAGE_SIZE / 8, shift = shift_of(t->level);
	uint64_t old = t->entries[i], new = ram_word(pa & ~7UL);
	struct change c = {
	    .va = t->va + ((uint64_t)i << shift),
	    .size = 1UL << shift,
	    .old = old,
	    .pc = pc,
	    .thread = thread,
	    .root = t->root,
	    .hart = hart,
	    .level = t->level,
	    .moment = order_now(hart),
	};

	t->entries[i] = new;
	if ((new &VALID) && entry_pa(old) != entry_pa(new)) {
		check_published(hart, t, c.va, new, pc);
		if (!is_leaf(new))
			table_add(entry_pa(new), t->root, c.va, t->level - 1);
	}
	if (matters(t, old, new))
		remember(t, &c);
	check_stale(hart, t, c.va, new, pc);
}

/* A change is complete. Report each hart whose flush of the old entry is not
 * ordered before this hart's next release. */
static void
check_forgotten(const char *kind, const struct change *c, unsigned int hart,
		uint64_t pc)
{
	struct vclock v = order_before_release(hart);

	for (unsigned int h = 0; h < nharts; h++)
		if (c->of[h].state == MAY_REMEMBER ||
		    (c->of[h].state == FORGOT && v.at[h] < c->of[h].moment))
			report(kind, h, pc, c->va, c->hart, c->pc);
}

void
tables_complete(unsigned int hart, uint64_t thread, uint64_t pc)
{
	bool any = false;

	for (size_t i = nchanges; i-- > 0;) {
		struct change *c = &changes[i];

		if (counts(c) || c->thread != thread)
			continue;
		any = true;
		check_forgotten("kept", c, hart, pc);
		c->complete = true;
		retire(c);
	}
	for (unsigned int h = 0; any && h < nharts; h++)
		recount(h);
}

void
tables_freed(unsigned int hart, uint64_t pa, uint64_t pc)
{
	const struct table *t = &tables[page_number(pa)];
	bool any = false;

	for (size_t i = nchanges; i-- > 0;) {
		struct change *c = &changes[i];

		if (counts(c) || entry_pa(c->old) != pa)
			continue;
		any = true;
		check_forgotten("freed", c, hart, pc);
		c->complete = true;
		retire(c);
	}
	if (t->level != 0)
		report("freed", hart, pc, pa, hart, loaded[hart].pc);
	for (unsigned int h = 0; any && h < nharts; h++)
		recount(h);
}

/* --- Accesses --- */

void
tables_accessed(unsigned int hart, uint64_t va, enum access kind, uint64_t pc)
{
	unsigned int now = loaded[hart].root;
	uint64_t leaf = walk(roots[now].pa, va, 3);

	for (size_t i = 0; i < nchanges; i++) {
		const struct change *c = &changes[i];
		uint64_t old;

		if (c->of[hart].state != MAY_REMEMBER || !counts(c) ||
		    va - c->va >= c->size)
			continue;
		old = old_leaf(c, va);
		if (!same(old, leaf, kind) &&
		    (c->root == KERNEL || (old & kind)))
			report("access", hart, pc, va, c->hart, c->pc);
	}
	for (unsigned int r = 1; va < USER_TOP && r < ROOTS; r++) {
		uint64_t old;

		if (r == now || !(roots[r].harts >> hart & 1))
			continue;
		old = walk(roots[r].pa, va, 3);
		if ((old & kind) && !same(old, leaf, kind))
			report("access", hart, pc, va, hart, loaded[hart].pc);
	}
}

/*
 * Decides which stores are ordered before another hart's next accesses.
 *
 * Harts synchronise by words that one writes and another reads or writes. If a
 * hart reads a stored value, all accesses ordered before the store are ordered
 * before those that a fence or an acquire orders after the read. If a hart
 * writes a word, the same holds for the accesses ordered before the word's
 * earlier reads and writes.
 *
 * A word takes part once an atomic instruction, or a store directly after a
 * fence, has written it. Other orders of the memory model are ignored, such as
 * address dependencies.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define BUCKETS (1 << 16)

struct word {
	struct word *next;
	uint64_t pa;
	struct vclock written, read;
};

static struct hart {
	uint32_t now;
	struct vclock loads, stores; /* ordered before its next ones */
	/* The accesses ordered before its past loads and stores; they are not
	 * ordered before its next ones until there is a fence. */
	struct vclock from_loads, from_stores;
} harts[HARTS];

static struct word *buckets[BUCKETS]; /* by address */
static unsigned char *takes_part;     /* a bit for each 4 bytes of RAM */

void
order_init(void)
{
	takes_part = calloc(npages, PAGE_SIZE / 4 / 8);
	if (takes_part == NULL)
		die("no memory");
	for (unsigned int i = 0; i < nharts; i++)
		harts[i].now = 1;
}

static void
join(struct vclock *v, const struct vclock *w)
{
	for (unsigned int i = 0; i < nharts; i++)
		if (v->at[i] < w->at[i])
			v->at[i] = w->at[i];
}

/* All of a hart's accesses, and those ordered before any of them. */
static struct vclock
all_before(unsigned int hart)
{
	struct hart *h = &harts[hart];
	struct vclock v = h->loads;

	join(&v, &h->stores);
	join(&v, &h->from_loads);
	join(&v, &h->from_stores);
	v.at[hart] = h->now;
	return v;
}

/* --- Fences --- */

void
order_fence(unsigned int hart, unsigned int before, unsigned int after)
{
	struct hart *h = &harts[hart];
	struct vclock v = {0};

	if (before & FENCE_R) {
		join(&v, &h->loads);
		join(&v, &h->from_loads);
	}
	if (before & FENCE_W) {
		join(&v, &h->stores);
		join(&v, &h->from_stores);
		v.at[hart] = h->now++;
	}
	if (after & FENCE_R)
		join(&h->loads, &v);
	if (after & FENCE_W)
		join(&h->stores, &v);
}

void
order_start(unsigned int hart)
{
	for (unsigned int i = 0; i < nharts; i++) {
		struct vclock v = all_before(i);

		harts[i].now++;
		join(&harts[hart].loads, &v);
		join(&harts[hart].stores, &v);
	}
}

/* --- Words --- */

/* The word at pa; NULL: it doesn't take part (without create). */
static struct word *
word_find(uint64_t pa, bool create)
{
	size_t number = (pa - RAM_START) / 4;
	struct word **bucket = &buckets[number % BUCKETS], *w;

	if (!(takes_part[number / 8] & 1 << number % 8) && !create)
		return NULL;
	for (w = *bucket; w != NULL; w = w->next)
		if (w->pa == pa)
			return w;
	if (!create)
		return NULL;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		die("no memory");
	w->pa = pa;
	w->next = *bucket;
	*bucket = w;
	takes_part[number / 8] |= 1 << number % 8;
	return w;
}

/* For an atomic instruction QEMU reports a load, then a store: only the store
 * counts. */
void
order_load(unsigned int hart, uint64_t pa, unsigned int flags)
{
	struct hart *h = &harts[hart];
	struct word *w;

	if (flags & ATOMIC)
		return;
	w = word_find(pa, flags & RESERVES);
	if (w == NULL)
		return;
	join(&w->read, &h->loads);
	join(&h->from_loads, &w->written);
	if (flags & ACQUIRES) {
		join(&h->loads, &w->written);
		join(&h->stores, &w->written);
	}
}

void
order_store(unsigned int hart, uint64_t pa, unsigned int flags)
{
	struct hart *h = &harts[hart];
	struct word *w = word_find(pa, flags & (ATOMIC | PUBLISHES));
	struct vclock before, got;

	if (w == NULL)
		return;
	before = h->stores;
	if (flags & ATOMIC)
		join(&before, &h->loads);
	if (flags & RELEASES)
		before = all_before(hart);
	got = w->written;
	join(&got, &w->read);
	join(&w->written, &before);
	join(&h->from_stores, &got);
	if (flags & ATOMIC)
		join(&h->from_loads, &got);
	if (flags & ACQUIRES) {
		join(&got, &before);
		join(&h->loads, &got);
		join(&h->stores, &got);
	}
	h->now++;
}

/* --- Moments --- */

uint32_t
order_now(unsigned int hart)
{
	return harts[hart].now;
}

struct vclock
order_before_reads(unsigned int hart)
{
	struct vclock v = harts[hart].loads;

	v.at[hart] = harts[hart].now;
	return v;
}

struct vclock
order_before_stores(unsigned int hart)
{
	return harts[hart].stores;
}

struct vclock
order_before_release(unsigned int hart)
{
	return all_before(hart);
}

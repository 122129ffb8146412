/*
 * A TCG plugin that models what the harts of a Tally machine may cache, where
 * QEMU's don't, and reports where a real hart could have behaved differently.
 * docs/testing.md describes the model.
 *
 * QEMU calls plugin.c. order.c knows which stores are ordered before another
 * hart's next accesses; tables.c which page table entries were changed, and
 * which harts may use the old ones; pages.c the stores to each page, and which
 * harts are sure to see them; report.c collects the errors.
 *
 * Only one hart executes at a time, as always under -icount.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/layout.h"
#include "plugin.h"

#define RAM_START 0x80000000UL

enum access { READ = 2, WRITE = 4, EXECUTE = 8 }; /* bits of an entry */

extern unsigned int nharts;
extern size_t npages;      /* of RAM */
extern unsigned char *ram; /* in QEMU's memory; NULL: not known yet */

/* The 8 bytes at a physical address of RAM. */
static inline uint64_t
ram_word(uint64_t pa)
{
	return *(const uint64_t *)(ram + (pa - RAM_START));
}

/* The number of the page at a physical address; npages or more: not RAM. */
static inline size_t
page_number(uint64_t pa)
{
	return (pa - RAM_START) / PAGE_SIZE;
}

/* --- order.c --- */

/*
 * A vector clock: for each hart, the moment up to which its accesses are
 * ordered before something. A hart's own clock advances with each of its fences
 * and atomic instructions.
 */
struct vclock {
	uint32_t at[HARTS];
};

/* Properties of a load or a store. */
enum {
	ATOMIC = 1,    /* an AMO, or sc: it reads and writes at once */
	RESERVES = 2,  /* lr */
	ACQUIRES = 4,  /* .aq */
	RELEASES = 8,  /* .rl */
	PUBLISHES = 16 /* a store directly after a fence that orders it */
};

/* Bits of a fence's sets of accesses. */
enum { FENCE_W = 1, FENCE_R = 2 };

void order_init(void);
void order_fence(unsigned int hart, unsigned int before, unsigned int after);
/* The kernel's accesses to RAM, by the direct map. */
void order_load(unsigned int hart, uint64_t pa, unsigned int flags);
void order_store(unsigned int hart, uint64_t pa, unsigned int flags);
/* The hart starts. The firmware orders all earlier accesses before this. */
void order_start(unsigned int hart);

/* The hart's own clock. */
uint32_t order_now(unsigned int hart);
/* The accesses that are ordered before the hart's next reads (loads, walks or
 * fetches); before its next store; before its next release. */
struct vclock order_before_reads(unsigned int hart);
struct vclock order_before_stores(unsigned int hart);
struct vclock order_before_release(unsigned int hart);

/* --- tables.c --- */

void tables_init(void);
/* The hart writes satp. */
void tables_switch(unsigned int hart, uint64_t satp, uint64_t pc);
/* It executes sfence.vma, of va or of all; global: of global entries, too. */
void tables_flush(unsigned int hart, bool all, uint64_t va, bool global);
bool tables_is_table(size_t page);
/* A thread, identified by its tp, has stored to a table. */
void tables_stored(unsigned int hart, uint64_t thread, uint64_t pa,
		   uint64_t pc);
/* The thread unlocks a mutex. */
void tables_complete(unsigned int hart, uint64_t thread, uint64_t pc);
/* A page is freed. */
void tables_freed(unsigned int hart, uint64_t pa, uint64_t pc);
/* An access outside the direct map, by a hart that may use an old entry. */
void tables_accessed(unsigned int hart, uint64_t va, enum access kind,
		     uint64_t pc);
/* How many old entries each hart may use though it must not; mostly 0. */
extern unsigned int remembered[HARTS];
extern uint64_t tables_changes; /* changes that could do harm */

/* --- pages.c --- */

void pages_init(void);
/* The kernel stores to a page. */
void pages_stored(unsigned int hart, size_t page, uint64_t pc);
void pages_fence_i(unsigned int hart);
/* The hart executes from a page at va; or it may do so after another hart's
 * instruction at pc. */
void pages_fetched(unsigned int hart, size_t page, uint64_t va, uint64_t pc);
/* Are all stores to the page ordered before the hart's next store? If one is
 * not, *other is the hart that made it, and *at its instruction. */
bool pages_published(unsigned int hart, size_t page, unsigned int *other,
		     uint64_t *at);

/* --- report.c --- */

/* An access at va by the hart at pc can go wrong, as it may not see the store
 * of hart other at cause. check.py lists the kinds. */
void report(const char *kind, unsigned int hart, uint64_t pc, uint64_t va,
	    unsigned int other, uint64_t cause);
void report_write(const char *file, uint64_t watched);

/* --- plugin.c --- */

/* Called for each report. Ends the run if the map says `until' this kind. */
void plugin_reported(const char *kind);

#endif

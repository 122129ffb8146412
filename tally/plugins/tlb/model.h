/*
 * A plugin of QEMU's TCG that knows what the harts of a Tally machine may
 * remember, where QEMU's forget at once, and reports what a real hart could
 * have done otherwise. docs/testing.md says what is modelled.
 *
 * plugin.c is what QEMU calls. order.c knows which stores are ordered before
 * what another hart does next; tables.c which page table entries were changed,
 * and which harts may go by the old ones; pages.c what pages hold, and which
 * harts are sure to see that; report.c keeps what was found.
 *
 * Only one hart executes at a time, as QEMU has it under -icount.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/layout.h"
#include "plugin.h"

#define RAM_START 0x80000000UL

enum access { READ = 2, WRITE = 4, EXECUTE = 8 }; /* as entries have them */

extern unsigned int nharts;
extern size_t npages;      /* of RAM */
extern unsigned char *ram; /* where QEMU has it; NULL: not known yet */

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
 * A vector clock: what is ordered before something, as a moment of each hart. A
 * hart's own clock goes on with each of its fences and atomic instructions.
 */
struct vclock {
	uint32_t at[HARTS];
};

/* What a load or a store is, besides. */
enum {
	ATOMIC = 1,    /* an AMO, or sc: it reads and writes at once */
	RESERVES = 2,  /* lr */
	ACQUIRES = 4,  /* .aq */
	RELEASES = 8,  /* .rl */
	PUBLISHES = 16 /* a store right behind a fence that orders it */
};

/* Sets of accesses, as a fence has them. */
enum { FENCE_W = 1, FENCE_R = 2 };

void order_init(void);
void order_fence(unsigned int hart, unsigned int before, unsigned int after);
/* The kernel's accesses to RAM, by the direct map. */
void order_load(unsigned int hart, uint64_t pa, unsigned int flags);
void order_store(unsigned int hart, uint64_t pa, unsigned int flags);
/* The hart starts. The firmware has ordered all that was before. */
void order_start(unsigned int hart);

/* The hart's own clock. */
uint32_t order_now(unsigned int hart);
/* What is ordered before the hart's next reads, by loads, walks or fetches;
 * before its next store; before a release that it makes next. */
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
/* A thread, known by its tp, has stored in a table. */
void tables_stored(unsigned int hart, uint64_t thread, uint64_t pa,
		   uint64_t pc);
/* The thread unlocks a mutex. */
void tables_complete(unsigned int hart, uint64_t thread, uint64_t pc);
/* A page is freed. */
void tables_freed(unsigned int hart, uint64_t pa, uint64_t pc);
/* An access outside the direct map, by a hart that remembers something. */
void tables_accessed(unsigned int hart, uint64_t va, enum access kind,
		     uint64_t pc);
/* How many old entries that count each hart may go by: mostly none. */
extern unsigned int remembered[HARTS];
extern uint64_t tables_changes; /* that could have done harm */

/* --- pages.c --- */

void pages_init(void);
/* The kernel stores in a page. */
void pages_stored(unsigned int hart, size_t page, uint64_t pc);
void pages_fence_i(unsigned int hart);
/* The hart executes from a page at va, or may do so after the instruction at
 * pc, which isn't its own then. */
void pages_fetched(unsigned int hart, size_t page, uint64_t va, uint64_t pc);
/* Are all stores in the page ordered before the hart's next store? If one is
 * not, *other says whose it was, and *at which instruction. */
bool pages_published(unsigned int hart, size_t page, unsigned int *other,
		     uint64_t *at);

/* --- report.c --- */

/* A hart at pc did what can go wrong at va, as what another one's instruction
 * at cause stored may not be seen. The kinds are check.py's. */
void report(const char *kind, unsigned int hart, uint64_t pc, uint64_t va,
	    unsigned int other, uint64_t cause);
void report_write(const char *file, uint64_t watched);

/* --- plugin.c --- */

/* There is a report. Ends the run if it's the one that is enough. */
void plugin_reported(const char *kind);

#endif

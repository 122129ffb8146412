/*
 * The order of locks, learnt: whenever one is wanted while another is held,
 * that order is the right one from then on, for all locks of the same names.
 * The first that is wanted in a way that closes a circle ends in a panic, with
 * both places of each step of it; nobody need have waited for ever.
 *
 * Besides: no mutex is wanted, and no thread leaves its hart, while the hart
 * holds a spinlock (but for the scheduler's); a lock of level 1 isn't wanted at
 * level 5; and a thread ends without mutexes.
 *
 * Spinlocks belong to a hart, whose list interrupt handlers add to and take
 * from in turn; mutexes to a thread. Nothing here takes a lock: harts that
 * learn at the same time each write first and look then.
 */
#include "../checks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "layout.h"
#include "lock.h"
#include "print.h"
#include "thread.h"

#define CLASSES  64 /* bits of a word */
#define HELD_MAX 12
#define THREADS  1025 /* kernel stacks, and the boot hart's */

enum kind { MUTEX, SPIN1, SPIN5 };

static const char *const kind_names[] = {
    [MUTEX] = "mutex ", [SPIN1] = "", [SPIN5] = ""};

/* Locks of one name and kind. Never forgotten. */
static struct lock_class {
	uintptr_t key; /* 0: none yet; set atomically, once */
	const char *name;
	enum kind kind;
} classes[CLASSES];

/* Bit j of after[i]: one of class j was wanted with one of class i held. */
static uint64_t after[CLASSES]; /* atomic */

/* And where that was first: i was taken, j wanted. */
static struct step {
	void *taken, *wanted;
} steps[CLASSES][CLASSES];

struct held {
	const void *lock;
	unsigned int class;
	void *pc;
};

struct list_of_held {
	unsigned int n;
	struct held lock[HELD_MAX];
};

static struct list_of_held of_hart[HART_MAX];
static struct list_of_held of_thread[THREADS];

/* That of the current thread: its kernel stack has a number. */
static struct list_of_held *
mutexes(void)
{
	unsigned long slot = (current->kstack_top - STACK_BASE) / KSTACK_SLOT;

	return &of_thread[slot < THREADS ? slot : 0];
}

static struct list_of_held *
spinlocks(void)
{
	return &of_hart[this_hart()->id];
}

static unsigned int
class_of(const char *name, enum kind kind)
{
	uintptr_t key = (uintptr_t)name << 2 | kind;

	for (unsigned int i = 0; i < CLASSES; i++) {
		uintptr_t old = 0;

		if (classes[i].key == key)
			return i;
		if (classes[i].key != 0 ||
		    !__atomic_compare_exchange_n(&classes[i].key, &old, key,
						 false, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST)) {
			if (classes[i].key == key)
				return i;
			continue;
		}
		classes[i].name = name;
		classes[i].kind = kind;
		return i;
	}
	panic("more than %d classes of locks", CLASSES);
}

/* The name of a place in the kernel. */
struct place {
	char text[48];
};

static struct place
place(void *pc)
{
	struct place p;
	unsigned long offset;
	const char *name = symbol_name((unsigned long)pc - 1, &offset);

	if (name != NULL)
		snprintf(p.text, sizeof(p.text), "%s+0x%lx", name, offset + 1);
	else
		snprintf(p.text, sizeof(p.text), "%p", pc);
	return p;
}

/*
 * Is there a way from one class to another, in the order learnt? came[x] is
 * then the class before x on it, for each x but the first.
 */
static bool
leads_to(unsigned int from, unsigned int to, uint8_t came[CLASSES])
{
	uint64_t seen = 1UL << from, open = seen;

	while (open != 0) {
		unsigned int i = __builtin_ctzl(open);
		uint64_t next = __atomic_load_n(&after[i], __ATOMIC_SEQ_CST);

		open &= ~(1UL << i);
		next &= ~seen;
		seen |= next;
		open |= next;
		for (; next != 0; next &= next - 1)
			came[__builtin_ctzl(next)] = i;
	}
	return seen >> to & 1;
}

/* The way from `to` back to `from` as text: each step's two places. */
static void
describe(char *text, size_t size, unsigned int from, unsigned int to,
	 const uint8_t came[CLASSES])
{
	size_t n = 0;

	while (to != from && n < size) {
		const struct step *s = &steps[came[to]][to];

		n += snprintf(text + n, size - n,
			      "\n  but %s%s taken at %s, then %s%s at %s",
			      kind_names[classes[came[to]].kind],
			      classes[came[to]].name, place(s->taken).text,
			      kind_names[classes[to].kind], classes[to].name,
			      place(s->wanted).text);
		to = came[to];
	}
}

static void __attribute__((noreturn))
wrong(const char *what, unsigned int class, void *pc, const struct held *h,
      const char *more)
{
	panic("%s: %s%s wanted at %s, with %s%s held, taken at %s%s", what,
	      kind_names[classes[class].kind], classes[class].name,
	      place(pc).text, kind_names[classes[h->class].kind],
	      classes[h->class].name, place(h->pc).text, more);
}

/* One of class is wanted at pc, while h is held: learn, or find it wrong. */
static void
learn(const struct held *h, unsigned int class, void *pc)
{
	uint8_t came[CLASSES];
	char text[600] = "";

	if (__atomic_load_n(&after[h->class], __ATOMIC_RELAXED) >> class & 1)
		return;
	if (h->class == class)
		wrong("two locks of one name", class, pc, h, "");
	steps[h->class][class] = (struct step){h->pc, pc};
	__atomic_fetch_or(&after[h->class], 1UL << class, __ATOMIC_SEQ_CST);
	if (leads_to(class, h->class, came)) {
		describe(text, sizeof(text), class, h->class, came);
		wrong("lock order", class, pc, h, text);
	}
}

static void
want(struct list_of_held *list, const void *lock, unsigned int class, void *pc)
{
	const struct list_of_held *m = mutexes(), *s = spinlocks();

	for (unsigned int i = 0; i < m->n; i++)
		learn(&m->lock[i], class, pc);
	for (unsigned int i = 0; i < s->n; i++)
		learn(&s->lock[i], class, pc);
	assert(list->n < HELD_MAX);
	list->lock[list->n] = (struct held){lock, class, pc};
	list->n++;
}

static void
drop(struct list_of_held *list, const void *lock)
{
	unsigned int i = list->n;

	do
		assert(i > 0);
	while (list->lock[--i].lock != lock);
	for (list->n--; i < list->n; i++)
		list->lock[i] = list->lock[i + 1];
}

void
check_spin_lock(const struct spinlock *lk, void *pc)
{
	bool level1 = lk->mask == LEVEL1_MASK;
	unsigned long sie = csr_read(sie);

	if (lk->hart == this_hart())
		return; /* a deadlock, as lock.c sees */
	/* Boot, and the end of everything, have the timer masked too. */
	if (level1 && (sie & SIE_TIMER) && level_of(sie) == 5)
		panic("lock level: spinlock %s is of level 1, wanted at level "
		      "5 at %s",
		      lk->name, place(pc).text);
	want(spinlocks(), lk, class_of(lk->name, level1 ? SPIN1 : SPIN5), pc);
}

void
check_spin_unlock(const struct spinlock *lk)
{
	drop(spinlocks(), lk);
}

void
check_mutex_lock(const struct mutex *m, void *pc)
{
	unsigned int class = class_of(m->lock.name, MUTEX);
	unsigned long sie = level_raise(LEVEL5_MASK);

	if (spinlocks()->n > 0)
		wrong("sleep under a spinlock", class, pc,
		      &spinlocks()->lock[0], "");
	want(mutexes(), m, class, pc);
	level_lower(sie);
}

void
check_mutex_unlock(const struct mutex *m)
{
	drop(mutexes(), m);
}

void
check_switch(void)
{
	const struct list_of_held *s = spinlocks(), *m = mutexes();

	for (unsigned int i = 0; i < s->n; i++)
		if (s->lock[i].lock != &sched_lock)
			panic("sleep under a spinlock: %s, taken at %s",
			      classes[s->lock[i].class].name,
			      place(s->lock[i].pc).text);
	if (current->state == THREAD_DEAD && m->n > 0)
		panic("a thread ends with mutex %s, taken at %s",
		      classes[m->lock[0].class].name,
		      place(m->lock[0].pc).text);
}

/*
 * Checks of how locks are used.
 *
 * The order of locks is learnt. Whenever a lock is wanted while another is
 * held, that is the right order from then on, for all locks of the same names.
 * If a lock is wanted in a way that closes a circle, that is a panic, even if
 * nobody has waited for ever. For example, A has once been held while B was
 * wanted, and B while C was; now C is held and A is wanted: three threads, each
 * with one of the locks, could wait for each other. The message has both places
 * of each step of the circle: where the one lock was taken and where the other
 * was wanted.
 *
 * Other rules are checked, too. While a hart holds a spinlock, no mutex may be
 * wanted and no thread may leave the hart (except with sched_lock). A lock of
 * level 1 must not be wanted at level 5. The sampler must not want any, as it
 * may have interrupted whoever holds it. When a system call returns nothing may
 * be held, nor when a thread ends. And must_hold is checked.
 *
 * Spinlocks are held by a hart. Its list is changed only at a raised level by
 * the hart itself; an interrupt handler that changes it has put it back when it
 * returns. Mutexes are held by a thread.
 *
 * Nothing here takes a lock. Two harts may learn at the same time the two steps
 * that close a circle. Each stores its own step before it looks for a circle.
 * So at least one of them sees both steps.
 *
 * Read learn and want first; the functions that the kernel calls come last.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/layout.h"
#include "base/panic.h"
#include "base/print.h"
#include "base/riscv.h"
#include "base/symbols.h"
#include "machine/machine.h"

#include "check_locks.h"
#include "hart.h"
#include "level.h"
#include "lock.h"
#include "thread.h"

#define CLASSES  64 /* bits of a word */
#define HELD_MAX 12
#define THREADS  1025 /* kernel stacks, and the boot hart's */

enum kind { MUTEX, SPIN1, SPIN5 };

static const char *const kind_names[] = {
    [MUTEX] = "mutex ", [SPIN1] = "", [SPIN5] = ""};

/* All locks of one name and kind. A class is never removed. */
static struct lock_class {
	uintptr_t key; /* of name and kind; 0: not in use; set once, atomic */
	const char *name;
	enum kind kind;
} classes[CLASSES];

/* Bit j of after[i]: a lock of class j was wanted while one of class i was
 * held. A bit is never cleared. */
static uint64_t after[CLASSES]; /* atomic */

/* For each such bit, where that was first: where i was taken, and j wanted. It
 * is stored before the bit is set. */
static struct step {
	void *taken, *wanted;
} steps[CLASSES][CLASSES];

/* A lock that is held, or wanted, and the place that wanted it. */
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

/* The mutexes of a thread. It is known by the number of its kernel stack, which
 * is 1 or more; 0 is for the one that boots. */
static struct list_of_held *
mutexes_of(const struct thread *t)
{
	unsigned long slot = (t->kstack_top - STACK_BASE) / KSTACK_SLOT;

	return &of_thread[slot < THREADS ? slot : 0];
}

static struct list_of_held *
mutexes(void)
{
	return mutexes_of(current);
}

static struct list_of_held *
spinlocks(void)
{
	return &of_hart[this_hart()->id];
}

/*
 * Find the class of a name and kind, or make it. Names are compared by their
 * addresses. Two harts may want the same new class at the same time: the first
 * to store its key makes it, and the other finds it.
 */
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

/*
 * Is there a way from one class to another, by the steps learnt so far? If so,
 * came[x] becomes the class before x on that way, for each x but the first.
 * `seen' has the classes found so far, and `open' those of them from which the
 * next steps haven't been looked at yet.
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

/* Describe the way that leads_to has found, from `to' back to `from': the two
 * places of each step. */
static void
describe(char *text, size_t size, unsigned int from, unsigned int to,
	 const uint8_t came[CLASSES])
{
	size_t n = 0;

	while (to != from && n < size) {
		const struct step *s = &steps[came[to]][to];

		n += snprintf(
		    text + n, size - n,
		    "\n  but earlier %s%s was taken at %s, then %s%s at %s",
		    kind_names[classes[came[to]].kind], classes[came[to]].name,
		    symbol_place(s->taken).text, kind_names[classes[to].kind],
		    classes[to].name, symbol_place(s->wanted).text);
		to = came[to];
	}
}

/* Panic: a lock of this class is wanted at pc, while h is held. */
static void __attribute__((noreturn))
wrong(const char *what, unsigned int class, void *pc, const struct held *h,
      const char *more)
{
	panic("%s: %s%s wanted at %s, with %s%s held, taken at %s%s", what,
	      kind_names[classes[class].kind], classes[class].name,
	      symbol_place(pc).text, kind_names[classes[h->class].kind],
	      classes[h->class].name, symbol_place(h->pc).text, more);
}

/*
 * A lock of this class is wanted at pc, while h is held: learn this order, or
 * panic because it closes a circle. Nearly always the order is known already,
 * and only one word is loaded. The bit is set, and leads_to loads others, with
 * SEQ_CST: see the top of the file.
 */
static void
learn(const struct held *h, unsigned int class, void *pc)
{
	uint8_t came[CLASSES];
	char text[600] = "";

	if (__atomic_load_n(&after[h->class], __ATOMIC_RELAXED) >> class & 1)
		return;
	if (h->class == class)
		wrong("two locks of the same name", class, pc, h, "");
	steps[h->class][class] = (struct step){h->pc, pc};
	__atomic_fetch_or(&after[h->class], 1UL << class, __ATOMIC_SEQ_CST);
	if (leads_to(class, h->class, came)) {
		describe(text, sizeof(text), class, h->class, came);
		wrong("lock order", class, pc, h, text);
	}
}

/*
 * A lock is wanted: compare it with all that this hart and its thread hold, and
 * add it to the list, as the caller will get it sooner or later. An interrupt
 * handler's lock is compared with those of the interrupted thread, too.
 */
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

/* A lock is released. It need not be the one taken last: wait_on releases the
 * caller's lock after it has taken sched_lock. */
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
		return; /* a deadlock, which lock.c reports */
	if (this_hart()->sampling & 1)
		panic("the sampler must not lock: %s wanted at %s", lk->name,
		      symbol_place(pc).text);
	/* At boot, and in a panic, the timer is masked, too. */
	if (level1 && (sie & SIE_TIMER) && level_of(sie) == 5)
		panic("lock level: spinlock %s is of level 1, but the hart is "
		      "at level 5 in %s",
		      lk->name, symbol_place(pc).text);
	want(spinlocks(), lk, class_of(lk->name, level1 ? SPIN1 : SPIN5), pc);
}

void
check_spin_unlock(const struct spinlock *lk)
{
	drop(spinlocks(), lk);
}

/* Level 5 keeps the thread on this hart while it looks at the hart's list, and
 * interrupt handlers from changing the list meanwhile. */
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

/* Only sched_lock may be held, and it must be: the next thread releases it. */
void
check_switch(void)
{
	const struct list_of_held *s = spinlocks(), *m = mutexes();

	for (unsigned int i = 0; i < s->n; i++)
		if (s->lock[i].lock != &sched_lock)
			panic("sleep under a spinlock: %s, taken at %s",
			      classes[s->lock[i].class].name,
			      symbol_place(s->lock[i].pc).text);
	must_hold(&sched_lock);
	if (current->state == THREAD_DEAD && m->n > 0)
		panic("a thread ends holding mutex %s, taken at %s",
		      classes[m->lock[0].class].name,
		      symbol_place(m->lock[0].pc).text);
}

void
check_return(void)
{
	unsigned long sie = level_raise(LEVEL5_MASK);
	const struct list_of_held *s = spinlocks(), *m = mutexes();
	const struct held *h = s->n > 0 ? &s->lock[0] : &m->lock[0];

	if (s->n + m->n > 0)
		panic("system call %lu returns with %s%s held, taken at %s",
		      current->tf.a7, kind_names[classes[h->class].kind],
		      classes[h->class].name, symbol_place(h->pc).text);
	level_lower(sie);
}

void
check_spin_held(const struct spinlock *lk, const char *function)
{
	if (lk->hart != this_hart())
		panic("%s called without its lock: %s, last taken at %s",
		      function, lk->name, symbol_place(lk->pc).text);
}

void
check_mutex_held(const struct mutex *m, const char *function)
{
	const struct list_of_held *l = mutexes();

	for (unsigned int i = 0; i < l->n; i++)
		if (l->lock[i].lock == m)
			return;
	panic("%s called without its lock: mutex %s, which %s holds", function,
	      m->lock.name, m->owner ? "another thread" : "nobody");
}

/* A lock that is only wanted is in the lists, too. */
void
check_print_spinlocks(const struct hart *h)
{
	const struct list_of_held *l = &of_hart[h->id];

	for (unsigned int i = 0; i < l->n; i++) {
		const struct spinlock *lk = l->lock[i].lock;

		if (lk->hart == h)
			kprintf("  holds %s, taken at %s\n", lk->name,
				symbol_place(l->lock[i].pc).text);
	}
}

void
check_print_mutexes(const struct thread *t)
{
	const struct list_of_held *l = mutexes_of(t);

	for (unsigned int i = 0; i < l->n; i++) {
		const struct mutex *m = l->lock[i].lock;

		if (mutex_owner(m) == t)
			kprintf("  holds mutex %s, taken at %s\n", m->lock.name,
				symbol_place(l->lock[i].pc).text);
	}
}

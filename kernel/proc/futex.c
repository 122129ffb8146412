/*
 * Futexes: a thread sleeps on a 32-bit word of its process's memory until
 * another one wakes those who sleep there. The kernel keeps nothing for a word
 * on which nobody sleeps; what its value means is up to the library, which
 * makes mutexes, say, of it and calls the kernel only when a thread must wait.
 *
 * A thread that ends tells of it in the same way. The word that clone or
 * set_tid_address named becomes 0. And of each mutex on its list of robust ones
 * that it still has the next owner learns that this one has died.
 */
#include "futex.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/list.h"
#include "base/riscv.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"

#include "proc.h"
#include "sleep.h"

/* futex's operations, and what may be added to them. The kernel's own, as
 * nothing of it leaves this file. */
enum {
	FUTEX_WAIT,
	FUTEX_WAKE,
	FUTEX_REQUEUE = 3,
	FUTEX_CMP_REQUEUE,
	FUTEX_WAKE_OP,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAKE_BITSET
};
#define FUTEX_PRIVATE 128 /* of one process: all of them are */
#define FUTEX_REAL    256 /* the deadline is one of CLOCK_REALTIME */
#define ALL_BITS      0xffffffffu

/* On the sleeping thread's stack; under p->sleep_lock while on p->sleepers. */
struct sleeper {
	struct list link;
	uintptr_t word;
	uint32_t bits; /* a wake-up with any of these is for it */
	struct waitq wait;
	bool woken;
};

/*
 * Sleep until woken up, unless the word has another value than this already. 0,
 * -EAGAIN (another value), -ETIMEDOUT, -ERESTART, -EFAULT or -EINVAL.
 *
 * No wake-up may be lost. A waker changes the word first, and then looks at the
 * list. So this thread puts itself on the list first, and then looks at the
 * word: either it sees the new value, or the waker sees it on the list. The
 * word can't be read under sleep_lock, as it may have to be faulted in; a
 * wake-up between the look and the wait is remembered in s.woken.
 */
static long
futex_wait(uintptr_t word, uint32_t wanted, uint32_t bits, uint64_t deadline)
{
	struct proc *p = current->proc;
	struct sleeper s = {
	    .word = word,
	    .bits = bits,
	    .wait = WAITQ_FOR(s.wait, WAITS_FUTEX, word),
	};
	uint32_t value;
	int r;

	spin_lock(&p->sleep_lock);
	list_append(&p->sleepers, &s.link);
	spin_unlock(&p->sleep_lock);
	r = copy_in(&value, s.word, sizeof(value));
	if (r == 0 && value != wanted)
		r = -EAGAIN;
	spin_lock(&p->sleep_lock);
	while (r == 0 && !s.woken)
		r = wait_until(&s.wait, &p->sleep_lock, deadline);
	list_remove(&s.link);
	spin_unlock(&p->sleep_lock);
	return s.woken ? 0 : r;
}

/* The next three need the process's sleep_lock. */
static void
wake_sleeper(struct sleeper *s)
{
	list_remove(&s->link);
	s->woken = true;
	wake_all(&s->wait);
}

static int
wake_word(struct proc *p, uintptr_t word, int count, uint32_t bits)
{
	int n = 0;

	must_hold(&p->sleep_lock);
	list_each_safe (struct sleeper, s, &p->sleepers, link) {
		if (n >= count)
			break;
		if (s->word == word && s->bits & bits) {
			wake_sleeper(s);
			n++;
		}
	}
	return n;
}

static int
move_sleepers(struct proc *p, uintptr_t from, uintptr_t to, int count)
{
	int n = 0;

	must_hold(&p->sleep_lock);
	list_each (struct sleeper, s, &p->sleepers, link) {
		if (n >= count)
			break;
		if (s->word == from) {
			s->word = to;
			n++;
		}
	}
	return n;
}

/* Wake up the first count threads that sleep on word; returns how many. */
static int
futex_wake(uintptr_t word, int count, uint32_t bits)
{
	struct proc *p = current->proc;
	int n;

	spin_lock(&p->sleep_lock);
	n = wake_word(p, word, count, bits);
	spin_unlock(&p->sleep_lock);
	return n;
}

/* Has the word this value? 0; -EAGAIN; or -EFAULT: its page isn't there, which
 * can't be waited for under sleep_lock. */
static int
compare_now(uintptr_t word, uint32_t wanted)
{
	const uintptr_t in_pair = word % sizeof(unsigned long[2]);
	unsigned long pair[2];
	uint32_t value;

	must_hold(&current->proc->sleep_lock);
	if (peek(pair, word - in_pair) < 0)
		return -EFAULT;
	memcpy(&value, (char *)pair + in_pair, sizeof(value));
	return value == wanted ? 0 : -EAGAIN;
}

/*
 * (word, op, nwake, nmove, other, wanted): wake up nwake of those who sleep on
 * word, and let nmove others sleep on the other one from now on. FUTEX_REQUEUE
 * returns how many were woken, FUTEX_CMP_REQUEUE also counts those moved, and
 * does nothing if the word hasn't the wanted value.
 */
static long
futex_requeue(const unsigned long *arg, bool compare)
{
	struct proc *p = current->proc;
	int wake = arg[2], move = arg[3], moved;
	uint32_t value;
	long r;

	if (wake < 0 || move < 0 || arg[4] % sizeof(value) != 0)
		return -EINVAL;
	do {
		if (compare && copy_in(&value, arg[0], sizeof(value)) < 0)
			return -EFAULT;
		spin_lock(&p->sleep_lock);
		r = compare ? compare_now(arg[0], arg[5]) : 0;
		if (r == 0) {
			r = wake_word(p, arg[0], wake, ALL_BITS);
			moved = move_sleepers(p, arg[0], arg[4], move);
			r += compare ? moved : 0;
		}
		spin_unlock(&p->sleep_lock);
	} while (r == -EFAULT);
	return r;
}

/* How FUTEX_WAKE_OP says what to do, from the highest bits: the operand is a
 * number of bits to shift 1 by; operation; comparison; two operands. */
#define OPERAND_SHIFTS(op)   ((op) >> 31)
#define OPERATION(op)        ((op) >> 28 & 7)
#define COMPARISON(op)       ((op) >> 24 & 0xf)
#define OPERAND(op)          ((int32_t)((op) << 8) >> 20)
#define COMPARISON_VALUE(op) ((int32_t)((op) << 20) >> 20)

static int
changed_value(uint32_t op, uint32_t old, uint32_t *new)
{
	uint32_t with = OPERAND(op);

	if (OPERAND_SHIFTS(op))
		with = 1u << (with & 31);
	switch (OPERATION(op)) {
	case 0:
		*new = with;
		return 0;
	case 1:
		*new = old + with;
		return 0;
	case 2:
		*new = old | with;
		return 0;
	case 3:
		*new = old & ~with;
		return 0;
	case 4:
		*new = old ^ with;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* -ENOSYS: there is no such comparison. */
static int
compares(uint32_t op, int32_t old)
{
	int32_t with = COMPARISON_VALUE(op);

	switch (COMPARISON(op)) {
	case 0:
		return old == with;
	case 1:
		return old != with;
	case 2:
		return old < with;
	case 3:
		return old <= with;
	case 4:
		return old > with;
	case 5:
		return old >= with;
	default:
		return -ENOSYS;
	}
}

/*
 * (word, op, nwake, nwake2, other, how): change the other word, wake up nwake
 * of those who sleep on word, and nwake2 of those on the other one if that had
 * a value that compares as `how' says. Returns how many were woken.
 */
static long
futex_wake_op(const unsigned long *arg)
{
	uint32_t how = arg[5], old, value, new;
	int r = -EINVAL;

	if (arg[4] % sizeof(old) == 0)
		r = copy_in(&value, arg[4], sizeof(value));
	if (r == 0)
		r = compares(how, 0);
	if (r < 0)
		return r;
	do {
		old = value;
		r = changed_value(how, old, &new);
		if (r == 0)
			r = exchange_user(arg[4], &value, new);
		if (r < 0)
			return r;
	} while (value != old);
	r = futex_wake(arg[0], arg[2], ALL_BITS);
	if (compares(how, old))
		r += futex_wake(arg[4], arg[3], ALL_BITS);
	return r;
}

/* The time limit at address user as rdtime() will show it. That of FUTEX_WAIT
 * is so long from now, the others' a time of a clock. */
static int
futex_deadline(uintptr_t user, int op, uint64_t *deadline)
{
	struct timespec now = time_of_ns(time_realtime_ns());
	uint64_t since_1970;
	int r;

	*deadline = WAIT_FOREVER;
	if (user == 0)
		return 0;
	r = sleep_copy_in(user, deadline);
	if (r < 0)
		return r;
	if ((op & ~FUTEX_PRIVATE) == FUTEX_WAIT)
		*deadline += rdtime();
	if (!(op & FUTEX_REAL))
		return 0;
	time_counts(now.tv_sec, now.tv_nsec, NS_PER_SEC, &since_1970);
	*deadline = *deadline > since_1970 ? *deadline - since_1970 + rdtime()
					   : 0;
	return 0;
}

/*
 * futex(word, op, value, timeout, -, bits), or as at the operation: what C
 * libraries use for mutexes, conditions and joins. A word is that of one
 * process, though another may have its memory, too. Left out: priority
 * inheritance.
 */
long
sys_futex(const unsigned long *arg)
{
	int op = arg[1], kind = op & ~(FUTEX_PRIVATE | FUTEX_REAL), r;
	bool bitset = kind == FUTEX_WAIT_BITSET || kind == FUTEX_WAKE_BITSET;
	uint32_t bits = bitset ? arg[5] : ALL_BITS;
	uint64_t deadline;

	if (arg[0] % sizeof(uint32_t) != 0 || bits == 0)
		return -EINVAL;
	switch (kind) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		r = futex_deadline(arg[3], op, &deadline);
		return r < 0 ? r : futex_wait(arg[0], arg[2], bits, deadline);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return futex_wake(arg[0], arg[2], bits);
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		return futex_requeue(arg, kind == FUTEX_CMP_REQUEUE);
	case FUTEX_WAKE_OP:
		return futex_wake_op(arg);
	default:
		return -ENOSYS;
	}
}

/* --- A thread's end --- */

/* In the word of a robust mutex: its owner, whether others wait, and whether
 * the last owner has died. */
#define OWNER       0x3fffffffu
#define WAITED_FOR  0x80000000u
#define OWNER_DIED  0x40000000u
#define ROBUST_MAX  2048 /* mutexes on a list: it may go in a circle */
#define ROBUST_KIND 1UL  /* bit of a link: a mutex with inheritance */

/* What set_robust_list names. A link is the address of the next one; the last
 * leads back here. */
struct robust_list {
	uintptr_t first;
	long to_word;      /* from a link to the mutex's word */
	uintptr_t pending; /* one that is being locked or unlocked */
};

/* If the thread has the mutex, it has one no longer. */
static void
robust_release(uintptr_t word, bool pending)
{
	uint32_t value, old;

	if (word % sizeof(value) != 0 ||
	    copy_in(&value, word, sizeof(value)) < 0)
		return;
	do {
		/* Released, but perhaps not yet told. */
		if (pending && value == 0)
			futex_wake(word, 1, ALL_BITS);
		if ((value & OWNER) != (uint32_t)current->tid)
			return;
		old = value;
		if (exchange_user(word, &value,
				  (old & WAITED_FOR) | OWNER_DIED) < 0)
			return;
	} while (value != old);
	if (old & WAITED_FOR)
		futex_wake(word, 1, ALL_BITS);
}

static void
robust_release_all(uintptr_t head)
{
	struct robust_list list;
	uintptr_t link, next;

	if (copy_in(&list, head, sizeof(list)) < 0)
		return;
	link = list.first;
	for (int i = 0; i < ROBUST_MAX && (link & ~ROBUST_KIND) != head; i++) {
		/* First: the next owner may change the link. */
		int r = copy_in(&next, link & ~ROBUST_KIND, sizeof(next));

		if (link != list.pending)
			robust_release((link & ~ROBUST_KIND) + list.to_word,
				       false);
		if (r < 0)
			return;
		link = next;
	}
	if (list.pending != 0)
		robust_release((list.pending & ~ROBUST_KIND) + list.to_word,
			       true);
}

void
futex_leave(void)
{
	const uint32_t zero = 0;
	uintptr_t word = current->clear_tid;

	if (current->robust != 0)
		robust_release_all(current->robust);
	current->robust = 0;
	current->clear_tid = 0;
	if (word != 0 && copy_out(word, &zero, sizeof(zero)) == 0)
		futex_wake(word, INT_MAX, ALL_BITS);
}

long
sys_set_tid_address(const unsigned long *arg)
{
	current->clear_tid = arg[0];
	return current->tid;
}

long
sys_set_robust_list(const unsigned long *arg)
{
	if (arg[1] != sizeof(struct robust_list))
		return -EINVAL;
	current->robust = arg[0];
	return 0;
}

/* get_robust_list(tid, list **, size_t *): of the caller itself only. */
long
sys_get_robust_list(const unsigned long *arg)
{
	const size_t size = sizeof(struct robust_list);
	int r;

	if (arg[0] != 0 && (pid_t)arg[0] != current->tid)
		return -ESRCH;
	r = copy_out(arg[2], &size, sizeof(size));
	return r < 0 ? r
		     : copy_out(arg[1], &current->robust,
				sizeof(current->robust));
}

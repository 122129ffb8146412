/* What futex's operations give when nobody sleeps, and what they change. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "promise.h"

static uint32_t word[2] = {5, 6};

static void
futex(const char *name, uint32_t *at, int op, uint32_t value, uintptr_t timeout,
      uint32_t *other, uint32_t last)
{
	long r = syscall(SYS_futex, at, op, value, timeout, other, last);

	printf("%s: %ld, %s; %u %u\n", name, r,
	       r < 0 ? strerrorname_np(errno) : "", word[0], word[1]);
}

static void
test_waits(void)
{
	const struct timespec soon = {0, 1000000}, bad = {0, 1000000000};
	uint32_t *odd = (uint32_t *)((char *)word + 1);

	futex("another value", word, FUTEX_WAIT, 4, 0, NULL, 0);
	futex("until then", word, FUTEX_WAIT, 5, (uintptr_t)&soon, NULL, 0);
	futex("past", word, FUTEX_WAIT_BITSET, 5, (uintptr_t)&soon, NULL, 1);
	futex("no bits", word, FUTEX_WAIT_BITSET, 5, (uintptr_t)&soon, NULL, 0);
	futex("no time", word, FUTEX_WAIT, 5, (uintptr_t)&bad, NULL, 0);
	futex("nowhere", NULL, FUTEX_WAIT, 5, 0, NULL, 0);
	futex("unaligned", odd, FUTEX_WAIT, 5, 0, NULL, 0);
	futex("nobody", word, FUTEX_WAKE, 1, 0, NULL, 0);
	futex("nobody, private", word, FUTEX_WAKE_PRIVATE, 1, 0, NULL, 0);
	futex("no operation", word, 77, 1, 0, NULL, 0);
}

static int64_t
now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A moment of the clock, which isn't so long from now: that would be later by
 * as much as the clock shows. */
static void
test_moment(clockid_t clock, int flag)
{
	int64_t begin = now_ms(clock), end = begin + 20, slept;
	int64_t most = 20 + now_ms(CLOCK_MONOTONIC) / 2;
	const struct timespec at = {end / 1000, end % 1000 * 1000000};

	futex("at a moment", word, FUTEX_WAIT_BITSET | flag, 5, (uintptr_t)&at,
	      NULL, 1);
	slept = now_ms(clock) - begin;
	printf("slept: %d %d\n", slept >= 20, slept < most);
}

static void *
sleep_for_bit(void *arg)
{
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET, 5, NULL, NULL, 2);
	return arg;
}

/* Only who wants one of the bits of a wake-up is woken. That the thread sleeps
 * is known once it can be moved to another word; it takes its bits along. */
static void
test_bits(void)
{
	uint32_t *other = &word[1];
	long others, its;
	pthread_t t;

	pthread_create(&t, NULL, sleep_for_bit, NULL);
	while (syscall(SYS_futex, word, FUTEX_CMP_REQUEUE, 0, 1, other, 5) != 1)
		sched_yield();
	others = syscall(SYS_futex, other, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1);
	its = syscall(SYS_futex, other, FUTEX_WAKE_BITSET, 1, NULL, NULL, 6);
	pthread_join(t, NULL);
	printf("bits: %ld %ld\n", others, its);
}

static void
test_requeue(void)
{
	uint32_t *other = &word[1], *odd = (uint32_t *)((char *)word + 1);

	futex("requeue", word, FUTEX_REQUEUE, 1, 1, other, 0);
	futex("compare", word, FUTEX_CMP_REQUEUE, 1, 1, other, 5);
	futex("differs", word, FUTEX_CMP_REQUEUE, 1, 1, other, 4);
	futex("wake -1", word, FUTEX_CMP_REQUEUE, -1, 1, other, 5);
	futex("move -1", word, FUTEX_CMP_REQUEUE, 1, (uintptr_t)-1, other, 5);
	futex("to nowhere", word, FUTEX_CMP_REQUEUE, 1, 1, odd, 5);
	futex("from nowhere", NULL, FUTEX_CMP_REQUEUE, 1, 1, other, 5);
}

static void
test_wake_op(void)
{
	static const int ops[] = {
	    FUTEX_OP(FUTEX_OP_SET, 40, FUTEX_OP_CMP_EQ, 6),
	    FUTEX_OP(FUTEX_OP_ADD, -2, FUTEX_OP_CMP_NE, 6),
	    FUTEX_OP(FUTEX_OP_OR, 0x101, FUTEX_OP_CMP_LT, 6),
	    FUTEX_OP(FUTEX_OP_ANDN, 1, FUTEX_OP_CMP_LE, 6),
	    FUTEX_OP(FUTEX_OP_XOR, 3, FUTEX_OP_CMP_GT, 6),
	    FUTEX_OP((FUTEX_OP_SET | FUTEX_OP_OPARG_SHIFT), 4, FUTEX_OP_CMP_GE,
		     6),
	};
	uint32_t *other = &word[1];

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		futex("operation", word, FUTEX_WAKE_OP, 1, 1, other, ops[i]);
	futex("none such", word, FUTEX_WAKE_OP, 1, 1, other,
	      FUTEX_OP(7, 1, FUTEX_OP_CMP_EQ, 1));
	futex("nowhere", word, FUTEX_WAKE_OP, 1, 1, NULL, ops[0]);
}

static void
test_numbers(void)
{
	int cleared = 1;
	void *head;
	size_t size = 0;

	printf("%d %d\n", syscall(SYS_gettid) == getpid(),
	       syscall(SYS_set_tid_address, &cleared) == getpid());
	printf("%ld ", syscall(SYS_get_robust_list, 0, &head, &size));
	printf("%zu\n", size);
	printf("%ld\n", syscall(SYS_set_robust_list, head, size));
	printf("%ld ", syscall(SYS_set_robust_list, head, size - 1));
	printf("%s\n", strerrorname_np(errno));
}

int
main(void)
{
	PROMISE("futex(2): another value, and nobody to be woken");
	test_waits();
	PROMISE("futex(2): FUTEX_WAIT_BITSET waits until a moment");
	test_moment(CLOCK_MONOTONIC, 0);
	PROMISE("futex(2): FUTEX_CLOCK_REALTIME is a moment of the day");
	test_moment(CLOCK_REALTIME, FUTEX_CLOCK_REALTIME);
	PROMISE("futex(2): who waits for other bits sleeps on");
	test_bits();
	PROMISE("futex(2): FUTEX_REQUEUE and FUTEX_CMP_REQUEUE");
	test_requeue();
	PROMISE("futex(2): FUTEX_WAKE_OP changes and compares a word");
	test_wake_op();
	PROMISE("set_robust_list(2), set_tid_address(2)");
	test_numbers();
	return 0;
}

/*
 * pcs's call stacks, against a call tree that this program knows of itself:
 * each function notes where it will return to.
 *
 * In a sample's list the first address may be what register ra held. If it
 * lies in the interrupted function, or comes again, it is none of the stack's.
 */
#include <pthread.h>

#include "stacks.h"

#define HZ       1000
#define ENOUGH   100 /* samples to check */
#define TRIES    200
#define DEPTH    5
#define DEEP     (STACK_MAX + 9)
#define ROUNDS   30000 /* of a leaf, again and again for */
#define RUN_US   20000
#define BIRTHS   40
#define BIRTH_HZ 10000
#define THREADS  100 /* one after the other: few enough for seen[] */
#define RET      ((short)0x8082) /* what a function ends with */

/* The return addresses of the calls in progress, the outermost first. */
static unsigned int calls[100];
static size_t ncalls;
#define NOTE() (calls[ncalls++] = (uintptr_t)__builtin_return_address(0))
#define NOIPA  __attribute__((noipa))

struct range {
	unsigned int low, high;
};

/* Leaves without a frame; their ends. tiny is called again and again. */
long leaf_bare(long rounds), leaf_bare_end(void);
long tiny(long rounds), tiny_end(void);
asm(".text\n"
    "leaf_bare:\n"
    "1: addi a0, a0, -1\n"
    "	bnez a0, 1b\n"
    "	ret\n"
    "leaf_bare_end:\n"
    "tiny:\n"
    "1: addi a0, a0, -1\n"
    "	bnez a0, 1b\n"
    "	ret\n"
    "tiny_end:\n");

/* Where one ends the next begins. */
#define LEAF NOIPA __attribute__((no_reorder, section(".text.leaves")))

LEAF static long
leaf_note(long)
{
	NOTE(); /* of the call that all leaves are called by */
	return 0;
}

LEAF static long
leaf_frame(long rounds)
{
	for (volatile long i = 0; i < rounds; i++)
		;
	return 0;
}

LEAF static long
leaf_calls(long rounds)
{
	long sum = 0;

	for (long i = 0; i < rounds / 100; i++)
		sum += tiny(100) + i;
	return sum;
}

static int zero;
static char buf[1 << 20];

/* The C library's has no frame, and calls nothing. */
LEAF static long
leaf_searches(long rounds)
{
	static char string[1000];
	size_t (*volatile length)(const char *) = strlen;
	long sum = 0;

	memset(string, 'a', sizeof(string) - 1);
	for (long i = 0; i < rounds / 100; i++)
		sum += length(string) + i;
	return sum;
}

LEAF static long
leaf_reads(long rounds)
{
	long sum = 0;

	for (long i = 0; i < rounds / 10000; i++)
		sum += read(zero, buf, sizeof(buf));
	return sum;
}

/* A call from another place, and another frame. */
NOIPA static long
other_call(void)
{
	return getpid() + 1;
}

/* Calls that do next to nothing: the kernel's way in is what is seen. */
LEAF static long
leaf_getpid(long rounds)
{
	long sum = 0;

	for (long i = 0; i < rounds; i++)
		sum += getpid();
	return sum;
}

LEAF static long
leaf_getppid(long rounds)
{
	long sum = 0;

	for (long i = 0; i < rounds; i++)
		sum += other_call() + getppid();
	return sum;
}

LEAF static long
leaf_spins(long)
{
	static const char word[] = "spin 0 20000";
	int fd = open(KTEST, O_WRONLY);
	long n = write(fd, word, sizeof(word) - 1);

	close(fd);
	return n;
}

LEAF static long
leaves_end(long)
{
	return 0;
}

static uint64_t until; /* microseconds */

NOIPA static long
descend(int depth, long (*leaf)(long), long rounds)
{
	size_t mine = ncalls;
	long r = 0;

	NOTE();
	if (depth > 0)
		r = descend(depth - 1, leaf, rounds);
	else
		do
			r += leaf(rounds);
		while (now_us() < until);
	if (leaf != leaf_note)
		ncalls = mine;
	return r;
}

/* --- What is expected --- */

typedef long leaf_t(long);

static leaf_t *const leaves[] = {
    leaf_note,   leaf_frame,   leaf_calls, leaf_searches, leaf_reads,
    leaf_getpid, leaf_getppid, leaf_spins, leaves_end,
};

/* The functions that a sample is looked for in. */
static struct range
range_of(const void *function)
{
	struct range r = {(uintptr_t)function, -1};

	if (function == leaf_bare)
		r.high = (uintptr_t)leaf_bare_end;
	if (function == tiny)
		r.high = (uintptr_t)tiny_end;
	if (function == strlen) /* up to where it returns for the first time */
		for (r.high = r.low; *(short *)(uintptr_t)r.high != RET;)
			r.high += sizeof(short);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		if ((uintptr_t)leaves[i] > r.low &&
		    (uintptr_t)leaves[i] < r.high)
			r.high = (uintptr_t)leaves[i];
	return r;
}

static bool
within(const void *function, unsigned int pc)
{
	struct range r = range_of(function);

	return r.low <= pc && pc < r.high;
}

/* The stub of a system call: where the kernel returns to. While it is on its
 * way in, that is the instruction before. */
static unsigned int
after_ecall(const void *stub)
{
	const unsigned short *code = stub;

	while (code[0] != 0x73 || code[1] != 0)
		code++;
	return (uintptr_t)(code + 2);
}

/* What the tree is while a leaf runs: its callers, the innermost first. */
static unsigned int tree[100];
static size_t ntree;

/* Are these all of them, or as many as a record has? */
static bool
is_tree(const unsigned int *pc, size_t n, bool full)
{
	return (n == ntree || (full && n < ntree)) &&
	       memcmp(pc, tree, n * sizeof(tree[0])) == 0;
}

/* Is this the stack of what was interrupted in the leaf, or at an address in
 * what the leaf calls, which has no frame? */
static bool
right(const struct seen *s, unsigned int at, const unsigned int *pc, size_t n,
      leaf_t *leaf)
{
	bool full = STACK_USER(s->cut) == STACK_FULL;

	if (!full && STACK_USER(s->cut) != STACK_WHOLE)
		return false;
	if (within(leaf, at)) {
		if (n > 0 && (within(leaf, pc[0]) || (n > 1 && pc[0] == pc[1])))
			pc++, n--;
	} else {
		if (n == 0 || !within(leaf, pc[0]))
			return false;
		pc++, n--;
	}
	return is_tree(pc, n, full);
}

static struct info {
	size_t user, kernel, wrong;
} found;

/* On standard error, beside the checks. */
static void
show(const struct seen *s)
{
	fprintf(stderr, "type %d pc %x nkernel %lu:", s->p.type, s->p.pc,
		s->nkernel);
	for (size_t i = 0; s->n != NO_STACK && i < s->n; i++)
		fprintf(stderr, " %x", s->pc[i]);
	fputs("\nand not", stderr);
	for (size_t i = 0; i < ntree; i++)
		fprintf(stderr, " %x", tree[i]);
	fputs("\n", stderr);
}

static bool
kernel_text(const struct seen *s)
{
	static struct sysinfo info;

	if (!info.text_start)
		info = system_now();
	for (size_t i = 0; i < s->nkernel; i++)
		if ((uint64_t)(int)s->pc[i] < info.text_start ||
		    (uint64_t)(int)s->pc[i] >= info.text_end)
			return false;
	return true;
}

/* Samples with their user part in the leaf, or in what it calls. */
static void
look(leaf_t *leaf, const void *callee)
{
	bool frameless = callee == tiny || callee == strlen;
	unsigned int back = callee && !frameless ? after_ecall(callee) : 0;

	for (const struct seen *s = seen; s < seen + nseen; s++) {
		const unsigned int *pc = s->pc + s->nkernel;
		size_t n = s->n - s->nkernel;
		unsigned int at = s->p.pc;
		bool user = s->p.type == USER, good;

		if (s->p.pid != getpid())
			continue;
		if (!user && s->n != NO_STACK && n > 0)
			at = *pc++, n--;
		if (!within(leaf, at) &&
		    !(back && (at == back || at == back - 4)) &&
		    !(frameless && within(callee, at)))
			continue;
		good = s->n != NO_STACK && (!user || s->nkernel == 0) &&
		       kernel_text(s) && right(s, at, pc, n, leaf);
		if (!good && found.wrong++ < 3)
			show(s);
		if (user)
			found.user++;
		else
			found.kernel++;
	}
}

static bool
enough(int mode)
{
	return (mode == USER ? found.user : found.kernel) >= ENOUGH;
}

/* What descend was called by, and it by itself, down to the leaf. */
static void
note_tree(void)
{
	ntree = ncalls;
	for (size_t i = 0; i < ntree; i++)
		tree[i] = calls[ntree - 1 - i];
}

/* Call the leaf at a depth until there are samples enough. Another leaf, called
 * first from the same place, notes the calls. */
NOIPA static void
run(int depth, leaf_t *leaf, const void *callee, int mode)
{
	leaf_t *volatile now = leaf_note;
	size_t mine = ncalls;
	int tries = 0;

	NOTE();
	found = (struct info){0};
	until = 0;
	do {
		int fd = stacks_begin(HZ);

		descend(depth, now, ROUNDS);
		stacks_end(fd);
		if (now == leaf_note)
			note_tree();
		else
			look(leaf, callee);
		now = leaf;
		until = now_us() + RUN_US;
	} while (!enough(mode) && ++tries < TRIES);
	ncalls = mine;
}

/* With samples of USER or of KERNEL mode. run's caller must be main. */
#define CHECK_TREE(depth, leaf, callee, mode, name)            \
	do {                                                   \
		run(depth, leaf, callee, mode);                \
		CHECK(enough(mode) && found.wrong == 0, name); \
	} while (0)

/* A thread's first call is the C library's, which nobody called. */
static void *
in_thread(void *name)
{
	size_t mine = ncalls;
	unsigned int first = calls[0];

	ncalls = 0;
	NOTE();
	CHECK_TREE(0, leaf_bare, NULL, USER, name);
	ncalls = mine;
	calls[0] = first;
	return NULL;
}

static void
check_thread(void)
{
	static char name[] = "a thread's first call is its outermost";
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, name) == 0)
		pthread_join(t, NULL);
}

/* --- Where threads begin --- */

static void *
nothing(void *)
{
	return NULL;
}

static void
create_threads(void)
{
	pthread_t t;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t, NULL, nothing, NULL) == 0)
			pthread_join(t, NULL);
}

/* Few samples find a thread's first function, for its few instructions. */
static void
check_births(void)
{
	size_t inside = 0, wrong = 0;

	for (int tries = 0; tries < BIRTHS; tries++) {
		int fd = stacks_begin(BIRTH_HZ);

		create_threads();
		stacks_end(fd);
		for (const struct seen *s = seen; s < seen + nseen; s++) {
			inside += s->p.type == KERNEL && s->n != NO_STACK;
			wrong += s->n != NO_STACK && !kernel_text(s);
		}
	}
	CHECK(inside >= ENOUGH && wrong == 0,
	      "a thread's first function has no caller");
}

int
main(void)
{
	alarm(DEADLINE);
	NOTE();
	zero = open("/dev/zero", O_RDONLY);
	CHECK_TREE(0, leaf_bare, NULL, USER, "a leaf without a frame");
	CHECK_TREE(DEPTH, leaf_bare, NULL, USER, "below a recursion");
	CHECK_TREE(DEPTH, leaf_frame, NULL, USER, "a leaf with a frame");
	CHECK_TREE(DEPTH, leaf_calls, tiny, USER,
		   "a function that calls others, and these");
	CHECK_TREE(0, leaf_searches, strlen, USER, "the C library's function");
	check_thread();
	check_births();
	CHECK_TREE(DEPTH, leaf_reads, read, KERNEL, "the kernel, below a read");
	CHECK_TREE(DEPTH, leaf_spins, write, KERNEL, "the kernel, in a device");
	CHECK_TREE(0, leaf_getpid, getpid, KERNEL, "the ways in and out");
	CHECK_TREE(DEPTH, leaf_getppid, getppid, KERNEL,
		   "and not as the call before came in");
	CHECK_TREE(DEEP, leaf_bare, NULL, USER, "a deep one has its inner end");
	CHECK_TREE(DEEP, leaf_reads, read, KERNEL, "and so below the kernel");
	CHECK(stray == 0, "the records are whole");
	return check_done();
}

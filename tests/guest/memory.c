/*
 * Memory: what fork shares and copies, what is there only when it is touched,
 * the heap's end, the stack, and that all of it comes back. How many pages
 * are free tells what something costs.
 */
#include <sched.h>
#include <signal.h>

#include "children.h"

#define MANY      256 /* pages; enough to tell them from what else is used */
#define FEW       24  /* pages: tables, a stack, the kernel's blocks */
#define STACK_MAX (8 << 20) /* bytes */

static char data[MANY][PAGE] = {"of the program's file"};
static char untouched[16 << 20];

static struct gate go, done; /* for a child; and for its parent */

static void
fill(char (*pages)[PAGE], int value)
{
	for (int i = 0; i < MANY; i++)
		pages[i][PAGE / 2] = value + i;
}

static bool
holds(char (*pages)[PAGE], int value)
{
	for (int i = 0; i < MANY; i++)
		if (pages[i][PAGE / 2] != (char)(value + i))
			return false;
	return true;
}

static bool
all_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* --- Fork --- */

static int
child_writes(void)
{
	bool inherited = holds(data, 1);

	fill(data, 2);
	return inherited && holds(data, 2) ? 0 : 1;
}

static int
grandchild_writes(void)
{
	fill(data, 1);
	return child_run(child_writes) == 0 && holds(data, 1) ? 0 : 1;
}

static int
child_watches(void)
{
	gate_open(done);
	gate_pass(go);
	return holds(data, 1) ? 0 : 1;
}

static void
test_copies(void)
{
	pid_t pid;

	CHECK(strcmp(data[0], "of the program's file") == 0,
	      "data is the file's at first");
	CHECK(all_zero(data[1], sizeof(data) - PAGE), "and zero after that");
	fill(data, 1);
	CHECK(child_run(child_writes) == 0, "fork: a child has what we have");
	CHECK(holds(data, 1), "fork: what it writes is its own");
	CHECK(child_run(grandchild_writes) == 0, "fork: so for its child");
	CHECK(holds(data, 1), "fork: and ours is still ours");
	pid = child_start(child_watches);
	gate_pass(done);
	fill(data, 3);
	gate_open(go);
	CHECK(exited(pid, 0), "fork: what we write isn't the child's");
}

static int
child_reads_into(void)
{
	gate_pass(go); /* reads into its own stack, */
	return read(go.fd[0], data[0], 4) == 4 &&
		       memcmp(data[0], "text", 4) == 0
		   ? 0
		   : 1; /* and into shared data */
}

/* The kernel's writing to a process's memory is that process's too. */
static void
test_kernel_copies(void)
{
	pid_t pid;

	strcpy(data[0], "mine");
	pid = child_start(child_reads_into);
	gate_open(go);
	write(go.fd[1], "text", 4);
	CHECK(exited(pid, 0) && strcmp(data[0], "mine") == 0,
	      "fork: what a call stores is the child's own too");
}

/* At each opening, write to the next quarter of the pages. */
static int
child_writes_slowly(void)
{
	for (int part = 0; part < 4; part++) {
		gate_pass(go);
		for (int i = 0; i < MANY / 4; i++)
			data[part * (MANY / 4) + i][0] = 'x';
		gate_open(done);
	}
	gate_pass(go);
	return 0;
}

static void
test_fork_cost(void)
{
	long before, forked, cost;
	bool steady = true;
	pid_t pid;

	fill(data, 1);
	child_run(child_writes); /* what is only needed once is there */
	before = pages_free();
	pid = child_start(child_writes_slowly);
	AWAIT(state_of(pid) == 'S');
	forked = pages_free();
	CHECK(before - forked < FEW, "fork: of %d pages costs far fewer", MANY);
	for (int part = 1; part <= 4; part++) {
		gate_open(go);
		gate_pass(done);
		cost = forked - pages_free();
		steady &= cost >= part * MANY / 4 &&
			  cost <= part * MANY / 4 + FEW;
	}
	CHECK(steady, "fork: only pages that are written are copied");
	gate_open(go);
	child_wait(pid);
	CHECK(pages_free() == before, "fork: they come back at the end");
	fill(data, 5);
	CHECK(pages_free() == before,
	      "fork: a page that no one shares any more isn't copied");
}

/* --- On demand --- */

static void
test_demand(void)
{
	long before = pages_free(), cost;
	char *end = memory_end();
	size_t size = (size_t)before / 2 * PAGE, whole;

	CHECK(__brk(end + size) == end + size, "brk: half of what is free");
	CHECK(before - pages_free() < FEW, "a heap costs nothing at first");
	CHECK(all_zero(end, 10 * PAGE), "and is zero");
	cost = before - pages_free();
	CHECK(cost >= 10 && cost < 10 + FEW, "what is touched costs its pages");
	end[size - 1] = 'x';
	CHECK(end[size - 1] == 'x', "it is there to its last byte");
	whole = info_of(getpid()).size;
	__brk(end + 100 * PAGE);
	CHECK(info_of(getpid()).size == whole - (size - 100 * PAGE),
	      "brk: what is given back is no part of the process any more");
	__brk(end);
	CHECK(pages_free() >= before, "brk: gives the pages back");
}

static void
test_untouched(void)
{
	volatile char *p = untouched;
	struct psinfo before;

	info_of(getpid()); /* has what it needs itself */
	before = info_of(getpid());
	p[PAGE] = p[sizeof(untouched) - 2 * PAGE] = 'x';
	CHECK(before.size > sizeof(untouched) &&
		  info_of(getpid()).resident == before.resident + 2 * PAGE,
	      "what isn't touched of the program's data costs nothing");
}

/* Use so many bytes of the stack; gives 7. */
static int
deepen(long bytes)
{
	volatile char frame[PAGE];

	frame[0] = bytes > 0 ? deepen(bytes - PAGE) : 7;
	return frame[0];
}

static int
deep_stack(void)
{
	return deepen(STACK_MAX * 7 / 8) == 7 ? 0 : 1;
}

static int
stack_costs(void)
{
	const long deep = MANY / 2;
	long before = pages_free();

	deepen(deep * PAGE);
	before -= pages_free();
	return before > deep - FEW && before < deep + FEW ? 0 : 1;
}

static void
test_stack(void)
{
	CHECK(child_run(deep_stack) == 0, "a stack grows to almost %d MiB",
	      STACK_MAX >> 20);
	CHECK(child_run(stack_costs) == 0, "and takes what it is deep");
}

/* --- The heap's end --- */

static void
test_brk_errors(void)
{
	char *end = memory_end();

	CHECK(__brk((char *)PAGE) == end, "brk: below the program");
	CHECK(__brk((char *)data) == end, "brk: into its data");
	CHECK(__brk((char *)0x7fffffff) == end, "brk: into the stack");
	CHECK(__brk((char *)0x80001000) == end, "brk: past the top");
	CHECK(__brk((char *)0xffffffff80200000) == end, "brk: into the kernel");
	CHECK(__brk((char *)-1) == end, "brk: to the very end");
	CHECK(__brk(end + (size_t)(pages_free() + 1) * PAGE) == end,
	      "brk: more than there is");
	CHECK(__brk(NULL) == end, "brk: what fails changes nothing");
	errno = 0;
	CHECK(malloc(1UL << 30) == NULL && errno == ENOMEM,
	      "malloc: NULL, ENOMEM");
	CHECK(malloc(SIZE_MAX / 2) == NULL, "malloc: of far too much");
}

static int
touch_past_end(void)
{
	volatile char *end = memory_end();

	end[0] = 'x';
	return 0;
}

static int
touch_freed(void)
{
	volatile char *end = memory_end();

	__brk((char *)end + 2 * PAGE);
	end[PAGE] = 'x';
	__brk((char *)end + PAGE);
	gate_open(done);
	return end[PAGE];
}

static void
test_brk(void)
{
	char *end = memory_end();
	long before;

	memset(end - 1, 1, 1);
	CHECK(__brk(end + 100) == end + 100 && __brk(NULL) == end + 100,
	      "brk: to any address");
	end[99] = 'x';
	CHECK(__brk(end + 50) == end + 50 && end[10] == 0,
	      "brk: the page of it is there");
	CHECK(__brk(end + 10 * PAGE) == end + 10 * PAGE, "brk: up");
	memset(end, 'x', 10 * PAGE);
	before = pages_free();
	CHECK(__brk(end + PAGE) == end + PAGE, "brk: down");
	CHECK(pages_free() == before + 9, "brk: gives its pages back");
	CHECK(end[PAGE - 1] == 'x', "brk: what is below stays");
	__brk(end + 10 * PAGE);
	CHECK(all_zero(end + PAGE, 9 * PAGE), "brk: up again, it is zero");
	__brk(end);
	CHECK(killed(child_start(touch_past_end), SIGSEGV),
	      "brk: past it there is nothing");
	CHECK(killed(child_start(touch_freed), SIGSEGV) && gate_pass(done),
	      "brk: nor is what was given back");
}

/* --- Cleanliness --- */

static int
soil(void)
{
	memset(untouched, 0xaa, sizeof(untouched));
	return 0;
}

/* More than that child had: what it left must be among it. */
static void
test_clean(void)
{
	char *end = memory_end();
	bool clean = true;

	child_run(soil);
	__brk(end + sizeof(untouched));
	for (size_t i = 0; i < sizeof(untouched); i += sizeof(long))
		clean &= *(long *)(end + i) == 0;
	__brk(end);
	CHECK(clean, "new memory holds nothing of another process's");
}

static int
use_all_kinds(void)
{
	fill(data, 9);
	deepen(64 * PAGE);
	memset(malloc(64 * PAGE), 1, 64 * PAGE);
	execl("/bin/true", "true", NULL);
	return 1;
}

static int
die_of_it(void)
{
	fill(data, 9);
	abort();
}

static void
test_all_comes_back(void)
{
	long before = 0;

	for (int i = 0; i < 40; i++) {
		if (i == 8) /* what is kept for later is there now */
			before = pages_free();
		child_run(use_all_kinds);
		child_run(die_of_it);
	}
	before -= pages_free();
	CHECK(before <= 4, "processes leave no memory behind: %ld pages",
	      before > 4 ? before : 0);
}

/* Every stride-th file of MANY, from the first on: made, or removed. */
static void
change_files(bool make, int first, int stride)
{
	char name[16];

	for (int i = first; i < MANY; i += stride) {
		sprintf(name, "%d", i);
		if (make)
			file_make(name, "");
		else
			unlink(name);
	}
}

/* The kernel's blocks of many files fill pages. Each second one is removed, and
 * as many are made. */
static void
test_blocks(void)
{
	long full;

	change_files(true, 0, 1);
	full = pages_free();
	change_files(false, 0, 2);
	change_files(true, 0, 2);
	CHECK(pages_free() >= full - 2,
	      "blocks are taken where others were given back");
	change_files(false, 0, 1);
}

/* --- Sharing between programs --- */

static const char constants[MANY][PAGE] = {[0 ... MANY - 1] = {'c'}};

/* A program that reads all its constants, and stays. */
static pid_t
reader_start(void)
{
	char fds[2][8];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	snprintf(fds[0], sizeof(fds[0]), "%d", go.fd[0]);
	snprintf(fds[1], sizeof(fds[1]), "%d", done.fd[1]);
	execl("/bin/memory", "memory", fds[0], fds[1], NULL);
	_exit(1);
}

static int
reader(const char *fd_go, const char *fd_done)
{
	bool good = strcmp(data[0], "of the program's file") == 0;

	go.fd[0] = atoi(fd_go);
	done.fd[1] = atoi(fd_done);
	for (int i = 0; i < MANY; i++)
		good &= constants[i][0] == 'c';
	strcpy(data[0], "changed"); /* nobody else's, nor the file's */
	gate_open(done);
	gate_pass(go);
	return good ? 0 : 1;
}

static void
test_text(void)
{
	long before = pages_free();
	pid_t first, second;

	first = reader_start();
	gate_pass(done);
	CHECK((long)info_of(first).resident > MANY * PAGE,
	      "a program's constants are in its memory");
	CHECK(before - pages_free() < 2 * FEW, "but are the file's own pages");
	second = reader_start();
	gate_pass(done);
	gate_open(go);
	gate_open(go);
	CHECK(exited(first, 0) && exited(second, 0),
	      "what a program writes to its data is in no other run");
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return reader(argv[1], argv[2]);
	go = gate_make();
	done = gate_make();
	test_copies();
	test_kernel_copies();
	test_fork_cost();
	test_demand();
	test_untouched();
	test_stack();
	test_brk_errors();
	test_brk();
	test_clean();
	test_all_comes_back();
	test_blocks();
	test_text();
	return check_done();
}

/* Fork copies on write, both ways; and memory is there on demand. */
#include <pthread.h>
#include <setjmp.h>

#include "children.h"

#define PAGES  64
#define ROUNDS 100

static char data[PAGES][PAGE] = {"of the program's file"};

/* Does byte i of every page hold value + page? */
static bool
holds(int i, int value)
{
	for (int page = 0; page < PAGES; page++)
		if (data[page][i] != (char)(value + page))
			return false;
	return true;
}

static void
fill(int i, int value)
{
	for (int page = 0; page < PAGES; page++)
		data[page][i] = value + page;
}

/* The exit status of a child that does what it is told. */
static int
child(int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int
child_writes(void)
{
	bool inherited = holds(100, 1);

	fill(100, 2);
	return inherited && holds(100, 2) ? 0 : 1;
}

static int
grandchild_reads(void)
{
	fill(100, 3);
	return child(child_writes) == 1 && holds(100, 3) ? 0 : 1;
}

/*
 * A hart remembers where a page is, and that it may write there. Threads that
 * run on others must be made to forget it.
 */
static volatile struct {
	_Alignas(PAGE) unsigned long page; /* has nothing else in it */
	_Alignas(PAGE) unsigned long rounds;
	volatile char *address;
	bool stop, done;
} common;

static void *
read_page(void *arg)
{
	while (common.page != 2 && !common.stop)
		common.rounds++;
	common.done = true;
	return arg;
}

static void *
write_page(void *arg)
{
	while (!common.stop) {
		common.page++;
		common.rounds++;
	}
	return arg;
}

/* A thread that has gone some rounds. */
static pthread_t
start(void *(*body)(void *))
{
	pthread_t t;

	common.page = common.rounds = 0;
	common.stop = false;
	pthread_create(&t, NULL, body, NULL);
	AWAIT(common.rounds > 100);
	return t;
}

static void
test_reader(void)
{
	pthread_t t = start(read_page);
	pid_t pid = sleeper_start(); /* it has the page as well */
	unsigned long rounds = common.rounds;

	AWAIT(common.rounds > rounds + 100);
	common.page = 2;
	CHECK(AWAIT(common.done),
	      "another thread sees what is written to a copy");
	common.stop = true;
	pthread_join(t, NULL);
	child_end(pid);
}

/* For some ticks. */
static int
page_stays(void)
{
	unsigned long page = common.page;
	long end = now_ns() + 50 * NS_PER_MS;

	while (now_ns() < end)
		if (common.page != page)
			return 1;
	return 0;
}

static void
test_writer(void)
{
	pthread_t t = start(write_page);

	for (int i = 0; i < 5; i++)
		CHECK(child_run(page_stays) == 0,
		      "a child's page is its own while another thread writes");
	common.stop = true;
	pthread_join(t, NULL);
}

/*
 * In each round a fork shares the page. One thread's store copies it; another
 * stores by the new entry, and then tells so. The third reads the page all the
 * time: when it has been told, it must not find what was there before.
 */
static volatile struct {
	_Alignas(PAGE) unsigned long copied; /* the page: this.. */
	unsigned long stored;                /* ..and this */
	_Alignas(PAGE) unsigned long round;
	unsigned long told, stale;
	bool stop;
} order;

static void *
copy_page(void *arg)
{
	for (unsigned long i = 1; i <= ROUNDS; i++) {
		while (order.round < i)
			;
		order.copied = i;
	}
	return arg;
}

static void *
store_and_tell(void *arg)
{
	for (unsigned long i = 1; i <= ROUNDS; i++) {
		while (order.round < i)
			;
		for (volatile unsigned long n = i * 37 % 400; n > 0; n--)
			;
		order.stored = i;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		order.told = i;
	}
	return arg;
}

static void *
read_what_is_told(void *arg)
{
	while (!order.stop) {
		unsigned long told;

		(void)order.stored; /* by the entry as it was */
		told = order.told;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (order.stored < told) /* without a store, and a fault */
			order.stale++;
	}
	return arg;
}

static void
test_order(void)
{
	void *(*const bodies[])(void *) = {read_what_is_told, copy_page,
					   store_and_tell};
	pthread_t t[3];

	order.copied = order.stored = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, bodies[i], NULL);
	for (unsigned long i = 1; i <= ROUNDS; i++) {
		struct gate end = gate_make();
		pid_t pid = fork();

		if (pid == 0) {
			gate_pass(end);
			_exit(0);
		}
		order.round = i;
		while (order.told < i)
			;
		gate_open(end);
		waitpid(pid, NULL, 0);
		gate_remove(end);
	}
	order.stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(order.stale == 0,
	      "nobody finds what was there before a store that he was told of:"
	      " %lu",
	      order.stale);
}

/* --- What is given back can't be reached any more --- */

static jmp_buf fault;

static void
on_fault(int sig)
{
	longjmp(fault, sig);
}

/* Write to the page, until that is a fault. */
static void *
touch(void *arg)
{
	struct sigaction act = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

	sigaction(SIGSEGV, &act, NULL);
	while (common.address == NULL)
		;
	if (setjmp(fault) != 0)
		common.done = true;
	while (!common.done) {
		++*common.address;
		common.rounds++;
		if (common.stop)
			break;
	}
	return arg;
}

/* The heap's last page; gives where it ended before. */
static char *
grow(void)
{
	char *end = memory_end();

	__brk(end + 2 * PAGE);
	common.rounds = 0;
	common.stop = common.done = false;
	common.address = end + PAGE - (uintptr_t)end % PAGE;
	*common.address = 1;
	return end;
}

static void
test_unmapped(void)
{
	pthread_t t;
	char *end;

	end = grow();
	__brk(end);
	common.stop = true;
	touch(NULL);
	common.stop = false;
	CHECK(common.done, "memory that was given back is gone");
	common.address = NULL;
	pthread_create(&t, NULL, touch, NULL); /* its stack is in the heap */
	end = grow();
	AWAIT(common.rounds > 100);
	__brk(end);
	CHECK(AWAIT(common.done), "for other threads as well");
	common.stop = true;
	pthread_join(t, NULL);
}

int
main(void)
{
	char *heap = malloc(PAGES * PAGE);

	CHECK(strcmp(data[0], "of the program's file") == 0, "data from file");
	CHECK(data[PAGES - 1][PAGE - 1] == 0, "the rest is zero");
	fill(100, 1);
	CHECK(child(child_writes) == 0, "a child writes its own");
	CHECK(holds(100, 1), "the parent's are as they were");
	CHECK(child(grandchild_reads) == 0, "a child's child has the child's");
	CHECK(holds(100, 1), "and the parent's are still as they were");
	CHECK(heap != NULL, "heap");
	memset(heap, 7, PAGES * PAGE);
	CHECK(heap[PAGES * PAGE - 1] == 7, "heap is there to its end");
	test_reader();
	test_writer();
	test_order();
	test_unmapped();
	return check_done();
}

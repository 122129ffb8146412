/*
 * fuzz [-v] [-s SEED] [-n CALLS] [-r ROUND] [-c LENGTH]
 *
 * Rounds follow one another until CALLS calls were made. Each is a process
 * that makes calls at random (child.c). What it calls follows from the seed
 * and the number of the round, so `-r ROUND -n 1` repeats one, -c makes it
 * shorter, and -v shows each call before it's made. A process that was ended
 * by what it did, or that got stuck, is followed by the next round's.
 *
 * In every other round allocations of memory fail now and then.
 *
 * After each round, processes and files that are left over are removed, and
 * devices are set as they were. At the end no more must be in use than at
 * first, and the memory of the witnesses must not have changed.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define FOLDER   "/tmp/fuzz.d"
#define ROOM     (16 * PAGE) /* for deep folders */
#define POLL_MS  20
#define PATIENCE 40 /* polls without news, before a process is stuck */
#define STEADY   5  /* polls within which nothing has changed */

static struct {
	unsigned long seed, calls, round, length;
	bool show;
} wanted = {.seed = 1, .calls = 10000, .length = ROUND};

static struct {
	unsigned long calls, rounds, killed, stuck;
} sum;

static int report[2]; /* a pipe: a byte for each REPORT calls */

/* Take what was reported; is there any? */
static bool
take_report(void)
{
	char bytes[256];
	ssize_t n = read(report[0], bytes, sizeof(bytes));

	if (n > 0)
		sum.calls += n * REPORT;
	return n > 0;
}

/* SIGCHLD only ends a poll. */
static void
nothing(int sig)
{
	(void)sig;
}

/* Wait for the child's end, or make it end if it gets nowhere. */
static void
watch(int pid)
{
	struct pollfd p = {.fd = report[0], .events = POLLIN};
	int status = 0, patience = PATIENCE;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		poll(&p, 1, POLL_MS);
		patience = take_report() ? PATIENCE : patience - 1;
		if (patience > 0)
			continue;
		sum.stuck++;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		break;
	}
	sum.killed += WIFSIGNALED(status);
}

/* Names that were garbage may have begun with a slash, or with that of this
 * folder. */
static void
folders_empty(void)
{
	static const char *const folders[] = {"/", "/tmp", FOLDER};

	for (unsigned int i = 0; i < countof(folders); i++) {
		if (chdir(folders[i]) < 0)
			err(1, "%s", folders[i]);
		folder_empty();
	}
}

/* One process's calls, and what is left of them put away. */
static void
round_run(unsigned long round)
{
	struct rng r = {wanted.seed ^ round << 32};
	int pid = fork();

	if (pid < 0)
		err(1, "round %lu: fork", round);
	if (pid == 0) {
		dup2(report[1], REPORT_FD);
		dup2(1, LOG_FD);
		if (round % 2 == 1)
			dup2(open("/dev/ktest", O_WRONLY), FAIL_FD);
		child_main(rng_next(&r), wanted.length, wanted.show);
	}
	watch(pid);
	if (!family_end())
		errx(1, "round %lu: a process can't be killed", round);
	while (take_report())
		;
	devices_reset();
	folders_empty();
	sum.rounds++;
}

/* prf's tables stay when they were made once. */
static void
make_tables(void)
{
	static const unsigned long table[] = {1, 2, 3};
	char path[16];

	for (int i = 0; i <= PRF_ALL; i++) {
		int fd;

		snprintf(path, sizeof(path), "/dev/prf%d", i);
		fd = open(path, O_WRONLY);
		write(fd, table, sizeof(table));
		close(fd);
	}
}

static bool
same(const char *what, long before, long after)
{
	printf("%s: %ld before, %ld after\n", what, before, after);
	return before == after;
}

/* Is no more in use than before? */
static bool
account_compare(const struct account *a, const struct account *b)
{
	bool good = same("pages", a->pages, b->pages);

	good &= same("blocks", a->blocks, b->blocks);
	good &= same("processes", a->processes, b->processes);
	good &= same("threads", a->threads, b->threads);
	return same("buffers", a->buffers, b->buffers) && good;
}

/* Have memory now that may be wanted later, the pipe's as well, and none that
 * is shared with the witness, lest it be taken for lost. */
static void
touch_memory(void)
{
	extern char edata[], end[];
	volatile char stack[ROOM];
	char *heap = malloc(ROOM), byte = 0;

	write(report[1], &byte, 1);
	read(report[0], &byte, 1);
	for (int i = 0; i < ROOM; i += PAGE) {
		stack[i] = 1;
		heap[i] = stack[i];
	}
	free(heap);
	for (volatile char *p = edata - 1; p < end; p += PAGE)
		*p = *p;
	for (volatile char *p = (char *)pattern; p < arena + ARENA_SIZE;
	     p += PAGE)
		*p = *p;
}

/* What is in use, when it's as before; or after a while, if it never is: init
 * may still be putting the last processes away. */
static struct account
account_settled(const struct account *before)
{
	struct account now = account_take();

	for (int i = 0; i < PATIENCE; i++) {
		if (memcmp(&now, before, sizeof(now)) == 0)
			break;
		poll(NULL, 0, POLL_MS);
		now = account_take();
	}
	return now;
}

/* What is in use, when it has stayed the same for a while. */
static struct account
account_steady(void)
{
	struct account now = account_take(), last = now;

	for (int i = 0, same = 0; i < PATIENCE && same < STEADY; i++) {
		poll(NULL, 0, POLL_MS);
		now = account_take();
		same = memcmp(&now, &last, sizeof(now)) == 0 ? same + 1 : 0;
		last = now;
	}
	return now;
}

static void
begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = nothing}, NULL);
	mkdir(FOLDER, 0777);
	folder_note("/");
	folder_note("/tmp");
	if (chdir(FOLDER) < 0 || pipe(report) < 0)
		err(1, FOLDER);
	fcntl(report[0], F_SETFL, O_NONBLOCK);
	fcntl(report[1], F_SETFL, O_NONBLOCK);
	pattern_make();
	make_tables();
}

/* 0, or -1 for what isn't understood. */
static int
get_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "vs:n:r:c:")) != -1) {
		if (c == 'v')
			wanted.show = true;
		else if (c == 's')
			wanted.seed = strtoul(optarg, NULL, 0);
		else if (c == 'n')
			wanted.calls = strtoul(optarg, NULL, 0);
		else if (c == 'r')
			wanted.round = strtoul(optarg, NULL, 0);
		else if (c == 'c')
			wanted.length = strtoul(optarg, NULL, 0);
		else
			return -1;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct account before, after;
	int witness;
	bool good;

	if (get_options(argc, argv) < 0)
		return 2;
	begin();
	witness = witness_start();
	touch_memory();
	family_note();
	/* Once before, for what the kernel and the library keep. */
	round_run(wanted.round);
	before = account_steady();
	while (sum.calls < wanted.calls)
		round_run(++wanted.round);
	after = account_settled(&before);
	good = account_compare(&before, &after) && pattern_holds();
	if (!witness_end(witness))
		good = false, puts("the witness's memory has changed");
	printf("seed %lu: %lu calls in %lu rounds, %lu killed, %lu stuck: %s\n",
	       wanted.seed, sum.calls, sum.rounds, sum.killed, sum.stuck,
	       good ? "good" : "BAD");
	return good ? 0 : 1;
}

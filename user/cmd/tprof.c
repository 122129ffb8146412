/*
 * tprof: where one process spends its time in user mode, by function.
 *
 * As Plan 9's, it looks at a process that runs already. There the kernel had
 * been told to profile it; here that is done now, by the device pcs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/elfsym.h"
#include "../cmdlib/pcsdev.h"
#include "../cmdlib/pcsread.h"
#include "../cmdlib/processes.h"
#include "../cmdlib/profclock.h"
#include "../cmdlib/table.h"

#define SYNOPSIS "PID [SECONDS]"
#define SECONDS  10
#define LOOK     100 /* ms from one look at the process to the next */
#define UNKNOWN  "?" /* a function without a symbol */

static struct pcs_walk seen;
static struct elfsyms syms;
static uint64_t *hits, total; /* of each symbol, and then of none; of all */

static void
count(const struct LOGBUF *b, size_t buffers)
{
	const struct PSAMPLE *s;

	for (; buffers > 0; b++, buffers--) {
		pcs_buffer(&seen, b);
		while ((s = pcs_next(&seen))) {
			if (s->type != USER)
				continue;
			hits[elfsym_find(&syms, pcs_address(s))]++;
			total++;
		}
	}
}

/* The name of a process; false: it's not there, or has ended. */
static bool
look(int pid, char name[PROCESS_NAME])
{
	int n;
	const struct psinfo *p = processes(&n);

	for (int i = 0; i < n; i++) {
		if (p[i].pid == pid && p[i].state != 'Z') {
			process_name(&p[i], name);
			return true;
		}
	}
	return false;
}

/* Read the symbols of a program, and count from 0. */
static void
load(const char *name)
{
	char *path = process_program(name);
	const char *wrong;
	size_t size;

	if (!path) {
		cmd_error("%s: can't find this program", name);
		exit(cmd_status);
	}
	wrong = elfsym_load(&syms, path);
	if (wrong && *wrong)
		cmd_error("%s: %s", path, wrong);
	if (wrong)
		exit(cmd_status);
	total = 0;
	size = (syms.count + 1) * sizeof(*hits);
	hits = memset(cmd_alloc(size), 0, size);
}

static long
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the time is over, or we are told to end, or it has ended. When it runs
 * another program we begin anew. */
static void
sample(int pid, char name[PROCESS_NAME], unsigned long seconds)
{
	int list[] = {1, pid}, device = pcs_open();
	char runs[PROCESS_NAME];
	struct pcs_stat s;
	long end;

	seen.name = PCS_DEVICE;
	pcs_catch_signals();
	profclock_set(0);
	pcs_ask(device, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	pcs_ask(device, PROF_LIST, (uintptr_t)list);
	end = now() + seconds * 1000;
	while (now() < end && !pcs_interrupted && !pcs_terminated &&
	       look(pid, runs)) {
		if (strcmp(runs, name) != 0) {
			pcs_finish(device, count);
			load(strcpy(name, runs));
			pcs_ask(device, PROF_LIST, (uintptr_t)list);
		}
		pcs_wait(device, -1, LOOK, count);
	}
	s = pcs_finish(device, count);
	if (s.lost > 0)
		cmd_error("%llu samples were lost", (unsigned long long)s.lost);
	if (s.skipped > 0) /* no error: there are fewer, but none is wrong */
		fprintf(stderr, "tprof: %llu more samples were skipped\n",
			(unsigned long long)s.skipped);
}

static void
print(int pid, const char *name)
{
	struct table t = {0};

	out_name(name);
	out_printf(" %d: %llu samples in user mode\n", pid,
		   (unsigned long long)total);
	for (size_t i = 0; i <= syms.count; i++)
		table_row(&t, hits[i], "%s",
			  i < syms.count ? syms.text[i].name : UNKNOWN);
	table_print(&t, "function", total, SIZE_MAX);
}

int
main(int argc, char **argv)
{
	unsigned long pid, seconds = SECONDS;
	char name[PROCESS_NAME];

	cmd_start(argc, argv, "tprof", SYNOPSIS);
	cmd_flags("");
	cmd_operands(1, 2);
	pid = cmd_number(cmd_argv[0], "a process ID", 0, LONG_MAX);
	if (cmd_argc > 1)
		seconds = cmd_number(cmd_argv[1], "a number of seconds", 0,
				     INT_MAX);
	if (pid == 0 || pid >= PCS_PIDS || !look(pid, name)) {
		cmd_error("no process %s", cmd_argv[0]);
		return cmd_status;
	}
	load(name);
	sample(pid, name, seconds);
	print(pid, name);
	return cmd_done();
}

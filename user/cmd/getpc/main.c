/* getpc: the options, the device, and the command. See getpc.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <time.h>

#include "../../cmdlib/pcsdev.h"
#include "../../cmdlib/profclock.h"

#include "getpc.h"

#define SYNOPSIS                                                 \
	"[-akms] [-b BUFFERS] [-g PGRP] [-p PID,...] [-o FILE] " \
	"[COMMAND [ARGUMENT ...]]"
#define OUTPUT "pc.out"

/* What was asked of us. */
static const char *path = OUTPUT;
static struct ISAMPLE requests[REQUESTS]; /* in the order they are made */
static size_t requests_count;

/* --- Options --- */

static short
number(const char *text, const char *what)
{
	return cmd_number(text, what, 1, SHRT_MAX);
}

static struct ISAMPLE *
request(int cmd)
{
	struct ISAMPLE *r = &requests[requests_count++];

	r->type = IOCTL;
	r->cmd = cmd;
	return r;
}

static void
request_list(char *pids)
{
	struct ISAMPLE *r = request(PROF_LIST);

	for (int n = 0; pids && n < MAX_LIST; n++)
		r->data[n] = number(cmd_piece(&pids, ","), "a process ID");
	if (pids)
		cmd_usage("more than %d processes", MAX_LIST);
}

static void
options(void)
{
	char *buffers = NULL, *group = NULL, *pids = NULL;
	int c;

	while ((c = cmd_option("+ab:g:kmo:p:s")) != -1) {
		if (c == 'b')
			buffers = cmd_value;
		else if (c == 'g')
			group = cmd_value;
		else if (c == 'o')
			path = cmd_value;
		else if (c == 'p')
			pids = cmd_value;
	}
	/* How to record comes before the first kind, which starts it. */
	if (buffers)
		request(BUF_INCR)->data[0] = number(buffers,
						    "a number of buffers");
	else if (cmd_given['s']) /* they fill buffers several times as fast */
		request(BUF_INCR)->data[0] = MAX_BUFS - DEF_BUFNO;
	if (cmd_given['s'])
		request(PROF_STACK);
	if (!cmd_given['m']) {
		request(PROF_SEAL);
		request(PROF_EVENTS)->data[0] = true; /* with times */
	}
	if (cmd_given['k'])
		request(PROF_KERNEL);
	if (group)
		request(PROF_GROUP)->data[0] = number(group, "a process group");
	if (pids)
		request_list(pids);
	if (cmd_given['a'] || (!cmd_given['k'] && !group && !pids))
		request(PROF_ALL);
}

/* --- The device --- */

static void
ask(int device, const struct ISAMPLE *r)
{
	int list[1 + MAX_LIST] = {0};
	uintptr_t arg = r->data[0];

	if (r->cmd == PROF_LIST) {
		while (list[0] < MAX_LIST && r->data[list[0]]) {
			list[list[0] + 1] = r->data[list[0]];
			list[0]++;
		}
		arg = (uintptr_t)list;
	}
	if (ioctl(device, r->cmd, arg) == 0)
		return;
	if (r->cmd == BUF_INCR && errno == EINVAL)
		cmd_error(PCS_DEVICE ": can't add %d buffers to its %d: "
				     "the limit is %d",
			  r->data[0], DEF_BUFNO, MAX_BUFS);
	else
		cmd_warn(PCS_DEVICE);
	exit(cmd_status);
}

/* --- The command --- */

/* Is it over: the command, or without one our time? */
static bool
ended(void)
{
	if (cmd_argc > 0)
		return pcs_ended();
	return pcs_interrupted || pcs_terminated || store_failed();
}

/* Say what the stream has not. */
static void
say_missing(const struct pcs_stat *s)
{
	if (s->lost > 0)
		cmd_error("%llu of %llu samples were lost",
			  (unsigned long long)s->lost,
			  (unsigned long long)s->seen);
	if (s->skipped > 0)
		cmd_error("%llu more samples were due, but skipped",
			  (unsigned long long)s->skipped);
	if (s->untold > 0)
		cmd_error("%llu process events were lost: later records may be "
			  "incomplete",
			  (unsigned long long)s->untold);
}

int
main(int argc, char **argv)
{
	struct pcs_stat s;
	time_t start;
	int device;

	cmd_start(argc, argv, "getpc", SYNOPSIS);
	options();
	pcs_catch_signals();
	device = pcs_open();
	if (!cmd_given['m']) {
		whose_prepare();
		profclock_set(0);
	}
	start = time(NULL);
	for (size_t i = 0; i < requests_count; i++)
		ask(device, &requests[i]);
	/* An older file is only given up for samples. */
	store_open(path, !cmd_given['m']);
	store_start(start, requests, requests_count);
	if (cmd_argc > 0)
		pcs_command(cmd_argv);
	while (!ended())
		pcs_wait(device, -1, -1, store_take);
	s = pcs_finish(device, store_take);
	store_end(&s);
	if (store_failed())
		return cmd_status;
	say_missing(&s);
	return cmd_argc > 0 ? pcs_status() : 0;
}

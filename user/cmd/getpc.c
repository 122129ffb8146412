/*
 * getpc: store what the sampling device pcs sees while a command runs.
 *
 * The stream is as <sys/pcs.h> has it: a buffer of our own with START and the
 * requests, the device's buffers, and one of our own with STOP. What the
 * device lost is said at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS                                                \
	"[-aks] [-b BUFFERS] [-g PGRP] [-p PID,...] [-o FILE] " \
	"[COMMAND [ARGUMENT ...]]"
#define DEVICE      "/dev/pcs"
#define OUTPUT      "pc.out"
#define SHORT_LIMIT 32767
#define SIGNALLED   128 /* a status above it: killed by signal status - 128 */
#define REQUESTS    6   /* all that can be made */

/* What was asked of us. */
static const char *path = OUTPUT;
static struct ISAMPLE requests[REQUESTS]; /* in the order they are made */
static size_t requests_count;

/* The stream. */
static int output;
static bool failed;   /* to write; nothing more is stored */
static uint64_t told; /* hits lost, as the buffers' headers have it */

/* Signals: what came, and a pipe that ends the poll that would miss them. */
static volatile sig_atomic_t interrupted, terminated;
static int wakeup[2];

static pid_t command;
static int command_status;

/* --- Options --- */

static short
number(const char *text, const char *what)
{
	unsigned long n = cmd_number(text, what);

	if (n == 0 || n > SHORT_LIMIT)
		cmd_usage("not %s: %s", what, text);
	return n;
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
		r->data[n] = number(cmd_piece(&pids, ","), "a process");
	if (pids)
		cmd_usage("more than %d processes", MAX_LIST);
}

static void
options(void)
{
	char *buffers = NULL, *group = NULL, *pids = NULL;
	int c;

	while ((c = cmd_option("+ab:g:ko:p:s")) != -1) {
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
	if (cmd_given['s'])
		request(PROF_STACK);
	if (cmd_given['k'])
		request(PROF_KERNEL);
	if (group)
		request(PROF_GROUP)->data[0] = number(group, "a group");
	if (pids)
		request_list(pids);
	if (cmd_given['a'] || (!cmd_given['k'] && !group && !pids))
		request(PROF_ALL);
}

/* --- Signals --- */

static void
on_signal(int sig)
{
	int code = errno;

	if (sig == SIGINT)
		interrupted = 1;
	if (sig == SIGTERM)
		terminated = 1;
	/* Full is as good: it wakes all the same. */
	(void)!write(wakeup[1], "", 1);
	errno = code;
}

/* From here on until exec, which undoes them. */
static void
catch_signals(void)
{
	static const int signals[] = {SIGCHLD, SIGINT, SIGTERM};
	struct sigaction act = {.sa_handler = on_signal}, old;

	if (pipe(wakeup) < 0)
		cmd_die("pipe");
	for (int i = 0; i < 2; i++) {
		fcntl(wakeup[i], F_SETFD, FD_CLOEXEC);
		fcntl(wakeup[i], F_SETFL, O_NONBLOCK);
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], &act, &old);
		/* Who made us ignore an interrupt means the command too. */
		if (signals[i] == SIGINT && old.sa_handler == SIG_IGN)
			sigaction(SIGINT, &old, NULL);
	}
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
		cmd_error(DEVICE ": not %d buffers more: it has %d of %d",
			  r->data[0], DEF_BUFNO, MAX_BUFS);
	else
		cmd_warn(DEVICE);
	exit(cmd_status);
}

static struct pcs_stat
account(int device)
{
	struct pcs_stat s;

	if (ioctl(device, PCS_STAT, &s) < 0)
		cmd_die(DEVICE);
	return s;
}

/* --- The stream --- */

static void
store(const void *logbuf)
{
	if (failed || out_direct(output, logbuf, BSIZE))
		return;
	cmd_warn("%s", strcmp(path, "-") == 0 ? "standard output" : path);
	failed = true;
}

static void
store_own(const void *records, size_t size, short numlost)
{
	char buf[BSIZE] = {0};
	struct LOGBUF_HDR *h = (struct LOGBUF_HDR *)buf;

	h->h_unused = BSIZE - sizeof(*h) - size;
	h->h_numlost = numlost;
	memcpy(buf + sizeof(*h), records, size);
	store(buf);
}

static void
store_start(time_t now)
{
	struct {
		struct SSAMPLE start;
		struct ISAMPLE requests[REQUESTS];
	} records;

	memset(&records, 0, sizeof(records));
	records.start.type = START;
	records.start.stime = now;
	memcpy(records.requests, requests, sizeof(requests));
	store_own(&records,
		  sizeof(struct SSAMPLE) +
		      requests_count * sizeof(struct ISAMPLE),
		  0);
}

/* What was lost after the last buffer has no other header to stand in. */
static void
store_stop(uint64_t lost)
{
	struct SSAMPLE stop;

	memset(&stop, 0, sizeof(stop));
	stop.type = STOP;
	stop.stime = time(NULL);
	lost -= told;
	store_own(&stop, sizeof(stop), lost < SHORT_LIMIT ? lost : SHORT_LIMIT);
}

/* Store a full buffer; false: there is none. */
static bool
take(int device)
{
	struct LOGBUF b;
	ssize_t n = read(device, &b, sizeof(b));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0)
		cmd_die(DEVICE);
	told += b.lb_buf_hdr.h_numlost;
	store(&b);
	return true;
}

/* Is it over: the command, or without one our time? */
static bool
ended(void)
{
	if (!command)
		return interrupted || terminated || failed;
	/* An interrupt comes to the command as well; this is for it too. */
	if (terminated)
		kill(command, SIGTERM);
	terminated = 0;
	return waitpid(command, &command_status, WNOHANG) == command;
}

static void
record(int device)
{
	struct pollfd fds[] = {{device, POLLIN, 0}, {wakeup[0], POLLIN, 0}};
	char byte;

	while (!ended()) {
		if (poll(fds, 2, -1) < 0)
			continue; /* a signal */
		if (fds[0].revents)
			take(device);
		if (fds[1].revents)
			(void)!read(wakeup[0], &byte, 1);
	}
}

/* No more samples; and all that the device has of them. */
static struct pcs_stat
finish(int device)
{
	struct pcs_stat s;

	do {
		if (ioctl(device, PCS_END) < 0)
			cmd_die(DEVICE);
		while (take(device))
			;
		s = account(device);
	} while (s.unread + s.pending > 0);
	return s;
}

/* Say what the stream has not. */
static void
say_missing(const struct pcs_stat *s)
{
	if (s->lost > 0)
		cmd_error("of %llu samples %llu were lost",
			  (unsigned long long)s->seen,
			  (unsigned long long)s->lost);
}

static int
open_output(void)
{
	int fd = STDOUT_FILENO;

	if (strcmp(path, "-") != 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		cmd_die("%s", path);
	return fd;
}

static void
start_command(char **argv)
{
	command = fork();
	if (command < 0)
		cmd_die("fork");
	if (command == 0)
		cmd_exec(argv);
}

/* Our exit status, if all went well: the command's. */
static int
status(void)
{
	if (WIFSIGNALED(command_status))
		return SIGNALLED + WTERMSIG(command_status);
	return WEXITSTATUS(command_status);
}

int
main(int argc, char **argv)
{
	struct pcs_stat s;
	time_t start;
	int device;

	cmd_start(argc, argv, "getpc", SYNOPSIS);
	options();
	catch_signals();
	device = open(DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (device < 0)
		cmd_die(DEVICE);
	start = time(NULL);
	for (size_t i = 0; i < requests_count; i++)
		ask(device, &requests[i]);
	/* An older file is only given up for samples. */
	output = open_output();
	store_start(start);
	if (cmd_argc > 0)
		start_command(cmd_argv);
	record(device);
	s = finish(device);
	store_stop(s.lost);
	if (failed)
		return cmd_status;
	say_missing(&s);
	return status();
}

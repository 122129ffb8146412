/*
 * getpc: store what the sampling device pcs sees while a command runs.
 *
 * The stream is as <sys/pcs.h> has it: a buffer of our own with START and the
 * requests, the device's buffers, and one of our own with STOP. What the
 * device lost is said at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/crc.h"
#include "../cmdlib/pcsdev.h"
#include "../cmdlib/pcsread.h"
#include "../cmdlib/pcswho.h"
#include "../cmdlib/profclock.h"

#define SYNOPSIS                                                 \
	"[-akms] [-b BUFFERS] [-g PGRP] [-p PID,...] [-o FILE] " \
	"[COMMAND [ARGUMENT ...]]"
#define OUTPUT   "pc.out"
#define REQUESTS 7 /* all that can be made */

/* What was asked of us. */
static const char *path = OUTPUT;
static struct ISAMPLE requests[REQUESTS]; /* in the order they are made */
static size_t requests_count;

/* The stream, and what the device says in it. */
static struct pcs_walk seen;
static int output;
static bool failed;   /* to write; nothing more is stored */
static uint64_t told; /* hits lost, as the buffers' headers have it */

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
	if (!cmd_given['m'])
		request(PROF_EVENTS)->data[0] = true; /* with times */
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

/* --- The stream --- */

static void
store(const void *logbufs, size_t count)
{
	if (failed || out_direct(output, logbufs, count * BSIZE))
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
	store(buf, 1);
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
	store_own(&stop, sizeof(stop), lost < SHRT_MAX ? lost : SHRT_MAX);
}

/* --- Files that were mapped --- */

#define KERNEL_FILE "/boot/kernel"

#define HELD 24 /* files that are kept open: a process may have 64 */

/*
 * Each once, as the device's first record of it says. Opened at once, as it may
 * be removed before the end; read only then, not to disturb what is sampled.
 */
static struct mapped {
	char *path;
	uint64_t ino;
	int64_t mtime;
	int fd; /* -1: it was gone, or HELD others are open */
} * files;
static size_t files_count, files_room;

static void
know_file(const char *path, uint64_t ino, int64_t mtime)
{
	struct mapped *f;

	for (size_t i = 0; i < files_count; i++)
		if (files[i].ino == ino && files[i].mtime == mtime &&
		    strcmp(files[i].path, path) == 0)
			return;
	if (files_count == files_room)
		files = cmd_grow(files, &files_room, sizeof(*files));
	f = &files[files_count];
	*f = (struct mapped){strdup(path), ino, mtime, -1};
	if (!f->path)
		cmd_die("memory");
	if (files_count++ < HELD)
		f->fd = open(path, O_RDONLY | O_CLOEXEC);
}

/* Is it still the file that was mapped? Then its size and CRC. */
static bool
measure(struct mapped *f, struct FILE_RECORD *r)
{
	static char piece[16384];
	struct stat st;
	ssize_t n = -1;

	if (f->fd < 0)
		f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd >= 0 && fstat(f->fd, &st) == 0 && IN_FILE(st) == f->ino &&
	    pcs_mtime(&st) == f->mtime)
		while ((n = read(f->fd, piece, sizeof(piece))) > 0) {
			r->crc = crc32(r->crc, piece, n);
			r->size += n;
		}
	if (f->fd >= 0)
		close(f->fd);
	return n == 0;
}

/* One that is gone, or another now, has no record. */
static void
store_file(struct mapped *f)
{
	_Alignas(8) char room[NUMSAMPS * sizeof(struct PSAMPLE)] = {0};
	struct FILE_RECORD *r = (struct FILE_RECORD *)room;
	size_t size = sizeof(*r) + (strlen(f->path) + 8) / 8 * 8;

	if (size > sizeof(room) || !measure(f, r))
		return;
	r->event.type = FILED;
	r->event.words = size / 8;
	r->ino = f->ino;
	r->mtime = f->mtime;
	strcpy(r->path, f->path);
	store_own(room, size, 0);
}

static void
store_files(void)
{
	struct stat st;

	if (stat(KERNEL_FILE, &st) == 0)
		know_file(KERNEL_FILE, IN_FILE(st), pcs_mtime(&st));
	for (size_t i = 0; i < files_count; i++)
		store_file(&files[i]);
}

static void
store_account(const struct pcs_stat *s)
{
	struct sysinfo machine;
	struct ACCOUNT_RECORD r = {
	    .event = {.type = ACCOUNT, .words = sizeof(r) / 8},
	    .lost = s->lost,
	    .skipped = s->skipped,
	    .untold = s->untold,
	};

	if (sysinfo(&machine, sizeof(machine)) < 0)
		cmd_die("sysinfo");
	r.free = !machine.icount;
	store_own(&r, sizeof(r), 0);
}

/* --- What the device gives --- */

static void
look(const void *record)
{
	_Alignas(8) char copy[BSIZE];
	const struct MAP_RECORD *m = (const void *)copy;

	if (*(const char *)record != MAPPED)
		return;
	memcpy(copy, record, ((const unsigned char *)record)[1] * 8);
	if (*m->path)
		know_file(m->path, m->ino, m->mtime);
}

static void
take(const struct LOGBUF *b, size_t count)
{
	const void *record;

	store(b, count);
	for (; count > 0; b++, count--) {
		told += b->lb_buf_hdr.h_numlost;
		pcs_buffer(&seen, b);
		while ((record = pcs_next(&seen)))
			look(record);
	}
}

/* Is it over: the command, or without one our time? */
static bool
ended(void)
{
	if (cmd_argc > 0)
		return pcs_ended();
	return pcs_interrupted || pcs_terminated || failed;
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
	seen.name = PCS_DEVICE;
	if (!cmd_given['m'])
		profclock_set(0);
	start = time(NULL);
	for (size_t i = 0; i < requests_count; i++)
		ask(device, &requests[i]);
	/* An older file is only given up for samples. */
	output = open_output();
	store_start(start);
	if (cmd_argc > 0)
		pcs_command(cmd_argv);
	while (!ended())
		pcs_wait(device, -1, -1, take);
	s = pcs_finish(device, take);
	if (!cmd_given['m']) {
		store_files();
		store_account(&s);
	}
	store_stop(s.lost);
	if (failed)
		return cmd_status;
	say_missing(&s);
	return cmd_argc > 0 ? pcs_status() : 0;
}

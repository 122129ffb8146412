/*
 * What a command waited for: waits(4) has the times, pcs(4) tells which
 * programs the threads executed. Nothing is sampled.
 *
 * Records that look alike in the report are one row of it: those of all threads
 * and processes of a program that waited for the same thing by way of the same
 * functions. Read waits_run, at the end, first.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/waits.h>
#include <unistd.h>

#include "tally.h"

#define CTL   "/dev/waitctl"
#define DATA  "/dev/waitdata"
#define ORDER "order 32768" /* absences, for the critical path */

static struct waits_head head;

/* A bit for each process of the command: those that it is, and their children,
 * of which the device tells. */
static unsigned char mine[PCS_PIDS / 8];

/* Who ended the waits of a row, and how often. */
struct by {
	char *text;
	uint64_t count;
};

static struct row {
	size_t program;             /* KERNEL_SPACE: harts spun for a lock */
	char *what, *user, *kernel; /* the last two: calls, as text */
	struct by *by;
	size_t by_count, by_room;
	uint64_t count, total, longest, at, unfinished;
} * rows;
static size_t rows_count, rows_room;

/* Of a program: the time for which its threads were runnable, or ran. */
static struct runnable {
	uint64_t count, total, longest, at, ran;
} * runnable; /* by the program's number */
static size_t runnable_count, runnable_room;

/* --- The devices --- */

static void
control(const char *word)
{
	int fd = open(CTL, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, word, strlen(word)) < 0)
		cmd_die(CTL);
	close(fd);
}

static pid_t owner; /* who has turned it on; 0: nobody has */

/* Turn it off again, and give back its memory. */
static void
leave(void)
{
	if (getpid() != owner)
		return; /* a child that couldn't become its command */
	owner = 0;
	control("stop");
	control("spins off");
	control("clear");
	control("order 0");
}

static void
read_head(int fd)
{
	if (cmd_read(fd, (char *)&head, sizeof(head), DATA) !=
		(ssize_t)sizeof(head) ||
	    head.record_size != sizeof(struct waits_record)) {
		cmd_error(DATA ": unknown format");
		exit(cmd_status);
	}
}

static int
open_data(void)
{
	int fd = cmd_open(DATA);

	if (fd < 0)
		exit(cmd_status);
	read_head(fd);
	return fd;
}

static bool
is_mine(int pid)
{
	return mine[pid / 8] & 1 << pid % 8;
}

/* The command is this process's child; its own are told by their parents. */
static void
tell_born(const void *record)
{
	struct BORN_RECORD r;

	memcpy(&r, record, sizeof(r));
	if (r.of != 0 && (r.parent == getpid() || is_mine(r.parent)))
		mine[r.event.pid / 8] |= 1 << r.event.pid % 8;
}

/* What the device tells of processes; there are no samples. */
static void
tell_buffers(const struct LOGBUF *b, size_t count)
{
	const void *record;

	for (; count > 0; b++, count--) {
		pcs_buffer(&seen, b);
		while ((record = pcs_next(&seen))) {
			pcs_tell(record);
			if (*(const char *)record == BORN)
				tell_born(record);
		}
	}
}

/* --- Rows --- */

/* The text becomes the row's, or is freed. */
static void
add_by(struct row *r, char *text, uint64_t count)
{
	for (size_t i = 0; i < r->by_count; i++)
		if (strcmp(r->by[i].text, text) == 0) {
			r->by[i].count += count;
			free(text);
			return;
		}
	if (r->by_count == r->by_room)
		r->by = cmd_grow(r->by, &r->by_room, sizeof(*r->by));
	r->by[r->by_count++] = (struct by){text, count};
}

static void
add_record(const struct waits_record *r, size_t number)
{
	const struct waits_key *k = &r->key;
	bool spin = k->kind == WAITS_SPIN;
	size_t program = spin ? KERNEL_SPACE : pcs_whose(k->pid, k->context);
	struct row row = {
	    .program = program,
	    .count = r->count,
	    .total = r->total,
	    .longest = r->longest,
	    .at = r->longest_at,
	    .unfinished = r->unfinished,
	};

	if (!spin)
		program_seen(program_at(program), k->pid);
	row.what = wait_what(k, program);
	row.user = wait_user_calls(k, program);
	row.kernel = wait_kernel_calls(k);
	if (!spin)
		path_record(number, program, row.what, row.user);
	for (int i = 0; i < WAITS_WAKERS && r->waker[i].count > 0; i++)
		add_by(&row, wait_waker(&r->waker[i]), r->waker[i].count);
	if (rows_count == rows_room)
		rows = cmd_grow(rows, &rows_room, sizeof(*rows));
	rows[rows_count++] = row;
}

static void
add_runnable(const struct waits_record *r, size_t number)
{
	size_t program = pcs_whose(r->key.pid, r->key.context);
	struct runnable *q;

	path_record(number, program, "", "");
	program_seen(program_at(program), r->key.pid);
	while (runnable_count <= program) {
		if (runnable_count == runnable_room)
			runnable = cmd_grow(runnable, &runnable_room,
					    sizeof(*runnable));
		runnable[runnable_count++] = (struct runnable){0};
	}
	q = &runnable[program];
	q->count += r->count;
	q->total += r->total;
	q->ran += r->ran;
	if (r->longest > q->longest) {
		q->longest = r->longest;
		q->at = r->longest_at;
	}
}

/* Of the command and its children: this process would wait all the time. */
static void
read_records(void)
{
	static struct waits_record r[AT_ONCE];
	int fd = open_data();
	size_t number = 0;
	ssize_t n;

	while ((n = cmd_read(fd, (char *)r, sizeof(r), DATA)) > 0)
		for (size_t i = 0; i < n / sizeof(r[0]); i++, number++)
			if (r[i].key.kind == WAITS_SPIN)
				add_record(&r[i], number);
			else if (!is_mine(r[i].key.pid))
				continue;
			else if (r[i].key.kind == WAITS_HART)
				add_runnable(&r[i], number);
			else
				add_record(&r[i], number);
	close(fd);
	if (n < 0)
		exit(cmd_status);
}

static int
by_text(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int way = (a->program > b->program) - (a->program < b->program);

	if (way == 0)
		way = strcmp(a->what, b->what);
	if (way == 0)
		way = strcmp(a->user, b->user);
	return way ? way : strcmp(a->kernel, b->kernel);
}

static int
most_first(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return by_text(a, b);
}

/* Make one row of those with the same text. */
static void
merge(void)
{
	size_t n = 0;

	qsort(rows, rows_count, sizeof(*rows), by_text);
	for (size_t i = 1; i < rows_count; i++) {
		struct row *last = &rows[n], *row = &rows[i];

		if (by_text(last, row) != 0) {
			rows[++n] = *row;
			continue;
		}
		last->count += row->count;
		last->total += row->total;
		last->unfinished += row->unfinished;
		if (row->longest > last->longest) {
			last->longest = row->longest;
			last->at = row->at;
		}
		for (size_t b = 0; b < row->by_count; b++)
			add_by(last, row->by[b].text, row->by[b].count);
	}
	rows_count = rows_count ? n + 1 : 0;
	qsort(rows, rows_count, sizeof(*rows), most_first);
}

/* --- Printing --- */

static double
in_ms(uint64_t counts)
{
	return counts * 1e3 / head.timebase;
}

static int
most_often(const void *left, const void *right)
{
	const struct by *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->text, b->text);
}

/* Below a row: so many of those who have ended its waits. */
#define WAKERS_SHOWN 4

static void
print_wakers(struct row *r)
{
	uint64_t others = 0;

	if (r->by_count > 0)
		qsort(r->by, r->by_count, sizeof(*r->by), most_often);
	out_string(r->program == KERNEL_SPACE ? INDENT "held by"
					      : INDENT "woken by");
	for (size_t i = 0; i < r->by_count; i++) {
		if (i >= WAKERS_SHOWN) {
			others += r->by[i].count;
			continue;
		}
		out_printf("%s ", i ? "," : "");
		out_name(r->by[i].text);
		out_printf(" %llu", (unsigned long long)r->by[i].count);
	}
	if (others > 0)
		out_printf(", others %llu", (unsigned long long)others);
	if (r->unfinished > 0)
		out_printf("%s nobody yet %llu", r->by_count ? "," : "",
			   (unsigned long long)r->unfinished);
	out_char('\n');
}

static void
print_calls(const char *mode, const char *calls)
{
	if (!*calls)
		return;
	out_printf(INDENT "%s ", mode);
	out_name(calls);
	out_char('\n');
}

static void
print_times(uint64_t total, uint64_t count, uint64_t longest, uint64_t at)
{
	out_printf("%11.3f %7llu %10.3f ", in_ms(total),
		   (unsigned long long)count, in_ms(longest));
	if (count > 0)
		out_printf("%11.3f ", in_ms(at - head.begin));
	else
		out_printf("%11s ", "-");
}

static void
print_waits(void)
{
	char text[WHO_MAX];

	merge();
	if (rows_count > 0)
		out_printf("\n%11s %7s %10s %11s %s\n", "ms", "count",
			   "longest", "at", "waiting for");
	for (size_t i = 0; i < rows_count && i < limit; i++) {
		struct row *r = &rows[i];

		print_times(r->total, r->count, r->longest, r->at);
		out_name(r->what);
		out_string(" [");
		out_name(r->program == KERNEL_SPACE
			     ? "kernel"
			     : report_who(r->program, text));
		out_string("]\n");
		if (!only_kernel)
			print_calls("in", r->user);
		if (!only_user)
			print_calls("kernel", r->kernel);
		print_wakers(r);
	}
}

static const struct runnable *
longest_left(void)
{
	struct runnable *most = NULL;

	for (size_t i = 0; i < runnable_count; i++)
		if (runnable[i].total + runnable[i].ran > 0 &&
		    (!most || runnable[i].total > most->total))
			most = &runnable[i];
	return most;
}

static void
print_runnable(void)
{
	const struct runnable *q = longest_left();
	char text[WHO_MAX];

	if (q)
		out_printf("\n%11s %7s %10s %11s %11s %s\n", "ms", "count",
			   "longest", "at", "ran", "runnable, not running");
	for (size_t i = 0; q && i < limit; i++) {
		size_t program = q - runnable;

		print_times(q->total, q->count, q->longest, q->at);
		out_printf("%11.3f ", in_ms(q->ran));
		out_name(report_who(program, text));
		out_char('\n');
		runnable[program] = (struct runnable){0};
		q = longest_left();
	}
}

/* Of the process `first' and its children. untold: events that the device had
 * no room for. */
static void
report(pid_t first, uint64_t untold)
{
	report_command();
	out_printf("%.3f s, ", (double)head.watched / head.timebase);
	out_printf("%llu records of waits, %llu waits lost",
		   (unsigned long long)head.records,
		   (unsigned long long)head.lost);
	if (head.lost > 0)
		out_printf(" (%.3f ms)", in_ms(head.lost_time));
	if (untold > 0)
		out_printf(", processes may be missing: %llu process events "
			   "lost",
			   (unsigned long long)untold);
	out_char('\n');
	report_clock();
	print_waits();
	print_runnable();
	if (head.lost == 0 && untold == 0)
		path_report(first, head.timebase / 1e3);
}

void
waits_run(void)
{
	int device = pcs_open();
	uint64_t untold;
	pid_t first;

	seen.name = PCS_DEVICE;
	pcs_ask(device, PROF_EVENTS, 0);
	close(open_data());
	if (head.on) {
		cmd_error(CTL ": another program is recording waits");
		exit(cmd_status);
	}
	open_output();
	pcs_catch_signals();
	owner = getpid();
	atexit(leave);
	if (only_kernel)
		control("spins on");
	control("clear");
	control(ORDER);
	control("startclr");
	first = pcs_command(cmd_argv);
	while (!pcs_ended())
		pcs_wait(device, -1, -1, tell_buffers);
	control("stop");
	untold = pcs_finish(device, tell_buffers).untold;
	read_records();
	report(first, untold);
}

/*
 * The critical path of a command: of all that its threads did, what the end had
 * to wait for. /dev/waitorder tells it.
 *
 * It is found from the end backwards. At any moment one thread is on the path.
 * Where it ran, that is a piece of the path. Where it slept and another thread
 * of the command woke it up, the path goes on in that thread: the sleep was as
 * long as that one took. Where nobody of the command did, the sleep itself is a
 * piece. Where the thread was made, the path goes on in its maker.
 *
 * To make a piece shorter may save less than its length, as another path is
 * then the longest. So all is computed again, forwards, without the pieces of a
 * row: a thread is woken up when its waker would have come there, and never
 * before it sleeps. Sleeps that no thread ended last as long as they did. That
 * harts would be free earlier isn't considered.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/waits.h>
#include <unistd.h>

#include "tally.h"

#define ORDER "/dev/waitorder"
#define NONE  SIZE_MAX

/* A row of the report: pieces that look alike. */
struct row {
	char *what, *calls;
	size_t program;
	uint64_t time, count;
	uint64_t longest; /* piece, */
	int pid;          /* which is one of this process's; */
	bool others;      /* are there some of others? */
};
static struct row *rows;
static size_t rows_count, rows_room;

/* What the rows are of a record's absences: of the run before it, of the sleep,
 * and of being runnable after it. */
static struct names {
	size_t ran, slept, runnable;
} * names;
static size_t names_count, names_room;

/* An absence. They are in order of threads, and of each one's time. */
static struct line {
	struct waits_absence a;
	size_t ran;  /* the row of the run before it */
	size_t from; /* the waker's or maker's absence before; NONE: nobody's */
	uint64_t off, on; /* when these would have been without some row */
} * lines;
static size_t lines_count, lines_room;
static size_t *by_time; /* lines, as they were woken up */

/* --- Rows --- */

static size_t
row_of(const char *how, const char *what, const char *calls, size_t program)
{
	char *text = cmd_text("%s%s", how, what);

	for (size_t i = 0; i < rows_count; i++) {
		if (rows[i].program == program &&
		    strcmp(rows[i].what, text) == 0 &&
		    strcmp(rows[i].calls, calls) == 0) {
			free(text);
			return i;
		}
	}
	if (rows_count == rows_room)
		rows = cmd_grow(rows, &rows_room, sizeof(*rows));
	rows[rows_count] = (struct row){
	    .what = text,
	    .calls = cmd_copy(calls),
	    .program = program,
	};
	return rows_count++;
}

void
path_record(size_t record, size_t program, const char *what, const char *calls)
{
	while (names_count <= record) {
		if (names_count == names_room)
			names = cmd_grow(names, &names_room, sizeof(*names));
		names[names_count++] = (struct names){NONE, NONE, NONE};
	}
	names[record] = (struct names){
	    .ran = *what ? row_of("running, before ", what, calls, program)
			 : row_of("running, until the end", "", "", program),
	    .slept = row_of("", what, calls, program),
	    .runnable = row_of("runnable, not running", "", "", program),
	};
}

/* --- Lines --- */

static bool
same_thread(const struct line *l, const struct line *m)
{
	return l->a.pid == m->a.pid && l->a.tid == m->a.tid;
}

static bool
is_last(const struct line *l)
{
	return l->a.on == WAITS_NEVER;
}

/* It slept; else it was runnable all the time. */
static bool
slept(const struct line *l)
{
	return !is_last(l) && l->a.off < l->a.woken;
}

/* The thread's line before this one. */
static const struct line *
line_before(const struct line *l)
{
	return l > lines && same_thread(l - 1, l) && !is_last(l - 1) ? l - 1
								     : NULL;
}

static int
in_threads(const void *left, const void *right)
{
	const struct line *l = left, *m = right;

	if (l->a.pid != m->a.pid)
		return l->a.pid < m->a.pid ? -1 : 1;
	if (l->a.tid != m->a.tid)
		return l->a.tid < m->a.tid ? -1 : 1;
	return (l->a.off > m->a.off) - (l->a.off < m->a.off);
}

static int
in_time(const void *left, const void *right)
{
	const struct line *l = &lines[*(const size_t *)left];
	const struct line *m = &lines[*(const size_t *)right];

	if (l->a.woken != m->a.woken && !is_last(l) && !is_last(m))
		return l->a.woken < m->a.woken ? -1 : 1;
	if (is_last(l) != is_last(m))
		return is_last(l) ? 1 : -1;
	return l < m ? -1 : l > m;
}

/* The last line of this thread that ended before a time. */
static size_t
find_line(int pid, int tid, uint64_t time)
{
	size_t low = 0, high = lines_count;
	struct line key = {.a = {.pid = pid, .tid = tid, .off = time}};

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (in_threads(&lines[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !same_thread(&lines[low - 1], &key) ||
	    lines[low - 1].a.on > time)
		return NONE;
	return low - 1;
}

/* The run before a line is named by what it came to: of several that were
 * interrupted by other threads' turns, by what the last one did. */
static void
name_runs(void)
{
	for (size_t i = lines_count; i-- > 0;) {
		struct line *l = &lines[i];
		bool more = i + 1 < lines_count && same_thread(l, l + 1);

		l->ran = slept(l) || is_last(l) || !more
			     ? names[l->a.record].ran
			     : l[1].ran;
	}
}

/* Where the waker's thread ends without a word, as lines are missing, nobody is
 * said to have woken this one up. */
static void
link_lines(void)
{
	by_time = cmd_alloc(lines_count * sizeof(*by_time) + 1);
	for (size_t i = 0; i < lines_count; i++) {
		struct waits_absence *a = &lines[i].a;
		size_t from = find_line(a->by_pid, a->by_tid, a->woken);

		if (from != NONE &&
		    (from + 1 == lines_count ||
		     !same_thread(&lines[from], &lines[from + 1])))
			from = NONE;
		lines[i].from = from;
		by_time[i] = i;
	}
	qsort(by_time, lines_count, sizeof(*by_time), in_time);
}

static void
add_line(const struct waits_absence *a)
{
	if (a->record >= names_count || names[a->record].ran == NONE)
		return; /* another command's */
	if (lines_count == lines_room)
		lines = cmd_grow(lines, &lines_room, sizeof(*lines));
	lines[lines_count++] = (struct line){.a = *a};
}

/* False: there were more than the device has room for. */
static bool
read_lines(void)
{
	static struct waits_absence a[AT_ONCE];
	struct waits_order head;
	int fd = cmd_open(ORDER);
	ssize_t n;

	if (fd < 0)
		exit(cmd_status);
	n = cmd_read(fd, (char *)&head, sizeof(head), ORDER);
	if (n != (ssize_t)sizeof(head) || head.absence_size != sizeof(a[0])) {
		cmd_error(ORDER ": unknown format");
		exit(cmd_status);
	}
	while ((n = cmd_read(fd, (char *)a, sizeof(a), ORDER)) > 0)
		for (size_t i = 0; i < n / sizeof(a[0]); i++)
			add_line(&a[i]);
	close(fd);
	if (n < 0)
		exit(cmd_status);
	qsort(lines, lines_count, sizeof(*lines), in_threads);
	return head.lost == 0;
}

/* --- The path --- */

/* The last line of all that the process's threads have. */
static size_t
find_end(pid_t pid)
{
	size_t end = NONE;

	for (size_t i = 0; i < lines_count; i++)
		if (lines[i].a.pid == pid && is_last(&lines[i]) &&
		    (end == NONE || lines[i].a.off > lines[end].a.off))
			end = i;
	return end;
}

static void
add_piece(size_t row, int pid, uint64_t from, uint64_t to)
{
	struct row *r = &rows[row];

	if (from >= to)
		return;
	r->others |= r->time > 0 && r->pid != pid;
	if (to - from > r->longest) {
		r->longest = to - from;
		r->pid = pid;
	}
	r->time += to - from;
	r->count++;
}

/* From a line's `off' backwards, to where there is nothing before. Returns when
 * that was. */
static uint64_t
walk(size_t at)
{
	uint64_t time = lines[at].a.off;
	const struct line *before;

	while ((before = line_before(&lines[at])) != NULL) {
		const struct waits_absence *a = &before->a;
		const struct names *n = &names[a->record];

		add_piece(lines[at].ran, a->pid, a->on, time);
		add_piece(n->runnable, a->pid, a->woken, a->on);
		if (before->from != NONE) {
			at = before->from + 1;
			time = a->woken;
		} else {
			add_piece(n->slept, a->pid, a->off, a->woken);
			at = before - lines;
			time = a->off;
		}
	}
	return time;
}

/* --- What would have been --- */

/* So long, unless it belongs to a row that is left out. */
static uint64_t
part(size_t row, size_t without, uint64_t time)
{
	return row == without ? 0 : time;
}

/* When a thread would have come to where it was at a time, between this line of
 * it and the next one. */
static uint64_t
when(const struct line *before, uint64_t time, size_t without)
{
	return before->on + part(before[1].ran, without, time - before->a.on);
}

/* When the run would have ended, at this line, without the pieces of a row. */
static uint64_t
replay(size_t end, size_t without)
{
	for (size_t i = 0; i < lines_count; i++) {
		struct line *l = &lines[by_time[i]];
		const struct line *before = line_before(l);
		const struct names *n = &names[l->a.record];
		uint64_t woken, by;

		l->off = before ? when(before, l->a.off, without) : l->a.off;
		if (is_last(l))
			continue;
		woken = l->off;
		if (l->from != NONE) {
			by = when(&lines[l->from], l->a.woken, without);
			if (by > woken || !slept(l))
				woken = by;
		} else if (slept(l)) {
			woken += part(n->slept, without, l->a.woken - l->a.off);
		}
		l->on = woken +
			part(n->runnable, without, l->a.on - l->a.woken);
	}
	return lines[end].off;
}

/* --- The report --- */

static int
longest_first(const void *left, const void *right)
{
	const struct row *a = &rows[*(const size_t *)left];
	const struct row *b = &rows[*(const size_t *)right];

	if (a->time != b->time)
		return a->time > b->time ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void
print_row(const struct row *r, uint64_t total, uint64_t saves, double per_ms)
{
	out_printf("%11.3f %5.1f%% %7llu %10.3f ", r->time / per_ms,
		   100.0 * r->time / total, (unsigned long long)r->count,
		   saves / per_ms);
	out_name(r->what);
	out_string(" [");
	out_name(pcs_programs[r->program].name);
	out_printf(" %d%s]\n", r->pid, r->others ? " and others" : "");
	if (*r->calls) {
		out_string(INDENT "in ");
		out_name(r->calls);
		out_char('\n');
	}
}

static void
print_rows(size_t end, uint64_t total, double per_ms)
{
	size_t *order = cmd_alloc(rows_count * sizeof(*order) + 1);

	for (size_t i = 0; i < rows_count; i++)
		order[i] = i;
	qsort(order, rows_count, sizeof(*order), longest_first);
	for (size_t i = 0; i < rows_count && i < limit; i++) {
		const struct row *r = &rows[order[i]];
		uint64_t saves = lines[end].a.off - replay(end, order[i]);

		if (r->time > 0)
			print_row(r, total, saves, per_ms);
	}
	free(order);
}

void
path_report(pid_t first, double per_ms)
{
	bool whole = read_lines();
	size_t end = find_end(first);
	uint64_t total;

	if (!whole || end == NONE) {
		out_string("\ncritical path: unknown: it has more waits than"
			   " the device can store\n");
		return;
	}
	name_runs();
	link_lines();
	total = lines[end].a.off - walk(end);
	out_printf("\n%11s %6s %7s %10s critical path: %.3f ms\n", "ms",
		   "share", "count", "saves", total / per_ms);
	print_rows(end, total, per_ms);
}

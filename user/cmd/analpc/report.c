/* The tables: each hit stands in one line of each table that it belongs to. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analpc.h"

#define ROW_MAX  512
#define DATE_MAX 64
#define UNKNOWN  "?" /* a function without a symbol */

struct row {
	uint64_t hits;
	size_t order; /* among equals */
	char *name;
};

struct table {
	struct row *rows;
	size_t count, room;
};

/* --- A table --- */

/* Add a row, unless it is of nothing. */
static void CMD_PRINTF(3, 4)
    row(struct table *t, uint64_t hits, const char *format, ...)
{
	char name[ROW_MAX];
	va_list args;

	if (hits == 0)
		return;
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	if (t->count == t->room)
		t->rows = cmd_grow(t->rows, &t->room, sizeof(*t->rows));
	t->rows[t->count] = (struct row){
	    .hits = hits,
	    .order = t->count,
	    .name = strcpy(cmd_alloc(strlen(name) + 1), name),
	};
	t->count++;
}

static int
most_first(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Print a table, and empty it. */
static void
print(struct table *t, const char *title, uint64_t total, size_t limit)
{
	if (t->count > 0)
		out_printf("\n%8s %7s %s\n", "samples", "%", title);
	qsort(t->rows, t->count, sizeof(*t->rows), most_first);
	for (size_t i = 0; i < t->count; i++) {
		unsigned long long hits = t->rows[i].hits;
		unsigned long long permille = hits * 1000 / total;

		if (i < limit)
			out_printf("%8llu %5llu.%llu %s\n", hits, permille / 10,
				   permille % 10, t->rows[i].name);
		free(t->rows[i].name);
	}
	t->count = 0;
}

/* --- What was done --- */

static void
print_time(const char *what, unsigned int seconds)
{
	char date[DATE_MAX];
	time_t t = seconds;

	strftime(date, sizeof(date), "%a %b %e %H:%M:%S UTC %Y", gmtime(&t));
	out_printf("%-9s %s\n", what, date);
}

static void
print_request(const struct ISAMPLE *r)
{
	static const struct {
		int cmd;
		const char *name;
	} names[] = {
	    {BUF_INCR, "buffers +"}, {PROF_KERNEL, "kernel"},
	    {PROF_ALL, "all"},       {PROF_GROUP, "group "},
	    {PROF_LIST, "list "},    {PROF_STACK, "stacks"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (r->cmd != names[i].cmd)
			continue;
		out_string(names[i].name);
		for (int j = 0; j < MAX_LIST && r->data[j]; j++)
			out_printf("%s%d", j ? " " : "", r->data[j]);
		return;
	}
	out_printf("%#x", r->cmd);
}

static void
print_head(const struct profile *p)
{
	print_time("start", p->start);
	if (p->stopped)
		print_time("stop", p->stop);
	out_string("requests ");
	for (size_t i = 0; i < p->requests_count; i++) {
		out_string(i ? ", " : " ");
		print_request(&p->requests[i]);
	}
	out_printf("\nsamples   %llu\nlost      %llu%s\n",
		   (unsigned long long)p->total, (unsigned long long)p->lost,
		   p->lost_more ? " or more" : "");
}

/* --- Functions --- */

/* The program that a sample is in; NULL: it isn't known. */
static struct program *
program_of(const struct PSAMPLE *s, struct program *programs, size_t count)
{
	int pid = s->type == USER ? s->pid : KERNEL_SPACE;
	struct program *others = NULL;

	for (size_t i = 0; i < count; i++) {
		if (programs[i].pid == OTHERS)
			others = &programs[i];
		else if (programs[i].pid == pid)
			return &programs[i];
	}
	return s->type == USER ? others : NULL;
}

/* The number of the symbol that pc is charged to; their count: none. */
static size_t
symbol_of(const struct program *p, uint64_t pc)
{
	size_t low = 0, high = p->syms.count; /* the first one past pc */

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->syms.text[middle].value <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 || pc >= p->end ? p->syms.count : low - 1;
}

static void
program_rows(struct table *t, const struct program *p)
{
	const char *name = p->pid == KERNEL_SPACE ? "kernel"
						  : cmd_base(p->path);

	for (size_t i = 0; i <= p->syms.count; i++) {
		bool known = i < p->syms.count;
		const char *f = known ? p->syms.text[i].name : UNKNOWN;

		if (p->pid > OTHERS)
			row(t, p->hits[i], "%s [%s %d]", f, name, p->pid);
		else
			row(t, p->hits[i], "%s [%s]", f, name);
	}
}

static void
functions(struct table *t, const struct profile *p, struct program *programs,
	  size_t count)
{
	uint64_t *elsewhere = cmd_alloc(PIDS * sizeof(*elsewhere));

	memset(elsewhere, 0, PIDS * sizeof(*elsewhere));
	for (size_t i = 0; i < p->samples_count; i++) {
		const struct PSAMPLE *s = &p->samples[i];
		struct program *in = program_of(s, programs, count);
		uint64_t pc = s->pc;

		if (s->type != USER)
			pc = (int64_t)(int32_t)s->pc;
		if (in)
			in->hits[symbol_of(in, pc)]++;
		else
			elsewhere[s->pid]++;
	}
	for (size_t i = 0; i < count; i++)
		program_rows(t, &programs[i]);
	for (int pid = 0; pid < PIDS; pid++)
		row(t, elsewhere[pid], UNKNOWN " [process %d]", pid);
	free(elsewhere);
}

/* --- The others --- */

static void
kinds(struct table *t, const struct profile *p)
{
	static const struct {
		int type;
		const char *name;
	} names[] = {
	    {USER, "user"},
	    {KERNEL, "kernel"},
	    {KERNELI, "interrupt"},
	    {IDLE, "idle"},
	    {MUSER, "user, merged"},
	    {MKERNEL, "kernel, merged"},
	    {MKERNELI, "interrupt, merged"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		row(t, p->of_type[names[i].type], "%s", names[i].name);
}

static void
processes(struct table *t, const struct profile *p)
{
	for (int pid = 0; pid < PIDS; pid++) {
		unsigned long long user = p->of_pid[pid].user;
		unsigned long long kernel = p->of_pid[pid].kernel;

		if (pid == 0)
			row(t, user + kernel, "none");
		else
			row(t, user + kernel, "%d, in the kernel %llu", pid,
			    kernel);
	}
}

static void
levels(struct table *t, const struct profile *p)
{
	for (int level = 0; level < LEVELS; level++)
		row(t, p->of_level[level], "%d", level);
}

static void
harts(struct table *t, const struct profile *p)
{
	for (int hart = 0; hart < HARTS; hart++)
		row(t, p->of_hart[hart], "%d, idle %llu", hart,
		    (unsigned long long)p->idle_of[hart]);
}

void
report(const struct profile *p, struct program *programs, size_t count,
       size_t limit)
{
	struct table t = {0};

	print_head(p);
	kinds(&t, p);
	print(&t, "kind", p->total, limit);
	processes(&t, p);
	print(&t, "process", p->total, limit);
	functions(&t, p, programs, count);
	print(&t, "function", p->total, limit);
	levels(&t, p);
	print(&t, "level of the kernel", p->total, limit);
	harts(&t, p);
	print(&t, "hart", p->total, limit);
	free(t.rows);
}

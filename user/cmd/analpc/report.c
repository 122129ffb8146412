/* The tables: each hit stands in one line of each table that it belongs to. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analpc.h"

#define DATE_MAX 64
#define UNKNOWN  "?" /* a function without a symbol */

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
	    {PROF_EVENTS, "events"}, {PROF_SEAL, "seal"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (r->cmd != names[i].cmd)
			continue;
		out_string(names[i].name);
		for (int j = 0;
		     j < MAX_LIST && r->data[j] && r->cmd != PROF_EVENTS; j++)
			out_printf("%s%d", j ? " " : "", r->data[j]);
		return;
	}
	out_printf("%#x", r->cmd);
}

static void
print_head(const struct profile *p)
{
	print_time("start", p->start);
	if (p->walk.stopped)
		print_time("stop", p->stop);
	out_string("requests ");
	for (size_t i = 0; i < p->requests_count; i++) {
		out_string(i ? ", " : " ");
		print_request(&p->requests[i]);
	}
	out_printf("\nsamples   %llu\nlost      %llu%s\n",
		   (unsigned long long)p->walk.total,
		   (unsigned long long)p->walk.lost,
		   p->walk.lost_more ? " or more" : "");
	if (p->stacks)
		out_printf("stacks    %llu, %llu of them cut\n",
			   (unsigned long long)p->stacks,
			   (unsigned long long)p->stacks_cut);
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

static void
program_rows(struct table *t, const struct program *p)
{
	const char *name = p->pid == KERNEL_SPACE ? "kernel"
						  : cmd_base(p->path);

	for (size_t i = 0; i <= p->syms.count; i++) {
		bool known = i < p->syms.count;
		const char *f = known ? p->syms.text[i].name : UNKNOWN;

		if (p->pid > OTHERS)
			table_row(t, p->hits[i], "%s [%s %d]", f, name, p->pid);
		else
			table_row(t, p->hits[i], "%s [%s]", f, name);
	}
}

/* The program that the stream names, if its file is still there. */
static struct program *
known_program(uint32_t number)
{
	static struct program **known;
	struct program *p;
	const char *path;

	if (number == PCS_UNKNOWN)
		return NULL;
	if (!known)
		known = memset(cmd_alloc(pcs_programs_count * sizeof(p)), 0,
			       pcs_programs_count * sizeof(p));
	if (known[number])
		return known[number]->path ? known[number] : NULL;
	p = known[number] = cmd_alloc(sizeof(*p));
	*p = (struct program){.pid = KNOWN};
	path = pcs_file(number);
	if (path && elfsym_load(&p->syms, path) == NULL)
		program_use(p, path);
	return known_program(number);
}

static void
known_rows(struct table *t)
{
	for (size_t i = 1; i < pcs_programs_count; i++)
		if (known_program(i))
			program_rows(t, known_program(i));
}

static void
functions(struct table *t, const struct profile *p, struct program *programs,
	  size_t count)
{
	uint64_t *elsewhere = cmd_alloc(PCS_PIDS * sizeof(*elsewhere));

	memset(elsewhere, 0, PCS_PIDS * sizeof(*elsewhere));
	for (size_t i = 0; i < p->samples_count; i++) {
		const struct PSAMPLE *s = &p->samples[i].at;
		struct program *in = program_of(s, programs, count);

		if (!in && s->type == USER)
			in = known_program(p->samples[i].program);
		if (in)
			in->hits[elfsym_find(&in->syms, pcs_address(s))]++;
		else
			elsewhere[s->pid]++;
	}
	for (size_t i = 0; i < count; i++)
		program_rows(t, &programs[i]);
	known_rows(t);
	for (int pid = 0; pid < PCS_PIDS; pid++)
		table_row(t, elsewhere[pid], UNKNOWN " [process %d]", pid);
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
		table_row(t, pcs_hits(&p->walk, PCS_ALL, names[i].type), "%s",
			  names[i].name);
}

static void
processes(struct table *t, const struct profile *p)
{
	for (int pid = 0; pid < PCS_PIDS; pid++) {
		unsigned long long user = p->of_pid[pid].user;
		unsigned long long kernel = p->of_pid[pid].kernel;
		const char *name = pcs_programs[pcs_whose(pid, 0)].name;

		if (pid == 0)
			table_row(t, user + kernel, "none");
		else
			table_row(t, user + kernel,
				  "%d%s%s, in the kernel %llu", pid,
				  *name ? " " : "", name, kernel);
	}
}

static void
levels(struct table *t, const struct profile *p)
{
	for (int level = 0; level < LEVELS; level++)
		table_row(t, p->of_level[level], "%d", level);
}

static void
harts(struct table *t, const struct profile *p)
{
	const struct pcs_walk *w = &p->walk;

	for (int hart = 0; hart < PCS_HARTS; hart++)
		table_row(t, pcs_hits(w, hart, PCS_ALL), "%d, idle %llu", hart,
			  (unsigned long long)pcs_hits(w, hart, IDLE));
}

void
report(const struct profile *p, struct program *programs, size_t count,
       size_t limit)
{
	const uint64_t total = p->walk.total;
	struct table t = {0};

	print_head(p);
	kinds(&t, p);
	table_print(&t, "kind", total, limit);
	processes(&t, p);
	table_print(&t, "process", total, limit);
	functions(&t, p, programs, count);
	table_print(&t, "function", total, limit);
	levels(&t, p);
	table_print(&t, "interrupt level in the kernel", total, limit);
	harts(&t, p);
	table_print(&t, "hart", total, limit);
	free(t.rows);
}

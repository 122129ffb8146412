/* The tables. */
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "tally.h"

#define UNKNOWN "?" /* a function without a symbol */
#define BAR_MAX 64

/* What a hart may be doing: both types of records for it. */
static const struct {
	const char *name;
	char mark; /* in bars */
	int one, many;
} states[] = {
    {"user", 'u', USER, MUSER},
    {"kernel", 'k', KERNEL, MKERNEL},
    {"interrupt", 'i', KERNELI, MKERNELI},
    {"idle", '.', 0, IDLE},
};
#define STATES (sizeof(states) / sizeof(states[0]))

static uint64_t
hits_of(int hart, size_t state)
{
	return pcs_hits(&seen, hart, states[state].one) +
	       pcs_hits(&seen, hart, states[state].many);
}

/* How many there are besides those that were recorded. */
static void
report_missing(const char *how, uint64_t n, uint64_t all)
{
	char part[TABLE_PART];

	out_printf(", %llu %s", (unsigned long long)n, how);
	if (n)
		out_printf(" (%s %% of all)", table_part(n, all, part));
}

void
report_total(uint64_t lost, uint64_t skipped)
{
	uint64_t total = seen.total;
	uint64_t all = total + lost + skipped;

	out_printf("%llu samples", (unsigned long long)total);
	report_missing("lost", lost, all);
	report_missing("skipped", skipped, all);
}

void
report_states(struct table *t)
{
	for (size_t i = 0; i < STATES; i++)
		table_row(t, hits_of(PCS_ALL, i), "%s", states[i].name);
	table_print(t, "time", seen.total, SIZE_MAX);
}

static struct sysinfo
machine_now(void)
{
	struct sysinfo machine;

	if (sysinfo(&machine, sizeof(machine)) < 0)
		cmd_die("sysinfo");
	return machine;
}

int
hart_count(void)
{
	return machine_now().harts;
}

bool
report_clock(void)
{
	struct sysinfo machine = machine_now();

	if (!machine.icount)
		out_string("the harts run freely (no -icount): times and "
			   "shares reflect QEMU's speed\n");
	else if (machine.harts > 1)
		out_string("the harts take turns (-icount): elapsed time is "
			   "the sum of their turns\n");
	return machine.icount;
}

/* The states' shares of a bar. */
static const char *
hart_bar(int hart, uint64_t total, size_t width, char bar[BAR_MAX + 1])
{
	uint64_t before = 0;
	size_t n = 0;

	for (size_t i = 0; i < STATES && total; i++) {
		before += hits_of(hart, i);
		while (n < (before * width + total / 2) / total)
			bar[n++] = states[i].mark;
	}
	bar[n] = '\0';
	return bar;
}

void
report_harts(int columns)
{
	const char *title = "hart  samples   user kernel   intr   idle";
	int width = columns - (int)strlen(title) - 2;
	int harts = hart_count();
	char part[TABLE_PART], bar[BAR_MAX + 1];

	if (width < 0)
		width = 0;
	if (width > BAR_MAX)
		width = BAR_MAX;
	out_printf("\n%s\n", title);
	for (int hart = 0; hart < harts; hart++) {
		uint64_t total = pcs_hits(&seen, hart, PCS_ALL);

		out_printf("%4d %8llu", hart, (unsigned long long)total);
		for (size_t i = 0; i < STATES; i++)
			out_printf(" %6s",
				   table_part(hits_of(hart, i), total, part));
		out_printf(" %s\n", hart_bar(hart, total, width, bar));
	}
}

/* --- Functions and processes --- */

/* Samples that have a function. */
static uint64_t
placed(void)
{
	uint64_t hits = kernel.user + kernel.kernel;

	for (size_t i = 0; i < programs_count; i++)
		hits += programs[i].user + programs[i].kernel;
	return hits;
}

const char *
report_who(size_t number, char text[WHO_MAX])
{
	const struct program *p = &programs[number];
	const char *name = pcs_programs[number].name;

	if (!*name)
		name = "process";
	if (p->processes == 1)
		snprintf(text, WHO_MAX, "%s %d", name, p->pid);
	else
		snprintf(text, WHO_MAX, "%s, %zu processes", name,
			 p->processes);
	return text;
}

static void
function_rows(struct table *t, const struct program *p, const char *where)
{
	for (size_t i = 0; i <= p->syms.count; i++)
		table_row(t, p->functions[i], "%s [%s]",
			  i < p->syms.count ? p->syms.text[i].name : UNKNOWN,
			  where);
}

void
report_functions(struct table *t, size_t rows)
{
	char text[WHO_MAX];

	count_functions();
	function_rows(t, &kernel, "kernel");
	for (size_t i = 0; i < programs_count; i++)
		if (programs[i].user)
			function_rows(t, &programs[i], report_who(i, text));
	table_print(t, "function", placed(), rows);
}

static void
program_row(struct table *t, size_t number)
{
	const struct program *p = &programs[number];
	uint64_t hits = p->user + p->kernel;
	char text[WHO_MAX];

	if (only_kernel || only_user)
		table_row(t, hits, "%s", report_who(number, text));
	else
		table_row(t, hits, "%s, in the kernel %llu",
			  report_who(number, text),
			  (unsigned long long)p->kernel);
}

void
report_processes(struct table *t, size_t rows)
{
	table_row(t, kernel.user + kernel.kernel, "none");
	for (size_t i = 0; i < programs_count; i++)
		program_row(t, i);
	table_print(t, "process", placed(), rows);
}

/*
 * prof: where a program spent its time, by function, from the profile that it
 * wrote. A function owns the text from its own address to the next one's. A
 * counter that several share is divided among them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cmdlib/cmd.h"
#include "../../cmdlib/elfsym.h"
#include "prof.h"

#define SYNOPSIS "[-m PROFILE] [-r HZ] [PROGRAM]"

#define PROFCLOCK  "/dev/profclock"
#define DEFAULT_HZ 100

struct function {
	const struct elfsym *symbol;
	double ticks;
	uint64_t calls;
};

static const char *profile = "mon.out", *program = "a.out";
static struct elfsyms symbols;
static bool counts_calls;          /* it was compiled with -pg */
static struct function *functions; /* by address, as symbols.text */
static double total;               /* ticks */

/* The last function that begins at pc or before; NULL: there is none. */
static struct function *
function_at(uint64_t pc)
{
	size_t i = elfsym_find(&symbols, pc);

	return i < symbols.count ? &functions[i] : NULL;
}

static _Noreturn void
not_of_program(const char *why)
{
	cmd_error("%s: not a profile of %s, which %s", profile, program, why);
	exit(cmd_status);
}

static void
check_text(uint64_t pc)
{
	char why[64];

	if (pc < symbols.text[0].value || pc >= symbols.end) {
		snprintf(why, sizeof(why), "has no text at %#llx",
			 (unsigned long long)pc);
		not_of_program(why);
	}
}

static void
charge(uint64_t low, uint64_t width, unsigned int ticks)
{
	double first = low, end = first + width;
	struct function *f;

	total += ticks;
	if (ticks == 0)
		return;
	check_text(low);
	for (f = function_at(low); first < end; f++) {
		double next = end;

		if (f + 1 < functions + symbols.count &&
		    f[1].symbol->value < end)
			next = f[1].symbol->value;
		f->ticks += ticks * (next - first) / width;
		first = next;
	}
}

static void
called(uint64_t pc, uint64_t count)
{
	if (!counts_calls)
		not_of_program("counts no calls");
	check_text(pc);
	function_at(pc)->calls += count;
}

/* Most first. */
static int
compare(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->ticks != b->ticks)
		return a->ticks > b->ticks ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->symbol->value < b->symbol->value ? -1 : 1;
}

static void
print(unsigned int hz)
{
	double sum = 0;

	qsort(functions, symbols.count, sizeof(*functions), compare);
	out_printf("%-24s %6s %8s %8s %10s %10s\n", "name", "%time", "seconds",
		   "cumsecs", "#calls", "ms/call");
	for (size_t i = 0; i < symbols.count; i++) {
		const struct function *f = &functions[i];
		double seconds = f->ticks / hz;
		char *name;

		if (f->ticks == 0 && f->calls == 0)
			continue;
		sum += seconds;
		name = cmd_shown(f->symbol->name);
		out_printf("%-24s %6.1f %8.2f %8.2f", name,
			   total > 0 ? 100 * f->ticks / total : 0, seconds,
			   sum);
		free(name);
		if (f->calls > 0)
			out_printf(" %10llu %10.3f",
				   (unsigned long long)f->calls,
				   1000 * seconds / f->calls);
		out_char('\n');
	}
}

/* Load a program's symbols, or end. */
static void
load(void)
{
	const char *wrong = elfsym_load(&symbols, program);
	uint64_t mcount;

	if (wrong && *wrong)
		cmd_error("%s: %s", program, wrong);
	if (wrong)
		exit(cmd_status);
	counts_calls = elfsym_value(&symbols, "_mcount", &mcount);
	functions = cmd_alloc(symbols.count * sizeof(*functions));
	for (size_t i = 0; i < symbols.count; i++)
		functions[i] = (struct function){.symbol = &symbols.text[i]};
}

/* Samples a second, as they are now. */
static unsigned int
rate(void)
{
	char text[16] = "";
	int fd = open(PROFCLOCK, O_RDONLY);
	unsigned int hz = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 3)
		hz = strtoul(text + strlen("hz "), NULL, 10);
	close(fd);
	return hz > 0 ? hz : DEFAULT_HZ;
}

int
main(int argc, char **argv)
{
	static const struct reader reader = {charge, called};
	unsigned int asked = 0, hz;
	int option;

	cmd_start(argc, argv, "prof", SYNOPSIS);
	while ((option = cmd_option("m:r:")) != -1) {
		if (option == 'm')
			profile = cmd_value;
		else
			asked = cmd_number(cmd_value, "a rate in Hz", 1,
					   INT_MAX);
	}
	cmd_operands(0, 1);
	if (cmd_argc > 0)
		program = cmd_argv[0];
	load();
	hz = profile_read(profile, &reader);
	if (asked > 0)
		hz = asked;
	print(hz > 0 ? hz : rate());
	return cmd_done();
}

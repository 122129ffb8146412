/*
 * ulimit and times: what the system allows a process, and what it has used.
 * Tally's limits are the same for every process: docs/limits.md has them.
 */
#include <string.h>
#include <sys/times.h>
#include <unistd.h>

#include "sh.h"

#define NONE (~0UL)

static const struct limit {
	char letter;
	const char *name;
	unsigned long value; /* 0 for -n: sysconf knows it */
} limits[] = {
    {'c', "core file (512-byte blocks)", 0},
    {'d', "data (KiB)", (2UL << 20) - 64},
    {'f', "file (512-byte blocks)", 1UL << 31},
    {'n', "open files", 0},
    {'s', "stack (KiB)", 8 << 10},
    {'t', "processor time (seconds)", NONE},
    {'v', "address space (KiB)", (256UL << 20) - 64},
};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

static unsigned long
limit_value(const struct limit *l)
{
	return l->letter == 'n' ? (unsigned long)sysconf(_SC_OPEN_MAX)
				: l->value;
}

static void
limit_print(const struct limit *l, bool named)
{
	unsigned long value = limit_value(l);

	if (named)
		out_format("-%c: %-28s ", l->letter, l->name);
	if (value == NONE)
		out_str("unlimited\n");
	else
		out_format("%lu\n", value);
}

/* Only to what it is: the kernel's limits can't be changed. */
static int
limit_set(const struct limit *l, const char *text)
{
	unsigned long value = limit_value(l);
	long n;

	if (strcmp(text, "unlimited") == 0           ? value == NONE
	    : number_read(text, 10, 0, LONG_MAX, &n) ? (unsigned long)n == value
						     : false)
		return 0;
	shell_warn("ulimit: -%c: this limit can't be changed", l->letter);
	return STATUS_ERROR;
}

static const struct limit *
limit_find(char letter)
{
	size_t i;

	for (i = 0; i < LIMITS; i++)
		if (limits[i].letter == letter)
			return &limits[i];
	return NULL;
}

int
builtin_ulimit(int argc, char **argv)
{
	const struct limit *l = limit_find('f');
	size_t k;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		const char *s = argv[i] + 1;

		s += strspn(s, "HS"); /* soft limits are as hard */
		if (*s == 'a') {
			for (k = 0; k < LIMITS; k++)
				limit_print(&limits[k], true);
			return 0;
		}
		if (*s && !(l = limit_find(*s))) {
			shell_warn("ulimit: -%c: no such limit", *s);
			return STATUS_USAGE;
		}
	}
	if (i < argc)
		return limit_set(l, argv[i]);
	limit_print(l, false);
	return 0;
}

static void
time_print(clock_t ticks, char end)
{
	unsigned long hz = sysconf(_SC_CLK_TCK), s = ticks / hz;

	out_format("%lum%lu.%02lus%c", s / 60, s % 60, ticks % hz * 100 / hz,
		   end);
}

int
builtin_times(int argc, char **argv)
{
	struct tms t;

	(void)argc, (void)argv;
	times(&t);
	time_print(t.tms_utime, ' ');
	time_print(t.tms_stime, '\n');
	time_print(t.tms_cutime, ' ');
	time_print(t.tms_cstime, '\n');
	return 0;
}

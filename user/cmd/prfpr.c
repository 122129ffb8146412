/*
 * prfpr: where the kernel's time went between one record of prf's log and the
 * next, by function.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/elfsym.h"
#include "../cmdlib/prflog.h"

#define CUTOFF   1  /* percent */
#define TIME_MAX 64 /* characters */

static void
print_time(uint64_t seconds)
{
	time_t when = seconds;
	struct tm *tm = localtime(&when);
	char text[TIME_MAX];

	if (tm && strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", tm) > 0)
		out_string(text);
	else
		out_printf("%" PRIu64, seconds);
}

/* The function that an address is in, and how far it is in it. */
static void
print_name(const struct elfsyms *syms, uint64_t address)
{
	size_t i = elfsym_find(syms, address);

	if (i == syms->count) {
		out_printf("0x%" PRIx64, address);
		return;
	}
	out_name(syms->text[i].name);
	if (syms->text[i].value != address)
		out_printf("+0x%" PRIx64, address - syms->text[i].value);
}

static void
print_share(uint64_t part, uint64_t total)
{
	out_printf("%6.2f ", 100.0 * part / total);
}

/* The pair of records that begins at `old`. */
static void
print_pair(const struct prflog *log, const uint64_t *old, double cutoff,
	   const struct elfsyms *syms)
{
	const uint64_t *new = old + log->stride;
	uint64_t total = 0, user, idle;

	print_time(old[0]);
	out_string(" to ");
	print_time(new[0]);
	out_char('\n');
	for (size_t i = 1; i < log->stride; i++)
		total += new[i] - old[i];
	if (total == 0) {
		out_string("no samples\n");
		return;
	}
	for (size_t i = 1; i <= log->n; i++) {
		if (100.0 * (new[i] - old[i]) <= cutoff * total)
			continue;
		print_share(new[i] - old[i], total);
		print_name(syms, log->addresses[i - 1]);
		out_char('\n');
	}
	user = new[1 + log->n] - old[1 + log->n];
	idle = new[2 + log->n] - old[2 + log->n];
	print_share(user, total);
	out_string("user\n");
	print_share(idle, total);
	out_string("idle\n");
}

/* Between two records of one table, counters only go up. */
static bool
went_back(const struct prflog *log, const uint64_t *old)
{
	for (size_t i = 1; i < log->stride; i++) {
		if (old[log->stride + i] < old[i])
			return true;
	}
	return false;
}

static void
print(const struct prflog *log, const char *path, double cutoff,
      const struct elfsyms *syms)
{
	for (size_t i = 1; i < log->records; i++) {
		const uint64_t *old = log->record + (i - 1) * log->stride;

		if (i > 1)
			out_char('\n');
		if (went_back(log, old))
			cmd_error("%s: record %zu: counters decreased: was "
				  "prfld run?",
				  path, i + 1);
		else
			print_pair(log, old, cutoff, syms);
	}
}

int
main(int argc, char **argv)
{
	const char *path, *namelist = PRF_NAMELIST, *wrong;
	double cutoff = CUTOFF;
	struct elfsyms syms;
	struct prflog log;
	uint64_t start, end;
	int fd;

	cmd_start(argc, argv, "prfpr", "FILE [CUTOFF [NAMELIST]]");
	cmd_flags("");
	cmd_operands(1, 3);
	path = cmd_argv[0];
	if (cmd_argc > 1)
		cutoff = cmd_decimal(cmd_argv[1], "a percentage");
	if (cmd_argc > 2)
		namelist = cmd_argv[2];
	fd = cmd_open(path);
	if (fd < 0)
		return cmd_done();
	wrong = prflog_load(&log, fd, path);
	if (wrong && *wrong)
		cmd_error("%s: %s", path, wrong);
	if (wrong)
		return cmd_done();
	if (log.records >= 2) {
		elfsym_kernel(&syms, namelist, &start, &end);
		print(&log, path, cutoff, &syms);
	} else {
		cmd_error("%s: needs two records, but has %zu", path,
			  log.records);
	}
	if (log.torn)
		cmd_error("%s: ends inside a record", path);
	return cmd_done();
}

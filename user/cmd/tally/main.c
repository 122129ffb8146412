/* tally's options, and a command's run: see tally.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tally.h"

#define SYNOPSIS                                             \
	"[-kuw] [-a FUNCTION] [-n COUNT] [-o FILE] [-r HZ] " \
	"-t [SECONDS] | COMMAND [ARGUMENT ...]"
#define LIMIT  20
#define RATE   1000
#define HZ_MAX 20000
#define BAR    12
#define WIDTH  79

size_t limit = LIMIT;
unsigned int rate = RATE;
bool only_kernel, only_user;
static const char *path = "-";
static const char *annotated; /* a function; NULL: none */

static void
options(void)
{
	int c;

	while ((c = cmd_option("+a:kn:o:r:tuw")) != -1) {
		if (c == 'a')
			annotated = cmd_value;
		else if (c == 'n')
			limit = cmd_number(cmd_value, "a number of functions",
					   0, LONG_MAX);
		else if (c == 'o')
			path = cmd_value;
		else if (c == 'r')
			rate = cmd_number(cmd_value, "a rate in Hz", 1, HZ_MAX);
	}
	only_kernel = cmd_given['k'];
	only_user = cmd_given['u'];
	if (only_kernel && only_user)
		cmd_usage("-k and -u can't be combined");
	if (cmd_given['t'] && (cmd_given['o'] || annotated))
		cmd_usage("-t can't be combined with -a or -o");
	if (cmd_given['w'] && (cmd_given['t'] || cmd_given['r'] || annotated))
		cmd_usage("-w takes no samples: it can't be combined with -a, "
			  "-r or -t");
}

void
open_output(void)
{
	if (strcmp(path, "-") == 0)
		return;
	out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out.fd < 0)
		cmd_die("%s", path);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void
report_command(void)
{
	for (int i = 0; i < cmd_argc; i++) {
		out_string(i ? " " : "");
		out_name(cmd_argv[i]);
	}
	out_char('\n');
}

static void
report(double seconds, struct pcs_stat s)
{
	struct table t = {.bar = BAR};

	report_command();
	out_printf("%.3f s at %u Hz, ", seconds, rate);
	report_total(s.lost, s.skipped);
	out_char('\n');
	t.sure = report_clock();
	if (annotated) {
		report_annotated(annotated);
		return;
	}
	if (seen.total == 0)
		return;
	report_states(&t);
	report_harts(WIDTH);
	report_functions(&t, limit);
	report_processes(&t, limit);
	free(t.rows);
}

static void
run(void)
{
	double start, seconds;
	struct pcs_stat s;
	int device = count_open();

	open_output();
	pcs_catch_signals();
	profclock_set(rate);
	start = now();
	pcs_ask(device, only_kernel ? PROF_KERNEL : PROF_ALL, 0);
	pcs_command(cmd_argv);
	while (!pcs_ended())
		pcs_wait(device, -1, -1, count_buffers);
	s = pcs_finish(device, count_buffers);
	seconds = now() - start;
	profclock_restore();
	report(seconds, s);
}

int
main(int argc, char **argv)
{
	unsigned long seconds = 0;

	cmd_start(argc, argv, "tally", SYNOPSIS);
	options();
	cmd_operands(cmd_given['t'] ? 0 : 1, cmd_given['t'] ? 1 : CMD_MANY);
	if (!cmd_given['t']) {
		if (cmd_given['w'])
			waits_run();
		else
			run();
		cmd_done();
		return pcs_status() ? pcs_status() : cmd_status;
	}
	if (cmd_argc > 0)
		seconds = cmd_number(cmd_argv[0], "a number of seconds", 1,
				     LONG_MAX);
	live(seconds);
	return cmd_done();
}

/*
 * time: run a command and say how long it took: on the clock, in its own
 * code, and in the kernel on its behalf. The last two are counted in ticks.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define SIGNALLED 128 /* a status above it: killed by signal status - 128 */

static double
now(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) < 0)
		cmd_die("clock");
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int
run(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		cmd_die("fork");
	if (pid == 0)
		cmd_exec(argv);
	/* Ctrl-C is for the command; we still want to say how long. */
	signal(SIGINT, SIG_IGN);
	if (waitpid(pid, &status, 0) < 0)
		cmd_die("waitpid");
	return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

int
main(int argc, char **argv)
{
	const double hz = sysconf(_SC_CLK_TCK);
	struct tms before, spent;
	double start, real;
	int status;

	cmd_start(argc, argv, "time", "COMMAND [ARGUMENT ...]");
	cmd_option("+");
	cmd_operands(1, CMD_MANY);
	/* Who became us may have had children. */
	if (times(&before) == (clock_t)-1)
		cmd_die("times");
	start = now();
	status = run(cmd_argv);
	real = now() - start;
	if (times(&spent) == (clock_t)-1)
		cmd_die("times");
	dprintf(STDERR_FILENO, "real %.3f\nuser %.3f\nsys  %.3f\n", real,
		(spent.tms_cutime - before.tms_cutime) / hz,
		(spent.tms_cstime - before.tms_cstime) / hz);
	return status;
}

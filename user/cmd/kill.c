/* kill: send a signal to processes, or to process groups. */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS "[-SIGNAL | -s SIGNAL] PID ... | -l [NUMBER ...]"

static const char *const names[] = {
    [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT",
    [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",     [SIGABRT] = "ABRT",
    [SIGBUS] = "BUS",   [SIGFPE] = "FPE",       [SIGKILL] = "KILL",
    [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2",
    [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM",
    [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP",
    [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",     [SIGTTOU] = "TTOU",
    [SIGURG] = "URG",   [SIGXCPU] = "XCPU",     [SIGXFSZ] = "XFSZ",
    [SIGIO] = "IO",     [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF",
    [SIGPWR] = "PWR",   [SIGWINCH] = "WINCH",   [SIGSYS] = "SYS",
};
#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

/* A signal by number, or by name with or without SIG. */
static int
signal_number(const char *text)
{
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	long n;

	if (number_read(text, 10, 0, NAMES - 1, &n))
		return n;
	for (int i = 1; i < NAMES; i++) {
		if (names[i] && strcasecmp(name, names[i]) == 0)
			return i;
	}
	cmd_usage("no such signal: %s", text);
}

/* The name of a signal, or of the one that an exit status speaks of. */
static void
print_name(const char *text)
{
	long n = cmd_number(text, "a number", 0, LONG_MAX);

	if (n > 128)
		n -= 128;
	if (n < NAMES && names[n])
		out_printf("%s\n", names[n]);
	else
		cmd_error("no such signal: %s", text);
}

static void
list(char **numbers)
{
	if (!*numbers) {
		for (int i = 1; i < NAMES; i++) {
			if (names[i])
				out_printf("%2d %s\n", i, names[i]);
		}
	}
	for (; *numbers; numbers++)
		print_name(*numbers);
}

static void
send(const char *text, int signal)
{
	long pid;

	if (!number_read(text, 10, -INT_MAX, INT_MAX, &pid))
		cmd_error("not a process: %s", text);
	else if (kill(pid, signal) < 0)
		cmd_warn("%s", text);
}

int
main(int argc, char **argv)
{
	int signal = SIGTERM;

	cmd_start(argc, argv, "kill", SYNOPSIS);
	argv = cmd_argv;
	/* Not cmd_option: -1 is a signal here and a process further on. */
	if (*argv && strcmp(*argv, "-l") == 0) {
		list(argv + 1);
		return cmd_done();
	}
	if (*argv && strcmp(*argv, "-s") == 0) {
		if (!argv[1])
			cmd_usage("option -s needs a value");
		signal = signal_number(argv[1]);
		argv += 2;
	} else if (*argv && **argv == '-' && strcmp(*argv, "--") != 0) {
		signal = signal_number(*argv++ + 1);
	}
	if (*argv && strcmp(*argv, "--") == 0)
		argv++;
	if (!*argv)
		cmd_usage("too few operands");
	for (; *argv; argv++)
		send(*argv, signal);
	return cmd_done();
}

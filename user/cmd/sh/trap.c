/*
 * Signals. A handler only notes that its signal came; the action runs
 * between two commands. Ctrl-C without a trap ends what an interactive
 * shell does, but not the shell.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "sh.h"

#define SIGNALS 32

static const char *const names[SIGNALS] = {
    [TRAP_EXIT] = "EXIT", [SIGHUP] = "HUP",   [SIGINT] = "INT",
    [SIGQUIT] = "QUIT",   [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
    [SIGABRT] = "ABRT",   [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
    [SIGKILL] = "KILL",   [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV",
    [SIGUSR2] = "USR2",   [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",
    [SIGTERM] = "TERM",   [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",
    [SIGSTOP] = "STOP",   [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",
    [SIGTTOU] = "TTOU",   [SIGPROF] = "PROF", [SIGSYS] = "SYS",
};

/* What an interactive shell doesn't end or stop by. Those it catches reach a
 * child even between fork and execve; the rest it has to ignore. */
static const struct {
	int sig;
	bool caught;
} spared[] = {{SIGINT, true},   {SIGQUIT, true},  {SIGTERM, true},
	      {SIGTSTP, false}, {SIGTTIN, false}, {SIGTTOU, false}};

#define SPARED (sizeof(spared) / sizeof(spared[0]))

static char *actions[SIGNALS]; /* "": ignored; NULL: no trap */
static volatile bool pending[SIGNALS];
volatile bool trap_caught;
static bool interactive; /* signals are handled as spared says */

static void
on_signal(int sig)
{
	pending[sig] = true;
	trap_caught = true;
}

/* Without SA_RESTART: read and wait are to come back. */
static void
handle(int sig, void (*how)(int))
{
	struct sigaction act = {.sa_handler = how};

	if (sig != TRAP_EXIT)
		sigaction(sig, &act, NULL);
}

const char *
signal_name(int sig)
{
	return sig >= 0 && sig < SIGNALS && names[sig] ? names[sig] : "?";
}

int
signal_number(const char *name)
{
	long n;
	int i;

	if (number_read(name, 10, 0, SIGNALS - 1, &n))
		return n;
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (i = 0; i < SIGNALS; i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return i;
	return -1;
}

/* What this shell does about a signal without a trap. */
static void
handle_untrapped(int sig)
{
	size_t i;

	for (i = 0; i < SPARED && spared[i].sig != sig; i++)
		;
	if (!interactive || i == SPARED)
		handle(sig, SIG_DFL);
	else
		handle(sig, spared[i].caught ? on_signal : SIG_IGN);
}

/* Become interactive, or stop being so. */
static void
set_interactive(bool on)
{
	bool was = interactive;
	size_t i;

	interactive = on;
	for (i = 0; on != was && i < SPARED; i++)
		if (!actions[spared[i].sig])
			handle_untrapped(spared[i].sig);
}

void
trap_interactive(void)
{
	set_interactive(true);
}

void
trap_exec(void)
{
	set_interactive(false);
}

void
trap_subshell(bool aside)
{
	int sig;

	for (sig = 0; sig < SIGNALS; sig++) {
		pending[sig] = false;
		if (actions[sig] && *actions[sig]) {
			free(actions[sig]);
			actions[sig] = NULL;
			handle(sig, SIG_DFL);
		}
	}
	sh.trapped = -1;
	set_interactive(false);
	if (aside) {
		handle(SIGINT, SIG_IGN);
		handle(SIGQUIT, SIG_IGN);
	}
}

/* Run an action, which leaves $? and what the shell was about alone, unless it
 * ends with return or an error. */
static void
run_action(const char *action)
{
	char *text = xstrdup(action); /* it may set another */
	enum flow flow = sh.flow;
	int trapped = sh.trapped, calls = sh.trap_calls;
	int status = sh.status;

	sh.flow = FLOW_NONE;
	sh.trapped = status;
	sh.trap_calls = sh.calls;
	shell_eval(text);
	sh.trapped = trapped;
	sh.trap_calls = calls;
	if (sh.flow == FLOW_NONE) {
		sh.flow = flow;
		sh.status = status;
	}
	free(text);
}

void
trap_run(void)
{
	int sig;

	trap_caught = false;
	for (sig = 1; sig < SIGNALS; sig++) {
		if (!pending[sig])
			continue;
		pending[sig] = false;
		if (actions[sig]) {
			run_action(actions[sig]);
		} else if (sig == SIGINT && interactive) {
			sh.status = STATUS_SIGNAL + SIGINT;
			sh.flow = FLOW_ABORT;
		}
	}
}

int
trap_signal(void)
{
	int sig;

	for (sig = SIGNALS - 1; sig > 0 && !pending[sig]; sig--)
		;
	return sig;
}

void
trap_exit(void)
{
	char *action = actions[TRAP_EXIT];

	actions[TRAP_EXIT] = NULL;
	if (action)
		run_action(action);
	free(action);
}

bool
trap_any(void)
{
	int sig;

	for (sig = 0; sig < SIGNALS; sig++)
		if (actions[sig] && *actions[sig])
			return true;
	return false;
}

static void
trap_set(int sig, const char *action)
{
	free(actions[sig]);
	actions[sig] = action ? xstrdup(action) : NULL;
	if (!action)
		handle_untrapped(sig);
	else
		handle(sig, *action ? on_signal : SIG_IGN);
}

static void
trap_print(void)
{
	int sig;

	for (sig = 0; sig < SIGNALS; sig++) {
		if (!actions[sig])
			continue;
		out_str("trap -- ");
		quoted_print(actions[sig]);
		out_format(" %s\n", signal_name(sig));
	}
}

int
builtin_trap(int argc, char **argv)
{
	const char *action = NULL;
	int i = 1, sig, status = 0;

	if (argc > 1 && strcmp(argv[1], "--") == 0)
		i++;
	if (i == argc) {
		trap_print();
		return 0;
	}
	/* A first operand that is a number is a signal, to be reset. */
	if (argc > i + 1 && signal_number(argv[i]) < 0)
		action = argv[i++];
	if (action && strcmp(action, "-") == 0)
		action = NULL;
	for (; i < argc; i++) {
		sig = signal_number(argv[i]);
		if (sig >= 0) {
			trap_set(sig, action);
			continue;
		}
		shell_warn("trap: %s: no such signal", argv[i]);
		status = STATUS_ERROR;
	}
	return status;
}

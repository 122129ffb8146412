/*
 * Processes: forking them into jobs, and waiting for them.
 *
 * Every pipeline is a job while it runs; one that was put in the background
 * or stopped has a number. With job control (an interactive shell that has
 * a terminal) each has a process group of its own, so that Ctrl-C and
 * Ctrl-Z reach the one in the foreground only.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "sh.h"

#define JOBS_KEPT 64 /* finished ones whose status a script may ask for */

enum state { RUNNING, STOPPED, DONE };

struct process {
	pid_t pid;
	int status; /* as waitpid gave it */
	enum state state;
};

struct job {
	struct job *next;
	int id;          /* as in %1; 0: it has no number */
	pid_t pgrp;      /* 0: the shell's */
	char *text;      /* NULL: unknown */
	enum state told; /* the state its user knows of */
	int n;
	struct process p[];
};

bool job_control;
static struct job *jobs; /* the oldest first */
static int terminal = -1;
static pid_t shell_pgrp, outer_pgrp;

void
job_init(void)
{
	terminal = isatty(STDIN_FILENO) ? fd_move_up(STDIN_FILENO) : -1;
	if (terminal < 0)
		return;
	outer_pgrp = tcgetpgrp(terminal);
	shell_pgrp = getpid();
	/* The leader of a session leads its group already. */
	if (getpgrp() != shell_pgrp && setpgid(0, shell_pgrp) < 0)
		return;
	job_control = tcsetpgrp(terminal, shell_pgrp) == 0;
}

void
job_leave(void)
{
	if (job_control && outer_pgrp > 0)
		tcsetpgrp(terminal, outer_pgrp);
}

struct job *
job_new(int processes, const char *text)
{
	struct job *j, **tail;

	j = xmalloc(sizeof(*j) + processes * sizeof(j->p[0]));
	*j = (struct job){.text = text ? xstrdup(text) : NULL};
	for (tail = &jobs; *tail; tail = &(*tail)->next)
		;
	*tail = j;
	return j;
}

static void
job_free(struct job *j)
{
	struct job **link = &jobs;

	while (*link != j)
		link = &(*link)->next;
	*link = j->next;
	free(j->text);
	free(j);
}

static enum state
job_state(struct job *j)
{
	enum state state = DONE;
	int i;

	for (i = 0; i < j->n; i++) {
		if (j->p[i].state == RUNNING)
			return RUNNING;
		if (j->p[i].state == STOPPED)
			state = STOPPED;
	}
	return state;
}

static int
job_status(struct job *j)
{
	int status = j->n > 0 ? j->p[j->n - 1].status : 0;

	if (WIFSTOPPED(status))
		return STATUS_SIGNAL + WSTOPSIG(status);
	if (WIFSIGNALED(status))
		return STATUS_SIGNAL + WTERMSIG(status);
	return j->n > 0 ? WEXITSTATUS(status) : STATUS_ERROR;
}

static struct job *
job_of(pid_t pid, struct process **p)
{
	struct job *j;
	int i;

	for (j = jobs; j; j = j->next) {
		for (i = 0; i < j->n; i++) {
			if (j->p[i].pid == pid) {
				*p = &j->p[i];
				return j;
			}
		}
	}
	return NULL;
}

/* There are no children: someone else (SIGCHLD ignored) has taken them. */
static void
all_gone(void)
{
	struct job *j;
	int i;

	for (j = jobs; j; j = j->next)
		for (i = 0; i < j->n; i++)
			j->p[i].state = DONE;
}

/* Learn of a child's change. false: none was to be had. */
static bool
reap(int options)
{
	struct process *p;
	int status;
	pid_t pid = waitpid(-1, &status,
			    options | (job_control ? WUNTRACED : 0));

	if (pid < 0 && errno == ECHILD)
		all_gone();
	if (pid <= 0)
		return false;
	if (job_of(pid, &p)) {
		p->status = status;
		p->state = WIFSTOPPED(status) ? STOPPED : DONE;
	}
	return true;
}

/* Parent and child do this, so that it is done whoever runs first. */
static void
job_group(struct job *j, pid_t pid, bool foreground)
{
	if (j->pgrp == 0)
		j->pgrp = pid ? pid : getpid();
	setpgid(pid, j->pgrp);
	if (foreground && j->n == 0)
		tcsetpgrp(terminal, j->pgrp);
}

pid_t
job_fork(struct job *j, enum fork_mode mode)
{
	sigset_t all, old;
	pid_t pid;

	/* A signal for the child waits until it handles signals as it
	 * should; one that finds it still like this shell would be lost. */
	sigfillset(&all);
	if (sh.interactive)
		sigprocmask(SIG_BLOCK, &all, &old);
	pid = fork();
	if (pid >= 0 && job_control && mode != FORK_PLAIN)
		job_group(j, pid, mode == FORK_FOREGROUND);
	if (pid == 0)
		trap_subshell(mode == FORK_BACKGROUND && !job_control);
	if (sh.interactive)
		sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0) {
		shell_warn("fork: %s", strerror(errno));
	} else if (pid > 0) {
		j->p[j->n++] = (struct process){.pid = pid};
	} else {
		jobs = NULL;
		job_control = false;
		sh.subshell = true;
		sh.interactive = false;
		sh.loops = 0;
	}
	return pid;
}

static void
job_number(struct job *j)
{
	struct job *other;
	int id = 1;

	for (other = jobs; other; other = other->next)
		if (other->id >= id)
			id = other->id + 1;
	if (j->id == 0)
		j->id = id;
}

static void
job_print(struct job *j, enum state state)
{
	static const char *const text[] = {"Running", "Stopped", "Done"};

	out_format("[%d] %-8s", j->id, text[state]);
	out_str(j->text ? j->text : "");
	out_char('\n');
}

/* The foreground job has stopped or ended: say so if it isn't obvious. */
static void
job_came_back(struct job *j, int status)
{
	int sig = status - STATUS_SIGNAL;

	if (job_state(j) == STOPPED) {
		job_number(j);
		j->told = STOPPED;
		out_char('\n');
		job_print(j, STOPPED);
		out_flush();
		return;
	}
	if (j->n == 0 || !WIFSIGNALED(j->p[j->n - 1].status))
		return;
	if (sig == SIGINT && sh.interactive) {
		out_error("\n", 1);
		sh.flow = FLOW_ABORT;
	} else if (sig != SIGINT && sig != SIGPIPE) {
		shell_warn("killed by SIG%s", signal_name(sig));
	}
}

int
job_wait(struct job *j)
{
	int status;

	while (job_state(j) == RUNNING)
		reap(0);
	if (job_control && j->pgrp != 0)
		tcsetpgrp(terminal, shell_pgrp);
	status = job_status(j);
	job_came_back(j, status);
	if (job_state(j) != STOPPED)
		job_free(j);
	return status;
}

/* Forget finished jobs, the oldest first, beyond those to be kept. */
static void
job_prune(void)
{
	struct job *j, *next;
	int done = 0;

	while (reap(WNOHANG))
		;
	for (j = jobs; j; j = j->next)
		done += job_state(j) == DONE;
	for (j = jobs; j && done > JOBS_KEPT; j = next) {
		next = j->next;
		if (job_state(j) == DONE) {
			job_free(j);
			done--;
		}
	}
}

void
job_background(struct job *j)
{
	if (j->n == 0) {
		job_free(j);
		return;
	}
	job_number(j);
	if (sh.interactive) {
		out_format("[%d] %d\n", j->id, (int)j->p[j->n - 1].pid);
		out_flush();
	} else {
		job_prune();
	}
}

/* Print the jobs with numbers, all or those with news; forget the done. */
static void
job_list(bool all)
{
	struct job *j, *next;

	while (reap(WNOHANG))
		;
	for (j = jobs; j; j = next) {
		enum state state = job_state(j);

		next = j->next;
		if (j->id == 0)
			continue;
		if (all || (state != j->told && state != RUNNING))
			job_print(j, state);
		j->told = state;
		if (state == DONE)
			job_free(j);
	}
}

void
job_report(void)
{
	job_list(false);
	out_flush();
}

/* The job that %1, %%, %+, %-, %name or a pid means; NULL: none. */
static struct job *
job_find(const char *name)
{
	struct job *j, *current = NULL, *previous = NULL, *found = NULL;
	struct process *p;
	long n;

	if (number_parse(name, &n))
		return job_of(n, &p);
	if (*name++ != '%')
		return NULL;
	for (j = jobs; j; j = j->next) {
		if (j->id == 0)
			continue;
		previous = current;
		current = j;
		if (number_parse(name, &n)
			? j->id == n
			: j->text && *name &&
			      strncmp(j->text, name, strlen(name)) == 0)
			found = j;
	}
	if (*name == '\0' || strcmp(name, "%") == 0 || strcmp(name, "+") == 0)
		return current;
	return strcmp(name, "-") == 0 ? previous : found;
}

int
builtin_jobs(int argc, char **argv)
{
	(void)argc, (void)argv;
	job_list(true);
	return 0;
}

/* fg and bg. */
static int
job_continue(int argc, char **argv, bool foreground)
{
	struct job *j = job_find(argc > 1 ? argv[1] : "%");
	int i;

	if (!j || !job_control || job_state(j) == DONE) {
		shell_warn("%s: %s", argv[0],
			   job_control ? "no such job" : "no job control");
		return STATUS_ERROR;
	}
	for (i = 0; i < j->n; i++)
		if (j->p[i].state == STOPPED)
			j->p[i].state = RUNNING;
	j->told = RUNNING;
	out_format("[%d] %s\n", j->id, j->text ? j->text : "");
	out_flush();
	if (foreground)
		tcsetpgrp(terminal, j->pgrp);
	kill(-j->pgrp, SIGCONT);
	return foreground ? job_wait(j) : 0;
}

int
builtin_fg(int argc, char **argv)
{
	return job_continue(argc, argv, true);
}

int
builtin_bg(int argc, char **argv)
{
	return job_continue(argc, argv, false);
}

/* Wait for one background job; a signal that has come ends it. */
static int
wait_for(struct job *j)
{
	int status;

	while (job_state(j) == RUNNING)
		if (!reap(0) && trap_caught)
			return STATUS_SIGNAL + trap_signal();
	status = job_status(j);
	if (job_state(j) == DONE)
		job_free(j);
	return status;
}

int
builtin_wait(int argc, char **argv)
{
	int i, status = 0;
	struct job *j;

	for (i = 1; i < argc; i++) {
		j = job_find(argv[i]);
		status = j ? wait_for(j) : STATUS_NOT_FOUND;
		if (trap_caught)
			return status;
	}
	if (argc > 1)
		return status;
	for (j = jobs; j; j = jobs) {
		while (j && job_state(j) == STOPPED)
			j = j->next;
		if (!j)
			break;
		status = wait_for(j);
		if (trap_caught)
			return status;
	}
	return 0;
}

/* Send a signal to a job, or to a process or group by number. */
static int
kill_one(const char *name, int sig)
{
	struct job *j = *name == '%' ? job_find(name) : NULL;
	int i, failed = 0;
	long pid;

	if (j && j->pgrp != 0) {
		failed = kill(-j->pgrp, sig);
	} else if (j) {
		for (i = 0; i < j->n; i++)
			failed |= kill(j->p[i].pid, sig);
	} else if (number_parse(name, &pid)) {
		failed = kill(pid, sig);
	} else {
		shell_warn("kill: %s: no such job or process", name);
		return STATUS_ERROR;
	}
	if (failed)
		shell_warn("kill: %s: %s", name, strerror(errno));
	return failed ? STATUS_ERROR : 0;
}

static int
kill_list(void)
{
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		if (*signal_name(sig) != '?')
			out_format("%d %s\n", sig, signal_name(sig));
	return 0;
}

int
builtin_kill(int argc, char **argv)
{
	int sig = SIGTERM, i = 1, status = 0;

	if (argc > 1 && strcmp(argv[1], "-l") == 0)
		return kill_list();
	if (argc > 2 && strcmp(argv[1], "-s") == 0) {
		sig = signal_number(argv[2]);
		i = 3;
	} else if (argc > 1 && argv[1][0] == '-' && argv[1][1] != '-') {
		sig = signal_number(argv[1] + 1);
		i = 2;
	}
	if (i < argc && strcmp(argv[i], "--") == 0)
		i++;
	if (sig < 0 || i >= argc) {
		shell_warn(sig < 0 ? "kill: no such signal"
				   : "kill: usage: kill [-SIGNAL] PID...");
		return STATUS_USAGE;
	}
	for (; i < argc; i++)
		status |= kill_one(argv[i], sig);
	return status;
}

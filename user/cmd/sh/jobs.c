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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "jobs.h"

#define JOBS_KEPT 64 /* finished ones whose status a script may ask for */

bool job_control;
struct job *jobs;
static int terminal = -1;
static pid_t shell_pgrp, outer_pgrp;
static bool warned; /* of the jobs that are stopped */

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

bool
job_may_leave(void)
{
	struct job *j;

	for (j = job_control && !warned ? jobs : NULL; j; j = j->next) {
		if (job_state(j) != STOPPED)
			continue;
		shell_warn("there are stopped jobs");
		warned = true;
		return false;
	}
	return true;
}

void
job_foreground(struct job *j)
{
	tcsetpgrp(terminal, j->pgrp);
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

void
job_free(struct job *j)
{
	struct job **link = &jobs;

	while (*link != j)
		link = &(*link)->next;
	*link = j->next;
	free(j->text);
	free(j);
}

enum state
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

/* What became of its last process; with pipefail, of the last that failed. */
static int
wait_status(struct job *j)
{
	int i = j->n - 1;

	while (sh.opt_pipefail && i > 0 && j->p[i].status == 0)
		i--;
	return i >= 0 ? j->p[i].status : STATUS_ERROR << 8;
}

int
job_status(struct job *j)
{
	int status = wait_status(j);

	if (WIFSTOPPED(status))
		return STATUS_SIGNAL + WSTOPSIG(status);
	if (WIFSIGNALED(status))
		return STATUS_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status);
}

struct job *
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

bool
job_reap(int options)
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
		job_foreground(j);
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

/* Done, Done(1), or the signal that it died of. */
static void
job_print(struct job *j, enum state state)
{
	static const char *const text[] = {"Running", "Stopped", "Done"};
	int status = state == DONE ? wait_status(j) : 0;
	char word[32];

	if (WIFSIGNALED(status))
		strlcpy(word, strsignal(WTERMSIG(status)), sizeof(word));
	else if (WEXITSTATUS(status))
		snprintf(word, sizeof(word), "Done(%d)", WEXITSTATUS(status));
	else
		strlcpy(word, text[state], sizeof(word));
	out_format("[%d] %-7s ", j->id, word);
	out_str(j->text ? j->text : "");
	out_char('\n');
}

/* Ctrl-C ends all of a pipeline, but by chance its last command may have
 * ended by itself before. */
static bool
job_interrupted(struct job *j)
{
	int i;

	for (i = 0; i < j->n; i++)
		if (WIFSIGNALED(j->p[i].status) &&
		    WTERMSIG(j->p[i].status) == SIGINT)
			return true;
	return false;
}

/* The foreground job has stopped or ended: say so if it isn't obvious. */
static void
job_came_back(struct job *j, int status)
{
	int sig = status - STATUS_SIGNAL;

	if (job_state(j) == STOPPED) {
		job_number(j);
		j->told = STOPPED;
		warned = false;
		job_print(j, STOPPED);
		out_flush();
		return;
	}
	if (sh.interactive && job_interrupted(j))
		sh.flow = FLOW_ABORT;
	else if (j->n > 0 && WIFSIGNALED(j->p[j->n - 1].status) &&
		 sig != SIGINT && sig != SIGPIPE)
		shell_warn("killed by SIG%s", signal_name(sig));
}

int
job_wait(struct job *j)
{
	int status;

	while (job_state(j) == RUNNING)
		job_reap(0);
	if (job_control && j->pgrp != 0)
		tcsetpgrp(terminal, shell_pgrp);
	status = job_status(j);
	if (sh.interactive && job_interrupted(j))
		status = STATUS_SIGNAL + SIGINT;
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

	while (job_reap(WNOHANG))
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

void
job_list(bool all)
{
	struct job *j, *next;

	while (job_reap(WNOHANG))
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

/* Commands for jobs: jobs, fg, bg, wait and kill. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "jobs.h"

/* The job that %1, %%, %+, %-, %name or a pid means; NULL: none. */
static struct job *
job_find(const char *name)
{
	struct job *j, *current = NULL, *previous = NULL, *found = NULL;
	struct process *p;
	long n;

	if (number_read(name, 10, 1, INT_MAX, &n))
		return job_of(n, &p);
	if (*name++ != '%')
		return NULL;
	for (j = jobs; j; j = j->next) {
		if (j->id == 0)
			continue;
		previous = current;
		current = j;
		if (number_read(name, 10, 1, INT_MAX, &n)
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
	struct job *j;

	if (argc == 1) {
		job_list(true);
		return 0;
	}
	if (strcmp(argv[1], "-p") != 0) {
		shell_warn("usage: jobs [-p]");
		return STATUS_USAGE;
	}
	for (j = jobs; j; j = j->next)
		if (j->id && j->n > 0)
			out_format("%d\n",
				   (int)(j->pgrp ? j->pgrp : j->p[0].pid));
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
		job_foreground(j);
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
		if (!job_reap(0) && trap_caught)
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
	} else if (number_read(name, 10, -INT_MAX, INT_MAX, &pid)) {
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

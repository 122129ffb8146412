/* Children: fork, wait, and what runs a command for its caller. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL     "/bin/sh"
#define NOT_FOUND 127 /* exit status: the shell couldn't be run */

/* The system call. */
pid_t __clone(unsigned long flags, void *stack, int *parent_tid, void *tls,
	      int *child_tid);
void (*__fork_child)(void); /* what a child does first: set by monitor */

pid_t
fork(void)
{
	pid_t pid = __clone(SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0 && __fork_child != NULL)
		__fork_child();
	return pid;
}

/* A fork is cheap. */
pid_t vfork(void) __attribute__((alias("fork")));

pid_t
wait(int *status)
{
	return waitpid(-1, status, 0);
}

/* waitpid that signals don't cut short; the status, or -1. */
static int
wait_for(pid_t pid)
{
	int status;
	pid_t got;

	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -1 : status;
}

/* SIGINT and SIGQUIT are the command's while it runs. */
int
system(const char *command)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, intr, quit;
	sigset_t chld = sigmask(SIGCHLD), mask;

	if (command == NULL)
		return access(SHELL, X_OK) == 0;
	sigaction(SIGINT, &ignore, &intr);
	sigaction(SIGQUIT, &ignore, &quit);
	sigprocmask(SIG_BLOCK, &chld, &mask);
	pid_t pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &intr, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		execl(SHELL, "sh", "-c", command, NULL);
		_exit(NOT_FOUND);
	}
	int status = pid < 0 ? -1 : wait_for(pid);
	sigaction(SIGINT, &intr, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return status;
}

/* Who is at the other end of what popen opened. */
struct child {
	FILE *f;
	pid_t pid;
	struct child *next;
};

static struct child *children;

/* In the child: the pipe's end as stream number to, no other pipes of
 * popen's, then the command. */
static void __attribute__((noreturn))
run(const char *command, const int fd[2], int mine, int to)
{
	for (struct child *c = children; c != NULL; c = c->next)
		close(fileno(c->f));
	close(fd[!mine]);
	if (fd[mine] != to) {
		dup2(fd[mine], to);
		close(fd[mine]);
	}
	execl(SHELL, "sh", "-c", command, NULL);
	_exit(NOT_FOUND);
}

FILE *
popen(const char *command, const char *mode)
{
	int reading = mode[0] == 'r', fd[2];

	if ((mode[0] != 'r' && mode[0] != 'w') || mode[1] != '\0') {
		errno = EINVAL;
		return NULL;
	}
	struct child *c = malloc(sizeof(*c));
	if (c == NULL || pipe(fd) < 0) {
		free(c);
		return NULL;
	}
	/* fd[0] reads, fd[1] writes. */
	c->f = fdopen(fd[!reading], mode);
	c->pid = c->f == NULL ? -1 : fork();
	if (c->pid == 0)
		run(command, fd, reading,
		    reading ? STDOUT_FILENO : STDIN_FILENO);
	close(fd[reading]);
	if (c->pid < 0) {
		if (c->f != NULL)
			fclose(c->f);
		else
			close(fd[!reading]);
		free(c);
		return NULL;
	}
	fcntl(fd[!reading], F_SETFD, FD_CLOEXEC);
	c->next = children;
	children = c;
	return c->f;
}

int
pclose(FILE *f)
{
	struct child **link = &children;

	while (*link != NULL && (*link)->f != f)
		link = &(*link)->next;
	struct child *c = *link;
	if (c == NULL) {
		errno = ECHILD;
		return -1;
	}
	*link = c->next;
	pid_t pid = c->pid;
	free(c);
	fclose(f);
	return wait_for(pid);
}

/*
 * init: process 1. The kernel starts it with no descriptors open.
 *
 * With a file /etc/command it runs that as the shell would, its output going
 * to /dev/hostout and /dev/hosterr, and powers off with the command's exit
 * status: this is how scripts/run runs a command. Without one it greets whom
 * it finds at the console and gives them a shell; when that ends, the machine
 * powers off. Either way it waits for the children of the dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define COMMAND "/etc/command"
#define SHELL   "/bin/sh"

#define EXIT_BY_SIGNAL 128 /* plus the signal */
#define EXIT_CANT_RUN  126

/* Make path descriptor fd, which is the lowest that is free. */
static void
open_as(int fd, const char *path, int flags)
{
	if (open(path, flags) != fd)
		poweroff(EXIT_CANT_RUN);
}

/* The whole of the file, as a string; NULL if there is none. */
static char *
read_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0)
		poweroff(EXIT_CANT_RUN);
	char *text = calloc(1, st.st_size + 1);
	if (text == NULL || read(fd, text, st.st_size) != st.st_size)
		poweroff(EXIT_CANT_RUN);
	close(fd);
	return text;
}

/* What to power off with, when the shell's wait status is this. */
static int
exit_status(int status)
{
	return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* Wait for all that end, until the shell does. */
static int
reap_until(pid_t shell)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, 0);
		if (pid == shell)
			return exit_status(status);
		if (pid < 0 && errno != EINTR)
			return EXIT_CANT_RUN;
	}
}

static void
run_command(char *text)
{
	char *argv[] = {"sh", "-c", text, NULL};

	open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
	open_as(STDOUT_FILENO, "/dev/hostout", O_WRONLY);
	open_as(STDERR_FILENO, "/dev/hosterr", O_WRONLY);
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		execv(SHELL, argv);
		perror(SHELL);
		_exit(EXIT_CANT_RUN);
	}
	poweroff(pid < 0 ? EXIT_CANT_RUN : reap_until(pid));
}

static void
greet(void)
{
	struct utsname u;
	struct sysinfo info;

	uname(&u);
	sysinfo(&info, sizeof(info));
	printf("\n%s %.*s: %lu hart%s, %lu MiB of memory free.\n"
	       "Type help for help. To leave: poweroff, or Ctrl-A X, which "
	       "ends QEMU at once.\n\n",
	       u.sysname, (int)strcspn(u.version, ","), u.version,
	       (unsigned long)info.harts, info.harts == 1 ? "" : "s",
	       (unsigned long)(info.pages_free * info.page_size >> 20));
	fflush(stdout);
}

/* The shell leads a process group of its own, in the foreground. */
static void
run_shell(void)
{
	char *argv[] = {"-sh", NULL};

	open_as(STDIN_FILENO, "/dev/console", O_RDWR);
	dup(STDIN_FILENO);
	dup(STDIN_FILENO);
	greet();
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		tcsetpgrp(STDIN_FILENO, getpid());
		execv(SHELL, argv);
		perror(SHELL);
		_exit(EXIT_CANT_RUN);
	}
	poweroff(pid < 0 ? EXIT_CANT_RUN : reap_until(pid));
}

int
main(void)
{
	setenv("PATH", "/bin:/extra", 1);
	setenv("HOME", "/", 1);
	setenv("TERM", "vt100", 1);
	setenv("USER", "root", 1);
	setenv("SHELL", SHELL, 1);
	/* From a background group it couldn't set the foreground's. */
	signal(SIGTTOU, SIG_IGN);

	char *text = read_file(COMMAND);
	if (text != NULL)
		run_command(text);
	else
		run_shell();
}

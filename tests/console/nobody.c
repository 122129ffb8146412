/*
 * A ^C that is typed while the foreground process group is gone is meant for
 * the next one.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

static void
count(int)
{
	interrupts++;
}

int
main(void)
{
	pid_t child = fork();
	char c;

	if (child == 0)
		for (;;)
			pause();
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGINT, count);
	setpgid(child, child);
	tcsetpgrp(STDIN_FILENO, child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	puts("type ^C, and a line");
	if (read(STDIN_FILENO, &c, 1) != 1 || interrupts != 0)
		return 1;
	tcsetpgrp(STDIN_FILENO, getpgrp());
	puts(interrupts == 1 ? "it came" : "it was lost");
	return 0;
}

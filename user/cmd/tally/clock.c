/* The sampling clock's settings, for the time that we run. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tally.h"

#define DEVICE   "/dev/profclock"
#define TEXT_MAX 256
#define WORDS    32

static char hz[WORDS], jitter[WORDS]; /* lines to be written again */
static pid_t owner;                   /* of the change; 0: there is none */

/* One control word, and its value. */
static void
set(const char *line)
{
	int fd = open(DEVICE, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		cmd_warn(DEVICE);
	if (fd >= 0)
		close(fd);
}

void
clock_restore(void)
{
	/* A child that can't become its command ends as well. */
	if (getpid() != owner)
		return;
	owner = 0;
	set(hz);
	set(jitter);
}

static void
remember(void)
{
	char text[TEXT_MAX], *rest = text, *line;
	int fd = cmd_open(DEVICE);
	ssize_t n = fd < 0 ? -1 : cmd_read(fd, text, TEXT_MAX - 1, DEVICE);

	if (n < 0)
		exit(cmd_status);
	close(fd);
	text[n] = '\0';
	while ((line = cmd_piece(&rest, "\n"))) {
		if (strncmp(line, "hz ", 3) == 0)
			snprintf(hz, WORDS, "%s", line);
		else if (strncmp(line, "jitter ", 7) == 0)
			snprintf(jitter, WORDS, "%s", line);
	}
}

void
clock_set(void)
{
	char line[WORDS];

	remember();
	owner = getpid();
	atexit(clock_restore);
	snprintf(line, WORDS, "hz %u", rate);
	set(line);
	set("jitter on");
	if (cmd_status)
		exit(cmd_status);
}

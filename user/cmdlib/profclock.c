/* See profclock.h. */
#include "profclock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

#define DEVICE   "/dev/profclock"
#define TEXT_MAX 256 /* the settings come first */
#define WORDS    32

/* The settings that we change, as lines: what they were, and what we want. */
enum { HZ, JITTER, SETTINGS };
static char before[SETTINGS][WORDS], ours[SETTINGS][WORDS];

static pid_t owner; /* of the change; 0: there is none */

/* Write the lines that differ: each write starts the intervals anew. */
static void
change(char from[][WORDS], char to[][WORDS])
{
	for (int i = 0; i < SETTINGS; i++) {
		int fd;

		if (strcmp(from[i], to[i]) == 0)
			continue;
		fd = open(DEVICE, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, to[i], strlen(to[i])) < 0)
			cmd_warn(DEVICE);
		if (fd >= 0)
			close(fd);
	}
}

void
profclock_restore(void)
{
	/* A child that can't become its command ends as well. */
	if (getpid() != owner)
		return;
	owner = 0;
	change(ours, before);
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
			snprintf(before[HZ], WORDS, "%s", line);
		else if (strncmp(line, "jitter ", 7) == 0)
			snprintf(before[JITTER], WORDS, "%s", line);
	}
}

void
profclock_set(unsigned int hz)
{
	remember();
	owner = getpid();
	atexit(profclock_restore);
	strcpy(ours[JITTER], "jitter on");
	if (hz > 0)
		snprintf(ours[HZ], WORDS, "hz %u", hz);
	else
		strcpy(ours[HZ], before[HZ]);
	change(before, ours);
	if (cmd_status)
		exit(cmd_status);
}

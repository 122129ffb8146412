/*
 * Who watches what hostile processes do to others: what the kernel has in use,
 * memory that nobody may change, processes that are left over.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prf.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define PROCESSES 256
#define KEPT_MAX  32
#define PATIENCE  30 /* seconds: what takes longer has failed */

unsigned long *pattern;
char *arena;

static struct psinfo known[PROCESSES], all[PROCESSES];
static int nknown;
static ino_t kept[KEPT_MAX];
static int nkept;
static struct termios terminal;
static pid_t foreground;

/* The number behind a name in a device's text; -1: there is none. */
static long
number_in(const char *path, const char *name)
{
	char text[1024];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *at;

	close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, name);
	return at != NULL ? atol(at + strlen(name)) : -1;
}

struct account
account_take(void)
{
	struct account a = {.blocks = number_in("/dev/ktest", "blocks "),
			    .buffers = number_in("/dev/pcstat", "buffers ")};
	struct sysinfo info;
	int n = psinfo(all, PROCESSES);

	for (int i = 0; i < n; i++)
		a.threads += all[i].threads;
	a.processes = n;
	sysinfo(&info, sizeof(info));
	a.pages = info.pages_total - info.pages_free;
	return a;
}

/* --- The witness --- */

static unsigned long
pattern_word(unsigned long i)
{
	return (i + 1) * 0x9e3779b97f4a7c15;
}

void
pattern_make(void)
{
	uintptr_t end = (uintptr_t)sbrk(PATTERN_SIZE + ARENA_SIZE + PAGE);

	pattern = (unsigned long *)((end + PAGE - 1) & -(uintptr_t)PAGE);
	arena = (char *)pattern + PATTERN_SIZE;
	for (unsigned long i = 0; i < PATTERN_SIZE / sizeof(long); i++)
		pattern[i] = pattern_word(i);
}

bool
pattern_holds(void)
{
	for (unsigned long i = 0; i < PATTERN_SIZE / sizeof(long); i++)
		if (pattern[i] != pattern_word(i))
			return false;
	return true;
}

static volatile sig_atomic_t ended;

static void
end(int sig)
{
	ended = sig;
}

int
witness_start(void)
{
	static const struct timespec pause = {.tv_nsec = 20000000};
	int pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGTERM, end);
	while (!ended && pattern_holds())
		nanosleep(&pause, NULL);
	_exit(pattern_holds() ? 0 : 1);
}

bool
witness_end(int pid)
{
	int status;

	kill(pid, SIGTERM);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* --- Processes --- */

static bool
is_known(int pid)
{
	for (int i = 0; i < nknown; i++)
		if (known[i].pid == pid)
			return true;
	return false;
}

void
family_note(void)
{
	int fd = open("/dev/console", O_RDONLY);

	nknown = psinfo(known, PROCESSES);
	tcgetattr(fd, &terminal);
	ioctl(fd, TIOCGPGRP, &foreground);
	close(fd);
}

/* Those that aren't known get a signal to end them; how many there are, or 1 if
 * it can't be told now. */
static int
kill_others(void)
{
	int n = psinfo(all, PROCESSES), others = n < 0;

	for (int i = 0; i < n; i++) {
		if (is_known(all[i].pid))
			continue;
		kill(all[i].pid, SIGKILL);
		others++;
	}
	return others;
}

bool
family_end(void)
{
	time_t deadline = time(NULL) + PATIENCE;

	while (kill_others() > 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (time(NULL) > deadline)
			return false;
		sched_yield();
	}
	return true;
}

/* --- Files and devices --- */

/* Was it there at first? */
static bool
is_kept(const struct dirent *de)
{
	if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return true;
	for (int i = 0; i < nkept; i++)
		if (kept[i] == de->d_ino)
			return true;
	return false;
}

void
folder_empty(void)
{
	DIR *dir = opendir(".");
	struct dirent *de;

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		if (is_kept(de) || unlink(de->d_name) == 0 ||
		    chdir(de->d_name) != 0)
			continue;
		folder_empty();
		if (chdir("..") == 0)
			rmdir(de->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

void
folder_note(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *de;

	while (dir != NULL && nkept < KEPT_MAX && (de = readdir(dir)) != NULL)
		kept[nkept++] = de->d_ino;
	if (dir != NULL)
		closedir(dir);
}

static void
tell(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY);

	write(fd, line, strlen(line));
	close(fd);
}

void
devices_reset(void)
{
	char path[16];
	int fd = open("/dev/console", O_RDONLY);

	tcsetattr(fd, TCSANOW, &terminal);
	ioctl(fd, TIOCSPGRP, &foreground);
	close(fd);
	tell("/dev/ktest", "failalloc 0");
	tell("/dev/kpctl", "stop");
	tell("/dev/profclock", "hz 100");
	tell("/dev/profclock", "jitter off");
	tell("/dev/profclock", "go");
	for (int i = 0; i <= PRF_ALL; i++) {
		snprintf(path, sizeof(path), "/dev/prf%d", i);
		fd = open(path, O_RDWR);
		if (fd < 0) { /* after the last hart, there is that of all */
			if (i < PRF_ALL)
				i = PRF_ALL - 1;
			continue;
		}
		ioctl(fd, PRF_SETSTATE, 0);
		close(fd);
	}
}

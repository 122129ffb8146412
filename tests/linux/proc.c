/* What /proc says of the program that reads it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "promise.h"

static char text[1 << 16];

/* Read a whole file into text, in pieces of this size. Returns its length. */
static long
get(const char *path, size_t piece)
{
	int fd = open(path, O_RDONLY);
	long n = 0, r;

	if (fd < 0) {
		printf("%s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((r = read(fd, text + n, piece)) > 0)
		n += r;
	close(fd);
	text[n] = '\0';
	return n;
}

static void
say(const char *what, int good)
{
	printf("%s: %s\n", what, good ? "yes" : "no");
}

/* Is there a line of maps with this address, and these rights? */
static int
in_maps(const void *address, const char *rights, const char *name)
{
	unsigned long at = (unsigned long)address;

	for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
		unsigned long start, end;
		char is[5] = "", path[200] = "";

		if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %*u %199s", &start,
			   &end, is, path) < 3)
			return 0;
		if (start <= at && at < end)
			return strcmp(is, rights) == 0 &&
			       strstr(path, name) != NULL;
	}
	return 0;
}

static void
test_maps(void)
{
	void *block = malloc(100);
	int here;

	say("maps is long", get("/proc/self/maps", 100) > 100);
	say("the code", in_maps((void *)test_maps, "r-xp", "/proc"));
	say("the heap", in_maps(sbrk(0) - 1, "rw-p", ""));
	say("the stack", in_maps(&here, "rw-p", "[stack]"));
	say("nothing", !in_maps((void *)1, "rw-p", ""));
	free(block);
}

static void
test_stat(void)
{
	int pid, ppid, pgrp, session, threads, fields = 0;
	unsigned long size, pages;
	char state, name[32];

	say("stat", get("/proc/self/stat", sizeof(text)) > 0);
	say("its fields", sscanf(text,
				 "%d (%31[^)]) %c %d %d %d %*d %*d %*u %*u "
				 "%*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d "
				 "%*u %lu %lu",
				 &pid, name, &state, &ppid, &pgrp, &session,
				 &threads, &size, &pages) == 9);
	say("pid", pid == getpid());
	say("name", strcmp(name, "proc") == 0);
	say("state", state == 'R');
	say("parent", ppid == getppid());
	say("group", pgrp == getpgrp());
	say("session", session == getsid(0));
	say("one thread", threads == 1);
	say("memory", size > 4096 * pages && pages > 0);
	for (char *p = strchr(text, ')'); p != NULL; p = strchr(p + 1, ' '))
		fields++;
	printf("fields: %d\n", fields + 1);
	say("statm", get("/proc/self/statm", sizeof(text)) > 0 &&
			 strtoul(text, NULL, 10) * 4096 == size);
	say("comm", get("/proc/self/comm", sizeof(text)) == 5 &&
			strcmp(text, "proc\n") == 0);
}

static int
status_has(const char *line)
{
	return strstr(text, line) != NULL;
}

static void
test_status(void)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "\nPid:\t%d\n", getpid());
	say("status", get("/proc/self/status", 1) > 0);
	say("name", strncmp(text, "Name:\tproc\n", 11) == 0);
	say("umask", status_has("\nUmask:\t0022\n"));
	say("state", status_has("\nState:\tR (running)\n"));
	say("pid", status_has(pid));
	say("threads", status_has("\nThreads:\t1\n"));
	say("size", status_has("\nVmSize:\t"));
	say("resident", status_has("\nVmRSS:\t"));
}

extern char **environ;

static void
test_arguments(char *argv0)
{
	long n = get("/proc/self/cmdline", 3);

	say("arguments",
	    n == (long)strlen(argv0) + 1 && strcmp(text, argv0) == 0);
	n = get("/proc/self/environ", sizeof(text));
	say("environment",
	    environ[0] == NULL ? n == 0 : strcmp(text, environ[0]) == 0);
}

static void
test_links(void)
{
	char path[PATH_MAX] = "", cwd[PATH_MAX] = "", pid[16];
	struct stat st, self;
	int end[2], fd;

	snprintf(pid, sizeof(pid), "%d", getpid());
	say("self",
	    readlink("/proc/self", path, sizeof(path)) == (long)strlen(pid) &&
		strncmp(path, pid, strlen(pid)) == 0);
	memset(path, 0, sizeof(path));
	say("exe", readlink("/proc/self/exe", path, sizeof(path)) > 5 &&
		       strcmp(strrchr(path, '/'), "/proc") == 0);
	say("it is the program", stat("/proc/self/exe", &self) == 0 &&
				     stat(path, &st) == 0 &&
				     st.st_ino == self.st_ino);
	say("lstat", lstat("/proc/self/exe", &st) == 0 && S_ISLNK(st.st_mode));
	getcwd(cwd, sizeof(cwd));
	memset(path, 0, sizeof(path));
	readlink("/proc/self/cwd", path, sizeof(path));
	say("cwd", strcmp(path, cwd) == 0);
	say("through cwd",
	    mkdir("/proc/self/cwd/d", 0777) == 0 && rmdir("d") == 0);
	memset(path, 0, sizeof(path));
	readlink("/proc/self/fd/0", path, sizeof(path));
	printf("standard input: %s\n", path);
	pipe(end);
	snprintf(cwd, sizeof(cwd), "/proc/self/fd/%d", end[1]);
	fd = open(cwd, O_WRONLY);
	say("a pipe, once more", fd >= 0 && write(fd, "ab", 2) == 2);
	close(fd);
	fcntl(end[0], F_SETFL, O_NONBLOCK);
	say("it is read", read(end[0], path, 10) == 2);
	say("and still open", read(end[0], path, 10) < 0 && errno == EAGAIN);
	close(end[1]);
	say("it has an end", read(end[0], path, 10) == 0);
	close(end[0]);
	fd = open(cwd, O_WRONLY);
	printf("gone: %d %s\n", fd, strerror(errno));
}

static void
test_errors(void)
{
	char c;
	int fd = open("/proc/self/stat", O_RDONLY);

	say("no process", open("/proc/9999999/stat", O_RDONLY) < 0);
	printf("%s\n", strerror(errno));
	say("no number", open("/proc/01", O_RDONLY) < 0);
	say("no file", open("/proc/self/nothing", O_RDONLY) < 0);
	say("a file is no folder", open("/proc/self/stat/x", O_RDONLY) < 0);
	printf("%s\n", strerror(errno));
	say("past the end",
	    lseek(fd, 100000, SEEK_SET) == 100000 && read(fd, &c, 1) == 0);
	say("again", lseek(fd, 0, SEEK_SET) == 0 && read(fd, &c, 1) == 1);
	close(fd);
}

static void
test_machine(void)
{
	unsigned long total;
	int harts = get_nprocs();

	get("/proc/meminfo", sizeof(text));
	say("memory",
	    sscanf(text, "MemTotal: %lu kB", &total) == 1 && total > 1000);
	get("/proc/stat", sizeof(text));
	say("ticks", strncmp(text, "cpu  ", 5) == 0);
	snprintf(text, sizeof(text), "%d", harts);
	say("harts", harts > 1);
	say("uptime",
	    get("/proc/uptime", sizeof(text)) > 0 && strtod(text, NULL) > 0);
	say("loadavg", get("/proc/loadavg", sizeof(text)) > 0);
	say("mounts", get("/proc/mounts", sizeof(text)) > 0 &&
			  strstr(text, " /proc proc ") != NULL);
	say("pid_max",
	    get("/proc/sys/kernel/pid_max", 8) > 0 && atoi(text) >= 32768);
	say("version", get("/proc/version", 1000) > 0 &&
			   strncmp(text, "Linux version ", 14) == 0);
}

int
main(int argc, char **argv)
{
	say("no arguments", argc == 1);
	umask(022);
	PROMISE("proc(5): /proc/self/maps");
	test_maps();
	PROMISE("proc(5): /proc/self/stat");
	test_stat();
	PROMISE("proc(5): /proc/self/status");
	test_status();
	PROMISE("proc(5): /proc/self/cmdline");
	test_arguments(argv[0]);
	PROMISE("proc(5): links to files");
	test_links();
	PROMISE("proc(5): each error");
	test_errors();
	PROMISE("proc(5): what it says of the machine");
	test_machine();
	return 0;
}

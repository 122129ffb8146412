/*
 * /proc while processes come and go: what is read is whole, or says that the
 * process has ended. What it says otherwise is compared with Linux
 * (tests/linux/proc.c).
 */
#include <dirent.h>
#include <sys/sysinfo.h>

#include "helpers.h"

#define ROUNDS  40
#define READERS 3

static char text[8 * PAGE];

/* Read a file of a process: its size, or -1. */
static ssize_t
get(int pid, const char *name)
{
	char path[64];
	ssize_t n = 0, r = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY);
	while (fd >= 0 && (r = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += r;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	return r < 0 ? r : n;
}

static int
ended(void)
{
	return errno == ESRCH || errno == ENOENT;
}

/* Read all there is of all processes; how often it wasn't as it should be. */
static int
read_all(void)
{
	static const char *const names[] = {"cmdline", "comm",  "environ",
					    "maps",    "stat",  "statm",
					    "status",  "mounts"};
	DIR *dir = opendir("/proc");
	int bad = dir == NULL;
	struct dirent *de;

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		int pid = atoi(de->d_name);
		char path[64], target[64];

		if (pid == 0)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			bad += get(pid, names[i]) < 0 && !ended();
		snprintf(path, sizeof(path), "/proc/%d/exe", pid);
		bad += readlink(path, target, sizeof(target)) < 0 && !ended();
		snprintf(path, sizeof(path), "/proc/%d/cwd/.", pid);
		bad += access(path, R_OK) < 0 && !ended();
	}
	if (dir != NULL)
		closedir(dir);
	return bad;
}

static int
reader(void)
{
	int bad = 0;

	for (int i = 0; i < ROUNDS; i++)
		bad += read_all();
	return bad;
}

/* Programs start and end meanwhile, on other harts. */
static void
test_coming_and_going(void)
{
	char *argv[] = {"true", "with", "arguments", NULL};
	pid_t readers[READERS];
	int bad = 0;

	for (int i = 0; i < READERS; i++)
		readers[i] = child_start(reader);
	for (int i = 0; i < 3 * ROUNDS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execv("/bin/true", argv);
			_exit(1);
		}
		bad += child_wait(pid) != 0;
	}
	CHECK(bad == 0, "programs run while others look");
	for (int i = 0; i < READERS; i++)
		bad += child_wait(readers[i]);
	CHECK(bad == 0, "what they see is whole");
}

/* What belongs to a process that has ended, and isn't waited for, or is. */
static void
test_ended(void)
{
	char path[64];
	int end[2], fd;
	pid_t pid;
	char c;

	pipe(end);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		read(end[0], &c, 1);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	CHECK(get(pid, "maps") > 0, "a child has memory");
	close(end[0]);
	close(end[1]);
	while (get(pid, "stat") > 0 && strstr(text, ") Z ") == NULL)
		;
	CHECK(strstr(text, ") Z ") != NULL, "it becomes a zombie");
	CHECK(get(pid, "maps") == 0 && get(pid, "cmdline") == 0,
	      "which has no memory");
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	CHECK_ERRNO(readlink(path, text, 10), ENOENT, "and no program");
	child_wait(pid);
	CHECK_ERRNO(read(fd, &c, 1), ESRCH, "at last it is gone");
	CHECK_ERRNO(get(pid, "stat"), ENOENT, "and its names are");
	snprintf(path, sizeof(path), "/proc/%d", pid);
	CHECK_ERRNO(chdir(path), ENOENT, "and its directory");
	close(fd);
}

/* As many times as would use up all memory, were any lost. */
static void
test_nothing_lost(void)
{
	struct sysinfo before, after;

	read_all();
	sysinfo(&before, sizeof(before));
	for (int i = 0; i < 5; i++)
		read_all();
	sysinfo(&after, sizeof(after));
	CHECK(after.pages_free + 8 >= before.pages_free,
	      "reading leaves no memory behind");
}

static void
test_others(void)
{
	struct stat st;
	DIR *dir = opendir("/proc/1/fd");
	struct dirent *de;
	int n = 0;

	while (dir != NULL && (de = readdir(dir)) != NULL)
		n++;
	CHECK(dir != NULL && n == 2,
	      "other processes' descriptors aren't shown");
	closedir(dir);
	CHECK_ERRNO(open("/proc/1/stat", O_RDWR), EACCES,
		    "nothing can be written");
	CHECK_ERRNO(open("/proc/new", O_RDWR | O_CREAT, 0666), EROFS,
		    "or made");
	CHECK_ERRNO(unlink("/proc/version"), EROFS, "or removed");
	CHECK(stat("/dev/stdin", &st) == 0 && lstat("/dev/stdin", &st) == 0 &&
		  S_ISLNK(st.st_mode),
	      "/dev/stdin is a link");
}

int
main(void)
{
	alarm(DEADLINE);
	test_coming_and_going();
	test_ended();
	test_nothing_lost();
	test_others();
	return check_done();
}

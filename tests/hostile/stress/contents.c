/*
 * Files: each has what was written to it, as an array in memory has it too;
 * and names that many make, move and remove at once, where only the errors that
 * this may lead to are errors.
 */
#include <dirent.h>

#include "children.h"
#include "stress.h"

#define SIZE  40000 /* bytes of a file, at most */
#define STEPS 40
#define NAMES 6

static char model[SIZE], buffer[SIZE];
static long length; /* of the file, and of what model says */

/* Write at a place of chance, which may leave a hole before it. */
static void
write_somewhere(int fd)
{
	long at = chance(SIZE), n = chance(SIZE - at) + 1;

	memset(model + at, chance(256), n);
	must(pwrite(fd, model + at, n, at) == n);
	if (at + n > length)
		length = at + n;
}

static void
read_somewhere(int fd)
{
	long at = chance(SIZE), n = chance(SIZE) + 1;
	long there = at >= length ? 0 : length - at;

	there = there < n ? there : n;
	must(pread(fd, buffer, n, at) == there);
	must(memcmp(buffer, model + at, there) == 0);
}

static void
cut(int fd)
{
	long n = chance(SIZE);

	must(ftruncate(fd, n) == 0);
	if (n < length)
		memset(model + n, 0, length - n);
	length = n;
}

/* A child goes on where its parent is, in the file they share. */
static void
append_by_child(int fd)
{
	long n = chance(SIZE - length) + 1;
	pid_t pid;

	must(lseek(fd, 0, SEEK_END) == length);
	memset(model + length, chance(256), n);
	pid = split();
	if (pid == 0) {
		must(write(fd, model + length, n) == n);
		_exit(0);
	}
	must(exited(pid, 0));
	length += n;
	must(lseek(fd, 0, SEEK_CUR) == length);
}

/* One file, by one or two names. It may be gone while it is open. */
void
round_of_files(void)
{
	char name[20], other[20];
	int fd;

	sprintf(name, "file%d", getpid());
	sprintf(other, "other%d", getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0666);
	must(fd >= 0);
	memset(model, 0, sizeof(model));
	length = 0;
	for (int i = 0; i < STEPS; i++)
		switch (chance(8)) {
		case 0:
			cut(fd);
			break;
		case 1:
			if (length < SIZE)
				append_by_child(fd);
			break;
		case 2:
		case 3:
		case 4:
			write_somewhere(fd);
			break;
		default:
			read_somewhere(fd);
		}
	must(rename(name, other) == 0);
	must(access(name, F_OK) < 0 && errno == ENOENT);
	must(unlink(other) == 0);
	must(pread(fd, buffer, SIZE, 0) == length);
	must(memcmp(buffer, model, length) == 0);
	close(fd);
}

/* The name of a folder or, with a file, of a file in it; all use the same. */
static void
pick(char *name, bool file)
{
	int n = sprintf(name, "common%u", chance(2));

	if (file)
		sprintf(name + n, "/%u", chance(NAMES));
}

/* Was it an error that others' names may lead to? A folder's name may be a
 * file's by now. */
static bool
raced(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == EISDIR ||
	       errno == EEXIST || errno == ENOTEMPTY;
}

static void
list(const char *name)
{
	DIR *d = opendir(name);
	struct dirent *e;
	int n = 0;

	must(d != NULL || raced());
	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		n++;
	must(n < 1000); /* it ends, though others go on */
	closedir(d);
}

/* Make what another may make too. */
static void
make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);

	must(fd >= 0 || raced());
	if (fd < 0)
		return;
	must(write(fd, name, 9) == 9);
	must(close(fd) == 0);
}

static void
clean_up(void)
{
	char name[20];

	for (int i = 0; i < 2 * NAMES; i++) {
		sprintf(name, "common%d/%d", i % 2, i / 2);
		unlink(name);
	}
	for (int i = 0; i < 2; i++) {
		sprintf(name, "common%d", i);
		unlink(name);
		rmdir(name);
	}
}

void
round_of_names(void)
{
	char name[20], other[20];

	for (int i = 0; i < STEPS; i++) {
		pick(name, true);
		pick(other, chance(8) != 0);
		switch (chance(7)) {
		case 0:
			pick(name, false);
			must(mkdir(name, 0777) == 0 || raced());
			break;
		case 1:
			pick(name, false);
			must(rmdir(name) == 0 || raced());
			break;
		case 2:
		case 3:
			make(name);
			break;
		case 4:
			must(unlink(name) == 0 || raced());
			break;
		case 5:
			must(rename(name, other) == 0 || raced());
			break;
		default:
			pick(name, false);
			list(name);
		}
	}
	clean_up();
}

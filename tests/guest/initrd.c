/*
 * Files that came with the initrd are files like any other, although their
 * contents stay in the archive until they're needed: they can be written, cut,
 * lengthened and removed, and what is run stays as it was.
 */
#include "helpers.h"

#define LARGE "/usr/share/words" /* many pages, and not a whole number */
#define ROOM  (2 << 20)

static char was[ROOM], is[ROOM];

static ssize_t
contents(const char *path, char *buf)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, buf, ROOM);

	close(fd);
	return n;
}

/* Does the file hold the first n bytes of `was'? */
static bool
holds(const char *path, ssize_t n)
{
	return contents(path, is) == n && memcmp(is, was, n) == 0;
}

static off_t
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* Change a byte, here and in the file. */
static void
change(int fd, off_t at)
{
	was[at] = '\n';
	pwrite(fd, "\n", 1, at);
}

static void
test_write(void)
{
	ssize_t n = contents(LARGE, was);
	struct stat st;
	int fd = open(LARGE, O_RDWR);

	CHECK(n == size_of(LARGE) && n > 10 * PAGE && n % PAGE != 0,
	      "a large file is read whole");
	CHECK(fstat(fd, &st) == 0 && st.st_blocks * 512 >= n, "and takes room");
	CHECK(pread(fd, is, 3 * PAGE, 5 * PAGE - 7) == 3 * PAGE &&
		  memcmp(is, was + 5 * PAGE - 7, 3 * PAGE) == 0,
	      "or a part of it, across pages");
	change(fd, 5 * PAGE + 7);
	change(fd, 0);
	change(fd, n - 1);
	CHECK(holds(LARGE, n), "a write changes what it writes, and no more");
	memset(was + 7 * PAGE, 'x', 2 * PAGE);
	pwrite(fd, was + 7 * PAGE, 2 * PAGE, 7 * PAGE);
	CHECK(holds(LARGE, n), "whole pages, too");
	memset(was + n, 0, PAGE);
	was[n + PAGE] = 'x';
	pwrite(fd, "x", 1, n + PAGE);
	CHECK(holds(LARGE, n + PAGE + 1), "past the end, after zeroes");
	close(fd);
}

static void
test_truncate(void)
{
	ssize_t n = 3 * PAGE + 100;
	int fd = open("/boot/symbols", O_RDWR);

	contents("/boot/symbols", was);
	CHECK(size_of("/boot/symbols") > n, "a file of some pages");
	CHECK(ftruncate(fd, n) == 0 && holds("/boot/symbols", n), "is cut");
	memset(was + n, 0, 2 * PAGE);
	CHECK(ftruncate(fd, n + 2 * PAGE) == 0 &&
		  holds("/boot/symbols", n + 2 * PAGE),
	      "lengthened, it has zeroes there");
	CHECK(ftruncate(fd, 2 * PAGE) == 0 && ftruncate(fd, n) == 0,
	      "cut between two pages");
	memset(was + 2 * PAGE, 0, PAGE + 100);
	CHECK(holds("/boot/symbols", n), "it has zeroes from there");
	memset(was, 0, n);
	CHECK(ftruncate(fd, 0) == 0 && ftruncate(fd, n) == 0 &&
		  holds("/boot/symbols", n),
	      "cut to nothing, it has nothing left");
	close(fd);
}

static void
test_remove(void)
{
	ssize_t n = contents("/usr/src/README.md", was);
	int fd = open("/usr/src/README.md", O_RDONLY);

	CHECK(unlink("/usr/src/README.md") == 0 &&
		  size_of("/usr/src/README.md") < 0,
	      "it can be removed");
	CHECK(n > 0 && read(fd, is, ROOM) == n && memcmp(is, was, n) == 0,
	      "who has it open can read it");
	close(fd);
}

static int
run_false(void)
{
	execl("/bin/false", "false", (char *)NULL);
	return 99;
}

static void
test_run(void)
{
	ssize_t n = contents("/bin/false", was);
	int fd = open("/bin/false", O_RDWR);

	CHECK(child_run(run_false) == 1 && holds("/bin/false", n),
	      "a program that has run is as before");
	change(fd, n - 1);
	change(fd, n - PAGE);
	CHECK(holds("/bin/false", n), "then it's written");
	CHECK(ftruncate(fd, n - 5) == 0 && ftruncate(fd, n) == 0,
	      "cut, and lengthened");
	memset(was + n - 5, 0, 5);
	CHECK(holds("/bin/false", n), "and has zeroes there");
	close(fd);
}

int
main(void)
{
	alarm(DEADLINE);
	test_write();
	test_truncate();
	test_remove();
	test_run();
	return check_done();
}

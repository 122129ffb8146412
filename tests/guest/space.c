/* The file system is full: ENOSPC, and nothing is lost by it. */
#include <sys/sysinfo.h>

#include "helpers.h"

#define STEP   (64 * 1024) /* bytes */
#define SPARE  100         /* pages: more than commands leave behind */
#define LEFT   256         /* pages that files leave to others, and.. */
#define CACHED 352         /* ..that harts may have besides; or less.. */
#define TABLE  56          /* ..but for tables of holes */
#define HOLES  32          /* files with one: two of a length, then of half */
#define FAR    ((off_t)1 << 39)

static char buf[STEP];

static uint64_t
pages_free(void)
{
	struct sysinfo info;

	return sysinfo(&info, sizeof(info)) == 0 ? info.pages_free : 0;
}

/* Write till no more goes; how much went, by what write said. */
static off_t
fill(int fd)
{
	off_t done = 0;
	ssize_t n;

	while ((n = write(fd, buf, sizeof(buf))) > 0)
		done += n;
	return done;
}

static bool
holds_pattern(int fd, off_t size)
{
	static char got[STEP];

	lseek(fd, 0, SEEK_SET);
	for (off_t at = 0; at < size; at += STEP) {
		size_t n = size - at < STEP ? size - at : STEP;

		if (read(fd, got, STEP) != (ssize_t)n ||
		    memcmp(got, buf, n) != 0)
			return false;
	}
	return true;
}

/* What can be done while the disk is full. */
static void
test_full(int fd, off_t size)
{
	struct stat st;
	int small;

	CHECK_ERRNO(write(fd, buf, 1), ENOSPC, "a full disk is ENOSPC");
	CHECK(fstat(fd, &st) == 0 && st.st_size == size,
	      "the file has what writes said");
	CHECK(holds_pattern(fd, size), "all of it as it was written");
	CHECK(pwrite(fd, "x", 1, 0) == 1 && pwrite(fd, buf, 1, 0) == 1,
	      "what is there can be overwritten");
	small = open("small", O_WRONLY | O_CREAT, 0666);
	CHECK(small >= 0, "a file can be made");
	CHECK_ERRNO(write(small, "x", 1), ENOSPC, "but not filled");
	close(small);
	CHECK(system("rm small && echo fine >/dev/null") == 0,
	      "a command can be run, to remove one");
	CHECK(ftruncate(fd, size - SPARE * PAGE) == 0 &&
		  pwrite(fd, buf, PAGE, 0) == PAGE,
	      "what is cut off");
	CHECK(pwrite(fd, buf, 2 * PAGE, size - SPARE * PAGE) == 2 * PAGE,
	      "can be written again");
}

/* Fill the disk and empty it again: all pages are back. */
static void
test_given_back(void)
{
	uint64_t before = pages_free(), left;
	int fd = open("big", O_RDWR | O_CREAT, 0666);
	off_t size = fill(fd);

	CHECK(errno == ENOSPC && size > 1024 * 1024, "fill the disk");
	left = pages_free();
	CHECK(left >= LEFT - 1 && left <= LEFT + CACHED,
	      "1 MiB is left to programs");
	CHECK(unlink("big") == 0 && pages_free() < before / 2,
	      "removed while open, it keeps its pages");
	close(fd);
	CHECK(pages_free() == before, "closed, it gives back each");
	fd = open("big", O_RDWR | O_CREAT, 0666);
	CHECK(fill(fd) == size, "as much goes in again");
	CHECK(ftruncate(fd, 0) == 0 && pages_free() > before / 2,
	      "cut to nothing, it gives them back");
	close(fd);
	unlink("big");
	CHECK(pages_free() == before, "and no page is lost");
}

/* What lies far from a file's start takes a table as large as memory. */
static void
test_holes(void)
{
	uint64_t before = pages_free(), left;
	int fd[HOLES], bad = 0;

	for (int i = 0; i < HOLES; i++) { /* the largest first */
		fd[i] = open("hole", O_RDWR | O_CREAT, 0666);
		unlink("hole");
		if (pwrite(fd[i], "x", 1, FAR >> i / 2) < 0)
			bad += errno == ENOSPC;
	}
	left = pages_free();
	CHECK(bad > 0 && bad < HOLES, "a hole too large for memory is ENOSPC");
	CHECK(left >= LEFT - TABLE, "holes leave memory to programs: %d",
	      left >= LEFT - TABLE ? LEFT - TABLE : (int)left);
	for (int i = 0; i < HOLES; i++)
		close(fd[i]);
	CHECK(pages_free() == before, "and give back what they took");
}

int
main(void)
{
	off_t size;
	int fd;

	scratch_enter("space.d");
	for (int i = 0; i < STEP; i++)
		buf[i] = i % 249;
	/* Once, for what the kernel and this program's library keep, some of
	 * it until memory runs out. */
	fd = open("first", O_RDWR | O_CREAT, 0666);
	CHECK(fill(fd) > 0 && close(fd) == 0 && unlink("first") == 0,
	      "make and remove a file");
	test_given_back();
	test_holes();
	fd = open("big", O_RDWR | O_CREAT, 0666);
	size = fill(fd);
	test_full(fd, size);
	close(fd);
	unlink("big");
	scratch_leave("space.d");
	return check_done();
}

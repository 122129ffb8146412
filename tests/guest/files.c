/* Contents of files: reading and writing, offsets, holes, truncation. */
#include <limits.h>

#include "helpers.h"
#include "profiling.h"

#define LARGE (3 * 1024 * 1024 + 5) /* bytes */

static char buf[64 * 1024];

/* What byte i of a file with a pattern is; its period divides no page. */
static char
pattern(size_t i)
{
	return i % 251 ^ i >> 16;
}

/* n bytes of the pattern, written in pieces. */
static bool
write_pattern(int fd, size_t n, size_t piece)
{
	for (size_t done = 0; done < n; done += piece) {
		size_t some = n - done < piece ? n - done : piece;

		for (size_t i = 0; i < some; i++)
			buf[i] = pattern(done + i);
		if (write(fd, buf, some) != (ssize_t)some)
			return false;
	}
	return true;
}

/* From the offset on, there are n bytes of it and no more. */
static bool
reads_pattern(int fd, size_t n, size_t piece)
{
	size_t done = 0;
	ssize_t some;

	while ((some = read(fd, buf, piece)) > 0) {
		for (ssize_t i = 0; i < some; i++)
			if (buf[i] != pattern(done + i))
				return false;
		done += some;
	}
	return some == 0 && done == n;
}

/* Are the n bytes at offset all zero? */
static bool
zeroes_at(int fd, off_t offset, size_t n)
{
	if (pread(fd, buf, n, offset) != (ssize_t)n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (buf[i] != 0)
			return false;
	return true;
}

static off_t
size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_size : -1;
}

static void
test_read_write(void)
{
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);

	CHECK(write(fd, "hello, world", 12) == 12, "write gives the count");
	CHECK(lseek(fd, 0, SEEK_CUR) == 12, "write moves the offset");
	CHECK(read(fd, buf, 10) == 0, "read at the end gives 0");
	CHECK(lseek(fd, 7, SEEK_SET) == 7, "lseek gives the offset");
	CHECK(read(fd, buf, 100) == 5 && memcmp(buf, "world", 5) == 0,
	      "read gives what is left");
	CHECK(lseek(fd, -5, SEEK_END) == 7 && write(fd, "there", 5) == 5 &&
		  file_holds("f", "hello, there"),
	      "write replaces what was there");
	CHECK(read(fd, NULL, 0) == 0 && write(fd, NULL, 0) == 0,
	      "no bytes need no buffer");
	CHECK(size_of(fd) == 12, "and change no size");
	CHECK_ERRNO(read(fd, buf, (size_t)LONG_MAX + 1), EINVAL,
		    "read of more than SSIZE_MAX is EINVAL");
	CHECK_ERRNO(write(fd, buf, (size_t)LONG_MAX + 1), EINVAL,
		    "write of more than SSIZE_MAX is EINVAL");
	close(fd);
	unlink("f");
}

static void
test_access_modes(void)
{
	int r, w, d = open("/", O_RDONLY);

	file_make("f", "text");
	r = open("f", O_RDONLY);
	w = open("f", O_WRONLY);
	CHECK_ERRNO(write(r, "x", 1), EBADF, "write, open for reading");
	CHECK_ERRNO(pwrite(r, "x", 1, 0), EBADF, "pwrite, open for reading");
	CHECK_ERRNO(ftruncate(r, 0), EINVAL, "ftruncate, open for reading");
	CHECK_ERRNO(read(w, buf, 1), EBADF, "read, open for writing");
	CHECK_ERRNO(pread(w, buf, 1, 0), EBADF, "pread, open for writing");
	CHECK_ERRNO(write(r, NULL, 0), EBADF, "even no bytes");
	CHECK_ERRNO(read(d, buf, 1), EISDIR, "read of a directory");
	CHECK_ERRNO(pread(d, buf, 1, 0), EISDIR, "pread of a directory");
	CHECK_ERRNO(write(d, buf, 1), EBADF, "write to a directory");
	CHECK(file_holds("f", "text"), "a refused write changes nothing");
	close(r);
	close(w);
	close(d);
	unlink("f");
}

static void
test_positioned(void)
{
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);
	int fds[2];

	write(fd, "0123456789", 10);
	lseek(fd, 3, SEEK_SET);
	CHECK(pread(fd, buf, 4, 6) == 4 && memcmp(buf, "6789", 4) == 0,
	      "pread reads at its offset");
	CHECK(pwrite(fd, "AB", 2, 1) == 2, "pwrite writes");
	CHECK(lseek(fd, 0, SEEK_CUR) == 3, "neither moves the file's");
	CHECK(file_holds("f", "0AB3456789"), "pwrite wrote at its offset");
	CHECK(pread(fd, buf, 4, 10) == 0 && pread(fd, buf, 4, 1 << 20) == 0,
	      "pread past the end gives 0");
	CHECK(pwrite(fd, "end", 3, 12) == 3 && size_of(fd) == 15 &&
		  zeroes_at(fd, 10, 2),
	      "pwrite past the end leaves a hole");
	CHECK_ERRNO(pread(fd, buf, 1, -1), EINVAL, "pread at -1");
	CHECK_ERRNO(pwrite(fd, buf, 1, -1), EINVAL, "pwrite at -1");
	pipe(fds);
	CHECK_ERRNO(pread(fds[0], buf, 1, 0), ESPIPE, "pread of a pipe");
	CHECK_ERRNO(pwrite(fds[1], buf, 1, 0), ESPIPE, "pwrite to a pipe");
	close(fds[0]);
	close(fds[1]);
	close(fd);
	unlink("f");
}

static void
test_seek(void)
{
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666), fds[2];

	write(fd, "0123456789", 10);
	CHECK(lseek(fd, 2, SEEK_SET) == 2 && lseek(fd, 3, SEEK_CUR) == 5 &&
		  lseek(fd, -1, SEEK_CUR) == 4 && lseek(fd, 0, SEEK_END) == 10,
	      "lseek from start, offset and end");
	lseek(fd, 4, SEEK_SET);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL, "lseek before the start");
	CHECK_ERRNO(lseek(fd, -5, SEEK_CUR), EINVAL, "lseek back too far");
	CHECK_ERRNO(lseek(fd, -11, SEEK_END), EINVAL, "from the end, too");
	CHECK_ERRNO(lseek(fd, LONG_MAX, SEEK_CUR), EOVERFLOW,
		    "lseek past what an offset can be");
	CHECK_ERRNO(lseek(fd, 0, 99), EINVAL, "lseek from nowhere");
	CHECK(lseek(fd, 0, SEEK_CUR) == 4, "the offset is where it was");
	CHECK(lseek(fd, 100, SEEK_END) == 110 && read(fd, buf, 1) == 0,
	      "lseek goes past the end");
	CHECK(size_of(fd) == 10, "which doesn't change the size");
	CHECK(lseek(fd, LONG_MAX, SEEK_SET) == LONG_MAX, "as far as you like");
	CHECK_ERRNO(write(fd, "x", 1), EFBIG, "a write there is EFBIG");
	pipe(fds);
	CHECK_ERRNO(lseek(fds[0], 0, SEEK_SET), ESPIPE, "lseek of a pipe");
	CHECK_ERRNO(lseek(fds[1], 0, SEEK_END), ESPIPE, "of its other end");
	close(fds[0]);
	close(fds[1]);
	close(fd);
	unlink("f");
}

static void
test_holes(void)
{
	struct stat st;
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);

	CHECK(pwrite(fd, "x", 1, 100 * PAGE + 17) == 1 &&
		  size_of(fd) == 100 * PAGE + 18,
	      "a write far past the end");
	fstat(fd, &st);
	CHECK(st.st_blocks == PAGE / 512, "only what was written takes room");
	CHECK(zeroes_at(fd, 0, 2 * PAGE) && zeroes_at(fd, 100 * PAGE, 17),
	      "the rest reads as zeroes");
	CHECK(pwrite(fd, "y", 1, 50 * PAGE + 5) == 1 &&
		  zeroes_at(fd, 50 * PAGE, 5) &&
		  zeroes_at(fd, 50 * PAGE + 6, PAGE - 6),
	      "a write into a hole leaves zeroes around it");
	CHECK_ERRNO(pwrite(fd, "z", 1, (off_t)1 << 39), ENOSPC,
		    "where no list of pages can reach, ENOSPC");
	CHECK(size_of(fd) == 100 * PAGE + 18, "and the file is as it was");
	close(fd);
	unlink("f");
}

static void
test_truncate(void)
{
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);

	write_pattern(fd, 3 * PAGE, PAGE);
	CHECK(ftruncate(fd, PAGE + 100) == 0 && size_of(fd) == PAGE + 100,
	      "ftruncate cuts");
	CHECK(lseek(fd, 0, SEEK_CUR) == 3 * PAGE, "and leaves the offset");
	lseek(fd, 0, SEEK_SET);
	CHECK(reads_pattern(fd, PAGE + 100, 999), "what is left is unchanged");
	CHECK(ftruncate(fd, 4 * PAGE) == 0 && size_of(fd) == 4 * PAGE,
	      "ftruncate lengthens");
	CHECK(zeroes_at(fd, PAGE + 100, 3 * PAGE - 100),
	      "with zeroes, not what was cut");
	CHECK(ftruncate(fd, 0) == 0 && size_of(fd) == 0, "cuts to nothing");
	CHECK(write(fd, "x", 1) == 1 && size_of(fd) == PAGE + 101 &&
		  zeroes_at(fd, 0, PAGE + 100),
	      "a write at the old offset leaves a hole");
	CHECK_ERRNO(ftruncate(fd, -1), EINVAL, "ftruncate to -1");
	CHECK_ERRNO(ftruncate(fd, LONG_MAX), EFBIG, "ftruncate to too much");
	CHECK(truncate("f", 7) == 0 && size_of(fd) == 7, "truncate, by name");
	CHECK_ERRNO(truncate("none", 7), ENOENT, "truncate of no file");
	CHECK_ERRNO(truncate("/tmp", 7), EISDIR, "truncate of a directory");
	close(fd);
	unlink("f");
}

static void
test_large(void)
{
	struct stat st;
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);

	CHECK(write_pattern(fd, LARGE, 7001), "3 MiB in odd pieces");
	CHECK(fstat(fd, &st) == 0 && st.st_size == LARGE, "have that size");
	CHECK(st.st_blocks == (LARGE + PAGE - 1) / PAGE * (PAGE / 512),
	      "and take as many pages");
	lseek(fd, 0, SEEK_SET);
	CHECK(reads_pattern(fd, LARGE, 3 * PAGE + 17), "read back the same");
	lseek(fd, 0, SEEK_SET);
	CHECK(reads_pattern(fd, LARGE, sizeof(buf)), "in large pieces, too");
	close(fd);
	unlink("f");
}

/* Are n bytes from address `from` on written at offset, and read at `to`, the
 * same, and the bytes beside them as they were? */
static bool
copies(int fd, int from, off_t offset, int to, size_t n)
{
	static char out[1024];

	memset(out, '-', sizeof(out));
	return pwrite(fd, buf + from, n, offset) == (ssize_t)n &&
	       pread(fd, out + 8 + to, n, offset) == (ssize_t)n &&
	       memcmp(out + 8 + to, buf + from, n) == 0 &&
	       out[8 + to - 1] == '-' && out[8 + to + n] == '-';
}

static void
test_alignments(void)
{
	static const size_t size[] = {1,  7,   8,   9,   15,  16, 17,
				      33, 127, 128, 130, 255, 400};
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);
	bool good = true;

	for (size_t i = 0; i < 1024; i++)
		buf[i] = pattern(i);
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		for (int at = 0; at < 8 * 8 * 8; at++)
			good &= copies(fd, at % 8, at / 8 % 8, at / 64,
				       size[i]);
	CHECK(good, "bytes move unchanged, however they are aligned");
	close(fd);
	unlink("f");
}

/* Memory that ends too soon: nothing moves, or what fitted. */
static void
test_faults(void)
{
	char *end = memory_end();
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);

	write(fd, "0123456789", 10);
	lseek(fd, 2, SEEK_SET);
	CHECK_FAULTS_OUT("read", read(fd, bad, 1));
	CHECK_FAULTS_OUT("pread", pread(fd, bad, 1, 0));
	CHECK_FAULTS_IN("write", write(fd, bad, 1));
	CHECK_FAULTS_IN("pwrite", pwrite(fd, bad, 1, 0));
	CHECK_ERRNO(read(fd, end - 4, 8), EFAULT, "read across the heap's end");
	memset(end - 4, 'x', 4);
	lseek(fd, 2 * PAGE, SEEK_SET);
	CHECK_ERRNO(write(fd, end - 4, 8), EFAULT, "write across it");
	CHECK(size_of(fd) == 10, "which adds nothing");
	CHECK_ERRNO(pwrite(fd, end - 4, 8, 10), EFAULT, "nor does pwrite");
	CHECK(ftruncate(fd, 20) == 0 && zeroes_at(fd, 10, 10),
	      "not even past the end");
	CHECK(lseek(fd, 0, SEEK_CUR) == 2 * PAGE, "no offset moved");
	CHECK_ERRNO(pwrite(fd, end - 4, 8, 0), EFAULT, "over what is there");
	CHECK(pread(fd, buf, 100, 0) == 20 && memcmp(buf, "0123", 4) == 0,
	      "which stays as it was");
	CHECK(write(fd, end - 3 * PAGE, 4 * PAGE) == 3 * PAGE &&
		  size_of(fd) == 5 * PAGE,
	      "of a long write, what can be read is written");
	close(fd);
	unlink("f");
}

static void
test_unlinked(void)
{
	struct stat st;
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);

	write(fd, "still here", 10);
	CHECK(unlink("f") == 0, "unlink while open");
	CHECK_ERRNO(open("f", O_RDONLY), ENOENT, "the name is gone");
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 10,
	      "the file is there, without a link");
	CHECK(pread(fd, buf, 100, 0) == 10 && memcmp(buf, "still", 5) == 0,
	      "it can be read");
	CHECK(write(fd, "!", 1) == 1 && size_of(fd) == 11, "and written");
	CHECK(file_make("f", "new") == 0 && size_of(fd) == 11,
	      "a new file by that name is another");
	close(fd);
	CHECK(file_holds("f", "new"), "and stays when the old one goes");
	unlink("f");
}

#define WRITERS 4
#define WRITES  30
#define PIECE   ((size_t)12345)

static int shared_fd;

static int
write_pieces(void)
{
	for (int i = 0; i < WRITES; i++)
		if (write(shared_fd, buf, PIECE) != (ssize_t)PIECE)
			return 1;
	return 0;
}

/* By one descriptor, with turns that end in the midst of a write. */
static void
test_several_writers(void)
{
	pid_t pid[WRITERS];
	int good = 0;

	ctl(PROFCLOCK, "hz 5000");
	shared_fd = open("f", O_RDWR | O_CREAT, 0666);
	for (int i = 0; i < WRITERS; i++)
		pid[i] = child_start(write_pieces);
	for (int i = 0; i < WRITERS; i++)
		good += child_wait(pid[i]) == 0;
	CHECK(good == WRITERS &&
		  (size_t)size_of(shared_fd) == WRITERS * WRITES * PIECE,
	      "what several write at once comes one after the other");
	ctl(PROFCLOCK, "hz 100");
	close(shared_fd);
	unlink("f");
}

int
main(void)
{
	scratch_enter("files.d");
	test_read_write();
	test_access_modes();
	test_positioned();
	test_seek();
	test_holes();
	test_truncate();
	test_large();
	test_alignments();
	test_faults();
	test_unlinked();
	test_several_writers();
	scratch_leave("files.d");
	return check_done();
}

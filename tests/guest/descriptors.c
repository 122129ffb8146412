/* Descriptors: which are valid, what they share, how many there may be. */
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "helpers.h"

#define DESCRIPTORS 1024

static char buf[PAGE];

static bool
is_open(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0;
}

static int
count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < DESCRIPTORS; fd++)
		n += is_open(fd);
	return n;
}

static off_t
offset_of(int fd)
{
	return lseek(fd, 0, SEEK_CUR);
}

/* Every call that takes a descriptor, with a bad one. */
static void
check_bad(int fd, const char *what)
{
	struct dirent de;
	struct stat st;

	CHECK_ERRNO(close(fd), EBADF, "close of %s", what);
	CHECK_ERRNO(read(fd, buf, 1), EBADF, "read of %s", what);
	CHECK_ERRNO(write(fd, buf, 1), EBADF, "write to %s", what);
	CHECK_ERRNO(pread(fd, buf, 1, 0), EBADF, "pread of %s", what);
	CHECK_ERRNO(pwrite(fd, buf, 1, 0), EBADF, "pwrite to %s", what);
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), EBADF, "lseek of %s", what);
	CHECK_ERRNO(dup(fd), EBADF, "dup of %s", what);
	CHECK_ERRNO(dup2(fd, 5), EBADF, "dup2 of %s", what);
	CHECK_ERRNO(dup2(fd, fd), EBADF, "dup2 to itself of %s", what);
	CHECK_ERRNO(fcntl(fd, F_GETFD), EBADF, "F_GETFD of %s", what);
	CHECK_ERRNO(fcntl(fd, F_SETFD, 0), EBADF, "F_SETFD of %s", what);
	CHECK_ERRNO(fcntl(fd, F_GETFL), EBADF, "F_GETFL of %s", what);
	CHECK_ERRNO(fcntl(fd, F_DUPFD, 0), EBADF, "F_DUPFD of %s", what);
	CHECK_ERRNO(ioctl(fd, FIONREAD, buf), EBADF, "ioctl of %s", what);
	CHECK_ERRNO(fstat(fd, &st), EBADF, "fstat of %s", what);
	CHECK_ERRNO(getdents64(fd, &de, sizeof(de)), EBADF, "getdents64 of %s",
		    what);
	CHECK_ERRNO(ftruncate(fd, 0), EBADF, "ftruncate of %s", what);
}

static void
test_bad(void)
{
	int before = count_open();

	check_bad(-1, "-1");
	fcntl(0, F_SETFD, FD_CLOEXEC); /* which is noted behind the last one */
	check_bad(64, "one that there is no room for yet");
	check_bad(DESCRIPTORS, "1024");
	fcntl(0, F_SETFD, 0);
	check_bad(DESCRIPTORS - 1, "a closed one");
	check_bad(INT_MAX, "the highest int");
	check_bad(INT_MIN, "the lowest int");
	CHECK_ERRNO(dup2(0, -1), EBADF, "dup2 to -1");
	CHECK_ERRNO(dup2(0, DESCRIPTORS), EBADF, "dup2 to 1024");
	CHECK_ERRNO(fcntl(0, F_DUPFD, -1), EINVAL, "F_DUPFD from -1 on");
	CHECK_ERRNO(fcntl(0, F_DUPFD, DESCRIPTORS), EINVAL, "from 1024 on");
	CHECK_ERRNO(fcntl(0, 9999, 0), EINVAL, "fcntl of no kind");
	CHECK(count_open() == before, "none of that opened or closed any");
}

static void
test_dup(void)
{
	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0666);
	int copy = dup(fd), other = open("f", O_RDONLY);

	CHECK(copy == fd + 1 && other == fd + 2, "the lowest free one");
	write(fd, "0123456789", 10);
	CHECK(offset_of(copy) == 10, "dup shares the offset");
	CHECK(lseek(copy, 4, SEEK_SET) == 4 && offset_of(fd) == 4, "both ways");
	CHECK(offset_of(other) == 0, "a second open has its own");
	CHECK(close(fd) == 0 && read(copy, buf, 3) == 3 &&
		  memcmp(buf, "456", 3) == 0,
	      "closing one leaves the other");
	CHECK(dup(copy) == fd, "and makes room");
	CHECK(dup2(copy, copy) == copy && offset_of(copy) == 7,
	      "dup2 to itself does nothing");
	CHECK(dup2(copy, other) == other && offset_of(other) == 7,
	      "dup2 takes the place of what was open");
	CHECK(dup2(copy, DESCRIPTORS - 1) == DESCRIPTORS - 1 &&
		  offset_of(DESCRIPTORS - 1) == 7,
	      "or of nothing");
	CHECK(fcntl(copy, F_DUPFD, 40) == 40 && fcntl(copy, F_DUPFD, 40) == 41,
	      "F_DUPFD starts where it's told");
	CHECK_ERRNO(fcntl(copy, F_DUPFD, DESCRIPTORS - 1), EMFILE,
		    "or fails if all from there on are taken");
	close(fd);
	close(copy);
	close(other);
	close(40);
	close(41);
	close(DESCRIPTORS - 1);
	unlink("f");
}

/* The child's end of test_fork. */
static int
child_reads_three(void)
{
	return read(10, buf, 3) == 3 && memcmp(buf, "012", 3) == 0 &&
		       close(10) == 0
		   ? 0
		   : 1;
}

#define LINES 500
#define LINE  8 /* bytes */

/* Take lines from descriptor 10 till the end; tell of each in file out. */
static int
take_lines(const char *out)
{
	int fd = open(out, O_WRONLY | O_CREAT, 0666);
	ssize_t n;

	while ((n = read(10, buf, LINE)) == LINE)
		write(fd, buf, LINE);
	close(fd);
	return n != 0;
}

static int
take_lines_too(void)
{
	return take_lines("theirs");
}

/* Mark the lines that a file has; false: one was marked before. */
static bool
mark_lines(const char *name, bool *taken)
{
	FILE *f = fopen(name, "r");
	bool good = true;
	int i;

	while (fscanf(f, "%d", &i) == 1) {
		good &= !taken[i];
		taken[i] = true;
	}
	fclose(f);
	unlink(name);
	return good;
}

static void
test_fork(void)
{
	static bool taken[LINES];
	int n = 0, fd;
	pid_t child;

	file_make("f", "0123456789");
	dup2(open("f", O_RDONLY), 10);
	CHECK(child_run(child_reads_three) == 0 && offset_of(10) == 3,
	      "a child shares the offset");
	CHECK(read(10, buf, 10) == 7, "what it closes stays open here");
	fd = open("f", O_RDWR | O_TRUNC);
	for (int i = 0; i < LINES; i++)
		dprintf(fd, "%7d\n", i);
	lseek(10, 0, SEEK_SET);
	child = child_start(take_lines_too);
	CHECK(take_lines("mine") == 0 && child_wait(child) == 0,
	      "two read one file at once");
	CHECK(mark_lines("mine", taken) && mark_lines("theirs", taken),
	      "no line goes to both");
	for (int i = 0; i < LINES; i++)
		n += taken[i];
	CHECK(n == LINES, "nor is any lost");
	for (fd = 3; fd <= 10; fd++)
		close(fd);
	unlink("f");
}

static void
test_flags(void)
{
	int fd = open("f", O_WRONLY | O_CREAT | O_APPEND, 0666), copy, r;

	r = open("f", O_RDONLY | O_NONBLOCK);
	CHECK(fcntl(fd, F_GETFL) == (O_WRONLY | O_APPEND),
	      "F_GETFL gives mode and flags");
	CHECK(fcntl(r, F_GETFL) == (O_RDONLY | O_NONBLOCK), "O_NONBLOCK too");
	copy = dup(fd);
	CHECK(fcntl(copy, F_SETFL, O_NONBLOCK | O_RDWR) == 0 &&
		  fcntl(fd, F_GETFL) == (O_WRONLY | O_NONBLOCK),
	      "F_SETFL changes flags of both, and no mode");
	CHECK(fcntl(fd, F_GETFD) == 0, "not close-on-exec");
	CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
		  fcntl(fd, F_GETFD) == FD_CLOEXEC,
	      "F_SETFD makes it that");
	CHECK(dup2(fd, fd) == fd && fcntl(fd, F_GETFD) == FD_CLOEXEC,
	      "which it stays when dup2 does nothing");
	CHECK(fcntl(copy, F_GETFD) == 0, "but not its copy");
	close(copy);
	CHECK((copy = dup(fd)) > 0 && fcntl(copy, F_GETFD) == 0,
	      "nor a new copy");
	CHECK(dup2(fd, copy) == copy && fcntl(copy, F_GETFD) == 0, "dup2's");
	close(copy);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	CHECK(fcntl(copy, F_GETFD) == FD_CLOEXEC, "F_DUPFD_CLOEXEC's is");
	CHECK(fcntl(copy, F_SETFD, 0) == 0 && fcntl(copy, F_GETFD) == 0,
	      "until it's taken back");
	close(copy);
	close(fd);
	copy = open("f", O_RDONLY);
	CHECK(copy == fd && fcntl(copy, F_GETFD) == 0,
	      "a descriptor that comes again is as new");
	close(copy);
	close(r);
	unlink("f");
}

/* What this program, run anew by test_exec, finds: it exits with a bit for
 * each of 10, 11, 12 that is open. */
static int
exec_report(void)
{
	return is_open(10) | is_open(11) << 1 | is_open(12) << 2;
}

static const char *self;

static int
exec_self(void)
{
	execlp(self, self, "report", NULL);
	return -1;
}

static void
test_exec(void)
{
	int fd = open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "O_CLOEXEC is close-on-exec");
	fcntl(fd, F_DUPFD_CLOEXEC, 10);
	fcntl(fd, F_DUPFD, 11);
	fcntl(fd, F_DUPFD, 12);
	fcntl(12, F_SETFD, FD_CLOEXEC);
	CHECK(child_run(exec_report) == 7, "fork keeps them all");
	CHECK(child_run(exec_self) == 2, "exec closes those");
	CHECK(is_open(10) && is_open(12), "of the one who calls it");
	close(10);
	close(11);
	close(12);
	close(fd);
	unlink("f");
}

static void
test_all_taken(void)
{
	int before = count_open(), fds[2], n = 0;
	struct stat st;

	file_make("f", "text");
	while (open("f", O_RDONLY) >= 0)
		n++;
	CHECK(errno == EMFILE && before + n == DESCRIPTORS,
	      "there are 1024, then open is EMFILE");
	CHECK_ERRNO(dup(0), EMFILE, "dup");
	CHECK_ERRNO(fcntl(0, F_DUPFD, 0), EMFILE, "F_DUPFD");
	CHECK_ERRNO(pipe(fds), EMFILE, "pipe");
	CHECK_ERRNO(open("new", O_WRONLY | O_CREAT, 0666), EMFILE, "O_CREAT");
	CHECK(stat("new", &st) < 0, "which makes nothing");
	CHECK_ERRNO(open("f", O_WRONLY | O_TRUNC), EMFILE, "O_TRUNC");
	CHECK(stat("f", &st) == 0 && st.st_size == 4, "which cuts nothing");
	CHECK(dup2(0, DESCRIPTORS - 1) == DESCRIPTORS - 1, "dup2 can do");
	close(DESCRIPTORS - 1);
	CHECK_ERRNO(pipe(fds), EMFILE, "a pipe needs two");
	CHECK(!is_open(DESCRIPTORS - 1), "or takes none");
	CHECK_FAULTS_OUT("pipe", (close(DESCRIPTORS - 2), pipe(bad)));
	CHECK(count_open() == DESCRIPTORS - 2, "and leaves none open");
	CHECK_ERRNO(open("none", O_RDONLY), ENOENT, "a failing open");
	CHECK(dup(0) == DESCRIPTORS - 2, "takes none either");
	while (n > 0)
		close(before + --n);
	CHECK(count_open() == before, "closed again");
	unlink("f");
}

/* A table that has grown is like any other. */
static void
test_many(void)
{
	int before = count_open(), fd = open("f", O_RDWR | O_CREAT, 0666);
	int pipes[2], high[2], status;
	struct pollfd p[200];
	struct timeval none = {0};
	fd_set set;

	write(fd, "text", 4);
	pipe(pipes);
	high[0] = fcntl(pipes[0], F_DUPFD, 700);
	high[1] = fcntl(pipes[1], F_DUPFD_CLOEXEC, 64);
	CHECK(high[0] == 700 && high[1] == 64, "numbers above 63");
	CHECK(dup2(fd, 1000) == 1000 && pread(1000, buf, 4, 0) == 4, "dup2");
	FD_ZERO(&set);
	FD_SET(700, &set);
	CHECK(select(701, &set, NULL, NULL, &none) == 0 && !FD_ISSET(700, &set),
	      "select: nothing to read there");
	write(high[1], "x", 1);
	FD_SET(700, &set);
	CHECK(select(1024, &set, NULL, NULL, &none) == 1 && FD_ISSET(700, &set),
	      "and now there is");
	for (int i = 0; i < 200; i++)
		p[i] = (struct pollfd){.fd = 600 + i, .events = POLLIN};
	CHECK(poll(p, 200, 0) == 200 && p[100].revents == POLLIN &&
		  p[99].revents == POLLNVAL,
	      "poll of 200");
	if (fork() == 0)
		_exit(!is_open(64) || !is_open(700) || !is_open(1000) ||
		      is_open(699) || count_open() != before + 6);
	wait(&status);
	CHECK(status == 0, "a child has them all");
	CHECK(close_range(600, 800, CLOSE_RANGE_CLOEXEC) == 0 &&
		  fcntl(700, F_GETFD) == FD_CLOEXEC &&
		  fcntl(1000, F_GETFD) == 0,
	      "close_range marks");
	CHECK(close_range(64, ~0U, 0) == 0 && count_open() == before + 3,
	      "close_range closes");
	CHECK_ERRNO(close_range(2, 1, 0), EINVAL, "from the end");
	CHECK_ERRNO(close_range(900, 901, 8), EINVAL, "a flag there isn't");
	close_range(fd, pipes[1], 0);
	CHECK(count_open() == before, "all closed again");
	unlink("f");
}

static void
test_ioctl(void)
{
	int fds[2], dir = open(".", O_RDONLY), null = open("/dev/null", O_RDWR);
	int f = open("f", O_RDWR | O_CREAT, 0666);

	pipe(fds);
	CHECK_ERRNO(ioctl(f, TIOCGWINSZ, buf), ENOTTY, "ioctl of a file");
	CHECK_ERRNO(ioctl(dir, TCGETS, buf), ENOTTY, "of a directory");
	CHECK_ERRNO(ioctl(fds[0], TCGETS, buf), ENOTTY, "of a pipe");
	CHECK_ERRNO(ioctl(null, TIOCGWINSZ, buf), ENOTTY, "of /dev/null");
	CHECK(!isatty(f) && errno == ENOTTY, "isatty says no");
	CHECK_ERRNO(ftruncate(fds[1], 0), EINVAL, "ftruncate of a pipe");
	CHECK_ERRNO(ftruncate(null, 0), EINVAL, "ftruncate of /dev/null");
	CHECK_ERRNO(ftruncate(dir, 0), EINVAL, "ftruncate of a directory");
	close(fds[0]);
	close(fds[1]);
	close(dir);
	close(null);
	close(f);
	unlink("f");
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return exec_report();
	self = argv[0];
	scratch_enter("descriptors.d");
	test_bad();
	test_dup();
	test_fork();
	test_flags();
	test_exec();
	test_all_taken();
	test_many();
	test_ioctl();
	scratch_leave("descriptors.d");
	return check_done();
}

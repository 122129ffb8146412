/* Devices: /dev itself, null, zero, the console, and files one controls the
 * kernel with. */
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <termios.h>

#include "catch.h"

static char buf[64 * 1024];

/* Write a string to a file; what write gives. */
static ssize_t
send_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = write(fd, text, strlen(text));
	int e = errno;

	close(fd);
	errno = e;
	return n;
}

/* Read a file from its start into buf, in pieces; how much. */
static ssize_t
read_file(const char *path, size_t piece)
{
	int fd = open(path, O_RDONLY);
	ssize_t done = 0, n = -1;

	while (fd >= 0 && (n = read(fd, buf + done, piece)) > 0)
		done += n;
	close(fd);
	buf[done] = '\0';
	return n < 0 ? n : done;
}

static void
test_folder(void)
{
	static const char *const wanted[] = {"console",   "tty",   "null",
					     "zero",      "kpctl", "kpdata",
					     "profclock", "prf",   "prf0"};
	struct dirent **list;
	struct stat st;
	int n = scandir("/dev", &list, NULL, alphasort), good = 2, found = 0;
	bool twice = false;

	CHECK(chdir("/dev") == 0, "/dev is a folder");
	for (int i = 2; i < n; i++) {
		good += lstat(list[i]->d_name, &st) == 0 &&
			(S_ISCHR(st.st_mode) || S_ISLNK(st.st_mode)) &&
			st.st_ino == list[i]->d_ino &&
			list[i]->d_type == IFTODT(st.st_mode) &&
			st.st_nlink == 1;
		twice |= strcmp(list[i]->d_name, list[i - 1]->d_name) == 0;
		for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			found += strcmp(list[i]->d_name, wanted[k]) == 0;
	}
	CHECK(good == n, "what it lists are character devices, and links");
	CHECK(!twice, "each once");
	CHECK(found == sizeof(wanted) / sizeof(wanted[0]), "and none lacks");
	while (n > 0)
		free(list[--n]);
	free(list);
	chdir("/tmp");
}

static void
test_names(void)
{
	struct stat st;
	int fd;

	CHECK_ERRNO(open("/dev/none", O_RDWR), ENOENT, "open an unknown one");
	CHECK_ERRNO(stat("/dev/nul", &st), ENOENT, "a name cut short");
	CHECK_ERRNO(stat("/dev/nulll", &st), ENOENT, "or too long");
	CHECK_ERRNO(access("/dev/", 0) ? -1 : open("/dev/null/", O_RDWR),
		    ENOTDIR, "a device is no folder");
	CHECK_ERRNO(open("/dev/null/x", O_RDWR), ENOTDIR, "nor has it files");
	CHECK_ERRNO(open("/dev/x", O_RDWR | O_CREAT, 0666), EROFS,
		    "no file is made in /dev");
	fd = open("/dev/null", O_RDWR | O_CREAT | O_TRUNC, 0666);
	CHECK(fd >= 0, "O_CREAT and O_TRUNC open a device");
	close(fd);
	CHECK_ERRNO(open("/dev/null", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST,
		    "O_EXCL doesn't");
	CHECK_ERRNO(chmod("/dev/null", 0), EROFS, "chmod");
	CHECK_ERRNO(utimens("/dev/null", NULL), EROFS, "utimens");
	CHECK_ERRNO(truncate("/dev/null", 0), EINVAL, "truncate");
	CHECK_ERRNO(open("/dev/hostout", O_RDONLY), EACCES,
		    "open for reading what can only be written");
	CHECK_ERRNO(access("/dev/hostout", R_OK), EACCES, "access agrees");
	CHECK(access("/dev/hostout", W_OK) == 0, "for writing one may");
}

static void
test_null(void)
{
	int fd = open("/dev/null", O_RDWR);

	CHECK(read(fd, buf, sizeof(buf)) == 0, "null is empty");
	CHECK(write(fd, buf, sizeof(buf)) == sizeof(buf), "and takes all");
	CHECK(read(fd, buf, 1) == 0, "and keeps nothing");
	CHECK(pread(fd, buf, 1, 7) == 0 && pwrite(fd, buf, 9, 7) == 9,
	      "at any offset");
	close(fd);
}

static void
test_zero(void)
{
	char *end = memory_end();
	int fd = open("/dev/zero", O_RDWR), sum = 0;

	memset(buf, 7, sizeof(buf));
	CHECK(read(fd, buf + 1, sizeof(buf) - 2) == sizeof(buf) - 2,
	      "zero gives as much as is asked for");
	for (size_t i = 0; i < sizeof(buf); i++)
		sum += buf[i];
	CHECK(sum == 14 && buf[0] == 7, "just so many zeroes");
	CHECK(write(fd, buf, sizeof(buf)) == sizeof(buf), "and takes all");
	CHECK_FAULTS_OUT("zero", read(fd, bad, 1));
	CHECK_ERRNO(read(fd, end - 2, 4), EFAULT, "and past the heap's end");
	__brk(end + PAGE);
	CHECK(read(fd, end, 2 * PAGE) == PAGE,
	      "what was stored before a bad page is counted");
	__brk(end);
	close(fd);
}

/* Words of /dev/profclock that are wrong. */
static const char *const bad_clock_words[] = {
    "",
    "\n",
    "fast 3",
    "h 100",
    "hzz 100",
    "hz",
    "hz 0",
    "hz -1",
    "hz 20001",
    "hz 1O0",
    "hz 100 200",
    "hz100",
    "jitter",
    "jitter maybe",
    "jitter on off",
    "seed",
    "seed 18446744073709551616",
    "hold on",
    "go 1",
    "sample",
    "sample user 0 1 0",
    "sample system 0 1 0 1",
    "sample user 0 1 0 x",
    "sample user 0 1 8 1",
    "sample user 99 1 0 1",
    "sample user 0 1 0 0 1 1",
    NULL,
};

/* Each must be refused. A control file's wrong words. */
static void
check_words(const char *path, const char *const *word)
{
	for (; *word != NULL; word++)
		CHECK_ERRNO(send_to(path, *word), EINVAL, "%s: \"%s\"", path,
			    **word == '\n' ? "\\n" : *word);
}

/* The settings, read in pieces, into buf; what has come of them, which is said
 * behind them, changes by itself. */
static void
read_settings(size_t piece)
{
	char *counts;

	read_file("/dev/profclock", piece);
	counts = strstr(buf, "reached ");
	CHECK(counts != NULL, "profclock tells its settings");
	if (counts != NULL)
		*counts = '\0';
}

static void
test_profclock(void)
{
	static char before[256], set[64];
	unsigned long seed;
	int hz, fd;

	read_settings(100);
	strcpy(before, buf);
	CHECK(sscanf(buf, "hz %d\njitter %*s\nseed %lu\ngo\n", &hz, &seed) == 2,
	      "as its words are put");
	read_settings(1);
	CHECK(strcmp(buf, before) == 0, "byte by byte the same");
	check_words("/dev/profclock", bad_clock_words);
	memset(buf, ' ', 256);
	strcpy(buf + 250, "hz 200");
	CHECK_ERRNO(send_to("/dev/profclock", buf), EINVAL,
		    "a line of 256 bytes is too long");
	fd = open("/dev/profclock", O_WRONLY);
	CHECK_ERRNO(write(fd, "hz 200\0", 7), EINVAL, "a NUL in it");
	CHECK_FAULTS_IN("profclock", write(fd, bad, 6));
	close(fd);
	read_settings(100);
	CHECK(strcmp(buf, before) == 0, "none of that changed a setting");
	CHECK(send_to("/dev/profclock", "hz 20000") == 8, "hz 20000");
	memset(buf, ' ', 255);
	strcpy(buf + 249, "hz 100");
	CHECK(send_to("/dev/profclock", buf) == 255, "a line of 255 bytes");
	CHECK(send_to("/dev/profclock", " hz\t 0xc8 \n") == 11, "hz 200, so");
	read_settings(100);
	CHECK(strncmp(buf, "hz 200\n", 7) == 0, "is set");
	sprintf(set, "hz %d", hz);
	CHECK(send_to("/dev/profclock", set) > 0 &&
		  send_to("/dev/profclock", "seed 18446744073709551615") > 0,
	      "and set back; the largest number");
	sprintf(set, "seed %lu", seed);
	send_to("/dev/profclock", set);
}

static void
test_kprof(void)
{
	static const char *const bad_words[] = {
	    "", "begin", "starts", "star", "START", "start now", "stop 1", NULL,
	};
	struct sysinfo info;
	struct stat st;
	uint64_t covered; /* bytes of text */
	char part[8];
	int fd;

	check_words("/dev/kpctl", bad_words);
	CHECK(send_to("/dev/kpctl", "startclr\n") == 9 &&
		  send_to("/dev/kpctl", "stop") == 4,
	      "its words, with a newline or without");
	read_file("/dev/kpctl", 10);
	CHECK(strcmp(buf, "skipped 0\n") == 0, "kpctl says what was skipped");
	sysinfo(&info, sizeof(info));
	stat("/dev/kpdata", &st);
	covered = (st.st_size / 4 - 2) * 8;
	CHECK(st.st_size % 4 == 0 &&
		  covered <= info.text_end - info.text_start &&
		  covered + PAGE > info.text_end - info.text_start,
	      "kpdata has a word for every 8 bytes of text, and two");
	CHECK_ERRNO(send_to("/dev/kpdata", "x"), EINVAL, "write to kpdata");
	fd = open("/dev/kpdata", O_RDONLY);
	CHECK(pread(fd, buf, 64, 0) == 64 && pread(fd, part, 7, 3) == 7 &&
		  memcmp(part, buf + 3, 7) == 0,
	      "any offset of it, any length");
	CHECK(lseek(fd, 0, SEEK_END) == st.st_size && read(fd, buf, 1) == 0,
	      "to its end");
	CHECK(pread(fd, buf, 9, st.st_size - 5) == 5, "and not past it");
	CHECK_FAULTS_OUT("kpdata", pread(fd, bad, 4, 8));
	close(fd);
}

static void
test_ktest(void)
{
	static const char *const bad_words[] = {
	    "",
	    "dance",
	    "spin",
	    "spin 0",
	    "spin 2 1",
	    "spin 6 1",
	    "spin 0 99999999",
	    "spin 0 1 x",
	    "spin 0 1 2 3",
	    NULL,
	};

	CHECK(read_file("/dev/ktest", 64) > 0 && strstr(buf, "blocks "),
	      "ktest says what is in use");
	check_words("/dev/ktest", bad_words);
	CHECK(send_to("/dev/ktest", "spin 0 100") > 0, "it can spin");
}

/* It is told to the foreground group. */
static void
test_new_size(int fd, struct winsize size)
{
	pid_t before, pgrp = getpgrp();

	ioctl(fd, TIOCGPGRP, &before);
	ioctl(fd, TIOCSPGRP, &pgrp);
	catch_signal(SIGWINCH, 0, 0);
	size.ws_row++;
	CHECK(ioctl(fd, TIOCSWINSZ, &size) == 0 && hits == 1,
	      "a new size is told by SIGWINCH");
	CHECK(ioctl(fd, TIOCSWINSZ, &size) == 0 && hits == 1,
	      "but not if it's the same");
	size.ws_row--;
	ioctl(fd, TIOCSWINSZ, &size);
	ioctl(fd, TIOCSPGRP, &before);
	signal(SIGWINCH, SIG_DFL);
}

static void
test_console(void)
{
	int fd = open("/dev/console", O_RDWR | O_NONBLOCK), n;
	struct termios t, again;
	struct winsize size;
	pid_t pgrp;

	CHECK(isatty(fd) && strcmp(ttyname(fd), "/dev/console") == 0,
	      "the console is a terminal");
	CHECK_ERRNO(read(fd, buf, 1), EAGAIN, "no one types: EAGAIN");
	CHECK(read(fd, buf, 0) == 0, "but for nothing");
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), ESPIPE, "it can't be sought");
	CHECK(ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row == 24 &&
		  size.ws_col == 80,
	      "24 by 80");
	CHECK(tcgetattr(fd, &t) == 0 && t.c_lflag & ICANON && t.c_lflag & ECHO,
	      "by line, with echo");
	t.c_cc[VMIN] = 3;
	CHECK(tcsetattr(fd, TCSANOW, &t) == 0 && tcgetattr(fd, &again) == 0 &&
		  again.c_cc[VMIN] == 3,
	      "what is set is so");
	CHECK_ERRNO(tcsetattr(fd, 99, &t), EINVAL, "tcsetattr at no time");
	t.c_cc[VMIN] = 1;
	tcsetattr(fd, TCSADRAIN, &t);
	CHECK(ioctl(fd, FIONREAD, &n) == 0 && n == 0, "nothing is typed");
	CHECK_ERRNO(ioctl(fd, 0x1234, &n), ENOTTY, "an unknown request");
	CHECK_FAULTS_OUT("TCGETS", ioctl(fd, TCGETS, bad));
	CHECK_FAULTS_OUT("FIONREAD", ioctl(fd, FIONREAD, bad));
	CHECK_FAULTS_IN("TCSETS", ioctl(fd, TCSETS, bad));
	CHECK_FAULTS_IN("TIOCSWINSZ", ioctl(fd, TIOCSWINSZ, bad));
	test_new_size(fd, size);
	CHECK_FAULTS_IN("TIOCSPGRP", ioctl(fd, TIOCSPGRP, bad));
	pgrp = -1;
	CHECK_ERRNO(ioctl(fd, TIOCSPGRP, &pgrp), EINVAL, "a negative group");
	pgrp = 32767;
	CHECK_ERRNO(ioctl(fd, TIOCSPGRP, &pgrp), EPERM, "a group of no one");
	CHECK_FAULTS_IN("console", write(fd, bad, 1));
	close(fd);
	fd = open("/dev/hosterr", O_WRONLY);
	CHECK(!isatty(fd) && errno == ENOTTY, "hosterr is no terminal");
	CHECK_FAULTS_IN("hosterr", write(fd, bad, 1));
	close(fd);
	CHECK_ERRNO(open("/dev/hostdata", O_RDONLY), EACCES,
		    "hostdata is only written");
}

/* Both read and written, it has an offset that could pass the largest. */
static void
test_far_offset(void)
{
	int fd = open("/dev/kpctl", O_RDWR);

	CHECK(lseek(fd, INT64_MAX, SEEK_SET) == INT64_MAX, "a far offset");
	CHECK(write(fd, "stop", 4) == 4, "can be written at");
	CHECK_ERRNO(read(fd, buf, 8), EINVAL, "but past the largest is EINVAL");
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, buf, 8) == 8,
	      "till one comes back from there");
	close(fd);
}

int
main(void)
{
	alarm(DEADLINE);
	test_far_offset();
	test_folder();
	test_names();
	test_null();
	test_zero();
	test_profclock();
	test_kprof();
	test_ktest();
	test_console();
	return check_done();
}

/* Names: what open makes of its flags, and what a path may not be; what stat
 * says of a file, and how that is changed. */
#include <time.h>
#include <utime.h>

#include "helpers.h"

#define NAME_MAX_LEN 255
#define PATH_MAX_LEN 1024 /* with the NUL */
#define NS_PER_S     1000000000L

/* A name of n bytes. */
static const char *
name_of(size_t n)
{
	static char name[PATH_MAX_LEN + 1];

	memset(name, 'n', n);
	name[n] = '\0';
	return name;
}

/* A path of n bytes that leads to f. */
static const char *
path_of(size_t n)
{
	static char path[PATH_MAX_LEN + 1];

	for (size_t i = 0; i < n; i++)
		path[i] = i % 2 == 0 ? '.' : '/';
	path[n - 2] = '/';
	path[n - 1] = 'f';
	path[n] = '\0';
	return path;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : (mode_t)-1;
}

/* What every call with a path says of a bad one. */
#define CHECK_PATHS(what, call)                                               \
	do {                                                                  \
		const char *path = "";                                        \
		CHECK_ERRNO(call, ENOENT, "%s: an empty path", what);         \
		path = "none/x";                                              \
		CHECK_ERRNO(call, ENOENT, "%s: no such folder", what);        \
		path = "f/x";                                                 \
		CHECK_ERRNO(call, ENOTDIR, "%s: a file as folder", what);     \
		path = name_of(NAME_MAX_LEN + 1);                             \
		CHECK_ERRNO(call, ENAMETOOLONG, "%s: too long a name", what); \
		path = path_of(PATH_MAX_LEN);                                 \
		CHECK_ERRNO(call, ENAMETOOLONG, "%s: too long a path", what); \
		path = strcpy(memory_end() - 4, "f/f") + 3;                   \
		memory_end()[-1] = 'f';                                       \
		CHECK_ERRNO(call, EFAULT, "%s: a path without end", what);    \
		CHECK_FAULTS_IN(what, (path = bad, call));                    \
	} while (0)

static void
test_bad_paths(void)
{
	struct stat st;

	file_make("f", "text");
	mkdir("d", 0777);
	CHECK_PATHS("open", open(path, O_RDONLY));
	CHECK_PATHS("open to make", open(path, O_WRONLY | O_CREAT, 0666));
	CHECK_PATHS("stat", stat(path, &st));
	CHECK_PATHS("access", access(path, F_OK));
	CHECK_PATHS("chmod", chmod(path, 0666));
	CHECK_PATHS("utimens", utimens(path, NULL));
	CHECK_PATHS("mkdir", mkdir(path, 0777));
	CHECK_PATHS("rmdir", rmdir(path));
	CHECK_PATHS("unlink", unlink(path));
	CHECK_PATHS("chdir", chdir(path));
	CHECK_PATHS("rename from", rename(path, "new"));
	CHECK_PATHS("rename to", rename("f", path));
	CHECK(file_holds("f", "text"), "none of that harmed the file");
	rmdir("d");
	unlink("f");
}

static void
test_long_paths(void)
{
	const char *name = name_of(NAME_MAX_LEN);

	CHECK(file_make(name, "long") == 0 && file_holds(name, "long"),
	      "a name of 255 bytes");
	CHECK(unlink(name) == 0, "and unlink it");
	CHECK(file_make("f", "f") == 0 &&
		  file_holds(path_of(PATH_MAX_LEN - 1), "f"),
	      "a path of 1023 bytes");
	CHECK(file_holds(".//./f", "f"), "slashes in a row are one");
	CHECK(file_holds("/../../tmp/paths.d/../paths.d/f", "f"),
	      ".. of the root is the root");
	CHECK_ERRNO(open("f/", O_RDONLY), ENOTDIR, "open a file with a slash");
	CHECK_ERRNO(open("none/", O_WRONLY | O_CREAT, 0666), EISDIR,
		    "make a file with a slash");
	CHECK_ERRNO(open("f/.", O_RDONLY), ENOTDIR, "a file's .");
	CHECK_ERRNO(open("f/..", O_RDONLY), ENOTDIR, "a file's ..");
	CHECK_ERRNO(open("none/..", O_RDONLY), ENOENT, "no folder's ..");
	CHECK_ERRNO(unlink("f/"), ENOTDIR, "unlink a file with a slash");
	unlink("f");
}

static void
test_open_flags(void)
{
	int fd;

	CHECK_ERRNO(open("f", O_RDWR), ENOENT, "open what isn't there");
	CHECK_ERRNO(open("f", O_ACCMODE | O_CREAT, 0666), EINVAL,
		    "neither reading nor writing");
	CHECK_ERRNO(open("f", O_RDONLY), ENOENT, "which makes nothing");
	fd = open("f", O_RDWR | O_CREAT | O_EXCL, 0666);
	CHECK(fd >= 0, "O_EXCL makes a file");
	write(fd, "text", 4);
	close(fd);
	CHECK_ERRNO(open("f", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST,
		    "O_EXCL, and it's there");
	CHECK_ERRNO(open(".", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST,
		    "O_EXCL, and it's a directory");
	CHECK((fd = open("f", O_RDONLY | O_CREAT, 0)) >= 0 &&
		  file_holds("f", "text"),
	      "O_CREAT opens what is there");
	close(fd);
	close(open("f", O_WRONLY));
	CHECK(file_holds("f", "text"), "without O_TRUNC it stays as it was");
	close(open("f", O_RDONLY | O_TRUNC));
	CHECK(file_holds("f", "text"), "or where it is only to be read");
	close(open("f", O_WRONLY | O_TRUNC));
	CHECK(file_holds("f", ""), "O_TRUNC empties it");
	CHECK_ERRNO(open(".", O_WRONLY), EISDIR, "a directory for writing");
	CHECK_ERRNO(open(".", O_RDWR), EISDIR, "or for both");
	CHECK_ERRNO(open(".", O_RDONLY | O_CREAT, 0666), EISDIR,
		    "a directory with O_CREAT");
	CHECK_ERRNO(open("f", O_RDONLY | O_DIRECTORY), ENOTDIR,
		    "a file with O_DIRECTORY");
	CHECK((fd = open(".", O_RDONLY | O_DIRECTORY)) >= 0, "O_DIRECTORY");
	close(fd);
	unlink("f");
}

#define RECORDS 200

/* Append records, each a line of one letter. */
static int
append_lines(char letter)
{
	char line[64];
	int fd = open("f", O_WRONLY | O_APPEND);

	for (int i = 0; i < RECORDS; i++) {
		size_t n = 1 + i % (sizeof(line) - 1);

		memset(line, letter, n);
		line[n] = '\n';
		if (write(fd, line, n + 1) != (ssize_t)n + 1)
			return 1;
	}
	return 0;
}

static int
append_a(void)
{
	return append_lines('a');
}

/* How many lines f has whose letters are all the same and their number what
 * that letter's next line has; -1 if there is any other. */
static int
count_lines(void)
{
	int next[2] = {0}, c, first, n, lines = 0;
	FILE *f = fopen("f", "r");

	for (; (first = getc(f)) != EOF; lines++) {
		for (n = 1; (c = getc(f)) == first; n++)
			;
		if (c != '\n' || n != 1 + next[first - 'a']++ % 63)
			lines = -RECORDS * 3;
	}
	fclose(f);
	return lines;
}

static void
test_append(void)
{
	char c;
	pid_t child;
	int fd;

	file_make("f", "start ");
	fd = open("f", O_RDWR | O_APPEND);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "end", 3) == 3 &&
		  file_holds("f", "start end"),
	      "O_APPEND writes at the end");
	CHECK(lseek(fd, 0, SEEK_CUR) == 9, "and the offset is there then");
	CHECK(pread(fd, &c, 1, 0) == 1 && c == 's', "reads are anywhere");
	CHECK(fcntl(fd, F_SETFL, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
		  write(fd, "S", 1) == 1 && file_holds("f", "Start end"),
	      "O_APPEND can be taken back");
	close(fd);
	file_make("f", "");
	child = child_start(append_a);
	CHECK(append_lines('b') == 0 && child_wait(child) == 0,
	      "two append at once");
	CHECK(count_lines() == 2 * RECORDS, "no line is lost or torn");
	unlink("f");
}

static void
test_modes(void)
{
	mode_t old = umask(027);

	CHECK(umask(027) == 027, "umask gives the one before");
	close(open("f", O_WRONLY | O_CREAT, 0777));
	CHECK(mode_of("f") == 0750, "open's mode is masked");
	close(open("f", O_WRONLY | O_CREAT, 0));
	CHECK(mode_of("f") == 0750, "only when it makes the file");
	mkdir("d", 0777);
	CHECK(mode_of("d") == 0750, "mkdir's too");
	CHECK(chmod("f", 0777) == 0 && mode_of("f") == 0777, "chmod's isn't");
	CHECK(chmod("d", 0500) == 0 && mode_of("d") == 0500, "of a directory");
	CHECK(access("f", R_OK | W_OK | X_OK) == 0, "access allows all");
	chmod("f", 0666);
	CHECK_ERRNO(access("f", X_OK), EACCES, "a file one can't run");
	CHECK(access("f", F_OK) == 0 && access("d", X_OK) == 0,
	      "one can be there, and a directory be searched");
	CHECK_ERRNO(access("f", 8), EINVAL, "access of no kind");
	CHECK_ERRNO(execl("./f", "f", NULL), EACCES, "exec heeds the mode");
	umask(old);
	rmdir("d");
	unlink("f");
}

static void
test_stat(void)
{
	struct stat f, d, again;
	struct timespec before, after;
	int fd;

	clock_gettime(CLOCK_REALTIME, &before);
	file_make("f", "0123456789");
	clock_gettime(CLOCK_REALTIME, &after);
	mkdir("d", 0777);
	CHECK(stat("f", &f) == 0 && S_ISREG(f.st_mode), "a file is a file");
	CHECK(stat("d", &d) == 0 && S_ISDIR(d.st_mode), "a directory is one");
	CHECK(f.st_size == 10 && f.st_blksize == PAGE && f.st_blocks == 8,
	      "size and blocks");
	CHECK(f.st_nlink == 1 && d.st_nlink == 2, "links");
	CHECK(f.st_ino != d.st_ino && f.st_dev == d.st_dev, "inode, device");
	CHECK(f.st_uid == 0 && f.st_gid == 0, "root's");
	CHECK(f.st_mtime >= before.tv_sec && f.st_mtime <= after.tv_sec,
	      "changed when it was written");
	fd = open("f", O_RDONLY);
	CHECK(fstat(fd, &again) == 0 && memcmp(&again, &f, sizeof(f)) == 0,
	      "fstat says the same as stat");
	CHECK_FAULTS_OUT("stat", stat("f", bad));
	CHECK_FAULTS_OUT("fstat", fstat(fd, bad));
	close(fd);
	mkdir("d/e", 0777);
	CHECK(stat("d", &d) == 0 && d.st_nlink == 3, "a folder inside links");
	rmdir("d/e");
	CHECK(stat("d", &d) == 0 && d.st_nlink == 2, "until it's removed");
	rmdir("d");
	unlink("f");
}

/* Set f's times; did it work, and are they now these? */
static bool
times_become(struct timespec a, struct timespec m, long want_a, long want_m)
{
	const struct timespec t[2] = {a, m};
	struct stat st;

	return utimens("f", t) == 0 && stat("f", &st) == 0 &&
	       st.st_atime == want_a && st.st_mtime == want_m &&
	       st.st_mtim.tv_nsec == (m.tv_nsec == UTIME_OMIT ? 5 : m.tv_nsec);
}

static void
test_times(void)
{
	const struct timespec a = {.tv_sec = 1000, .tv_nsec = 7};
	const struct timespec m = {.tv_sec = 2000, .tv_nsec = 5};
	const struct timespec omit = {.tv_nsec = UTIME_OMIT};
	struct timespec t[2] = {a, {.tv_nsec = NS_PER_S}}, now;
	struct stat st;
	int fd = -1;

	file_make("f", "text");
	CHECK(times_become(a, m, 1000, 2000), "utimens sets both times");
	CHECK(times_become(m, omit, 2000, 2000), "or one");
	CHECK(times_become(omit, m, 2000, 2000), "or the other");
	CHECK_ERRNO(utimens("f", t), EINVAL, "a second has so many ns");
	t[1].tv_nsec = -3;
	CHECK_ERRNO(utimens("f", t), EINVAL, "and no fewer than none");
	CHECK_FAULTS_IN("times", utimens("f", (bad != NULL ? bad : (void *)8)));
	CHECK(stat("f", &st) == 0 && st.st_atime == 2000, "nothing changed");
	clock_gettime(CLOCK_REALTIME, &now);
	t[0].tv_nsec = t[1].tv_nsec = UTIME_NOW;
	CHECK(utimens("f", t) == 0 && stat("f", &st) == 0 &&
		  st.st_atime >= now.tv_sec && st.st_mtime >= now.tv_sec,
	      "UTIME_NOW is now");
	CHECK(times_become(a, m, 1000, 2000) && utime("f", NULL) == 0 &&
		  stat("f", &st) == 0 && st.st_mtime >= now.tv_sec,
	      "so are no times");
	CHECK(times_become(a, m, 1000, 2000) && close(open("f", O_RDWR)) == 0 &&
		  stat("f", &st) == 0 && st.st_mtime == 2000,
	      "opening isn't changing");
	file_make("f", "");
	CHECK(times_become(a, m, 1000, 2000) && (fd = open("f", O_RDWR)) >= 0 &&
		  write(fd, "x", 1) == 1 && fstat(fd, &st) == 0 &&
		  st.st_mtime >= now.tv_sec,
	      "writing is");
	close(fd);
	unlink("f");
}

/* A child that sits in a read, running ./cat. */
static int
run_cat(void)
{
	return execl("./cat", "cat", NULL);
}

static bool
copy(const char *from, const char *to)
{
	static char buf[PAGE];
	int in = open(from, O_RDONLY), out = open(to, O_RDWR | O_CREAT, 0777);
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			n = -1;
	close(in);
	close(out);
	return n == 0;
}

/* A program can't be written to while it runs. */
static void
test_text_busy(void)
{
	int fds[2], stdin_was = dup(0), back[2], stdout_was = dup(1);
	pid_t child;
	char c = 'x';

	CHECK(copy("/bin/cat", "cat"), "copy a program");
	pipe(fds);
	pipe(back);
	dup2(fds[0], 0);
	dup2(back[1], 1);
	fcntl(fds[1], F_SETFD, FD_CLOEXEC);
	child = child_start(run_cat);
	dup2(stdin_was, 0);
	dup2(stdout_was, 1);
	write(fds[1], &c, 1);
	CHECK(read(back[0], &c, 1) == 1 && c == 'x', "the copy runs");
	CHECK_ERRNO(open("cat", O_WRONLY), ETXTBSY, "open it for writing");
	CHECK_ERRNO(open("cat", O_RDWR | O_TRUNC), ETXTBSY, "or both");
	CHECK_ERRNO(truncate("cat", 0), ETXTBSY, "truncate it");
	CHECK_ERRNO(access("cat", W_OK), ETXTBSY, "access knows");
	CHECK(close(open("cat", O_RDONLY)) == 0, "it can be read");
	CHECK(rename("cat", "dog") == 0 && rename("dog", "cat") == 0,
	      "and renamed");
	close(fds[1]);
	CHECK(child_wait(child) == 0, "it ends");
	CHECK(truncate("cat", 0) == 0, "then it can be written to");
	CHECK_ERRNO(execl("./cat", "cat", NULL), ENOEXEC, "and is no program");
	close(fds[0]);
	close(back[0]);
	close(back[1]);
	close(stdin_was);
	close(stdout_was);
	unlink("cat");
}

int
main(void)
{
	scratch_enter("paths.d");
	test_bad_paths();
	test_long_paths();
	test_open_flags();
	test_append();
	test_modes();
	test_stat();
	test_times();
	test_text_busy();
	scratch_leave("paths.d");
	return check_done();
}

/* The other calls on files: what a file is, whose, how long, and the directory
 * one is in. */
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "files.h"
#include "promise.h"

static void
attributes(void)
{
	struct statx x;
	struct stat st;
	int fd;

	write_file("f", "0123456789");
	fd = open("f", O_RDWR);
	SAY(fchmod(fd, 0751));
	SAY(fchmod(-1, 0751));
	SAY(statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS, &x));
	printf("%o %u %ld\n", x.stx_mode, x.stx_nlink, (long)x.stx_size);
	SAY((x.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS);
	SAY(fstat(fd, &st));
	SAY(st.st_ino == x.stx_ino);
	SAY(st.st_mtim.tv_sec == x.stx_mtime.tv_sec &&
	    st.st_mtim.tv_nsec == x.stx_mtime.tv_nsec);
	SAY(statx(fd, "", AT_EMPTY_PATH, 0, &x));
	printf("%o\n", x.stx_mode);
	SAY(statx(fd, "", 0, 0, &x));
	SAY(statx(AT_FDCWD, "none", 0, 0, &x));
	SAY(statx(AT_FDCWD, "f", 0x80000, 0, &x));
	SAY(statx(AT_FDCWD, "f", 0x6000, 0, &x));
	SAY(statx(AT_FDCWD, "f", 0, 0x80000000, &x));
	SAY(chmod("f", 06777));
	SAY(chown("f", 12, 34));
	SAY(stat("f", &st));
	printf("%o %u %u\n", st.st_mode, st.st_uid, st.st_gid);
	SAY(fchown(fd, -1, 56));
	SAY(fchown(-1, -1, 56));
	SAY(stat("f", &st));
	printf("%u %u\n", st.st_uid, st.st_gid);
	SAY(symlink("f", "l"));
	SAY(lchown("l", 7, 8));
	SAY(lstat("l", &st));
	printf("%u %u\n", st.st_uid, st.st_gid);
	SAY(chown("l", 0, 0));
	SAY(stat("f", &st));
	printf("%u %u\n", st.st_uid, st.st_gid);
	SAY(fchownat(fd, "", 1, 1, AT_EMPTY_PATH));
	SAY(fchownat(AT_FDCWD, "f", 1, 1, 0x8000));
	SAY(chown("none", 1, 1));
	SAY(close(fd));
}

static void
sizes(void)
{
	struct statfs sf;
	int fd = open("f", O_RDWR), fds[2];

	SAY(truncate("f", 4));
	show("f");
	SAY(truncate("l", 6));
	SAY(lseek(fd, 0, SEEK_END));
	SAY(truncate("f", -1));
	SAY(truncate(".", 0));
	SAY(truncate("none", 0));
	SAY(truncate("f/", 0));
	SAY(truncate("/dev/null", 0));
	SAY(ftruncate(fd, -1));
	SAY(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
	SAY(posix_fadvise(fd, 0, 0, 77));
	SAY(posix_fadvise(fd, 0, -1, 0));
	SAY(posix_fadvise(-1, 0, 0, 0));
	SAY(readahead(fd, 0, 100));
	SAY(readahead(-1, 0, 100));
	SAY(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 5));
	SAY(fallocate(fd, 0, 0, 6));
	SAY(fallocate(fd, 0, 0, 0));
	SAY(fallocate(fd, 0, -1, 5));
	SAY(fallocate(-1, 0, 0, 5));
	SAY(posix_fallocate(fd, 0, 10));
	SAY(lseek(fd, 0, SEEK_END));
	SAY(fsync(fd));
	SAY(fdatasync(fd));
	SAY(syncfs(fd));
	SAY(fsync(-1));
	SAY(fdatasync(-1));
	SAY(syncfs(-1));
	sync();
	SAY(pipe(fds));
	SAY(fsync(fds[0]));
	SAY(fallocate(fds[1], 0, 0, 5));
	SAY(posix_fadvise(fds[0], 0, 0, 0));
	SAY(readahead(fds[0], 0, 1));
	SAY(fstatfs(fds[0], &sf));
	printf("%lx\n", (long)sf.f_type);
	SAY(close(fds[0]));
	SAY(close(fds[1]));
	SAY(close(fd));
	fd = open("f", O_RDONLY);
	SAY(ftruncate(fd, 3));
	SAY(fallocate(fd, 0, 0, 3));
	SAY(statfs(".", &sf));
	SAY(sf.f_namelen);
	SAY(sf.f_bfree <= sf.f_blocks && sf.f_blocks > 0);
	SAY(statfs("none", &sf));
	SAY(fstatfs(-1, &sf));
	SAY(close(fd));
}

static void
directories(void)
{
	int here = open(".", O_RDONLY | O_DIRECTORY), d, fd;

	SAY(mkdir("d", 0755));
	write_file("d/in", "inside");
	d = open("d", O_RDONLY);
	SAY(fchdir(d));
	show("in");
	SAY(fchdir(here));
	show("in");
	SAY(fchdir(-1));
	fd = openat(d, "in", O_RDONLY);
	SAY(fchdir(fd));
	SAY(openat(fd, "x", O_RDONLY));
	SAY(mkdirat(d, "sub", 0755));
	SAY(symlinkat("in", d, "link"));
	show("d/link");
	SAY(faccessat(d, "link", R_OK, 0));
	SAY(faccessat(d, "link", X_OK, 0));
	SAY(faccessat(d, "link", R_OK, AT_EACCESS));
	SAY(syscall(SYS_faccessat2, d, "none", 0, AT_SYMLINK_NOFOLLOW));
	SAY(syscall(SYS_faccessat2, d, "link", 0, 0x8000));
	SAY(syscall(SYS_faccessat2, d, "link", 8, 0));
	SAY(linkat(d, "in", here, "out", 0));
	show("out");
	SAY(renameat(here, "out", d, "back"));
	show("d/back");
	SAY(unlinkat(d, "back", 0));
	SAY(unlinkat(d, "sub", 0));
	SAY(unlinkat(d, "sub", AT_REMOVEDIR));
	SAY(unlinkat(d, "in", AT_REMOVEDIR));
	SAY(unlinkat(d, "in", 0x8000));
	SAY(unlink("d/in"));
	SAY(unlink("d/link"));
	SAY(fchdir(d));
	SAY(rmdir("../d"));
	SAY(open("x", O_RDWR | O_CREAT, 0644));
	SAY(symlink("x", "y"));
	SAY(mkdir("x", 0755));
	SAY(fchdir(d));
	SAY(fchdir(here));
	SAY(close(d));
	SAY(close(here));
	SAY(close(fd));
}

static void
flags(void)
{
	int fd = open("f", O_RDWR | O_APPEND | O_NONBLOCK), copy, end[2];
	char buf[1];

	printf("%o\n",
	       fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
	SAY(fcntl(fd, F_SETFL, O_RDONLY | O_CREAT));
	printf("%o\n",
	       fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
	SAY(fcntl(fd, F_SETFL, O_APPEND));
	copy = fcntl(fd, F_DUPFD, 20);
	SAY(copy);
	SAY(fcntl(copy, F_GETFD));
	SAY(fcntl(fd, F_DUPFD_CLOEXEC, 20));
	SAY(fcntl(21, F_GETFD));
	SAY(fcntl(21, F_SETFD, 0));
	SAY(fcntl(21, F_GETFD));
	SAY(fcntl(fd, F_DUPFD, -1));
	SAY(fcntl(fd, 12345, 0));
	SAY(fcntl(-1, F_GETFL));
	SAY(fcntl(fd, F_GETPIPE_SZ));
	SAY(close(20));
	SAY(close(21));
	SAY(dup3(fd, fd, 0));
	SAY(dup3(fd, 30, O_APPEND));
	SAY(dup3(fd, 30, O_CLOEXEC));
	SAY(fcntl(30, F_GETFD));
	SAY(dup3(fd, 30, 0));
	SAY(fcntl(30, F_GETFD));
	SAY(dup2(fd, fd) == fd);
	SAY(dup2(-1, 30));
	SAY(dup2(fd, -1));
	SAY(close(30));
	SAY(pipe2(end, O_NONBLOCK | O_CLOEXEC));
	SAY(read(end[0], buf, 1));
	SAY(fcntl(end[1], F_GETFL));
	SAY(fcntl(end[1], F_GETFD));
	SAY(pipe2(end, O_APPEND));
	SAY(lseek(fd, 0, 9));
	SAY(lseek(fd, -1, SEEK_SET));
	SAY(lseek(0x7fffffff, 0, SEEK_SET));
	SAY(close(fd));
	SAY(close(fd));
}

/* Against POSIX, in the first case. */
static void
as_linux(void)
{
	int fd;

	write_file("log", "abcd");
	fd = open("log", O_RDWR | O_APPEND);
	SAY(pwrite(fd, "Z", 1, 0));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(close(fd));
	show("log");
	SAY(open("new", O_PATH | O_CREAT, 0600));
	SAY(access("new", F_OK));
	close(open("log", O_PATH | O_TRUNC | O_WRONLY));
	show("log");
	SAY(setpgid(-1, 0));
	SAY(setpgid(-1, 1));
}

int
main(void)
{
	work_in("calls");
	PROMISE("stat(2): what a file is, whose, and when it was changed");
	attributes();
	PROMISE("truncate(2): a file is cut, and grows by zeroes");
	sizes();
	PROMISE("chdir(2): paths begin where the descriptor or the process is");
	directories();
	PROMISE("fcntl(2), dup(2): flags of files and of descriptors");
	flags();
	PROMISE("pwrite(2), open(2), setpgid(2): what Linux does that others "
		"don't");
	as_linux();
	return 0;
}

/* Locks on files: of processes, of open files, and flock's. Two processes speak
 * in turn, by pipes. */
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "files.h"
#include "promise.h"

static int to_parent[2];

static void
tell(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(98);
}

static void
hear(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		exit(97);
}

static struct flock
range(short type, long start, long length)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = start,
			      .l_len = length};
}

static int
lock(int fd, int cmd, short type, long start, long length)
{
	struct flock l = range(type, start, length);

	return fcntl(fd, cmd, &l);
}

/* What keeps a lock from being granted. */
static void
ask(int fd, int cmd, short type, long start, long length)
{
	struct flock l = range(type, start, length);
	int r = fcntl(fd, cmd, &l);

	if (r < 0)
		printf("get %ld+%ld: %s\n", start, length,
		       strerrorname_np(errno));
	else if (l.l_type == F_UNLCK)
		printf("get %ld+%ld: free\n", start, length);
	else
		printf("get %ld+%ld: type %d, %ld+%ld, %s\n", start, length,
		       l.l_type, (long)l.l_start, (long)l.l_len,
		       l.l_pid == -1          ? "an open file's"
		       : l.l_pid == getppid() ? "the parent's"
					      : "another's");
	fflush(stdout);
}

/* In a child, so that all locks are another's. */
static void
in_child(void (*work)(int), int fd)
{
	fflush(stdout);
	if (fork() == 0) {
		work(fd);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
}

static void
ask_around(int fd)
{
	for (int i = 0; i < 100; i += 10)
		ask(fd, F_GETLK, F_WRLCK, i, 10);
	ask(fd, F_GETLK, F_RDLCK, 0, 0);
	ask(fd, F_GETLK, F_WRLCK, 1000, 0);
}

static void
ranges(void)
{
	int fd = open("r", O_RDWR | O_CREAT, 0644), other;

	SAY(lock(fd, F_SETLK, F_WRLCK, 10, 50));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_RDLCK, 20, 10));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_UNLCK, 40, 5));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_WRLCK, 15, 30));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_WRLCK, 60, 0));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_UNLCK, 0, 0));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_WRLCK, 20, -10));
	in_child(ask_around, fd);
	SAY(lock(fd, F_SETLK, F_WRLCK, 5, -10));
	SAY(lock(fd, F_SETLK, F_WRLCK, -5, 10));
	SAY(lock(fd, F_SETLK, 7, 0, 10));
	SAY(lock(fd, F_GETLK, F_UNLCK, 0, 10));
	SAY(lock(-1, F_SETLK, F_WRLCK, 0, 10));
	SAY(fcntl(fd, F_SETLK, (void *)16));
	other = open("r", O_RDONLY);
	SAY(lock(other, F_SETLK, F_WRLCK, 0, 10));
	SAY(lock(other, F_SETLK, F_RDLCK, 0, 10));
	in_child(ask_around, fd);
	SAY(close(other)); /* and all locks are gone */
	in_child(ask_around, fd);
	SAY(close(fd));
}

static void
try_lock(int fd)
{
	SAY(lock(fd, F_SETLK, F_RDLCK, 0, 10));
	SAY(lock(fd, F_SETLK, F_WRLCK, 0, 10));
	SAY(lock(fd, F_SETLK, F_WRLCK, 5, 10));
	SAY(lock(fd, F_SETLK, F_WRLCK, 10, 10));
}

static void
conflicts(void)
{
	int fd = open("c", O_RDWR | O_CREAT, 0644);

	SAY(lock(fd, F_SETLK, F_RDLCK, 0, 10));
	in_child(try_lock, fd);
	SAY(lock(fd, F_SETLK, F_WRLCK, 0, 10));
	in_child(try_lock, fd);
	SAY(close(fd));
}

static void
open_files(void)
{
	int a = open("o", O_RDWR | O_CREAT, 0644), b = open("o", O_RDWR), c;
	struct flock l = range(F_WRLCK, 0, 10);

	SAY(lock(a, F_OFD_SETLK, F_WRLCK, 0, 10));
	SAY(lock(b, F_OFD_SETLK, F_RDLCK, 5, 10));
	ask(b, F_OFD_GETLK, F_WRLCK, 0, 0);
	SAY(lock(b, F_SETLK, F_WRLCK, 0, 10));
	ask(b, F_GETLK, F_WRLCK, 0, 0);
	c = dup(a);
	SAY(lock(c, F_OFD_SETLK, F_RDLCK, 0, 10));
	SAY(lock(b, F_OFD_SETLK, F_RDLCK, 5, 10));
	SAY(close(a));
	SAY(lock(b, F_OFD_SETLK, F_WRLCK, 5, 10));
	SAY(close(c));
	SAY(lock(b, F_OFD_SETLK, F_WRLCK, 5, 10));
	l.l_pid = 5;
	SAY(fcntl(b, F_OFD_SETLK, &l));
	SAY(close(b));
}

static void
whole_files(void)
{
	int a = open("w", O_RDWR | O_CREAT, 0644), b = open("w", O_RDONLY), c;

	SAY(flock(a, LOCK_SH));
	SAY(flock(b, LOCK_SH | LOCK_NB));
	SAY(flock(a, LOCK_EX | LOCK_NB));
	SAY(flock(b, LOCK_EX | LOCK_NB)); /* a has lost its own by trying */
	SAY(flock(a, LOCK_SH | LOCK_NB));
	SAY(lock(a, F_SETLK, F_WRLCK, 0, 0));
	SAY(flock(b, LOCK_UN));
	SAY(flock(b, LOCK_UN));
	SAY(flock(a, LOCK_EX | LOCK_NB));
	SAY(flock(a, LOCK_EX | LOCK_NB));
	c = dup(a);
	SAY(close(a));
	SAY(flock(b, LOCK_EX | LOCK_NB));
	SAY(close(c));
	SAY(flock(b, LOCK_EX | LOCK_NB));
	SAY(flock(b, 0));
	SAY(flock(b, LOCK_SH | LOCK_EX));
	SAY(flock(-1, LOCK_SH));
	SAY(close(b));
}

static void
nothing(int sig)
{
	(void)sig;
}

/* The child waits for what the parent has, until a signal comes, or it is
 * unlocked; and each for the other's. */
static void
waits(void)
{
	struct sigaction act = {.sa_handler = nothing};
	int fd = open("t", O_RDWR | O_CREAT, 0644), status;
	pid_t child;

	SAY(lock(fd, F_SETLK, F_WRLCK, 0, 10));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		int own = open("t", O_RDWR);

		sigaction(SIGALRM, &act, NULL);
		ualarm(20000, 20000);
		SAY(lock(own, F_SETLKW, F_WRLCK, 5, 1));
		SAY(flock(own, LOCK_EX));
		ualarm(0, 0);
		SAY(lock(own, F_SETLKW, F_WRLCK, 20, 10));
		fflush(stdout);
		tell(to_parent[1]);
		SAY(lock(own, F_SETLKW, F_WRLCK, 0, 10)); /* waits */
		fflush(stdout);
		_exit(0);
	}
	hear(to_parent[0]);
	/* Either side may find it; the child may not be waiting yet. */
	while (lock(fd, F_SETLK, F_RDLCK, 20, 10) == 0)
		lock(fd, F_SETLK, F_UNLCK, 20, 10);
	SAY(lock(fd, F_SETLK, F_UNLCK, 0, 0));
	waitpid(child, &status, 0);
	SAY(status);
	SAY(lock(fd, F_SETLK, F_WRLCK, 0, 0));
	SAY(close(fd));
}

/* Each has one, and waits for the other's: one of them is told. */
static void
deadlock(void)
{
	int fd = open("d", O_RDWR | O_CREAT, 0644), r, status;
	pid_t child;

	SAY(lock(fd, F_SETLK, F_WRLCK, 0, 1));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		lock(fd, F_SETLK, F_WRLCK, 1, 1);
		tell(to_parent[1]);
		r = lock(fd, F_SETLKW, F_WRLCK, 0, 1);
		_exit(r < 0 ? errno == EDEADLK ? 1 : 2 : 0);
	}
	hear(to_parent[0]);
	r = lock(fd, F_SETLKW, F_WRLCK, 1, 1);
	SAY(r == 0 || errno == EDEADLK);
	SAY(close(fd));
	waitpid(child, &status, 0);
	SAY(WEXITSTATUS(status) + (r < 0));
}

/* Many processes count in a file, each under a lock. */
static void
count(int cmd)
{
	int fd = open("n", O_RDWR | O_CREAT | O_TRUNC, 0644), n = 0, own;

	SAY(pwrite(fd, &n, sizeof(n), 0));
	fflush(stdout);
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			own = open("n", O_RDWR);
			for (int j = 0; j < 100; j++) {
				if (cmd < 0 ? flock(own, LOCK_EX)
					    : lock(own, cmd, F_WRLCK, 0, 4))
					_exit(1);
				if (pread(own, &n, sizeof(n), 0) < 0)
					_exit(1);
				n++;
				if (pwrite(own, &n, sizeof(n), 0) < 0)
					_exit(1);
				if (cmd < 0 ? flock(own, LOCK_UN)
					    : lock(own, cmd, F_UNLCK, 0, 4))
					_exit(1);
			}
			_exit(0);
		}
	for (int i = 0; i < 4; i++)
		wait(NULL);
	SAY(pread(fd, &n, sizeof(n), 0));
	SAY(n);
	SAY(close(fd));
}

int
main(void)
{
	work_in("locks");
	if (pipe(to_parent) < 0)
		return 96;
	PROMISE("fcntl_locking(2): locks of a process split, join and go");
	ranges();
	PROMISE("fcntl_locking(2): who is in the way is told");
	conflicts();
	PROMISE("fcntl_locking(2): locks of an open file belong to that");
	open_files();
	PROMISE("flock(2): a whole file is locked, shared or alone");
	whole_files();
	PROMISE("fcntl_locking(2): F_SETLKW waits, and a signal ends it");
	waits();
	PROMISE(
	    "fcntl_locking(2): two that would wait for each other are EDEADLK");
	deadlock();
	PROMISE("fcntl_locking(2): F_SETLKW keeps all others out");
	count(F_SETLKW);
	PROMISE("fcntl_locking(2): F_OFD_SETLKW keeps all others out");
	count(F_OFD_SETLKW);
	PROMISE("flock(2): keeps all others out");
	count(-1);
	return 0;
}

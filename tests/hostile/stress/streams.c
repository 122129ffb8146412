/*
 * Pipes: every byte comes, once, in order, whatever the sizes of reads and
 * writes, and though signals interrupt both sides. Records of several writers
 * stay whole.
 */
#include <poll.h>
#include <sys/time.h>

#include "children.h"
#include "stress.h"

#define BYTES   60000 /* of a stream, at most */
#define CHUNK   9000  /* of a read or write: more than a pipe holds */
#define WRITERS 4
#define RECORDS 100

static char chunk[CHUNK];

static void
ignore(int sig)
{
	(void)sig;
}

void
be_interrupted(void)
{
	struct sigaction a = {.sa_handler = ignore};
	struct itimerval t = {{0, 10000}, {0, 1 + chance(10000)}};

	a.sa_flags = chance(2) ? SA_RESTART : 0;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* Byte i of the stream. */
static char
byte(long i)
{
	return i * 7 + (i >> 8);
}

static void
send(int fd, long size)
{
	for (long at = 0; at < size;) {
		long n = 1 + chance(chance(3) ? 100 : CHUNK);
		ssize_t wrote;

		n = n < size - at ? n : size - at;
		for (long i = 0; i < n; i++)
			chunk[i] = byte(at + i);
		wrote = write(fd, chunk, n);
		must(wrote > 0 || errno == EINTR);
		at += wrote > 0 ? wrote : 0;
	}
}

static void
receive(int fd, long size)
{
	long at = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, 1 + chance(CHUNK));

		if (n < 0 && errno == EINTR)
			continue;
		must(n >= 0);
		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			must(chunk[i] == byte(at + i));
		at += n;
	}
	must(at == size);
}

/* Read and write on as they come. */
static void
relay(int from, int to)
{
	ssize_t n, done, wrote;

	while ((n = read(from, chunk, 1 + chance(CHUNK))) != 0)
		for (done = 0; done<n; done += wrote> 0 ? wrote : 0) {
			wrote = write(to, chunk + done, n - done);
			must(wrote > 0 || errno == EINTR);
		}
}

/* From a writer through relays to this process. */
static void
stream(void)
{
	long size = chance(BYTES);
	int stages = 1 + chance(3), in = -1, fd[2];
	pid_t pid[3];

	for (int i = 0; i < stages; i++) {
		must(pipe(fd) == 0);
		pid[i] = split();
		if (pid[i] == 0) {
			close(fd[0]);
			if (chance(2))
				be_interrupted();
			if (i == 0)
				send(fd[1], size);
			else
				relay(in, fd[1]);
			_exit(0);
		}
		close(fd[1]);
		if (in >= 0)
			close(in);
		in = fd[0];
	}
	receive(in, size);
	close(in);
	for (int i = 0; i < stages; i++)
		must(exited(pid[i], 0));
}

struct record {
	int writer, number;
	char text[56];
};

static void
write_records(int fd, int writer)
{
	struct record r = {.writer = writer};

	memset(r.text, 'A' + writer, sizeof(r.text));
	for (r.number = 0; r.number < RECORDS; r.number++) {
		must(write(fd, &r, sizeof(r)) == sizeof(r));
		if (chance(16) == 0)
			dawdle();
	}
}

static void
check_record(const struct record *r, int next[WRITERS])
{
	must(r->writer >= 0 && r->writer < WRITERS);
	must(r->number == next[r->writer]);
	next[r->writer]++;
	for (size_t i = 0; i < sizeof(r->text); i++)
		must(r->text[i] == 'A' + r->writer);
}

/* Several writers of one pipe. */
static void
records(void)
{
	int next[WRITERS] = {0}, fd[2];
	pid_t pid[WRITERS];
	struct record r;

	must(pipe(fd) == 0);
	for (int i = 0; i < WRITERS; i++) {
		pid[i] = split();
		if (pid[i] == 0) {
			close(fd[0]);
			write_records(fd[1], i);
			_exit(0);
		}
	}
	close(fd[1]);
	while (read(fd[0], &r, sizeof(r)) == sizeof(r))
		check_record(&r, next);
	close(fd[0]);
	for (int i = 0; i < WRITERS; i++) {
		must(next[i] == RECORDS);
		must(exited(pid[i], 0));
	}
}

/* Read what is there of it; is that the end? */
static bool
take(int fd, int next[WRITERS])
{
	struct record r;
	ssize_t n;

	while ((n = read(fd, &r, sizeof(r))) > 0)
		check_record(&r, next);
	must(n == 0 || errno == EAGAIN);
	return n == 0;
}

/* Several pipes, of which poll tells which has something. */
static void
polled(void)
{
	int next[WRITERS] = {0}, left = WRITERS, fd[2];
	struct pollfd p[WRITERS];
	pid_t pid[WRITERS];

	for (int i = 0; i < WRITERS; i++) {
		must(pipe(fd) == 0);
		pid[i] = split();
		if (pid[i] == 0) {
			close(fd[0]);
			write_records(fd[1], i);
			_exit(0);
		}
		close(fd[1]);
		fcntl(fd[0], F_SETFL, O_NONBLOCK);
		p[i] = (struct pollfd){.fd = fd[0], .events = POLLIN};
	}
	while (left > 0) {
		must(poll(p, WRITERS, -1) > 0);
		for (int i = 0; i < WRITERS; i++)
			if (p[i].revents != 0 && take(p[i].fd, next)) {
				close(p[i].fd);
				p[i].fd = -1;
				left--;
			}
	}
	for (int i = 0; i < WRITERS; i++) {
		must(next[i] == RECORDS);
		must(exited(pid[i], 0));
	}
}

/* Writers whose reader goes away die of SIGPIPE, wherever they are. */
static void
broken(void)
{
	pid_t pid;
	int fd[2];

	must(pipe(fd) == 0);
	pid = split();
	if (pid == 0) {
		close(fd[0]);
		for (;;)
			write(fd[1], chunk, 1 + chance(CHUNK));
	}
	close(fd[1]);
	read(fd[0], chunk, 1 + chance(CHUNK));
	dawdle();
	close(fd[0]);
	must(killed(pid, SIGPIPE));
}

static volatile sig_atomic_t pings;

static void
ping(int sig)
{
	(void)sig;
	pings++;
}

/* Two that signal each other in turn: no signal is lost. */
static void
signals(void)
{
	struct sigaction a = {.sa_handler = ping};
	sigset_t block, old;
	pid_t pid, other;

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, &old);
	sigaction(SIGUSR1, &a, NULL);
	pings = 0;
	pid = split();
	other = pid == 0 ? getppid() : pid;
	for (int i = 0; i < 50; i++) {
		if (pid == 0)
			kill(other, SIGUSR1);
		while (pings <= i)
			sigsuspend(&old);
		if (pid != 0)
			kill(other, SIGUSR1);
	}
	if (pid == 0)
		_exit(pings == 50 ? 0 : 1);
	must(exited(pid, 0));
	must(pings == 50);
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void
round_of_streams(void)
{
	static void (*const all[])(void) = {stream, records, polled, broken,
					    signals};

	all[chance(sizeof(all) / sizeof(all[0]))]();
}

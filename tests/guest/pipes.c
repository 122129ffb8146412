/* Pipes, alone and under load. */
#include <signal.h>
#include <sys/time.h>

#include "children.h"
#include "profiling.h"

#define ATOMIC   4096 /* bytes: PIPE_BUF */
#define CAPACITY 65536
#define WRITERS  4
#define RECORDS  250 /* from each of them */
#define LARGE    (1024 * 1024 + 13)

static char buf[CAPACITY + ATOMIC];
static int fds[2];

static void
pipe_open(void)
{
	if (pipe(fds) < 0)
		printf("no pipe: %s\n", strerror(errno));
}

static void
pipe_close(void)
{
	close(fds[0]);
	close(fds[1]);
}

static void
set_nonblock(int fd, bool on)
{
	fcntl(fd, F_SETFL, on ? O_NONBLOCK : 0);
}

static void
test_basics(void)
{
	struct stat st;

	pipe_open();
	CHECK(fcntl(fds[0], F_GETFL) == O_RDONLY &&
		  fcntl(fds[1], F_GETFL) == O_WRONLY,
	      "one end reads, the other writes");
	CHECK_ERRNO(write(fds[0], "x", 1), EBADF, "write to the reading end");
	CHECK_ERRNO(read(fds[1], buf, 1), EBADF, "read of the writing end");
	CHECK(write(fds[1], "hello", 5) == 5 && write(fds[1], "pipe", 4) == 4,
	      "write");
	CHECK(read(fds[0], buf, 2) == 2 && memcmp(buf, "he", 2) == 0,
	      "read gives as much as asked for");
	CHECK(read(fds[0], buf, 100) == 7 && memcmp(buf, "llopipe", 7) == 0,
	      "or what there is");
	CHECK(read(fds[0], buf, 0) == 0 && write(fds[1], buf, 0) == 0,
	      "nothing is never waited for");
	CHECK(fstat(fds[0], &st) == 0 && S_ISFIFO(st.st_mode), "it's a FIFO");
	pipe_close();
}

static void
test_end_of_file(void)
{
	int copy;

	pipe_open();
	copy = dup(fds[1]);
	write(fds[1], "last", 4);
	close(fds[1]);
	write(copy, "one", 3);
	close(copy);
	CHECK(read(fds[0], buf, 100) == 7, "what was written is read");
	CHECK(read(fds[0], buf, 100) == 0 && read(fds[0], buf, 100) == 0,
	      "then it ends, as no one writes");
	close(fds[0]);
}

static volatile sig_atomic_t caught;

static void
on_signal(int sig)
{
	caught = sig;
}

static int
write_to_no_one(void)
{
	signal(SIGPIPE, SIG_DFL);
	write(fds[1], "x", 1);
	return 0;
}

static void
test_broken(void)
{
	pid_t pid;
	int status;

	pipe_open();
	write(fds[1], "unread", 6);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERRNO(write(fds[1], "x", 1), EPIPE, "write, and no one reads");
	CHECK(write(fds[1], "x", 0) == 0, "nothing is no error");
	signal(SIGPIPE, on_signal);
	caught = 0;
	CHECK_ERRNO(write(fds[1], "x", 1), EPIPE, "with a handler, too");
	CHECK(caught == SIGPIPE, "and it's called");
	pid = child_start(write_to_no_one);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		  WTERMSIG(status) == SIGPIPE,
	      "without, SIGPIPE kills");
	close(fds[1]);
}

static void
test_nonblock(void)
{
	ssize_t n;

	pipe_open();
	set_nonblock(fds[0], true);
	set_nonblock(fds[1], true);
	CHECK_ERRNO(read(fds[0], buf, 1), EAGAIN, "read when empty is EAGAIN");
	n = write(fds[1], buf, sizeof(buf));
	CHECK(n == CAPACITY, "a long write writes what fits");
	CHECK_ERRNO(write(fds[1], "x", 1), EAGAIN, "write when full is EAGAIN");
	CHECK(read(fds[0], buf, 100) == 100, "make a little room");
	CHECK_ERRNO(write(fds[1], buf, ATOMIC), EAGAIN,
		    "PIPE_BUF bytes go all or not at all");
	CHECK(write(fds[1], buf, ATOMIC + 1) == 100, "more go in part");
	n = 0;
	while (read(fds[0], buf, 1000) > 0)
		n++;
	CHECK(errno == EAGAIN && n == 66, "until it's empty again");
	close(fds[1]);
	CHECK(read(fds[0], buf, 1) == 0, "the end isn't EAGAIN");
	close(fds[0]);
}

static void
test_faults(void)
{
	char *end = memory_end();

	pipe_open();
	CHECK_FAULTS_IN("write", write(fds[1], bad, 1));
	write(fds[1], "kept", 4);
	CHECK_FAULTS_OUT("read", read(fds[0], bad, 4));
	CHECK_ERRNO(write(fds[1], end - 2, 4), EFAULT, "write across the end");
	CHECK(read(fds[0], buf, 100) == 4 && memcmp(buf, "kept", 4) == 0,
	      "nothing is lost, and nothing added");
	/* The ring is made of pages: these lie in two of them. */
	write(fds[1], buf, PAGE - 50);
	CHECK_ERRNO(write(fds[1], end - 100, 200), EFAULT, "a longer one");
	write(fds[1], buf, 100);
	CHECK(read(fds[0], buf, PAGE - 50) == PAGE - 50, "that isn't there");
	CHECK_ERRNO(read(fds[0], end - 60, 100), EFAULT, "nor read in part");
	CHECK(read(fds[0], buf, 200) == 100, "but all of it at last");
	pipe_close();
}

/* A writer's record: its size varies, every byte says whose it is. */
struct record {
	unsigned short size;
	unsigned char writer;
	unsigned char sum;
	int number;
};

static size_t
record_size(int number)
{
	return sizeof(struct record) +
	       number * 397 % (ATOMIC + 1 - sizeof(struct record));
}

static int
write_records(int writer)
{
	for (int i = 0; i < RECORDS; i++) {
		struct record r = {record_size(i), writer, 0, i};

		memset(buf, 'A' + writer, r.size);
		memcpy(buf, &r, sizeof(r));
		if (write(fds[1], buf, r.size) != r.size)
			return 1;
	}
	return 0;
}

/* Exactly n bytes; false at the end. */
static bool
read_all(char *to, size_t n)
{
	while (n > 0) {
		ssize_t some = read(fds[0], to, n);

		if (some <= 0)
			return false;
		to += some;
		n -= some;
	}
	return true;
}

/* Read one record of whoever's turn it is; 1, 0: the end, -1: a bad one. */
static int
read_record(int next[WRITERS])
{
	struct record r;

	if (!read_all((char *)&r, sizeof(r)))
		return 0;
	if (r.writer >= WRITERS || r.number != next[r.writer]++ ||
	    r.size != record_size(r.number))
		return -1;
	if (!read_all(buf, r.size - sizeof(r)))
		return -1;
	for (size_t i = 0; i < r.size - sizeof(r); i++)
		if (buf[i] != 'A' + r.writer)
			return -1;
	return 1;
}

static void
test_many_writers(void)
{
	int next[WRITERS] = {0}, n = 0, r, good = 0;
	pid_t pid[WRITERS];

	pipe_open();
	for (int i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(write_records(i));
	}
	close(fds[1]);
	while ((r = read_record(next)) > 0)
		n++;
	CHECK(r == 0, "records of 4 writers are whole, each's in order");
	CHECK(n == WRITERS * RECORDS, "and none is lost");
	close(fds[0]);
	for (int i = 0; i < WRITERS; i++)
		good += child_wait(pid[i]) == 0;
	CHECK(good == WRITERS, "all writers wrote all");
}

#define READERS 4

/* Take one byte, tell of it, and wait until one may go on. */
static int
take_turns(int from, int tell, int go)
{
	static char room[PAGE * READERS]; /* a page not touched yet, for some */
	char *c = room + getpid() % READERS * PAGE;

	while (read(from, c, 1) == 1)
		if (write(tell, c, 1) != 1 || read(go, c, 1) != 1)
			return 1;
	return 0;
}

/* Each time there is a byte for each reader: none is left asleep. */
static void
test_many_readers(void)
{
	int told[2], go[2], good = 0;
	pid_t pid[READERS];

	pipe_open();
	pipe(told);
	pipe(go);
	for (int i = 0; i < READERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			close(fds[1]);
			_exit(take_turns(fds[0], told[1], go[0]));
		}
	}
	for (int i = 0; i < RECORDS; i++) {
		write(fds[1], "abcd", READERS);
		for (int k = 0; k < READERS; k++)
			good += read(told[0], buf, 1) == 1;
		write(go[1], buf, READERS);
	}
	CHECK(good == RECORDS * READERS, "4 readers take what there is");
	pipe_close();
	good = 0;
	for (int i = 0; i < READERS; i++)
		good += child_wait(pid[i]) == 0;
	CHECK(good == READERS, "until it ends");
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(go[i]);
	}
}

static int
write_large(void)
{
	char *all = malloc(LARGE);

	for (int i = 0; i < LARGE; i++)
		all[i] = i % 253;
	return write(fds[1], all, LARGE) == LARGE ? 0 : 1;
}

static void
test_large(void)
{
	size_t done = 0;
	bool good = true;
	pid_t child;
	ssize_t n;

	pipe_open();
	child = child_start(write_large);
	close(fds[1]);
	while ((n = read(fds[0], buf, 5000)) > 0)
		for (ssize_t i = 0; i < n; i++)
			good &= buf[i] == (char)(done++ % 253);
	CHECK(n == 0 && done == LARGE, "a write of 1 MiB blocks, and arrives");
	CHECK(good, "every byte as it was");
	CHECK(child_wait(child) == 0, "in one call");
	close(fds[0]);
}

/* Give on each byte, plus one. */
static int
pass_on(int from, int to)
{
	char c;

	while (read(from, &c, 1) == 1) {
		c++;
		if (write(to, &c, 1) != 1)
			return 1;
	}
	return 0;
}

static void
test_there_and_back(void)
{
	int there[2], back[2];
	pid_t child;
	char c = 0;
	int sum = 0;

	pipe(there);
	pipe(back);
	child = fork();
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		_exit(pass_on(there[0], back[1]));
	}
	close(there[0]);
	close(back[1]);
	for (int i = 0; i < 300; i++) {
		c = i;
		write(there[1], &c, 1);
		read(back[0], &c, 1);
		sum += c == (char)(i + 1);
	}
	CHECK(sum == 300, "300 bytes there and back");
	close(there[1]);
	CHECK(read(back[0], &c, 1) == 0, "the end comes back, too");
	CHECK(child_wait(child) == 0, "as it's closed by its end");
	close(back[0]);
}

/* From now on an alarm interrupts what blocks, again and again. */
static void
start_alarms(void (*handler)(int), int flags)
{
	const struct itimerval often = {
	    .it_value = {.tv_usec = 20000},
	    .it_interval = {.tv_usec = 20000},
	};
	const struct sigaction act = {
	    .sa_handler = handler,
	    .sa_flags = flags,
	};

	caught = 0;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void
stop_alarms(void)
{
	const struct itimerval never = {0};

	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(DEADLINE);
}

/* The second time, let what was interrupted go on. */
static void
on_alarm_write(int sig)
{
	if (caught == sig)
		write(fds[1], "late", 4);
	caught = sig;
}

static void
test_interrupted(void)
{
	pipe_open();
	start_alarms(on_signal, 0);
	CHECK_ERRNO(read(fds[0], buf, 1), EINTR, "a signal ends a read");
	CHECK(caught == SIGALRM, "having been handled");
	CHECK(write(fds[1], buf, sizeof(buf)) == CAPACITY,
	      "a long write that a signal ends gives its count");
	CHECK_ERRNO(write(fds[1], "x", 1), EINTR, "one that wrote none, EINTR");
	stop_alarms();
	read_all(buf, CAPACITY);
	start_alarms(on_alarm_write, SA_RESTART);
	CHECK(read(fds[0], buf, 4) == 4, "with SA_RESTART a read goes on");
	stop_alarms();
	pipe_close();
}

/* Who waits in a read or write learns that the other end closes. */
static int
close_later(void)
{
	usleep(30000);
	return 0;
}

static void
test_closing_wakes(void)
{
	pid_t child;

	pipe_open();
	child = child_start(close_later);
	close(fds[1]);
	CHECK(read(fds[0], buf, 1) == 0, "a reader wakes at the last close");
	CHECK(child_wait(child) == 0, "which was the child's, ending");
	close(fds[0]);
	pipe_open();
	child = child_start(close_later);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK(write(fds[1], buf, sizeof(buf)) == CAPACITY,
	      "a writer wakes with what it wrote");
	CHECK_ERRNO(write(fds[1], "x", 1), EPIPE, "and then there's EPIPE");
	CHECK(child_wait(child) == 0, "as the reader has gone");
	close(fds[1]);
}

static int
end_at_once(void)
{
	return 0;
}

/* Whatever a child has of its parent it closes when it ends. */
static void
test_last_descriptor(void)
{
	int last;

	pipe_open();
	last = fcntl(fds[1], F_DUPFD, 63);
	close(fds[1]);
	child_run(end_at_once);
	close(last);
	set_nonblock(fds[0], true);
	CHECK(read(fds[0], buf, 1) == 0, "a child closes its last one, too");
	close(fds[0]);
}

static int
write_atomic(void)
{
	return write(fds[1], buf, ATOMIC) == ATOMIC ? 0 : 1;
}

/* A full pipe's writer waits for as much room as it needs, and no more. */
static void
test_room(void)
{
	pid_t child;

	pipe_open();
	write(fds[1], buf, CAPACITY);
	child = child_start(write_atomic);
	CHECK(AWAIT(state_of(child) == 'S'), "a writer waits for room");
	CHECK(read(fds[0], buf, ATOMIC) == ATOMIC, "which is made");
	CHECK(AWAIT(state_of(child) == 'Z'), "just enough wakes it");
	CHECK(child_wait(child) == 0, "and it writes all");
	pipe_close();
}

/* The writer's memory isn't there yet, so its long write takes a while: the
 * byte before it is read, and the pipe empty, in the midst of it. */
static int
write_slowly(void)
{
	static char fresh[CAPACITY - PAGE];

	ssize_t size = sizeof(fresh);

	if (write(fds[1], "x", 1) != 1)
		return 1;
	return write(fds[1], fresh, size) == size ? 0 : 1;
}

static void
test_emptied_while_written(void)
{
	int good = 0;

	for (int round = 0; round < 20; round++) {
		pid_t child;
		bool zeroes = true;
		ssize_t n;

		pipe_open();
		child = child_start(write_slowly);
		close(fds[1]);
		zeroes &= read(fds[0], buf, 1) == 1 && buf[0] == 'x';
		while ((n = read(fds[0], buf, sizeof(buf))) > 0)
			while (n-- > 0)
				zeroes &= buf[n] == 0;
		good += child_wait(child) == 0 && zeroes;
		close(fds[0]);
	}
	CHECK(good == 20, "a pipe that is read empty while it's written: %d",
	      good);
}

static void
test_memory(void)
{
	long before = pages_free();

	for (int i = 0; i < 100; i++) {
		pipe_open();
		write(fds[1], buf, CAPACITY);
		pipe_close();
	}
	CHECK(AWAIT(pages_free() > before - 50), "pipes give back all memory");
}

int
main(void)
{
	alarm(DEADLINE);
	test_basics();
	test_end_of_file();
	test_broken();
	test_nonblock();
	test_faults();
	test_many_writers();
	test_many_readers();
	test_large();
	test_there_and_back();
	test_interrupted();
	test_closing_wakes();
	test_last_descriptor();
	test_room();
	test_memory();
	/* Where harts take turns these are shorter now: more is interrupted. */
	ctl(PROFCLOCK, "hz 5000");
	test_emptied_while_written();
	test_many_writers();
	test_many_readers();
	ctl(PROFCLOCK, "hz 100");
	return check_done();
}

/*
 * observe FILE: do what a script says, and tell what came of it. It judges
 * nothing: the host has made the script, and knows from a model of its own what
 * each answer must be. README.md lists the operations.
 *
 * A line is TOKEN OPERATION ARGUMENT... Its answer is TOKEN RESULT, where the
 * token is a word that nobody can know before: a kernel that prints answers of
 * its own doesn't know whose they are, unless it does what was asked. The first
 * line is a token alone: a debugger stops before the line that begins with it.
 *
 * A result is a number, or -NAME of an errno; after what was read, its bytes
 * follow in hexadecimal. A long answer is cut into lines, of which all but the
 * last have a + behind the token. So no line is longer than what the console
 * writes at once, and those of several processes don't mix.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS       16
#define LINES       200000
#define TOKEN       15  /* characters */
#define PIECE       200 /* characters of a result in a line */
#define BUFFER      (1 << 20)
#define FILLED      0xa5 /* what a buffer has before a call */
#define SPRAYED     0x5a
#define BEHIND      16 /* bytes behind what a call may write, that are shown */
#define PAGE        4096
#define NS_PER_MS   1000000L
#define LOOKS       300000
#define NS_PER_TICK 100 /* of the time CSR, on QEMU's machine */

/* The numbers of system calls: SYS_NAME. */
#define SYSCALL(number, name) SYS_##name = number,
enum {
#include <sys/syscalls.h>
};
#undef SYSCALL

char *__brk(char *end); /* the system call: the library's sbrk asks for more */

static int files[SLOTS];      /* descriptors, by the script's numbers */
static pid_t children[SLOTS]; /* the same for processes */
static unsigned char buffer[BUFFER];
static char *lines[LINES];
static int at = 1, end; /* the line that is next, and where this process ends */
static volatile sig_atomic_t caught;
static const char *token;

/* --- Answers --- */

static const struct {
	int number;
	const char *name;
} errors[] = {
    {EPERM, "EPERM"},   {ENOENT, "ENOENT"},   {ESRCH, "ESRCH"},
    {EINTR, "EINTR"},   {EIO, "EIO"},         {ENXIO, "ENXIO"},
    {E2BIG, "E2BIG"},   {EBADF, "EBADF"},     {ECHILD, "ECHILD"},
    {EAGAIN, "EAGAIN"}, {ENOMEM, "ENOMEM"},   {EACCES, "EACCES"},
    {EFAULT, "EFAULT"}, {EBUSY, "EBUSY"},     {EEXIST, "EEXIST"},
    {ENODEV, "ENODEV"}, {ENOTDIR, "ENOTDIR"}, {EISDIR, "EISDIR"},
    {EINVAL, "EINVAL"}, {EMFILE, "EMFILE"},   {ENOTTY, "ENOTTY"},
    {EFBIG, "EFBIG"},   {ENOSPC, "ENOSPC"},   {ESPIPE, "ESPIPE"},
    {EPIPE, "EPIPE"},   {ETXTBSY, "ETXTBSY"}, {ERANGE, "ERANGE"},
    {ENOSYS, "ENOSYS"},
};

static const char *
error_name(int number)
{
	static char other[16];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number)
			return errors[i].name;
	snprintf(other, sizeof(other), "%d", number);
	return other;
}

/* One write for each line, so that it stays whole. */
static void
answer(const char *text)
{
	char line[PIECE + 32];
	size_t left = strlen(text);

	for (;;) {
		int n = left < PIECE ? (int)left : PIECE;
		int size = snprintf(line, sizeof(line), "%s%c%.*s\n", token,
				    left > PIECE ? '+' : ' ', n, text);

		write(STDOUT_FILENO, line, size);
		text += n;
		left -= n;
		if (left == 0)
			return;
	}
}

static void
answer_number(long result)
{
	char text[32];

	if (result < 0)
		snprintf(text, sizeof(text), "-%s", error_name(errno));
	else
		snprintf(text, sizeof(text), "%ld", result);
	answer(text);
}

/* What a call has put into the buffer, and what came of it. */
static void
answer_bytes(long result, size_t n)
{
	static char text[2 * BUFFER + 32];
	char *to = text;

	if (result < 0) {
		answer_number(result);
		return;
	}
	to += sprintf(to, "%ld ", result);
	for (size_t i = 0; i < n; i++) {
		*to++ = "0123456789abcdef"[buffer[i] >> 4];
		*to++ = "0123456789abcdef"[buffer[i] & 15];
	}
	*to = '\0';
	answer(text);
}

/* --- Arguments --- */

static char *rest; /* of the line */

static long
number(void)
{
	return strtoul(rest, &rest, 0);
}

/* The rest of the line, as it is. */
static char *
text(void)
{
	return *rest == ' ' ? rest + 1 : rest;
}

static char *
word(void)
{
	char *start = text();

	rest = strchr(start, ' ');
	if (rest == NULL)
		rest = start + strlen(start);
	else
		*rest++ = '\0';
	return start;
}

static int
digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Parse hexadecimal digits into the buffer: how many bytes they are. */
static size_t
bytes(void)
{
	size_t n = 0;

	for (const char *c = text(); c[0] != '\0' && c[1] != '\0'; c += 2)
		buffer[n++] = digit(c[0]) << 4 | digit(c[1]);
	return n;
}

/* --- Operations --- */

/* The machine's own time: the kernel that is judged could lie about it. */
static long
now_ns(void)
{
	long ticks;

	asm volatile("rdtime %0" : "=r"(ticks));
	return ticks * NS_PER_TICK;
}

static void
do_open(void)
{
	int *file = &files[number()], flags = 0;

	for (const char *c = word(); *c != '\0'; c++)
		flags |= *c == 'w'   ? O_WRONLY
			 : *c == '+' ? O_RDWR
			 : *c == 'n' ? O_NONBLOCK
			 : *c == 'c' ? O_CREAT
			 : *c == 't' ? O_TRUNC
			 : *c == 'a' ? O_APPEND
				     : O_RDONLY;
	*file = open(rest, flags, 0700);
	answer_number(*file < 0 ? -1 : 0);
}

static void
do_close(void)
{
	answer_number(close(files[number()]));
}

/* pipe SLOT SLOT [n]: for reading, and for writing; n: neither waits. */
static void
do_pipe(void)
{
	int ends[2], *reader = &files[number()], *writer = &files[number()];
	int flags = *text() == 'n' ? O_NONBLOCK : 0, r = pipe(ends);

	for (int i = 0; i < 2 && r == 0; i++)
		r = fcntl(ends[i], F_SETFL, flags);
	*reader = ends[0];
	*writer = ends[1];
	answer_number(r);
}

static void
do_put(void)
{
	int file = files[number()];

	answer_number(write(file, text(), strlen(text())));
}

/* sample SLOT MODE PC COUNT: made-up samples of this process, by the device of
 * the sampling clock. */
static void
do_sample(void)
{
	int file = files[number()];
	const char *mode = word();
	char line[96];

	snprintf(line, sizeof(line), "sample %s 0 %d 0 %s", mode, getpid(),
		 text());
	answer_number(write(file, line, strlen(line)) < 0 ? -1 : 0);
}

static void
do_write(void)
{
	int file = files[number()];

	answer_number(write(file, buffer, bytes()));
}

static void
do_read(void)
{
	int file = files[number()];
	ssize_t n = read(file, buffer, number());

	answer_bytes(n, n);
}

/* read-all SLOT SIZE: read until the end, and tell all that came. */
static void
do_read_all(void)
{
	int file = files[number()];
	size_t size = number(), all = 0;
	ssize_t n;

	while (all + size <= BUFFER && (n = read(file, buffer + all, size)) > 0)
		all += n;
	answer_bytes(n < 0 ? n : (ssize_t)all, all);
}

/* relay IN OUT COUNT: pass so many bytes on, one by one. */
static void
do_relay(void)
{
	int in = files[number()], out = files[number()];
	long n = number(), done = 0;

	while (done < n && read(in, buffer, 1) == 1 &&
	       write(out, buffer, 1) == 1)
		done++;
	answer_number(done);
}

static void
do_pread(void)
{
	int file = files[number()];
	size_t size = number();
	ssize_t n = pread(file, buffer, size, number());

	answer_bytes(n, n);
}

/* At an address of the script's own. */
static void
do_read_at(void)
{
	int file = files[number()];
	uintptr_t address = number();

	answer_number(read(file, (void *)address, number()));
}

static void
do_write_at(void)
{
	int file = files[number()];
	uintptr_t address = number();

	answer_number(write(file, (const void *)address, number()));
}

/* Where the last `room' bytes of the heap begin. The library has more of it
 * than it says, so the kernel is asked. They are nobody's: so many are taken
 * first, and what is behind these the library has only in store. */
static char *
last_bytes(size_t room)
{
	uintptr_t end;

	sbrk(room);
	end = (uintptr_t)__brk(NULL);
	return (char *)((end + PAGE - 1) & ~(PAGE - 1UL)) - room;
}

/* read-edge SLOT ROOM SIZE: to the last ROOM bytes of the heap, and on. */
static void
do_read_edge(void)
{
	int file = files[number()];
	char *to = last_bytes(number());

	answer_number(read(file, to, number()));
}

/* read-room SLOT ROOM SIZE: the same, and what is in the room then. */
static void
do_read_room(void)
{
	int file = files[number()];
	size_t room = number();
	char *to = last_bytes(room);
	ssize_t n;

	memset(to, FILLED, room);
	n = read(file, to, number());
	memcpy(buffer, to, room);
	answer_bytes(n, room);
}

static void
do_seek(void)
{
	int file = files[number()];

	answer_number(lseek(file, number(), SEEK_SET));
}

static void
do_size(void)
{
	struct stat st;

	answer_number(fstat(files[number()], &st) < 0 ? -1 : st.st_size);
}

static void
do_poll(void)
{
	struct pollfd p = {.fd = files[number()], .events = POLLIN};
	int n = poll(&p, 1, (int)number());

	answer_number(n < 0 ? -1 : n == 0 ? 0 : p.revents);
}

static void
do_ioctl(void)
{
	int file = files[number()];
	unsigned long request = number();

	answer_number(ioctl(file, request, number()));
}

/* A system call without the library: its result as it is. */
static long
ecall(long nr, long a, long b, long c)
{
	register long a0 asm("a0") = a;
	register long a1 asm("a1") = b;
	register long a2 asm("a2") = c;
	register long a7 asm("a7") = nr;

	asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	errno = a0 < 0 ? -a0 : 0;
	return a0;
}

static const struct {
	const char *name;
	long number;
} calls[] = {
#define SYSCALL(number, name) {#name, number},
#include <sys/syscalls.h>
#undef SYSCALL
};

/* A call's number; by its name, unless it is one that only the lab has. */
static long
call_number(void)
{
	const char *name;

	if ('0' <= *text() && *text() <= '9')
		return number();
	name = word();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	return -1;
}

/* A call with its arguments, of which one may be the buffer. */
static long
call(void)
{
	long nr = call_number(), arg[3] = {0};

	for (int i = 0; i < 3; i++) {
		if (strncmp(text(), "buffer", 6) == 0) {
			arg[i] = (long)buffer;
			rest = text() + 6;
		} else {
			arg[i] = number();
		}
	}
	return ecall(nr, arg[0], arg[1], arg[2]);
}

static void
do_call(void)
{
	answer_number(call());
}

static bool sprays; /* before the next call */

static void
do_spray(void)
{
	sprays = true;
	answer_number(0);
}

/* Fill the kernel's stack with a byte that can be recognized later. The calls
 * fail, and have copied their paths there, each to another depth. */
static void
spray(void)
{
	static char path[1024];

	memset(path, SPRAYED, sizeof(path) - 1);
	rename(path, path);
	symlink(path, path);
	execl(path, path, NULL);
}

/* call-into SIZE CALL ARGUMENT...: the bytes of the buffer, too, and those
 * behind what the call may write. */
static void
do_call_into(void)
{
	size_t size = number() + BEHIND;

	memset(buffer, FILLED, size);
	if (sprays)
		spray();
	sprays = false;
	answer_bytes(call(), size);
}

/* --- Memory, at addresses of the script's own --- */

static void
do_poke(void)
{
	unsigned char *to = (unsigned char *)number();
	size_t n = bytes();

	memcpy(to, buffer, n);
	answer_number(n);
}

static void
do_peek(void)
{
	const unsigned char *from = (const unsigned char *)number();
	size_t n = number();

	memcpy(buffer, from, n);
	answer_bytes(n, n);
}

/* fill ADDRESS PAGES BYTE: the first of each page. */
static void
do_fill(void)
{
	unsigned char *to = (unsigned char *)number();
	long pages = number(), byte = number();

	for (long i = 0; i < pages; i++)
		to[i * PAGE] = byte;
	answer_number(pages);
}

/* poke-told SLOT REQUEST VALUE ADDRESS BYTE: a file has four counts, and by how
 * much does a store change them? An ioctl is made before. The counts are read
 * more than once, so that what this writes itself has been written. */
static void
do_poke_told(void)
{
	static unsigned long told[2][4];
	int file = files[number()];
	unsigned long request = number(), value = number();
	volatile unsigned char *to = (unsigned char *)number();
	unsigned char byte = number();
	char text[96];

	memset(text, 0, sizeof(text));
	for (int i = 3; i >= 0; i--)
		read(file, told[i & 1], sizeof(told[0]));
	ioctl(file, request, value);
	*to = byte;
	read(file, told[1], sizeof(told[1]));
	snprintf(text, sizeof(text), "%ld %ld %ld %ld", told[1][0] - told[0][0],
		 told[1][1] - told[0][1], told[1][2] - told[0][2],
		 told[1][3] - told[0][3]);
	answer(text);
}

/* Words that two threads know: the first of each page. */
static struct {
	volatile unsigned long *word;
	long pages;
	unsigned long seen, passes; /* atomics */
	bool stop;                  /* atomic */
} both;

#define WORD(page) both.word[(page) * (PAGE / sizeof(long))]

static void *
add_to_all(void *)
{
	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		for (long i = 0; i < both.pages; i++)
			WORD(i)++;
		__atomic_fetch_add(&both.passes, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *
look_at_first(void *)
{
	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&both.seen, WORD(0), __ATOMIC_RELAXED);
		__atomic_fetch_add(&both.passes, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Wait until the other thread has begun and ended a pass; but not for ever, as
 * this one may not see what that one writes. */
static void
wait_pass(void)
{
	unsigned long n = __atomic_load_n(&both.passes, __ATOMIC_ACQUIRE) + 2;

	for (long looks = 0; looks < LOOKS; looks++)
		if (__atomic_load_n(&both.passes, __ATOMIC_ACQUIRE) >= n)
			return;
}

/* Does any of the words change while this process looks? */
static bool
changes(void)
{
	unsigned long first[64];
	bool changed = false;

	for (long i = 0; i < both.pages && i < 64; i++)
		first[i] = WORD(i);
	for (int times = 0; times < 300; times++)
		for (long i = 0; i < both.pages && i < 64; i++)
			changed |= WORD(i) != first[i];
	return changed;
}

/* fork-writing ADDRESS PAGES ROUNDS: fork so many children, while a thread adds
 * 1 to a word of each page. How many of them saw a word change, and how many
 * words haven't got all additions. */
static void
do_fork_writing(void)
{
	unsigned long saw = 0, lost = 0;
	pthread_t writer;
	char text[48];

	both.word = (volatile unsigned long *)number();
	both.pages = number();
	both.stop = both.passes = 0;
	pthread_create(&writer, NULL, add_to_all, NULL);
	for (long n = number(); n > 0; n--) {
		int status = 0;
		pid_t pid;

		wait_pass();
		pid = fork();
		if (pid == 0)
			_exit(changes());
		waitpid(pid, &status, 0);
		saw += status != 0;
	}
	__atomic_store_n(&both.stop, true, __ATOMIC_RELEASE);
	pthread_join(writer, NULL);
	for (long i = 0; i < both.pages; i++)
		lost += WORD(i) != both.passes;
	snprintf(text, sizeof(text), "%lu %lu", saw, lost);
	answer(text);
}

/* Where fork has failed there is no child: -1 would mean every process. */
static int
kill_child(pid_t pid, int sig)
{
	if (pid > 0)
		return kill(pid, sig);
	errno = ESRCH;
	return -1;
}

/* publish ADDRESS ROUNDS: store to a word, which a thread reads all the time,
 * while a child shares its page. How often it hasn't seen what was stored. */
static void
do_publish(void)
{
	pthread_t reader;
	long missed = 0;

	both.word = (volatile unsigned long *)number();
	both.stop = both.passes = 0;
	WORD(0) = 0;
	pthread_create(&reader, NULL, look_at_first, NULL);
	for (unsigned long n = number(); n > 0; n--) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				pause();
		wait_pass();
		WORD(0) = n;
		wait_pass();
		missed += __atomic_load_n(&both.seen, __ATOMIC_RELAXED) != n;
		kill_child(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	answer_number(missed);
	__atomic_store_n(&both.stop, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
}

/* What the threads of publish-told know besides; atomics. */
static struct {
	unsigned long round, told, stale;
} order;

/* Some time after a round begins, store to the page's second word, and tell. */
static void *
store_and_tell(void *)
{
	unsigned long n = 0;

	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&order.round, __ATOMIC_ACQUIRE) == n)
			continue;
		n++;
		for (volatile unsigned long i = n * 37 % 400; i > 0; i--)
			;
		both.word[1] = n;
		__atomic_store_n(&order.told, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *
read_what_is_told(void *)
{
	while (!__atomic_load_n(&both.stop, __ATOMIC_ACQUIRE)) {
		unsigned long told;

		(void)both.word[1]; /* by the entry as it was */
		told = __atomic_load_n(&order.told, __ATOMIC_ACQUIRE);
		if (both.word[1] < told)
			order.stale++;
	}
	return NULL;
}

/* publish-told ADDRESS ROUNDS: while a child shares a page, store to it;
 * another thread does, too, and tells a third. How often that one then still
 * reads what was there before. */
static void
do_publish_told(void)
{
	pthread_t storer, reader;
	unsigned long rounds;

	both.word = (volatile unsigned long *)number();
	rounds = number();
	both.stop = false;
	memset(&order, 0, sizeof(order));
	WORD(0) = WORD(1) = both.word[1] = 0;
	pthread_create(&reader, NULL, read_what_is_told, NULL);
	pthread_create(&storer, NULL, store_and_tell, NULL);
	for (unsigned long n = 1; n <= rounds; n++) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				pause();
		__atomic_store_n(&order.round, n, __ATOMIC_RELEASE);
		WORD(0) = n;
		while (__atomic_load_n(&order.told, __ATOMIC_ACQUIRE) < n)
			;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	__atomic_store_n(&both.stop, true, __ATOMIC_RELEASE);
	pthread_join(storer, NULL);
	pthread_join(reader, NULL);
	answer_number(order.stale);
}

/* --- The rest --- */

/* many SLOT COUNT: the next COUNT lines are written there, one by one. The
 * answer is how many of these writes have failed. */
static void
do_many(void)
{
	int file = files[number()];
	long failed = 0;

	for (long n = number(); n > 0 && at < end; n--, at++)
		failed += write(file, lines[at], strlen(lines[at])) < 0;
	answer_number(failed);
}

/* fork, while the stack pointer is another one; 0: as it is. */
static pid_t
fork_at(uintptr_t sp)
{
	register long a0 asm("a0") = SIGCHLD;
	register long a1 asm(
	    "a1") = 0; /* the child's stack pointer: the same */
	register long a7 asm("a7") = SYS_clone;

	if (sp == 0)
		return fork();
	asm volatile("mv t0, sp\n\t"
		     "mv sp, %3\n\t"
		     "ecall\n\t"
		     "mv sp, t0"
		     : "+r"(a0)
		     : "r"(a1), "r"(a7), "r"(sp)
		     : "t0", "memory");
	errno = a0 < 0 ? -a0 : 0;
	return a0 < 0 ? -1 : a0;
}

/* child SLOT COUNT [SP]: a child does the next COUNT lines, and ends. They are
 * left out if there is none. */
static void
do_child(void)
{
	long slot = number(), n = number();
	pid_t pid = fork_at(number());

	if (pid == 0) {
		end = at + n;
		return;
	}
	children[slot] = pid;
	at += n;
	answer_number(pid < 0 ? -1 : 0);
}

static void
do_wait(void)
{
	int status = 0;

	if (waitpid(children[number()], &status, 0) < 0)
		answer_number(-1);
	else
		answer_number(status);
}

static void
do_kill(void)
{
	pid_t pid = children[number()];

	answer_number(kill_child(pid, number()));
}

static char
state_of(pid_t pid)
{
	struct psinfo all[64];
	long n = psinfo(all, 64);

	for (long i = 0; i < n && i < 64; i++)
		if (all[i].pid == pid)
			return all[i].state;
	return '-';
}

static void
nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * NS_PER_MS};

	nanosleep(&t, NULL);
}

/* state SLOT: a child's state, once it is another one than R. */
static void
do_state(void)
{
	pid_t pid = children[number()];
	char state[2] = "";

	for (int i = 0; i < 50; i++) {
		nap(10);
		state[0] = state_of(pid);
		if (state[0] != 'R')
			break;
	}
	answer(state);
}

static void
do_caught(void)
{
	answer_number(caught);
}

static void
do_sleep(void)
{
	nap(number());
	answer_number(0);
}

static void
do_spin(void)
{
	long until = now_ns() + number() * NS_PER_MS;

	while (now_ns() < until)
		;
	answer_number(0);
}

/* gaps MS LEAST: spin for so long. The longest time between two looks at the
 * clock, and the sum of those that took LEAST microseconds or more, in us. */
static void
do_gaps(void)
{
	long last = now_ns(), until = last + number() * NS_PER_MS;
	long least = number() * 1000, longest = 0, sum = 0;
	char text[48];

	while (last < until) {
		long now = now_ns(), gap = now - last;

		if (gap > longest)
			longest = gap;
		if (gap >= least)
			sum += gap;
		last = now;
	}
	snprintf(text, sizeof(text), "%ld %ld", longest / 1000, sum / 1000);
	answer(text);
}

/* drain SLOT SIZE MS: how many bytes so many milliseconds' reads return. */
static void
do_drain(void)
{
	int file = files[number()];
	size_t size = number();
	long until = now_ns() + number() * NS_PER_MS, all = 0;

	do {
		ssize_t n = read(file, buffer, size);

		if (n > 0)
			all += n;
	} while (now_ns() < until);
	answer_number(all);
}

static void *
map_and_unmap(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE)) {
		char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; p != MAP_FAILED && i < 8; i++)
			p[i * PAGE] = 1;
		munmap(p, 8 * PAGE);
	}
	return NULL;
}

/* drain-new SLOT SIZE MS: the same, each read to a page that isn't there yet,
 * while another thread changes the address space all the time. */
static void
do_drain_new(void)
{
	int file = files[number()];
	size_t size = number();
	long until = now_ns() + number() * NS_PER_MS, all = 0;
	bool stop = false;
	pthread_t other;

	pthread_create(&other, NULL, map_and_unmap, &stop);
	do {
		char *to = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ssize_t n = read(file, to, size);

		if (n > 0)
			all += n;
		munmap(to, size);
	} while (now_ns() < until);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	answer_number(all);
}

static void
do_clock(void)
{
	answer_number(now_ns());
}

/* mark: the same; and tally/plugins/cap, which counts the machine's
 * instructions, notes how many there were: no kernel can lie about that. */
static void
do_mark(void)
{
	asm volatile("slti x0, x0, 0x5a1");
	answer_number(now_ns());
}

/* --- Files --- */

static void
do_pwrite(void)
{
	int file = files[number()];
	off_t offset = number();

	answer_number(pwrite(file, buffer, bytes(), offset));
}

/* write-edge SLOT ROOM SIZE: the last ROOM bytes of the heap, and on. These are
 * 0, 1, up to 250, and begin again. */
static void
do_write_edge(void)
{
	int file = files[number()];
	size_t room = number();
	char *from = last_bytes(room);

	for (size_t i = 0; i < room; i++)
		from[i] = i % 251;
	answer_number(write(file, from, number()));
}

/* write-many SLOT SIZE TIMES: so many writes of as many bytes of 0xa5, until
 * one is short. How many bytes were written, and the errno of the last. */
static void
do_write_many(void)
{
	int file = files[number()];
	ssize_t size = number(), n = size;
	long all = 0;
	char text[48];

	memset(buffer, FILLED, size);
	for (long times = number(); times > 0 && n == size; times--) {
		n = write(file, buffer, size);
		all += n > 0 ? n : 0;
	}
	snprintf(text, sizeof(text), "%ld %s", all,
		 n < 0 ? error_name(errno) : "-");
	answer(text);
}

/* values SLOT SIZE TIMES: read so often from the beginning of a file. Which
 * values has every 64th byte had? */
static void
do_values(void)
{
	int file = files[number()];
	size_t size = number(), n = 0;
	bool found[256] = {false};

	for (long times = number(); times > 0; times--) {
		ssize_t got = pread(file, buffer, size, 0);

		for (ssize_t i = 0; i < got; i += 64)
			found[buffer[i]] = true;
	}
	for (size_t i = 0; i < 256; i++)
		if (found[i])
			buffer[n++] = i;
	answer_bytes(n, n);
}

/* take-turns SLOT SLOT SIZE TIMES: so often only one of two files has so many
 * bytes, 0x22 in the second, and then 0x11 in the first. */
static void
do_take_turns(void)
{
	int first = files[number()], second = files[number()];
	ssize_t size = number();
	long times = number(), good = 0;

	memset(buffer, 0x11, size);
	memset(buffer + size, 0x22, size);
	for (long i = 0; i < times; i++)
		good += ftruncate(first, 0) == 0 &&
			pwrite(second, buffer + size, size, 0) == size &&
			ftruncate(second, 0) == 0 &&
			pwrite(first, buffer, size, 0) == size;
	answer_number(good);
}

static void
do_truncate(void)
{
	int file = files[number()];

	answer_number(ftruncate(file, number()));
}

static void
do_unlink(void)
{
	answer_number(unlink(text()));
}

/* How many blocks of 512 bytes a file has. */
static void
do_blocks(void)
{
	struct stat st;

	answer_number(fstat(files[number()], &st) < 0 ? -1 : st.st_blocks);
}

/* How many pages of memory are free. */
static void
do_pages(void)
{
	struct sysinfo info;

	answer_number(sysinfo(&info, sizeof(info)) < 0 ? -1
						       : (long)info.pages_free);
}

/* ioctl-with SLOT REQUEST NUMBER...: its argument leads to these numbers. */
static void
do_ioctl_with(void)
{
	int file = files[number()];
	unsigned long request = number(), argument[8] = {0};

	for (int i = 0; i < 8 && *text() != '\0'; i++)
		argument[i] = number();
	answer_number(ioctl(file, request, argument));
}

/* program SLOT IN OUT PATH: a child executes it, and has these two files. */
static void
do_program(void)
{
	long slot = number();
	int in = files[number()], out = files[number()];
	char *arguments[] = {text(), NULL};
	pid_t pid = fork();

	if (pid == 0) {
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		execv(arguments[0], arguments);
		_exit(127);
	}
	children[slot] = pid;
	answer_number(pid < 0 ? -1 : 0);
}

static const struct operation {
	const char *name;
	void (*run)(void);
} operations[] = {
    {"open", do_open},
    {"close", do_close},
    {"pipe", do_pipe},
    {"put", do_put},
    {"sample", do_sample},
    {"write", do_write},
    {"read", do_read},
    {"read-all", do_read_all},
    {"relay", do_relay},
    {"pread", do_pread},
    {"read-at", do_read_at},
    {"write-at", do_write_at},
    {"read-edge", do_read_edge},
    {"read-room", do_read_room},
    {"seek", do_seek},
    {"size", do_size},
    {"poll", do_poll},
    {"ioctl", do_ioctl},
    {"call", do_call},
    {"call-into", do_call_into},
    {"many", do_many},
    {"child", do_child},
    {"wait", do_wait},
    {"kill", do_kill},
    {"state", do_state},
    {"caught", do_caught},
    {"sleep", do_sleep},
    {"spin", do_spin},
    {"gaps", do_gaps},
    {"drain", do_drain},
    {"drain-new", do_drain_new},
    {"clock", do_clock},
    {"mark", do_mark},
    {"spray", do_spray},
    {"poke", do_poke},
    {"peek", do_peek},
    {"fill", do_fill},
    {"poke-told", do_poke_told},
    {"fork-writing", do_fork_writing},
    {"publish", do_publish},
    {"publish-told", do_publish_told},
    {"pwrite", do_pwrite},
    {"write-edge", do_write_edge},
    {"write-many", do_write_many},
    {"values", do_values},
    {"take-turns", do_take_turns},
    {"truncate", do_truncate},
    {"unlink", do_unlink},
    {"blocks", do_blocks},
    {"pages", do_pages},
    {"ioctl-with", do_ioctl_with},
    {"program", do_program},
};

/* Where labs/grade --gdb stops. */
__attribute__((noinline)) static void
stop_here(const char *line)
{
	asm volatile("" ::"r"(line));
}

/* Any two take the same instructions: a boot that stops is as the one before,
 * up to there. */
static bool
same_token(const char *a, const char *b)
{
	uint64_t x[2], y[2];

	memcpy(&x[0], a, 8);
	memcpy(&x[1], a + TOKEN - 8, 8);
	memcpy(&y[0], b, 8);
	memcpy(&y[1], b + TOKEN - 8, 8);
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

static void
do_line(char *line)
{
	const char *name;

	if (same_token(line, lines[0]))
		stop_here(line);
	rest = line;
	token = word();
	name = word();
	errno = 0;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]);
	     i++) {
		if (strcmp(operations[i].name, name) == 0) {
			operations[i].run();
			return;
		}
	}
	answer("no such operation");
}

static void
on_signal(int)
{
	caught++;
}

/* The script, as one string. */
static char *
load(const char *name)
{
	struct stat st;
	int file = open(name, O_RDONLY);
	char *script = NULL;
	ssize_t n = 0, size = 0;

	if (file >= 0 && fstat(file, &st) == 0)
		script = malloc(st.st_size + TOKEN);
	if (script == NULL) {
		perror(name);
		exit(1);
	}
	while ((n = read(file, script + size, st.st_size - size)) > 0)
		size += n;
	script[size] = '\0';
	close(file);
	return script;
}

int
main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = on_signal};

	if (argc != 2) {
		fprintf(stderr, "usage: observe FILE\n");
		return 2;
	}
	for (char *line = strtok(load(argv[1]), "\n"); line != NULL;
	     line = strtok(NULL, "\n"))
		if (end < LINES)
			lines[end++] = line;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGPIPE, &act, NULL);
	while (at < end)
		do_line(lines[at++]);
	return 0;
}

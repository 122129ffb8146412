/*
 * No call's result holds what the kernel had in its memory before. Its stack
 * and its blocks are sprayed with a pattern, the result's place with another;
 * afterwards no byte of the result may have the first, sprayed anew each time.
 * And what a process gets fresh is zero: memory, registers, holes in files.
 */
#include <dirent.h>
#include <elf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <sys/prf.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <termios.h>

#include "catch.h"

#define ROUNDS   6
#define ROOM     16384 /* bytes of a result that are looked at */
#define SLEEPERS 40    /* processes, so that psinfo needs pages */
#define LONG     1023  /* bytes of a path */

/* --- Spraying --- */

static char path[2][LONG + 1];

/* Paths lie on the kernel's stack, and for exec in blocks; what goes through a
 * pipe in pages. Then the result's place gets another byte. */
static void
spray(unsigned char byte, unsigned char *result)
{
	char *argv[] = {path[0], path[1], path[0], NULL};
	int end[2];

	memset(path[0], byte, LONG);
	memset(path[1], byte, LONG);
	for (int i = 0; i < 4; i++) {
		rename(path[0], path[1]);
		execve(path[0], argv, argv);
	}
	if (pipe(end) == 0) {
		memset(result, byte, ROOM);
		write(end[1], result, ROOM);
		close(end[0]);
		close(end[1]);
	}
	memset(result, 0x11, ROOM);
}

/* --- Results --- */

static int directory, terminal, pcs, prf, file;

static void
get_stat(void *p)
{
	stat("/bin", p);
	fstat(file, (struct stat *)p + 1);
	fstat(terminal, (struct stat *)p + 2);
}

static void
get_entries(void *p)
{
	lseek(directory, 0, SEEK_SET);
	getdents64(directory, p, ROOM);
}

static void
get_system(void *p)
{
	sysinfo(p, sizeof(struct sysinfo));
	uname((struct utsname *)((struct sysinfo *)p + 1));
}

static void
get_processes(void *p)
{
	psinfo(p, ROOM / sizeof(struct psinfo));
}

static void
get_times(void *p)
{
	struct tms *tms = p;
	struct itimerval *it = (void *)(tms + 1);
	struct timespec *ts = (void *)(it + 2);

	times(tms);
	getitimer(ITIMER_REAL, it);
	setitimer(ITIMER_REAL, it, it + 1);
	clock_gettime(CLOCK_MONOTONIC, ts);
	clock_getres(CLOCK_REALTIME, ts + 1);
	nanosleep(&(struct timespec){0, 1}, ts + 2);
}

static void
get_signals(void *p)
{
	struct sigaction *act = p;
	sigset_t *set = (void *)(act + 2);

	sigaction(SIGUSR1, NULL, act);
	sigaction(SIGCHLD, NULL, act + 1);
	sigpending(set);
	sigprocmask(SIG_BLOCK, NULL, set + 1);
}

static void
get_devices(void *p)
{
	struct termios *t = p;
	struct winsize *size = (void *)(t + 1);
	struct pcs_stat *account = (void *)(size + 1);
	int *status = (void *)(account + 1);

	ioctl(terminal, TCGETS, t);
	ioctl(terminal, TIOCGWINSZ, size);
	ioctl(pcs, PCS_STAT, account);
	ioctl(prf, PRF_GETSTATUS, status);
	ioctl(prf, PRF_GETSIZE, status + 1);
}

static void
get_others(void *p)
{
	struct pollfd *fds = p;
	struct {
		fd_set in, out;
		int end[2], status;
		char cwd[LONG];
	} *more = (void *)(fds + 2);

	fds[0] = (struct pollfd){.fd = file, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = terminal, .events = POLLOUT};
	poll(fds, 2, 0);
	FD_ZERO(&more->in);
	FD_SET(file, &more->in);
	more->out = more->in;
	select(file + 1, &more->in, &more->out, NULL, &(struct timeval){0});
	if (pipe(more->end) == 0) {
		close(more->end[0]);
		close(more->end[1]);
	}
	waitpid(child_start(getpid), &more->status, 0);
	getcwd(more->cwd, sizeof(more->cwd));
}

/* What a handler finds on its stack, but the registers: those are its own. */
static void *frame_to;

static void
copy_frame(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	memcpy(frame_to, info, sizeof(*info));
	memcpy((char *)frame_to + sizeof(*info), context, 176);
}

static void
get_frame(void *p)
{
	struct sigaction act = {
	    .sa_sigaction = copy_frame,
	    .sa_flags = SA_SIGINFO,
	};

	frame_to = p;
	sigaction(SIGUSR1, &act, NULL);
	kill(getpid(), SIGUSR1);
}

static const struct {
	const char *name;
	void (*get)(void *result);
} results[] = {
    {"stat", get_stat},
    {"getdents64", get_entries},
    {"sysinfo and uname", get_system},
    {"psinfo", get_processes},
    {"times and timers", get_times},
    {"signals' actions and masks", get_signals},
    {"the console, pcs and prf", get_devices},
    {"poll, select, pipe, waitpid, getcwd", get_others},
    {"the frame of a handler", get_frame},
};

/*
 * How many bytes had what was sprayed in every round; *at is the first. Never
 * the same byte twice in a row, so that what stays the same isn't counted.
 */
static int
leaked(void (*get)(void *), size_t *at)
{
	static unsigned char result[ROOM] __attribute__((aligned(16)));
	static unsigned char times[ROOM];
	int count = 0;

	memset(times, 0, ROOM);
	for (int round = 0; round < ROUNDS; round++) {
		unsigned char byte = 0xa1 + 0x0b * round;

		spray(byte, result);
		get(result);
		for (size_t i = 0; i < ROOM; i++)
			times[i] += result[i] == byte;
	}
	for (size_t i = ROOM; i-- > 0;)
		if (times[i] >= ROUNDS - 1) {
			count++;
			*at = i;
		}
	return count;
}

static void
test_results(void)
{
	pid_t pid[SLEEPERS];
	size_t at = 0;

	file = open("/bin/sh", O_RDONLY);
	directory = open("/bin", O_RDONLY);
	terminal = open("/dev/console", O_RDWR);
	pcs = open("/dev/pcs", O_RDONLY);
	prf = open("/dev/prf", O_RDWR);
	for (int i = 0; i < SLEEPERS; i++)
		pid[i] = sleeper_start();
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		int n = leaked(results[i].get, &at);

		CHECK(n == 0, "nothing of the kernel's is in: %s (%d at %zu)",
		      results[i].name, n, at);
	}
	for (int i = 0; i < SLEEPERS; i++)
		child_end(pid[i]);
}

/* What follows a name's NUL is zero: no rest of a longer one. */
static void
test_names(void)
{
	static _Alignas(struct dirent) char entries[8192];
	int fd = open("/bin", O_RDONLY), rests = 0;
	ssize_t n = getdents64(fd, entries, sizeof(entries));
	struct psinfo self;

	close(fd);
	for (ssize_t at = 0; at < n;) {
		const struct dirent *de = (struct dirent *)(entries + at);
		const char *rest = de->d_name + strlen(de->d_name);

		at += de->d_reclen;
		while (rest < entries + at)
			rests += *rest++ != '\0';
	}
	CHECK(n > 0 && rests == 0, "names of directories end in zeroes (%d)",
	      rests);
	self = info_of(getpid());
	rests = 0;
	for (size_t at = strlen(self.name); at < sizeof(self.name); at++)
		rests += self.name[at] != '\0';
	CHECK(rests == 0, "so do those of processes (%d)", rests);
}

int
main(void)
{
	scratch_enter("leaks.d");
	test_results();
	test_names();
	scratch_leave("leaks.d");
	return check_done();
}

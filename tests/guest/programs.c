/*
 * execve: what the new program gets, what it keeps of the old one, and that
 * its file isn't written meanwhile. (What can be run is for images.c.) The
 * program runs itself, in a mode that the environment names; its exit status
 * then is 0 if it found all as it should.
 */
#include <signal.h>
#include <sys/time.h>

#include "children.h"

#define SELF    "/bin/programs"
#define ARG_MAX (128 * 1024) /* bytes: strings, pointers to them, NULLs */
#define FIXED   (39 * 8)     /* of them for argc, NULLs, auxiliary vector */
#define FAILED  99           /* exit status: not even started */

/* The exit status of SELF, run in a child after prepare() with argv and an
 * environment of mode and `more`. */
static int
run_self(const char *mode, char *const argv[], char *more,
	 void (*prepare)(void))
{
	char *envp[] = {(char *)mode, more, NULL};
	pid_t pid = fork();

	if (pid == 0) {
		if (prepare != NULL)
			prepare();
		execve(SELF, argv, envp);
		_exit(FAILED);
	}
	return child_wait(pid);
}

static char *const plain_argv[] = {"programs", NULL};

/* --- Arguments and environment --- */

static char *const strange_argv[] = {"a name", "", "x y", "\377\n", NULL};

static int
mode_arguments(int argc, char **argv)
{
	if (argc != 4 || argv[4] != NULL)
		return 1;
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], strange_argv[i]) != 0)
			return 2;
	return (uintptr_t)(argv - 1) % 16 == 0 ? 0 : 3; /* sp at the start */
}

static int
mode_environment(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (strcmp(environ[0], "MODE=environment") != 0 ||
	    strcmp(environ[1], "EMPTY=") != 0 || environ[2] != NULL)
		return 1;
	return environ == argv + argc + 1 ? 0 : 2;
}

static int
mode_no_arguments(int argc, char **argv)
{
	return argc == 0 && argv[0] == NULL ? 0 : 1;
}

/* How long the only long string is. */
static int
mode_long(int argc, char **argv)
{
	return argc == 2 && strlen(argv[1]) == strtoul(getenv("LONG"), NULL, 10)
		   ? 0
		   : 1;
}

static int
mode_count(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (argv[i][0] != 'p' || argv[i][1] != '\0')
			return 1;
	return argc == atoi(getenv("COUNT")) ? 0 : 2;
}

static void
test_arguments(void)
{
	CHECK(run_self("MODE=arguments", strange_argv, NULL, NULL) == 0,
	      "arguments arrive as they were");
	CHECK(run_self("MODE=environment", plain_argv, "EMPTY=", NULL) == 0,
	      "so does the environment");
	CHECK(run_self("MODE=no_arguments", NULL, NULL, NULL) == 0,
	      "no arguments at all");
}

/* A string that, as the second argument, fills what is allowed. */
static size_t
longest(const char *mode, const char *more)
{
	size_t strings = strlen(plain_argv[0]) + 1 + strlen(mode) + 1 +
			 strlen(more) + 1;

	return ARG_MAX - FIXED - sizeof(SELF) - 4 * sizeof(char *) - strings -
	       1;
}

static void
test_long_argument(void)
{
	static char string[ARG_MAX + 1], more[] = "LONG=000000";
	char *argv[] = {plain_argv[0], string, NULL};
	char *envp[] = {"MODE=long", more, NULL};
	size_t n = longest("MODE=long", more);

	snprintf(more, sizeof(more), "LONG=%06lu", (unsigned long)n);
	memset(string, 'x', n);
	CHECK(run_self("MODE=long", argv, more, NULL) == 0,
	      "arguments of %d bytes in all", ARG_MAX);
	string[n] = 'x';
	CHECK_ERRNO(execve(SELF, argv, envp), E2BIG, "one more is E2BIG");
	memset(string, 'x', ARG_MAX);
	CHECK_ERRNO(execve(SELF, argv, envp), E2BIG, "a huge string is E2BIG");
	argv[1] = NULL;
	envp[1] = string;
	CHECK_ERRNO(execve(SELF, argv, envp), E2BIG, "in the environment too");
}

static void
test_many_arguments(void)
{
	static char *argv[ARG_MAX / 8];
	int most = 13000; /* of 8 + 2 bytes each */

	for (int i = 0; i < most; i++)
		argv[i] = "p";
	CHECK(run_self("MODE=count", argv, "COUNT=13000", NULL) == 0,
	      "%d arguments", most);
	for (int i = most; i < ARG_MAX / 8 - 1; i++)
		argv[i] = "p";
	CHECK_ERRNO(execve(SELF, argv, environ), E2BIG,
		    "too many arguments are E2BIG");
}

/* --- What is kept --- */

static void
handler(int sig)
{
	(void)sig;
}

static void
prepare_signals(void)
{
	sigset_t mask = sigmask(SIGHUP) | sigmask(SIGUSR1);

	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, SIG_IGN);
	raise(SIGHUP);
}

static int
mode_signals(int argc, char **argv)
{
	struct sigaction act;
	sigset_t set;

	(void)argc;
	(void)argv;
	sigaction(SIGUSR1, NULL, &act);
	if (act.sa_handler != SIG_DFL || act.sa_flags != 0)
		return 1;
	sigaction(SIGUSR2, NULL, &act);
	if (act.sa_handler != SIG_IGN)
		return 2;
	sigprocmask(SIG_BLOCK, NULL, &set);
	if (set != (sigmask(SIGHUP) | sigmask(SIGUSR1)))
		return 3;
	sigpending(&set);
	return set == sigmask(SIGHUP) ? 0 : 4;
}

static void
prepare_alarm(void)
{
	alarm(1000);
}

static int
mode_alarm(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	unsigned int left = alarm(0);

	return left > 900 && left <= 1000 ? 0 : 1;
}

static void
prepare_attributes(void)
{
	char pid[16];

	umask(031);
	chdir("/etc");
	setpgid(0, 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	execle(SELF, pid, NULL, (char *[]){"MODE=attributes", NULL});
}

static int
mode_attributes(int argc, char **argv)
{
	char cwd[16];

	(void)argc;
	if (getpid() != atoi(argv[0]) || getpgid(0) != getpid())
		return 1;
	if (umask(0) != 031)
		return 2;
	if (strcmp(getcwd(cwd, sizeof(cwd)), "/etc") != 0)
		return 3;
	return strcmp(info_of(getpid()).name, "programs") == 0 ? 0 : 4;
}

#define FD_CLOSED 10
#define FD_KEPT   11

static void
prepare_descriptors(void)
{
	int fd = open("text", O_RDONLY);
	char c;

	dup2(fd, FD_CLOSED);
	dup2(fd, FD_KEPT);
	fcntl(FD_CLOSED, F_SETFD, FD_CLOEXEC);
	read(fd, &c, 1);
}

static int
mode_descriptors(int argc, char **argv)
{
	char c;

	(void)argc;
	(void)argv;
	if (fcntl(FD_CLOSED, F_GETFD) != -1 || errno != EBADF)
		return 1;
	return read(FD_KEPT, &c, 1) == 1 && c == 'b' ? 0 : 2;
}

static void
test_kept(void)
{
	file_make("text", "abc");
	CHECK(run_self("MODE=signals", plain_argv, NULL, prepare_signals) == 0,
	      "handlers are gone; what is ignored, blocked, pending stays");
	CHECK(run_self("MODE=alarm", plain_argv, NULL, prepare_alarm) == 0,
	      "the alarm stays");
	CHECK(run_self("", plain_argv, NULL, prepare_attributes) == 0,
	      "pid, group, umask, directory stay, the name is new");
	CHECK(run_self("MODE=descriptors", plain_argv, NULL,
		       prepare_descriptors) == 0,
	      "descriptors stay open, but those to be closed");
	unlink("text");
}

/* --- Failure --- */

static void
test_bad_pointers(void)
{
	char *argv[] = {"programs", NULL, NULL};

	CHECK_FAULTS(BAD_BUT_NULL, "argv", execv(SELF, bad));
	CHECK_FAULTS(BAD_BUT_NULL, "envp", execve(SELF, plain_argv, bad));
	CHECK_FAULTS(BAD_BUT_NULL, "an argument",
		     (argv[1] = bad, execv(SELF, argv)));
	CHECK_FAULTS(BAD_BUT_NULL, "a variable",
		     (argv[1] = bad, execve(SELF, plain_argv, argv)));
}

static void
test_failure_changes_nothing(void)
{
	struct sigaction act;
	int fd = open("/dev/null", O_RDONLY);

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	signal(SIGUSR1, handler);
	CHECK_ERRNO(execv("/bin/none", plain_argv), ENOENT, "exec fails");
	sigaction(SIGUSR1, NULL, &act);
	CHECK(act.sa_handler == handler, "handlers are still there");
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "descriptors too");
	CHECK(strcmp(info_of(getpid()).name, "programs") == 0, "and the name");
	close(fd);
}

/* --- A running program's file --- */

static void
copy_program(const char *from, const char *to)
{
	static char buf[64 * 1024];
	int in = open(from, O_RDONLY);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		write(out, buf, n);
	close(in);
	close(out);
}

static int
run_busy(void)
{
	return execl("./busy", "busy", "1000", NULL);
}

static void
test_text_busy(void)
{
	pid_t pid;
	int early, fd;

	copy_program("/bin/sleep", "busy");
	early = open("busy", O_RDWR);
	pid = child_start(run_busy);
	CHECK(AWAIT(strcmp(info_of(pid).name, "busy") == 0), "it runs");
	CHECK_ERRNO(ftruncate(early, 0), ETXTBSY,
		    "it can't be cut, though it was opened before");
	close(early);
	CHECK_ERRNO(open("busy", O_WRONLY), ETXTBSY, "it can't be written");
	CHECK_ERRNO(open("busy", O_RDWR), ETXTBSY, "nor opened for both");
	CHECK_ERRNO(open("busy", O_WRONLY | O_CREAT | O_TRUNC, 0755), ETXTBSY,
		    "nor be made anew");
	CHECK_ERRNO(truncate("busy", 0), ETXTBSY, "nor truncated");
	fd = open("busy", O_RDONLY);
	CHECK(fd >= 0, "it can be read");
	close(fd);
	child_end(pid);
	fd = open("busy", O_WRONLY);
	CHECK(fd >= 0, "and written when it has ended");
	close(fd);
}

static void
test_text_unlinked(void)
{
	struct gate gate = gate_make();
	pid_t pid = fork();

	if (pid == 0) {
		char fd[8];

		snprintf(fd, sizeof(fd), "%d", gate.fd[0]);
		execle("./copy", "copy", fd, NULL,
		       (char *[]){"MODE=pass", NULL});
		_exit(FAILED);
	}
	AWAIT(strcmp(info_of(pid).name, "copy") == 0);
	CHECK(unlink("copy") == 0, "a running program can be removed");
	gate_open(gate);
	CHECK(child_wait(pid) == 0, "and runs on");
	gate_remove(gate);
}

static int
mode_pass(int argc, char **argv)
{
	struct gate gate = {{atoi(argv[1]), -1}};

	return argc == 2 && gate_pass(gate) ? 0 : 1;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} modes[] = {
    {"arguments", mode_arguments},
    {"environment", mode_environment},
    {"no_arguments", mode_no_arguments},
    {"long", mode_long},
    {"count", mode_count},
    {"signals", mode_signals},
    {"alarm", mode_alarm},
    {"attributes", mode_attributes},
    {"descriptors", mode_descriptors},

    {"pass", mode_pass},
};

static int
run_mode(const char *mode, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(mode, modes[i].name) == 0)
			return modes[i].run(argc, argv);
	return FAILED;
}

int
main(int argc, char **argv)
{
	const char *mode = getenv("MODE");

	if (mode != NULL)
		return run_mode(mode, argc, argv);
	scratch_enter("programs");
	test_arguments();
	test_long_argument();
	test_many_arguments();
	test_kept();
	test_bad_pointers();
	test_failure_changes_nothing();
	test_text_busy();
	copy_program(SELF, "copy");
	test_text_unlinked();
	unlink("busy");
	scratch_leave("programs");
	return check_done();
}

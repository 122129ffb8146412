/*
 * Processes that end in all ways, at moments of chance: their status is what
 * it should be, and nobody else's memory changes.
 */
#include "children.h"
#include "stress.h"

#define PAGES    16
#define MANY     5
#define DEPTH    4    /* of programs that execute the next */
#define LONG_ARG 5000 /* bytes, or few */

static unsigned int pattern[PAGES * PAGE / sizeof(int)];

static void
pattern_fill(unsigned int key)
{
	for (size_t i = 0; i < sizeof(pattern) / sizeof(int); i += 64)
		pattern[i] = key ^ i;
}

static bool
pattern_holds(unsigned int key)
{
	for (size_t i = 0; i < sizeof(pattern) / sizeof(int); i += 64)
		if (pattern[i] != (key ^ i))
			return false;
	return true;
}

/* A child writes to what it shares with its parent, and exits. */
static void
exits(void)
{
	unsigned int key = chance(1 << 20), code = chance(256);
	pid_t pid;

	pattern_fill(key);
	pid = split();
	if (pid == 0) {
		must(pattern_holds(key));
		dawdle();
		pattern_fill(key + 1);
		must(pattern_holds(key + 1));
		_exit(code);
	}
	dawdle();
	must(pattern_holds(key));
	must(exited(pid, code));
	must(pattern_holds(key));
}

/* What a child does that is to be killed. */
static void
be_busy(void)
{
	struct timespec nap = {.tv_nsec = NS_PER_MS};
	int fd[2];
	char c;

	switch (chance(6)) {
	case 0:
		for (;;)
			pause();
	case 1:
		for (;;)
			getppid();
	case 2:
		pipe(fd);
		for (;;)
			read(fd[0], &c, 1);
	case 3:
		for (;;)
			nanosleep(&nap, NULL);
	case 4:
		for (;;)
			if (split() == 0)
				_exit(0);
			else
				wait(NULL);
	default:
		for (;;)
			;
	}
}

static void
killed_by_parent(void)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGUSR1};
	int sig = signals[chance(4)];
	pid_t pid = split();

	if (pid == 0)
		be_busy();
	dawdle();
	must(kill(pid, sig) == 0);
	must(killed(pid, sig));
	must(kill(pid, 0) < 0 && errno == ESRCH);
}

/* Stops and continues fall on a child's end: it has ended as it did. */
static void
stopped_at_the_end(void)
{
	bool kills = chance(2);
	pid_t pid = split();
	int status;

	if (pid == 0) {
		dawdle();
		if (kills)
			raise(SIGKILL);
		_exit(7);
	}
	for (int i = chance(8); i > 0; i--) {
		must(kill(pid, chance(2) ? SIGSTOP : SIGCONT) == 0);
		dawdle();
	}
	for (;;) {
		must(waitpid(pid, &status, WUNTRACED) == pid);
		if (!WIFSTOPPED(status))
			break;
		must(WSTOPSIG(status) == SIGSTOP);
		must(kill(pid, SIGCONT) == 0);
	}
	must(kills ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
		   : WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* A grandchild outlives its parent, and is then process 1's. */
static void
orphaned(void)
{
	struct gate g = gate_make();
	pid_t pid = split();
	char c;

	if (pid == 0) {
		if (split() == 0) {
			must(AWAIT(getppid() == 1));
			gate_open(g);
			_exit(0);
		}
		dawdle();
		_exit(3);
	}
	close(g.fd[1]);
	must(exited(pid, 3));
	must(gate_pass(g));
	must(read(g.fd[0], &c, 1) == 0);
	close(g.fd[0]);
}

/* Many that end at once, each waited for once. */
static void
any_of_many(void)
{
	pid_t pid[MANY], who;
	int status;

	for (int i = 0; i < MANY; i++) {
		pid[i] = split();
		if (pid[i] == 0) {
			dawdle();
			_exit(i);
		}
	}
	for (int n = 0; n < MANY; n++) {
		who = wait(&status);
		must(who > 0 && WIFEXITED(status));
		must(WEXITSTATUS(status) < MANY);
		must(pid[WEXITSTATUS(status)] == who);
		pid[WEXITSTATUS(status)] = 0;
	}
	must(wait(&status) < 0 && errno == ECHILD);
}

/* A group of its own, killed as one. */
static void
group_killed(void)
{
	pid_t pid[MANY];

	for (int i = 0; i < MANY; i++) {
		pid[i] = split();
		if (pid[i] == 0)
			be_busy();
		must(setpgid(pid[i], pid[0]) == 0);
	}
	dawdle();
	must(kill(-pid[0], SIGKILL) == 0);
	for (int i = 0; i < MANY; i++)
		must(killed(pid[i], SIGKILL));
}

/* Execute this program: depth, the code to exit with, and text to check. */
static void
execute(int depth, int code)
{
	static char text[LONG_ARG];
	char first[12], second[12];
	char *argv[MANY + 6] = {"stress", "executed", scarce ? "-s" : "", first,
				second};
	size_t n = chance(4) ? 1 + chance(40) : 1 + chance(LONG_ARG - 1);

	memset(text, 'a' + n % 26, n);
	text[n] = '\0';
	sprintf(first, "%d", depth);
	sprintf(second, "%d", code);
	for (unsigned int i = 0; i < MANY; i++)
		argv[5 + i] = text;
	execv("/bin/stress", argv);
	wrong("exec: %s", strerror(errno));
}

void
run_executed(char **argv)
{
	int depth = atoi(argv[1]), code = atoi(argv[2]), n = 0;

	scarce = argv[0][0] != '\0';
	chance_seed(getpid() * 16 + depth);
	must(pattern_holds(0) || pattern[0] == 0); /* memory is as new */
	for (char **text = argv + 3; *text != NULL; text++, n++) {
		size_t length = strlen(*text);

		for (size_t i = 0; i < length; i++)
			must((*text)[i] == (char)('a' + length % 26));
	}
	must(n == MANY);
	dawdle();
	if (depth > 0)
		execute(depth - 1, code);
	_exit(code);
}

static void
executes(void)
{
	int code = chance(256);
	pid_t pid = split();

	if (pid == 0)
		execute(chance(DEPTH), code);
	must(exited(pid, code));
}

void
round_of_children(void)
{
	static void (*const all[])(void) = {
	    exits,       killed_by_parent, stopped_at_the_end, orphaned,
	    any_of_many, group_killed,     executes,
	};

	all[chance(sizeof(all) / sizeof(all[0]))]();
}

/* What a parent is told of a child of which it hasn't yet asked what became of
 * it before: each status that waits to be taken, and each event after it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

enum event { NOTHING, STOP, CONT, KILL, TERM, EXIT, EXEC, EVENTS };

static const char *const names[EVENTS] = {
    "nothing", "stop", "cont", "kill", "term", "exit", "exec",
};
static const char *self;

struct child {
	pid_t pid;
	int orders; /* what is written here it does */
	int told;   /* and here it writes when it has become a program */
};

/* Orders are in descriptor 0, and the answer goes to 1. */
static void
obey(void)
{
	char order;

	while (read(0, &order, 1) == 1) {
		if (order == EXIT)
			_exit(3);
		execl(self, self, "again", NULL);
	}
	_exit(4);
}

static struct child
child_start(void)
{
	int orders[2], told[2];
	struct child c;

	pipe(orders);
	pipe(told);
	c.pid = fork();
	if (c.pid == 0) {
		dup2(orders[0], 0);
		dup2(told[1], 1);
		close(orders[1]);
		close(told[0]);
		obey();
	}
	close(orders[0]);
	close(told[1]);
	c.orders = orders[1];
	c.told = told[0];
	return c;
}

/* Wait until there is this news, and leave it there. */
static void
await(struct child c, int kind)
{
	siginfo_t info;

	if (waitid(P_PID, c.pid, &info, kind | WNOWAIT) != 0)
		printf("waitid: %s\n", strerrorname_np(errno));
}

/* True: the child has news, which are taken, and printed. */
static int
take(struct child c)
{
	int status;
	pid_t r = waitpid(c.pid, &status, WUNTRACED | WCONTINUED | WNOHANG);

	if (r == 0)
		return 0;
	if (r < 0)
		printf(" %s", strerrorname_np(errno));
	else if (WIFSTOPPED(status))
		printf(" stopped %d", WSTOPSIG(status));
	else if (WIFCONTINUED(status))
		printf(" continued");
	else if (WIFEXITED(status))
		printf(" exited %d", WEXITSTATUS(status));
	else
		printf(" killed %d", WTERMSIG(status));
	return r > 0;
}

static void
let(struct child c, enum event e)
{
	char order = e;

	switch (e) {
	case STOP:
		kill(c.pid, SIGSTOP);
		await(c, WSTOPPED);
		break;
	case CONT:
		kill(c.pid, SIGCONT);
		break;
	case KILL:
		kill(c.pid, SIGKILL);
		/* Its end is all that is still to come. */
		while (!take(c))
			usleep(100);
		break;
	case TERM:
		kill(c.pid, SIGTERM);
		await(c, WEXITED);
		break;
	case EXIT:
		write(c.orders, &order, 1);
		await(c, WEXITED);
		break;
	case EXEC:
		write(c.orders, &order, 1);
		read(c.told, &order, 1);
		break;
	default:
		break;
	}
}

static void
test(const enum event *before, enum event next)
{
	struct child c = child_start();

	for (; *before != NOTHING; before++) {
		printf("%s, ", names[*before]);
		let(c, *before);
	}
	printf("%s:", names[next]);
	let(c, next);
	while (take(c))
		;
	printf("\n");
	fflush(stdout);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	close(c.orders);
	close(c.told);
}

int
main(int argc, char **argv)
{
	static const enum event running[] = {NOTHING},
				stopped[] = {STOP, NOTHING},
				continued[] = {STOP, CONT, NOTHING},
				again[] = {STOP, CONT, STOP, NOTHING};

	self = argv[0];
	if (argc > 1) {
		write(1, "", 1);
		obey();
	}
	PROMISE("wait(2): each status that waits, and what comes after it");
	for (enum event e = STOP; e < EVENTS; e++) {
		test(running, e);
		test(continued, e);
		/* A stopped one does nothing by itself. */
		if (e == STOP || e == CONT || e == KILL) {
			test(stopped, e);
			test(again, e);
		}
	}
	return 0;
}

/* vfork and what is built on it: a child that has its parent's memory, while
 * that waits. And what clone stores where, and refuses. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

static volatile int shared;
static char stack[65536] __attribute__((aligned(16)));

static void
say_status(const char *name, pid_t pid)
{
	int status = -1;
	pid_t got = waitpid(pid, &status, 0);

	printf("%s: child %d, status %x, shared %d\n", name, got == pid, status,
	       shared);
	fflush(stdout);
}

static void
test_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		shared = 1;
		write(STDOUT_FILENO, "child\n", 6);
		_exit(3);
	}
	say_status("exit", pid);
	pid = vfork();
	if (pid == 0) {
		shared = 2;
		execl("/bin/true", "true", NULL);
		_exit(4);
	}
	say_status("exec", pid);
	pid = vfork();
	if (pid == 0) {
		shared = execl("/bin/none", "none", NULL) < 0 ? errno : 0;
		_exit(5);
	}
	say_status("no exec", pid);
	pid = vfork();
	if (pid == 0) {
		shared = 4;
		kill(getpid(), SIGKILL);
		_exit(6);
	}
	say_status("killed", pid);
}

/* The one that waits may be killed itself; its child goes on. */
static void
test_killed_parent(void)
{
	int fd[2];
	char c = 0;

	pipe(fd);
	pid_t pid = fork();
	if (pid == 0) {
		pid_t self = getpid();

		close(fd[0]);
		if (vfork() == 0) {
			kill(self, SIGKILL);
			/* The memory is still there when the parent isn't. */
			while (getppid() == self)
				shared++;
			write(fd[1], "x", 1);
			_exit(0);
		}
		_exit(7);
	}
	close(fd[1]);
	shared = 0;
	say_status("its parent killed", pid);
	printf("and it goes on: %zd\n", read(fd[0], &c, 1));
	close(fd[0]);
}

static int
other_stack(void *arg)
{
	shared += *(int *)arg;
	return 8;
}

static void
test_clone(void)
{
	int add = 10, ptid = 0, ctid = 0;
	char *top = stack + sizeof(stack);

	shared = 0;
	pid_t pid = clone(other_stack, top, CLONE_VM | CLONE_VFORK | SIGCHLD,
			  &add);
	say_status("on a stack of its own", pid);
	pid = clone(other_stack, top, SIGCHLD, &add);
	say_status("with memory of its own", pid);
	pid = clone(other_stack, top,
		    CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID |
			CLONE_CHILD_SETTID | SIGCHLD,
		    &add, &ptid, NULL, &ctid);
	say_status("told of", pid);
	printf("its number: %d, %d\n", ptid == pid, ctid == pid);
	pid = clone(other_stack, top,
		    CLONE_VM | CLONE_VFORK | CLONE_CHILD_SETTID |
			CLONE_CHILD_CLEARTID | SIGCHLD,
		    &add, &ptid, NULL, &ctid);
	say_status("cleared", pid);
	printf("its number: %d\n", ctid);
}

static void
test_refused(void)
{
	static const int flags[] = {
	    CLONE_THREAD,
	    CLONE_THREAD | CLONE_VM,
	    CLONE_SIGHAND,
	    CLONE_THREAD | CLONE_SIGHAND,
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int r = clone(other_stack, stack + sizeof(stack), flags[i],
			      NULL);
		printf("flags %x: %d, %s\n", (unsigned int)flags[i], r,
		       r < 0 ? strerrorname_np(errno) : "");
	}
}

int
main(void)
{
	PROMISE("vfork(2): the child has its parent's memory");
	test_vfork();
	PROMISE("vfork(2): a parent that is killed meanwhile");
	test_killed_parent();
	PROMISE("clone(2): what is stored where");
	test_clone();
	PROMISE("clone(2): what is refused");
	test_refused();
	return 0;
}

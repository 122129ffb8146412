/* Child processes, and signals. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe.h"

/* The numbers of system calls: SYS_NAME. */
#define SYSCALL(number, name) SYS_##name = number,
enum {
#include <sys/syscalls.h>
};
#undef SYSCALL

static pid_t children[SLOTS]; /* by the script's numbers */
static volatile sig_atomic_t caught;

/* --- Signals --- */

static void
on_signal(int)
{
	caught++;
}

void
signals_catch(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGPIPE, &act, NULL);
}

static void
do_caught(void)
{
	answer_number(caught);
}

int
kill_child(pid_t pid, int sig)
{
	if (pid > 0)
		return kill(pid, sig);
	errno = ESRCH;
	return -1;
}

/* --- Children --- */

/* Fork while the stack pointer is another one; 0 leaves it as it is. The child
 * gets the same stack pointer, as the second argument of clone is 0. */
static pid_t
fork_at(uintptr_t sp)
{
	register long a0 asm("a0") = SIGCHLD;
	register long a1 asm("a1") = 0;
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

/* child SLOT COUNT [SP]: a child does the next COUNT lines, and ends. This
 * process leaves them out, also if the fork has failed. */
static void
do_child(void)
{
	long slot = number(), n = number();
	pid_t pid = fork_at(number());

	if (pid == 0) {
		script_keep(n);
		return;
	}
	children[slot] = pid;
	script_leave_out(n);
	answer_number(pid < 0 ? -1 : 0);
}

/* program SLOT IN OUT PATH: a child executes this file, with the other two
 * slots as its input and output. */
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

/* state SLOT: the child's state, once that isn't R any more; it is awaited for
 * half a second. */
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

const struct operation process_operations[] = {
    {"child", do_child}, {"program", do_program}, {"wait", do_wait},
    {"kill", do_kill},   {"caught", do_caught},   {"state", do_state},
    {NULL, NULL},
};

/*
 * Processes: fork, exit and wait; stopping and continuing, as a parent sees
 * it; orphans; process groups, and kill by pid and by group.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "children.h"

#define MANY    100 /* children at once */
#define CLONES  300
#define SPURNED 3000

static struct gate gate;

static int
pass(void)
{
	return gate_pass(gate) ? 0 : 1;
}

/* --- Identity --- */

static pid_t parent, parent_group;

static int
family(void)
{
	if (getppid() != parent)
		return 1;
	if (getpgid(0) != parent_group || getpgrp() != parent_group)
		return 2;
	return getpid() == parent;
}

static int
umask_inherited(void)
{
	return umask(0) == 027 ? 0 : 1;
}

static void
test_identity(void)
{
	pid_t pid;

	parent = getpid();
	parent_group = getpgid(0);
	CHECK(parent > 1, "getpid: not init's");
	CHECK(getpgid(parent) == parent_group, "getpgid: 0 means the caller");
	CHECK(child_run(family) == 0, "a child knows its parent and group");
	pid = sleeper_start();
	CHECK(getpgid(pid) == parent_group, "getpgid: of another process");
	CHECK(getpgid(1) != parent_group, "init is in another group");
	child_end(pid);
	CHECK_ERRNO(getpgid(NO_PID), ESRCH, "getpgid: no such process");
	CHECK_ERRNO(getpgid(-1), ESRCH, "getpgid: a negative pid");
	CHECK(umask(0777) == 022, "umask: gives the old one");
	CHECK(umask(~0750) == 0777 && umask(022) == (~0750 & 0777),
	      "umask: keeps the permission bits only");
	umask(027);
	CHECK(child_run(umask_inherited) == 0, "umask: is inherited");
	CHECK(umask(022) == 027, "umask: a child's is its own");
}

/* --- Exit and wait --- */

static int
leave(int code)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(code);
	return pid;
}

static void
test_exit_status(void)
{
	static const int codes[] = {0, 1, 7, 127, 128, 255};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		CHECK(exited(leave(codes[i]), codes[i]), "exit: status %d",
		      codes[i]);
	CHECK(exited(leave(0x703), 3), "exit: the low 8 bits count");
	CHECK(exited(leave(-1), 255), "exit: of a negative one too");
	CHECK(waitpid(leave(1), NULL, 0) > 0, "wait: the status isn't needed");
}

static void
test_wait_errors(void)
{
	pid_t pid;

	CHECK_ERRNO(wait(NULL), ECHILD, "wait: without children");
	CHECK_ERRNO(waitpid(0, NULL, 0), ECHILD, "wait: none in the group");
	pid = sleeper_start();
	CHECK_ERRNO(waitpid(-1, NULL, 0x40), EINVAL, "wait: unknown option");
	CHECK_ERRNO(waitpid(1, NULL, WNOHANG), ECHILD, "wait: not a child");
	CHECK_ERRNO(waitpid(getpid(), NULL, 0), ECHILD, "wait: for oneself");
	CHECK_ERRNO(waitpid(NO_PID, NULL, 0), ECHILD, "wait: no such process");
	CHECK_ERRNO(waitpid(-NO_PID, NULL, 0), ECHILD, "wait: no such group");
	CHECK_ERRNO(waitpid(INT_MIN, NULL, 0), ESRCH, "wait: no group at all");
	CHECK(waitpid(pid, NULL, WNOHANG) == 0, "WNOHANG: it still runs");
	CHECK(waitpid(-1, NULL, WNOHANG) == 0, "WNOHANG: nor has any ended");
	child_end(pid);
	CHECK_ERRNO(waitpid(pid, NULL, 0), ECHILD, "wait: once for each child");
}

static void
test_wait_fault(void)
{
	pid_t pid = leave(5);

	CHECK_FAULTS(BAD_BUT_NULL, "wait", waitpid(pid, bad, 0));
	CHECK_ERRNO(waitpid(pid, (void *)gate_make, 0), EFAULT,
		    "wait: a read-only pointer is EFAULT");
	CHECK(exited(pid, 5), "wait: one that failed has taken no child");
}

static void
test_wait_which(void)
{
	pid_t first = sleeper_start(), second = sleeper_start(), third;
	int status;

	kill(second, SIGTERM);
	CHECK(wait(&status) == second, "wait: for whichever has ended");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
	      "wait: tells of the signal that killed it");
	second = leave(2);
	third = leave(3);
	CHECK(AWAIT(state_of(second) == 'Z' && state_of(third) == 'Z'),
	      "a child that has ended is a zombie");
	CHECK(exited(third, 3) && exited(second, 2), "wait: for a given child");
	setpgid(first, first);
	CHECK_ERRNO(waitpid(0, NULL, 0), ECHILD, "wait: 0 is the own group");
	kill(first, SIGTERM);
	CHECK(waitpid(-first, NULL, 0) == first, "wait: for a group");
	first = child_start(pass);
	gate_open(gate);
	CHECK(exited(first, 0), "wait: sleeps until there is one");
}

static void
test_zombie(void)
{
	pid_t pid = leave(0);

	AWAIT(state_of(pid) == 'Z');
	CHECK(kill(pid, 0) == 0 && kill(pid, SIGTERM) == 0,
	      "kill: a zombie takes signals, to no effect");
	CHECK(getpgid(pid) == getpgid(0), "getpgid: a zombie has a group");
	CHECK_ERRNO(setpgid(pid, 0), ESRCH, "setpgid: but can't change it");
	CHECK(exited(pid, 0), "wait: its status is what it was");
	CHECK(state_of(pid) == 0, "wait: the zombie is gone");
	CHECK_ERRNO(kill(pid, 0), ESRCH, "kill: no such process");
}

/* Are the n pids all different? */
static bool
distinct(const pid_t *pids, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (pids[i] == pids[j])
				return false;
	return true;
}

static void
test_many(void)
{
	pid_t pids[MANY];
	int good = 0;

	for (int i = 0; i < MANY; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(gate_pass(gate) ? i : 255);
	}
	CHECK(distinct(pids, MANY), "fork: no two processes have one pid");
	for (int i = 0; i < MANY; i++)
		gate_open(gate);
	for (int i = MANY - 1; i >= 0; i--)
		good += exited(pids[i], i);
	CHECK(good == MANY, "%d children at once, each with its status", MANY);
	CHECK_ERRNO(wait(NULL), ECHILD, "wait: that was all of them");
}

/* --- Stopping --- */

static void
test_stop(void)
{
	pid_t pid = sleeper_start();
	int status;

	kill(pid, SIGSTOP);
	CHECK(stopped(pid, SIGSTOP), "WUNTRACED: tells of a stopped child");
	CHECK(state_of(pid) == 'T', "psinfo: it is stopped");
	CHECK(waitpid(pid, NULL, WUNTRACED | WNOHANG) == 0,
	      "WUNTRACED: once for each stop");
	kill(pid, SIGCONT);
	CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status),
	      "WCONTINUED: tells of a continued child");
	CHECK(!WIFEXITED(status) && !WIFSIGNALED(status) && !WIFSTOPPED(status),
	      "WCONTINUED: which is nothing else");
	CHECK(waitpid(pid, NULL, WCONTINUED | WNOHANG) == 0,
	      "WCONTINUED: once for each time");
	kill(pid, SIGSTOP);
	CHECK(AWAIT(state_of(pid) == 'T'), "it can be stopped again");
	CHECK(waitpid(pid, NULL, WNOHANG | WCONTINUED) == 0,
	      "wait: a stop is told only when asked for");
	kill(pid, SIGCONT);
	CHECK(waitpid(pid, NULL, WNOHANG | WUNTRACED) == 0,
	      "wait: so is going on");
	child_end(pid);
}

static void
test_stop_and_kill(void)
{
	pid_t pid = sleeper_start();

	kill(pid, SIGSTOP);
	stopped(pid, SIGSTOP);
	kill(pid, SIGTERM);
	CHECK(state_of(pid) == 'T', "SIGTERM waits for a stopped process");
	kill(pid, SIGCONT);
	CHECK(killed(pid, SIGTERM), "and ends it when it goes on");
	pid = sleeper_start();
	kill(pid, SIGSTOP);
	stopped(pid, SIGSTOP);
	kill(pid, SIGKILL);
	CHECK(killed(pid, SIGKILL), "SIGKILL ends a stopped process");
}

/* --- Orphans --- */

static int report[2]; /* a pipe, for the pids of those left behind */

static int
report_pid(pid_t pid)
{
	return write(report[1], &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1;
}

static pid_t
reported_pid(void)
{
	pid_t pid = 0;

	read(report[0], &pid, sizeof(pid));
	return pid;
}

/* Leave a child behind, which ends when it is init's. */
static int
abandon(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(AWAIT(getppid() == 1) && gate_pass(gate) ? 0 : 1);
	return report_pid(pid);
}

/* Leave a zombie behind. */
static int
abandon_zombie(void)
{
	pid_t pid = leave(0);

	AWAIT(state_of(pid) == 'Z');
	return report_pid(pid);
}

static void
test_orphans(void)
{
	pid_t pid;

	pipe(report);
	child_run(abandon);
	pid = reported_pid();
	CHECK(AWAIT(info_of(pid).ppid == 1), "an orphan is init's child");
	CHECK_ERRNO(waitpid(pid, NULL, WNOHANG), ECHILD,
		    "and not its grandparent's");
	gate_open(gate);
	CHECK(AWAIT(state_of(pid) == 0), "init waits for it");
	child_run(abandon_zombie);
	pid = reported_pid();
	CHECK(AWAIT(state_of(pid) == 0), "and for zombies left behind");
}

/* --- Groups --- */

static int
run_sleep(void)
{
	return execl("/bin/sleep", "sleep", "1000", NULL);
}

static void
test_setpgid_errors(void)
{
	pid_t pid = sleeper_start(), other;

	CHECK_ERRNO(setpgid(pid, -1), EINVAL, "setpgid: a negative group");
	CHECK_ERRNO(setpgid(NO_PID, 0), ESRCH, "setpgid: no such process");
	CHECK_ERRNO(setpgid(1, 0), ESRCH, "setpgid: not a child");
	CHECK_ERRNO(setpgid(-5, 0), EINVAL, "setpgid: a negative pid");
	CHECK_ERRNO(setpgid(pid, NO_PID), EPERM, "setpgid: no such group");
	CHECK(getpgid(pid) == getpgid(0), "setpgid: errors change nothing");
	child_end(pid);
	other = child_start(run_sleep);
	AWAIT(strcmp(info_of(other).name, "sleep") == 0);
	CHECK_ERRNO(setpgid(other, other), EACCES,
		    "setpgid: a child that has run exec");
	child_end(other);
}

static void
test_groups(void)
{
	pid_t leader = sleeper_start(), member = sleeper_start();
	pid_t outside = sleeper_start();

	CHECK(setpgid(leader, 0) == 0 && getpgid(leader) == leader,
	      "setpgid: a new group");
	CHECK(setpgid(member, leader) == 0 && getpgid(member) == leader,
	      "setpgid: an existing group");
	CHECK(info_of(member).pgrp == leader, "psinfo: shows it");
	child_end(leader);
	CHECK(kill(-leader, 0) == 0, "a group outlives its leader");
	CHECK(setpgid(outside, leader) == 0 && setpgid(outside, 0) == 0,
	      "setpgid: one can still join it, and leave");
	CHECK(kill(-leader, SIGTERM) == 0, "kill: a group");
	CHECK(killed(member, SIGTERM), "kill: its members get the signal");
	CHECK(waitpid(outside, NULL, WNOHANG) == 0, "kill: others don't");
	CHECK_ERRNO(kill(-leader, 0), ESRCH, "an empty group is none");
	CHECK_ERRNO(setpgid(outside, leader), EPERM, "which can't be joined");
	child_end(outside);
}

/* In a group of its own: kill(0) is for that. */
static int
kill_own_group(void)
{
	setpgid(0, 0);
	signal(SIGTERM, SIG_IGN);
	pid_t pid = sleeper_start();
	signal(SIGUSR1, SIG_IGN);
	if (kill(0, SIGUSR1) < 0 || !killed(pid, SIGUSR1))
		return 1;
	return kill(0, 0) < 0;
}

static volatile int continued;

static void
on_continue(int sig)
{
	continued = sig;
}

static void
test_kill(void)
{
	pid_t one = sleeper_start(), two = sleeper_start();

	CHECK_ERRNO(kill(one, -1), EINVAL, "kill: a negative signal");
	CHECK_ERRNO(kill(one, NSIG), EINVAL, "kill: past the last signal");
	CHECK_ERRNO(kill(NO_PID, SIGTERM), ESRCH, "kill: no such process");
	CHECK_ERRNO(kill(-NO_PID, SIGTERM), ESRCH, "kill: no such group");
	CHECK_ERRNO(kill(INT_MIN, SIGTERM), ESRCH, "kill: no group at all");
	CHECK(kill(one, 0) == 0 && waitpid(one, NULL, WNOHANG) == 0,
	      "kill: signal 0 only asks");
	CHECK(child_run(kill_own_group) == 0, "kill: 0 is the own group");
	kill(one, SIGSTOP);
	kill(two, SIGSTOP);
	stopped(one, SIGSTOP);
	stopped(two, SIGSTOP);
	signal(SIGCONT, on_continue);
	CHECK(kill(-1, SIGCONT) == 0 && AWAIT(state_of(one) == 'S') &&
		  AWAIT(state_of(two) == 'S'),
	      "kill: -1 is all processes");
	CHECK(continued == 0, "kill: but not the caller");
	signal(SIGCONT, SIG_DFL);
	child_end(one);
	child_end(two);
}

static volatile int told;

static void
on_child(int sig)
{
	told = sig;
}

/* What a parent doesn't want to hear of its children. */
static void
test_child_flags(void)
{
	struct sigaction act = {.sa_handler = on_child}, was;
	pid_t pid = sleeper_start();

	sigaction(SIGCHLD, &act, &was);
	kill(pid, SIGSTOP);
	CHECK(AWAIT(told == SIGCHLD), "SIGCHLD: a child has stopped");
	act.sa_flags = SA_NOCLDSTOP;
	sigaction(SIGCHLD, &act, NULL);
	stopped(pid, SIGSTOP);
	kill(pid, SIGCONT);
	told = 0;
	kill(pid, SIGSTOP);
	CHECK(stopped(pid, SIGSTOP) && told == 0,
	      "SA_NOCLDSTOP: none for that");
	child_end(pid);
	CHECK(told == SIGCHLD, "but for its end");
	act.sa_flags = SA_NOCLDWAIT;
	sigaction(SIGCHLD, &act, NULL);
	pid = leave(0);
	CHECK(AWAIT(state_of(pid) == 0), "SA_NOCLDWAIT: it's gone at its end");
	CHECK_ERRNO(waitpid(pid, NULL, 0), ECHILD, "and not waited for");
	sigaction(SIGCHLD, &was, NULL);
}

/* A child in this memory. It ends at once: with 0, if its number is at told. */
static pid_t
clone_told(int *told)
{
	register long a0 asm("a0") = SIGCHLD | CLONE_VM | CLONE_VFORK |
				     CLONE_PARENT_SETTID;
	register long a1 asm("a1") = 0;
	register int *a2 asm("a2") = told;
	register long a7 asm("a7") = SYS_clone;

	asm volatile("ecall\n"
		     "bnez a0, 1f\n"
		     "lw a0, (a2)\n"
		     "seqz a0, a0\n"
		     "li a7, %[exit]\n"
		     "ecall\n"
		     "1:"
		     : "+r"(a0)
		     : [exit] "i"(SYS_exit_group), "r"(a1), "r"(a2), "r"(a7)
		     : "memory");
	return a0;
}

static void
on_signal(int)
{
}

/* In a group of its own, which gets signals all the time; and a page fault is
 * on the way to where a child's number is stored. */
static int
begin_early(void)
{
	struct sigaction act = {.sa_handler = on_signal,
				.sa_flags = SA_RESTART};
	int *told = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int early = 0;
	pid_t killer;

	setpgid(0, 0);
	sigaction(SIGUSR2, &act, NULL);
	killer = fork();
	while (killer == 0)
		kill(0, SIGUSR2);
	for (int i = 0; i < CLONES; i++) {
		madvise(told, PAGE, MADV_DONTNEED);
		early += child_wait(clone_told(told)) != 0;
	}
	child_end(killer);
	return early;
}

static void
test_signal_of_a_new_one(void)
{
	CHECK(child_run(begin_early) == 0,
	      "a signal starts no child before its number is stored");
}

/* The two ways not to wait for children, in turn. */
static void *
spurn(void *stop)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction no_wait = {.sa_handler = SIG_DFL,
				    .sa_flags = SA_NOCLDWAIT};

	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		sigaction(SIGCHLD, &no_wait, NULL);
		sigaction(SIGCHLD, &ignore, NULL);
	}
	return NULL;
}

static void
test_spurned_all_the_time(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, was;
	int stop = 0, zombies = 0, word;
	pthread_t thread;

	sigaction(SIGCHLD, &ignore, &was);
	pthread_create(&thread, NULL, spurn, &stop);
	for (int i = 0; i < SPURNED; i++)
		clone_told(&word);
	while (waitpid(-1, NULL, 0) > 0)
		zombies++;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	sigaction(SIGCHLD, &was, NULL);
	CHECK(zombies == 0, "SIG_IGN or SA_NOCLDWAIT: no child is waited for");
}

int
main(void)
{
	alarm(DEADLINE);
	gate = gate_make();
	test_child_flags();
	test_identity();
	test_exit_status();
	test_wait_errors();
	test_wait_fault();
	test_wait_which();
	test_zombie();
	test_many();
	test_stop();
	test_stop_and_kill();
	test_orphans();
	test_setpgid_errors();
	test_groups();
	test_kill();
	test_signal_of_a_new_one();
	test_spurned_all_the_time();
	return check_done();
}

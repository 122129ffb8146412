/*
 * Signals that other calls bring about, SIGCHLD and SIGPIPE; and calls that
 * wait, when a signal comes: which end with EINTR, and which go on.
 */
#include "catch.h"

static struct gate gate;

/* --- SIGCHLD and SIGPIPE --- */

static int
leave(void)
{
	return 0;
}

static void
test_sigchld(void)
{
	pid_t pid;

	catch_signal(SIGCHLD, 0, 0);
	child_run(leave);
	CHECK(hits == 1, "SIGCHLD: a child has ended");
	hits = 0;
	pid = sleeper_start();
	kill(pid, SIGSTOP);
	stopped(pid, SIGSTOP);
	CHECK(hits == 1, "SIGCHLD: or been stopped");
	catch_signal(SIGCHLD, SA_NOCLDSTOP, 0);
	kill(pid, SIGCONT);
	kill(pid, SIGSTOP);
	AWAIT(state_of(pid) == 'T');
	CHECK(hits == 0, "SA_NOCLDSTOP: not that");
	child_end(pid);
	CHECK(hits == 1, "SA_NOCLDSTOP: but its end");
}

static void
test_no_zombies(void)
{
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	pid = child_start(leave);
	CHECK_ERRNO(waitpid(pid, NULL, 0), ECHILD,
		    "SIGCHLD ignored: no one is waited for");
	CHECK(AWAIT(state_of(pid) == 0), "and no zombie stays");
	catch_signal(SIGCHLD, SA_NOCLDWAIT, 0);
	CHECK_ERRNO(waitpid(child_start(leave), NULL, 0), ECHILD,
		    "SA_NOCLDWAIT does the same");
	signal(SIGCHLD, SIG_DFL);
}

static int
write_to_nobody(void)
{
	int fd[2];

	pipe(fd);
	close(fd[0]);
	write(fd[1], "x", 1);
	return 0;
}

static void
test_sigpipe(void)
{
	int fd[2];

	pipe(fd);
	close(fd[0]);
	CHECK(killed(child_start(write_to_nobody), SIGPIPE),
	      "SIGPIPE: no one reads");
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERRNO(write(fd[1], "x", 1), EPIPE, "SIGPIPE ignored: EPIPE");
	catch_signal(SIGPIPE, SA_RESTART, 0);
	CHECK_ERRNO(write(fd[1], "x", 1), EPIPE, "SIGPIPE caught: EPIPE");
	CHECK(hits == 1, "SIGPIPE: after the handler");
	signal(SIGPIPE, SIG_DFL);
	close(fd[1]);
}

/* --- Waiting, and being disturbed --- */

/* A child that sends sig to this process once it sleeps; and, if asked to,
 * opens the gate for it when it sleeps again. */
static pid_t
disturb(int sig, bool open)
{
	pid_t target = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	AWAIT(state_of(target) == 'S');
	kill(target, sig);
	if (open) {
		AWAIT(state_of(target) == 'S');
		gate_open(gate);
	}
	_exit(0);
}

static void
test_interrupted(void)
{
	pid_t pid, sleeper = sleeper_start();
	char c;

	catch_signal(SIGUSR1, 0, 0);
	pid = disturb(SIGUSR1, false);
	CHECK_ERRNO(read(gate.fd[0], &c, 1), EINTR, "EINTR: read");
	CHECK(hits == 1 && child_wait(pid) == 0, "EINTR: the handler has run");
	pid = disturb(SIGUSR1, false);
	CHECK_ERRNO(waitpid(sleeper, NULL, 0), EINTR, "EINTR: waitpid");
	child_wait(pid);
	pid = disturb(SIGUSR1, false);
	CHECK_ERRNO(pause(), EINTR, "EINTR: pause");
	child_wait(pid);
	child_end(sleeper);
}

static void
test_restarted(void)
{
	pid_t pid;
	char c;

	catch_signal(SIGUSR1, SA_RESTART, 0);
	pid = disturb(SIGUSR1, true);
	CHECK(read(gate.fd[0], &c, 1) == 1 && hits == 1,
	      "SA_RESTART: read goes on");
	child_wait(pid);
	hits = 0;
	pid = disturb(SIGUSR1, false);
	CHECK(waitpid(pid, NULL, 0) == pid && hits == 1,
	      "SA_RESTART: waitpid goes on");
	pid = disturb(SIGUSR1, false);
	CHECK_ERRNO(pause(), EINTR, "SA_RESTART: pause never does");
	child_wait(pid);
}

static void
test_undisturbed(void)
{
	static const int harmless[] = {SIGWINCH, SIGURG, SIGCONT, SIGUSR2};
	pid_t pid;
	char c;

	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; i < 4; i++) {
		pid = disturb(harmless[i], true);
		CHECK(read(gate.fd[0], &c, 1) == 1,
		      "signal %d, without a handler, disturbs no call",
		      harmless[i]);
		child_wait(pid);
	}
	set_mask(sigmask(SIGUSR1));
	pid = disturb(SIGUSR1, true);
	CHECK(read(gate.fd[0], &c, 1) == 1, "nor does a blocked one");
	child_wait(pid);
	set_mask(0);
	pid = fork();
	if (pid == 0)
		_exit(gate_pass(gate) ? 0 : 1);
	AWAIT(state_of(pid) == 'S');
	kill(pid, SIGSTOP);
	stopped(pid, SIGSTOP);
	kill(pid, SIGCONT);
	AWAIT(state_of(pid) == 'S');
	gate_open(gate);
	CHECK(exited(pid, 0), "nor does being stopped and continued");
}

/* Stopped and continued, it goes on waiting, and knows what to go back to. */
static int
suspend(void)
{
	sigset_t none = 0;

	catch_signal(SIGUSR1, 0, 0);
	set_mask(sigmask(SIGUSR1));
	sigsuspend(&none);
	return hits == 1 && get_mask() == sigmask(SIGUSR1) ? 0 : 1;
}

static void
test_stopped_suspended(void)
{
	pid_t pid = child_start(suspend);

	AWAIT(state_of(pid) == 'S');
	kill(pid, SIGSTOP);
	stopped(pid, SIGSTOP);
	kill(pid, SIGCONT);
	AWAIT(state_of(pid) == 'S');
	kill(pid, SIGUSR1);
	CHECK(exited(pid, 0),
	      "sigsuspend: with the old mask, though stopped meanwhile");
}

static void
test_sigsuspend(void)
{
	sigset_t none = 0;
	pid_t pid;

	catch_signal(SIGUSR1, SA_RESTART, 0);
	set_mask(sigmask(SIGUSR1));
	pid = disturb(SIGUSR1, false);
	CHECK_ERRNO(sigsuspend(&none), EINTR, "sigsuspend: EINTR");
	CHECK(hits == 1, "sigsuspend: after the handler");
	CHECK(get_mask() == sigmask(SIGUSR1), "sigsuspend: with the old mask");
	child_wait(pid);
	raise(SIGUSR1);
	CHECK_ERRNO(sigsuspend(&none), EINTR, "sigsuspend: one is pending");
	CHECK(hits == 2 && get_pending() == 0, "sigsuspend: it is taken");
	none = sigmask(SIGUSR1);
	raise(SIGUSR1);
	catch_signal(SIGUSR2, 0, 0);
	pid = disturb(SIGUSR2, false);
	CHECK_ERRNO(sigsuspend(&none), EINTR, "sigsuspend: with that mask");
	CHECK(last_sig == SIGUSR2 && hits == 1 &&
		  get_pending() == sigmask(SIGUSR1),
	      "sigsuspend: the other stays pending");
	child_wait(pid);
	set_mask(0);
	CHECK_FAULTS_IN("sigsuspend", sigsuspend(bad));
	CHECK(get_mask() == 0, "sigsuspend: an error changes no mask");
}

int
main(void)
{
	gate = gate_make();
	test_sigchld();
	test_no_zombies();
	test_sigpipe();
	test_interrupted();
	test_restarted();
	test_undisturbed();
	test_sigsuspend();
	test_stopped_suspended();
	return check_done();
}

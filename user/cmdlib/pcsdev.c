/* See pcsdev.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "pcsdev.h"

#define AT_ONCE   16  /* buffers */
#define SIGNALLED 128 /* a status above it: killed by signal status - 128 */

volatile sig_atomic_t pcs_interrupted, pcs_terminated;
static int wakeup[2]; /* a pipe that ends the poll that would miss a signal */

static pid_t command;
static int command_status;

/* --- The device --- */

int
pcs_open(void)
{
	int fd = open(PCS_DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		cmd_die(PCS_DEVICE);
	return fd;
}

void
pcs_ask(int device, int cmd, uintptr_t arg)
{
	if (ioctl(device, cmd, arg) < 0)
		cmd_die(PCS_DEVICE);
}

struct pcs_stat
pcs_account(int device)
{
	struct pcs_stat s;

	pcs_ask(device, PCS_STAT, (uintptr_t)&s);
	return s;
}

/* Work on all buffers that there are. */
static void
take(int device, pcs_work *work)
{
	static struct LOGBUF b[AT_ONCE];
	ssize_t n = sizeof(b);

	while (n == sizeof(b)) {
		n = read(device, b, sizeof(b));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			cmd_die(PCS_DEVICE);
		if (n > 0)
			work(b, n / sizeof(b[0]));
	}
}

struct pcs_stat
pcs_finish(int device, pcs_work *work)
{
	struct pcs_stat s;

	do {
		pcs_ask(device, PCS_END, 0);
		take(device, work);
		s = pcs_account(device);
	} while (s.unread + s.pending > 0);
	return s;
}

/* --- Signals --- */

static const int signals[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};

static void
on_signal(int sig)
{
	int code = errno;

	if (sig == SIGINT || sig == SIGQUIT)
		pcs_interrupted = 1;
	if (sig == SIGTERM || sig == SIGHUP)
		pcs_terminated = sig;
	/* Full is as good: it wakes all the same. */
	(void)!write(wakeup[1], "", 1);
	errno = code;
}

void
pcs_catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal}, old;

	if (pipe(wakeup) < 0)
		cmd_die("pipe");
	for (int i = 0; i < 2; i++) {
		fcntl(wakeup[i], F_SETFD, FD_CLOEXEC);
		fcntl(wakeup[i], F_SETFL, O_NONBLOCK);
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], &act, &old);
		/* Who made us ignore an interrupt means the command too. */
		if (signals[i] != SIGCHLD && old.sa_handler == SIG_IGN)
			sigaction(signals[i], &old, NULL);
	}
}

void
pcs_wait(int device, int fd, int timeout, pcs_work *work)
{
	struct pollfd fds[] = {
	    {device, POLLIN, 0}, {wakeup[0], POLLIN, 0}, {fd, POLLIN, 0}};
	char byte;

	if (poll(fds, fd < 0 ? 2 : 3, timeout) <= 0)
		return; /* a signal, or time is over */
	take(device, work);
	if (fds[1].revents)
		(void)!read(wakeup[0], &byte, 1);
}

/* --- The command --- */

/* In the child: what was caught is no longer. */
static void
uncatch_signals(void)
{
	struct sigaction act;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &act);
		if (act.sa_handler == on_signal)
			signal(signals[i], SIG_DFL);
	}
}

/* A signal that is passed on to the child before it is the command ends it all
 * the same: until it doesn't catch signals any more, none comes to it. */
pid_t
pcs_command(char **argv)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	command = fork();
	if (command == 0)
		uncatch_signals();
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (command < 0)
		cmd_die("fork");
	if (command == 0)
		cmd_exec(argv);
	return command;
}

bool
pcs_ended(void)
{
	/* An interrupt comes to the command as well; this is for it too. */
	if (pcs_terminated)
		kill(command, pcs_terminated);
	pcs_terminated = 0;
	return waitpid(command, &command_status, WNOHANG) == command;
}

int
pcs_status(void)
{
	if (WIFSIGNALED(command_status))
		return SIGNALLED + WTERMSIG(command_status);
	return WEXITSTATUS(command_status);
}

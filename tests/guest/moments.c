/*
 * What comes from another process, or another thread, while one is in the midst
 * of a call or a fault: before it has looked, or between its look and what it
 * does then. Each distance from a stroke of the clock is tried (strokes.h).
 */
#include <poll.h>
#include <pthread.h>
#include <ucontext.h>

#include "catch.h"
#include "strokes.h"

#define TURNS     4   /* of each distance: whose stroke it is varies */
#define PERIOD    5   /* strokes, between two rounds */
#define CALL      160 /* counts: a short call takes less until it has looked */
#define POLL      400 /* and poll until it sleeps */
#define STEP      4
#define FORK      10 /* strokes, in which there is a process with a thread */
#define EXIT_CODE 7
#define OVERDUE   99

/* --- A process, and what another one does at its moments --- */

static uint64_t
moment(int round)
{
	return when + (uint64_t)round * PERIOD * stroke;
}

/* The other one, a child, does its part right after strokes. */
static pid_t
start_other(void (*disturb)(void), int rounds)
{
	pid_t pid;

	appoint(2 * PERIOD);
	pid = fork();
	if (pid != 0)
		return pid;
	for (int i = 0; i < rounds; i++) {
		spin_till(moment(i));
		disturb();
	}
	_exit(0);
}

/* Act so long before the stroke, at most; how often was it right? */
static int
disturbed(bool (*act)(void), int most, void (*disturb)(void))
{
	int rounds = most / STEP * TURNS, good = 0;
	pid_t pid = start_other(disturb, rounds);

	for (int i = 0; i < rounds; i++) {
		spin_till(moment(i) - i / TURNS * STEP);
		good += act();
	}
	return exited(pid, 0) ? rounds - good : -1;
}

static void
send_parent(void)
{
	kill(getppid(), SIGUSR1);
}

/* What isn't blocked is never pending, to the one that asks. */
static bool
nothing_pends(void)
{
	return get_pending() == 0;
}

static void
test_pending(void)
{
	int wrong;

	catch_signal(SIGUSR1, SA_RESTART, 0);
	wrong = disturbed(nothing_pends, CALL, send_parent);
	CHECK(wrong == 0 && hits > 0,
	      "sigpending has only blocked ones, whatever comes: %d wrong",
	      wrong);
}

/*
 * A breakpoint's handler finds it where it is, though a signal has come before
 * it ran: else it would find it in that signal's handler.
 */
extern char breakpoint[];
static volatile bool elsewhere;

static void
pass_breakpoint(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	unsigned long *pc = &c->uc_mcontext.__gregs[REG_PC];

	(void)sig, (void)info;
	if (*pc == (uintptr_t)breakpoint)
		*pc += 4;
	else
		elsewhere = true;
}

static bool
fault(void)
{
	elsewhere = false;
	asm volatile(".option push\n\t.option norvc\n"
		     "breakpoint:\n\tebreak\n\t.option pop" ::
			 : "memory");
	return !elsewhere;
}

static void
test_fault(void)
{
	struct sigaction act = {
	    .sa_sigaction = pass_breakpoint,
	    .sa_flags = SA_SIGINFO,
	};
	int wrong;

	catch_signal(SIGUSR1, SA_RESTART, 0);
	sigaction(SIGTRAP, &act, NULL);
	wrong = disturbed(fault, CALL, send_parent);
	CHECK(wrong == 0 && hits > 0,
	      "a fault is told where it was, whatever comes: %d wrong", wrong);
}

/* One that misses the byte sleeps until its time is over. */
#define POLL_MS 100

static int fds[2];

static void
write_byte(void)
{
	write(fds[1], "", 1);
}

static bool
poll_byte(void)
{
	struct pollfd p = {.fd = fds[0], .events = POLLIN};
	uint64_t start = rdtime();
	bool told = poll(&p, 1, POLL_MS) == 1;
	char c;

	told &= rdtime() - start < US(1000 * POLL_MS / 2);
	return read(fds[0], &c, 1) == 1 && told;
}

static void
test_poll(void)
{
	int wrong;

	pipe(fds);
	wrong = disturbed(poll_byte, POLL, write_byte);
	CHECK(wrong == 0, "poll misses nothing that changes: %d wrong", wrong);
	close(fds[0]);
	close(fds[1]);
}

/*
 * --- A signal that comes when exit has been called ---
 *
 * One thread exits, another one sends its process a signal, and says that it
 * could: so the process hadn't begun to end, and the signal ends it.
 */
static void *
exit_before(void *before)
{
	spin_till(when - (uint64_t)before);
	_exit(EXIT_CODE);
}

static void
exit_and_send(uint64_t before)
{
	pthread_t t;

	pthread_create(&t, NULL, exit_before, (void *)before);
	set_mask(sigmask(SIGTERM)); /* it's for the other one */
	spin_till(when);
	kill(getpid(), SIGTERM);
	write_byte();
	pause();
	_exit(OVERDUE);
}

static bool
signal_counts(uint64_t before, int strokes)
{
	int status;
	char c;

	appoint(strokes);
	if (fork() == 0)
		exit_and_send(before);
	wait(&status);
	if (read(fds[0], &c, 1) == 1)
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
	return true;
}

static void
test_exit(void)
{
	int wrong = 0;

	pipe(fds);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	for (uint64_t before = 0; before < CALL; before += STEP)
		for (int i = 0; i < TURNS; i++)
			wrong += !signal_counts(before, FORK + i);
	CHECK(wrong == 0, "exit: no signal that came before is lost: %d are",
	      wrong);
	close(fds[0]);
	close(fds[1]);
}

int
main(void)
{
	alarm(DEADLINE);
	strike(1000);
	test_pending();
	test_fault();
	test_poll();
	test_exit();
	ctl(PROFCLOCK, "hz 100");
	return check_done();
}

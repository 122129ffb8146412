/*
 * What comes from another thread while one is in the midst of a call or a
 * fault: before it has looked, or between its look and what it does then. Each
 * distance from the end of a turn is tried (moments.h).
 */
#include <poll.h>
#include <pthread.h>
#include <ucontext.h>

#include "catch.h"
#include "moments.h"

#define TIMES     2   /* each distance */
#define CALL      160 /* counts: a short call takes less until it has looked */
#define POLL      400 /* and poll until it sleeps */
#define STOP      600 /* and a signal until its process is stopped */
#define STEP      2
#define EXIT_CODE 7
#define OVERDUE   99

/* --- A thread, and what another one does at its moments --- */

static volatile int begun, done; /* rounds */
static volatile bool between;    /* the act and its end */
static int met;

static void *
disturb_each(void *disturb)
{
	set_mask(sigmask(SIGUSR1)); /* it's for the other one */
	for (;;) {
		while (begun == done)
			if (begun < 0)
				return NULL;
		met += between;
		((void (*)(void))disturb)();
		done = begun;
	}
}

/* Act so long before the end of a turn, at most; how often was it wrong? -1:
 * it was never disturbed. */
static int
disturbed(bool (*act)(void), int most, void (*disturb)(void))
{
	int wrong = 0;
	pthread_t t;

	begun = done = met = 0;
	pthread_create(&t, NULL, disturb_each, (void *)disturb);
	measure_turns();
	for (int i = 0; i < most / STEP * TIMES; i++) {
		await_end(i / TIMES * STEP);
		between = true;
		begun++;
		wrong += !act();
		between = false;
		while (done < begun)
			;
	}
	begun = -1;
	pthread_join(t, NULL);
	return met > 0 ? wrong : -1;
}

static void
send_signal(void)
{
	kill(getpid(), SIGUSR1);
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
	wrong = disturbed(nothing_pends, CALL, send_signal);
	CHECK(wrong == 0,
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
	wrong = disturbed(fault, CALL, send_signal);
	CHECK(wrong == 0,
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
	await_end((uint64_t)before);
	begun = 1;
	_exit(EXIT_CODE);
}

static void
exit_and_send(uint64_t before)
{
	pthread_t t;

	pthread_create(&t, NULL, exit_before, (void *)before);
	set_mask(sigmask(SIGTERM)); /* it's for the other one */
	while (begun == 0)
		;
	kill(getpid(), SIGTERM);
	write_byte();
	pause();
	_exit(OVERDUE);
}

static bool
signal_counts(uint64_t before)
{
	int status;
	char c;

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
	begun = 0;
	for (int i = 0; i < CALL / STEP * TIMES; i++)
		wrong += !signal_counts(i / TIMES * STEP);
	CHECK(wrong == 0, "exit: no signal that came before is lost: %d are",
	      wrong);
	close(fds[0]);
	close(fds[1]);
}

/*
 * --- A stop doesn't undo an end ---
 *
 * One thread ends its process whatever signals there are: it can't return from
 * a handler, as it has no stack. It is stopped in the middle of that. Another
 * one, at the end of its own turn, is about to stop the process.
 */
static void *
return_from_nothing(void *before)
{
	await_end((uint64_t)before);
	begun = 1;
	asm volatile("li sp, 16\n\tli a7, %0\n\tecall" ::"i"(SYS_rt_sigreturn));
	return NULL;
}

/* Were the end undone, the process would end otherwise. */
static void
stop_while_ending(uint64_t ends, uint64_t stops)
{
	pthread_t t;

	pthread_create(&t, NULL, return_from_nothing, (void *)ends);
	while (begun == 0)
		;
	spin_till(rdtime() + turn - stops);
	kill(getpid(), SIGSTOP);
	sleep(1);
	_exit(OVERDUE);
}

/* One that may be stopped first. */
static bool
dies(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status))
		kill(pid, SIGCONT);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void
test_stop(void)
{
	int wrong = 0;

	begun = 0;
	for (uint64_t ends = CALL; ends > 0; ends -= CALL / 4)
		for (uint64_t stops = 0; stops < STOP; stops += 2 * STEP) {
			pid_t pid = fork();

			if (pid == 0)
				stop_while_ending(ends, stops);
			wrong += !dies(pid);
		}
	CHECK(wrong == 0, "a stop doesn't undo an end: %d do", wrong);
}

int
main(void)
{
	alarm(DEADLINE);
	test_pending();
	test_fault();
	test_poll();
	test_exit();
	test_stop();
	return check_done();
}

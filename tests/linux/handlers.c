/*
 * Handlers on Linux: on which stack they run, what they find of what they have
 * interrupted and may change there, and how they are left.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "promise.h"

static const char *
yes(int is)
{
	return is ? "yes" : "no";
}

static const char *
result(int r)
{
	return r == -1 ? strerrorname_np(errno) : "0";
}

static char other[65536] __attribute__((aligned(16)));
static sigjmp_buf back;
static volatile int hits;

static int
on_other(void)
{
	char here;

	return &here > other && &here < other + sizeof(other);
}

static void catch (int sig, void (*handler)(int, siginfo_t *, void *),
		   int flags)
{
	struct sigaction act = {
	    .sa_sigaction = handler,
	    .sa_flags = SA_SIGINFO | flags,
	};

	sigaction(sig, &act, NULL);
}

/* --- The other stack --- */

static void
told_stack(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	stack_t now, none = {.ss_flags = SS_DISABLE};

	(void)info;
	sigaltstack(NULL, &now);
	printf("%d: other %s, flags %d, of what is interrupted %d, change %s\n",
	       sig, yes(on_other()), now.ss_flags, c->uc_stack.ss_flags,
	       result(sigaltstack(&none, NULL)));
	printf("of that size %s\n", yes(c->uc_stack.ss_size == sizeof(other)));
	if (hits++ == 0)
		raise(SIGUSR2);
}

static void
other_stack(void)
{
	stack_t s = {.ss_sp = other, .ss_size = sizeof(other)}, old;

	sigaltstack(NULL, &old);
	printf("none: %d\n", old.ss_flags);
	s.ss_size = 100;
	printf("too small: %s\n", result(sigaltstack(&s, NULL)));
	s.ss_size = sizeof(other);
	s.ss_flags = 7;
	printf("flags: %s\n", result(sigaltstack(&s, NULL)));
	s.ss_flags = 0;
	printf("good: %s\n", result(sigaltstack(&s, &old)));
	printf("before: %d\n", old.ss_flags);
	catch (SIGUSR1, told_stack, SA_ONSTACK);
	catch (SIGUSR2, told_stack, SA_ONSTACK);
	raise(SIGUSR1);
	hits = 0;
	catch (SIGUSR1, told_stack, 0);
	raise(SIGUSR1);
	sigaltstack(NULL, &old);
	printf("after: %d, same %s\n", old.ss_flags,
	       yes(old.ss_sp == other && old.ss_size == sizeof(other)));
	if (fork() == 0) {
		sigaltstack(NULL, &old);
		printf("inherited %s\n", yes(old.ss_sp == other));
		_exit(0);
	}
	wait(NULL);
}

static int __attribute__((noinline)) recurse(int n)
{
	volatile char room[4096];

	room[0] = n;
	return n < 0 ? 0 : recurse(n + 1) + room[0];
}

static void
overflown(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("overflow: signal %d, a fault %s, other %s\n", sig,
	       yes(info->si_code > 0), yes(on_other()));
	siglongjmp(back, 1);
}

static void
overflow(void)
{
	catch (SIGSEGV, overflown, SA_ONSTACK);
	for (int i = 0; i < 2; i++)
		if (sigsetjmp(back, 1) == 0)
			recurse(0);
	printf("twice\n");
	signal(SIGSEGV, SIG_DFL);
	if (fork() == 0) {
		catch (SIGSEGV, overflown, 0);
		recurse(0);
	}
	int status;
	wait(&status);
	printf("without another stack: %d\n", WTERMSIG(status));
}

/* --- Faults --- */

static void *volatile at;
static volatile int code;
static void *volatile address;

static void
faulted(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	code = info->si_code;
	address = info->si_addr;
	siglongjmp(back, sig);
}

static const char text[] = "text";

#ifdef __riscv
#define BAD_INSTRUCTION "unimp"
#else
#define BAD_INSTRUCTION "ud2"
#endif

static void
fault(const char *what, int kind)
{
	int sig = sigsetjmp(back, 1);

	if (sig == 0) {
		if (kind == 0)
			*(volatile char *)at;
		else if (kind == 1)
			*(volatile char *)at = 1;
		else if (kind == 2)
			asm volatile(BAD_INSTRUCTION);
		else if (kind == 3)
			((void (*)(void))at)();
	}
	printf("%s: signal %d", what, sig);
	if (kind != 2)
		printf(" code %d there %s", code, yes(address == at));
	printf("\n");
}

static void
faults(void)
{
	static char data[16];

	catch (SIGSEGV, faulted, 0);
	catch (SIGILL, faulted, 0);
	at = (void *)8;
	fault("read of nothing", 0);
	fault("write of nothing", 1);
	fault("jump to nothing", 3);
	at = (void *)text;
	fault("write of text", 1);
	fault("bad instruction", 2);
	at = data;
	fault("jump to data", 3);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGILL, SIG_DFL);
}

/* --- What is interrupted goes on as it was --- */

static void
spoil(int sig, siginfo_t *info, void *context)
{
	volatile double d = 0.5;

	(void)sig, (void)info, (void)context;
	for (int i = 0; i < 100; i++)
		d = d * 1.5 + i;
	hits += d > 0;
}

static double
compute(void)
{
	double a = 1, b = 2, c = 3, d = 4;

	for (int i = 0; i < 20000; i++) {
		a += b / 8;
		b += c / 16;
		c += d / 32;
		d = 10 / (1 + d) + a / (b + 1);
	}
	return a + b + c + d;
}

static void
floating(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {0};
	double result = compute();
	int same = 1;

	hits = 0;
	catch (SIGALRM, spoil, 0);
	setitimer(ITIMER_REAL, &every, NULL);
	while (hits < 20)
		same &= compute() == result;
	setitimer(ITIMER_REAL, &never, NULL);
	printf("floating point is the same: %s\n", yes(same));
}

/* A handler may have the call that it has interrupted return something else. */
static void
answer(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)sig, (void)info;
#ifdef __riscv
	c->uc_mcontext.__gregs[10] = 1234;
#else
	c->uc_mcontext.gregs[REG_RAX] = 1234;
#endif
	sigaddset(&c->uc_sigmask, SIGHUP);
}

static void
change(void)
{
	sigset_t now;

	catch (SIGUSR1, answer, 0);
	printf("kill: %d\n", kill(getpid(), SIGUSR1));
	sigprocmask(SIG_SETMASK, NULL, &now);
	printf("blocked: HUP %d USR1 %d\n", sigismember(&now, SIGHUP),
	       sigismember(&now, SIGUSR1));
	sigemptyset(&now);
	sigprocmask(SIG_SETMASK, &now, NULL);
}

static void
leave(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	siglongjmp(back, sig);
}

static void
jump(void)
{
	sigset_t now;

	catch (SIGUSR1, leave, 0);
	for (int i = 0; i < 1000; i++)
		if (sigsetjmp(back, 1) == 0)
			raise(SIGUSR1);
	sigprocmask(SIG_SETMASK, NULL, &now);
	printf("jumped out, USR1 blocked: %d\n", sigismember(&now, SIGUSR1));
}

static void
nest(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	printf("%d begins\n", sig - SIGRTMIN);
	if (sig < SIGRTMIN + 5)
		raise(sig + 1);
	printf("%d ends\n", sig - SIGRTMIN);
}

static void
nested(void)
{
	for (int i = 1; i <= 5; i++)
		catch (SIGRTMIN + i, nest, 0);
	raise(SIGRTMIN + 1);
}

/* A handler with no stack to run on: SIGSEGV, whose handler has one. */
static void
nowhere(void)
{
	catch (SIGSEGV, overflown, SA_ONSTACK);
	catch (SIGUSR1, spoil, 0);
	if (sigsetjmp(back, 1) == 0) {
#ifdef __riscv
		asm volatile(
		    "mv s1, sp\n\tli sp, 64\n\tmv a0, %0\n\t"
		    "li a1, 10\n\tli a7, 129\n\tecall\n\tmv sp, s1" ::"r"(
			(long)getpid())
		    : "a0", "a1", "a7", "s1", "memory");
#else
		asm volatile("mov %%rsp, %%rbx\n\tmov $64, %%rsp\n\tmov %0, "
			     "%%rdi\n\tmov $10, %%esi\n\tmov $62, %%eax\n\t"
			     "syscall\n\tmov %%rbx, %%rsp" ::"r"((long)getpid())
			     : "rax", "rdi", "rsi", "rbx", "rcx", "r11",
			       "memory");
#endif
	}
	printf("nowhere\n");
}

/* What exec leaves of a signal's action: that it is ignored, and no more. */
static void
before_exec(void)
{
	struct sigaction act = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};

	sigaddset(&act.sa_mask, SIGHUP);
	sigaction(SIGUSR2, &act, NULL);
	act.sa_sigaction = nest;
	act.sa_flags |= SA_SIGINFO | SA_NODEFER;
	sigaction(SIGUSR1, &act, NULL);
}

static void
after_exec(void)
{
	static const int sigs[] = {SIGUSR1, SIGUSR2};
	struct sigaction act;

	for (int i = 0; i < 2; i++) {
		sigaction(sigs[i], NULL, &act);
		printf(
		    "after exec: default %s, ignored %s, flags %x, mask %s\n",
		    yes(act.sa_handler == SIG_DFL),
		    yes(act.sa_handler == SIG_IGN), act.sa_flags,
		    sigismember(&act.sa_mask, SIGHUP) ? "HUP" : "none");
	}
}

int
main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1) {
		after_exec();
		return 0;
	}
	PROMISE("sigaltstack(2): a handler has the stack that was set aside");
	other_stack();
	PROMISE("sigaltstack(2): a stack that has overflowed is told of");
	overflow();
	PROMISE(
	    "sigaction(2): si_code and si_addr say what was wrong, and where");
	faults();
	PROMISE("signal(7): a handler leaves registers of floats as they were");
	floating();
	PROMISE("sigreturn(2): what a handler changes in its context holds");
	change();
	PROMISE("sigsetjmp(3): a handler is left by a jump, with the mask");
	jump();
	PROMISE("sigaction(2): a handler is interrupted by another signal");
	nested();
	PROMISE("signal(7): a frame that has no room is SIGSEGV");
	nowhere();
	PROMISE("execve(2): what is ignored stays so, handlers go");
	before_exec();
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}

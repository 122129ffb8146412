/*
 * For tests/test_exact.py: what is executed here can be counted by reading.
 * known N: each of the functions below calls loop with a number of its own.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

void loop(long n);      /* executes 2n + 1 instructions */
long depth(long n);     /* calls itself n times: 9 each, and 2 for the last */
void leave_for(long n); /* jumps to loop: 2 */
void fall_into(long n); /* is followed by loop: 1 */

__asm__(".option push\n"
	".option norelax\n"
	".type depth, @function\n"
	"depth:	beqz	a0, 1f\n"
	"	addi	sp, sp, -16\n"
	"	sd	ra, 0(sp)\n"
	"	addi	a0, a0, -1\n"
	"	jal	depth\n"
	"	ld	ra, 0(sp)\n"
	"	addi	sp, sp, 16\n"
	"	addi	a0, a0, 1\n"
	"1:	ret\n"
	".type leave_for, @function\n"
	"leave_for:\n"
	"	nop\n"
	"	j	loop\n"
	".type fall_into, @function\n"
	"fall_into:\n"
	"	nop\n"
	".type loop, @function\n"
	"loop:	addi	a0, a0, -1\n"
	"	bnez	a0, loop\n"
	"	ret\n"
	".option pop\n");

#define ALONE __attribute__((noinline, noclone))

static volatile int rounds; /* so that a call isn't the last thing done */
static jmp_buf outer, inner;
static long n;

ALONE static void
by_call(void)
{
	for (int i = 0; i < 3; i++)
		loop(n);
	rounds++;
}

ALONE static void
by_depth(void)
{
	depth(n % 10 + 5);
	rounds++;
}

ALONE static void
by_tail(void)
{
	leave_for(n + 1);
	fall_into(n + 2);
	rounds++;
}

/* The jump leads past two more of itself. */
ALONE static void
jump_back(int deeper)
{
	if (deeper == 3 && setjmp(outer) != 0) {
		loop(n + 3);
		rounds++;
		return;
	}
	if (deeper == 0)
		longjmp(outer, 1);
	jump_back(deeper - 1);
	rounds++;
}

ALONE static void
by_jump(void)
{
	jump_back(4);
	rounds++;
}

ALONE static void
on_signal(int number)
{
	(void)number;
	loop(n + 4);
	rounds++;
}

ALONE static void
by_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	loop(n + 5);
	rounds++;
}

ALONE static void
on_jump(int number)
{
	(void)number;
	longjmp(inner, 1);
}

ALONE static void
by_signal_and_jump(void)
{
	signal(SIGUSR2, on_jump);
	if (setjmp(inner) == 0)
		raise(SIGUSR2);
	loop(n + 6);
	rounds++;
}

ALONE static void *
in_thread(void *argument)
{
	loop(n + (argument ? 7 : 8));
	rounds++;
	return NULL;
}

ALONE static void
by_threads(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, in_thread, &one);
	pthread_create(&other, NULL, in_thread, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	rounds++;
}

ALONE static void
by_fork(void)
{
	if (fork() == 0) {
		loop(n + 9);
		execl("/bin/known", "known", "0", NULL);
		_exit(1);
	}
	loop(n + 10);
	wait(NULL);
	rounds++;
}

ALONE static void
after_exec(void)
{
	loop(11);
	rounds++;
}

/* Ticks and signals interrupt it. */
ALONE static void
on_alarm(int number)
{
	(void)number;
	rounds++;
}

ALONE static void
by_alarms(void)
{
	struct itimerval every = {{0, 5000}, {0, 5000}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	loop(1000 * n);
	every = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
}

int
main(int argc, char **argv)
{
	n = argc > 1 ? atol(argv[1]) : 0;
	if (n == 0) {
		after_exec();
		return 0;
	}
	by_call();
	by_depth();
	by_tail();
	by_jump();
	by_signal();
	by_signal_and_jump();
	by_threads();
	by_fork();
	by_alarms();
	return 0;
}

/*
 * The tables of system calls, made from <sys/syscalls.h>, and the function that
 * calls them. base/syscall.h describes their arguments and results. Tally's own
 * calls have a table apart, lest one have a gap of hundreds.
 */
#include "table.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "base/syscall.h"
#include "sched/check_locks.h"
#include "sched/lock.h"
#include "sched/thread.h"

typedef long (*system_call)(const unsigned long *arg);

/* Of a number in the table for which there is no call. */
static long
no_call(const unsigned long *arg)
{
	(void)arg;
	return missing_call(current->tf.a7);
}

/* Every number has a function, so that none must be tested for: at first that
 * one, over which the calls are written. */
#define LINUX_LAST            439
#define SYSCALL(number, name) [number] = sys_##name,
#define TALLY_CALL(number, name)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const system_call linux_table[] = {
    [0 ... LINUX_LAST] = no_call,
#include <sys/syscalls.h>
};
#pragma GCC diagnostic pop
_Static_assert(ARRAY_SIZE(linux_table) == LINUX_LAST + 1,
	       "LINUX_LAST is the last system call's number");
#undef SYSCALL
#undef TALLY_CALL

#define FIRST_OWN 1024

#define SYSCALL(number, name)
#define TALLY_CALL(number, name) [number - FIRST_OWN] = sys_##name,
static const system_call own_table[] = {
#include <sys/syscalls.h>
};
#undef SYSCALL
#undef TALLY_CALL

/* A call that isn't one of Linux's in the table. */
static SLOW_PATH long
other_call(unsigned long number)
{
	number -= FIRST_OWN;
	if (number >= ARRAY_SIZE(own_table))
		return missing_call(number + FIRST_OWN);
	return own_table[number](&current->tf.a0);
}

/*
 * sepc is advanced past the ecall before the call: fork copies the trap frame
 * to the child, and exec replaces sepc by the start of a new program.
 *
 * -ERESTART says that a signal has cut the call short. Then a0, the first
 * argument, is left as it was, so that the call can be made again. That is
 * decided in signal_deliver. WORK_SIGNAL is set to be sure that it runs before
 * the thread enters user mode.
 */
void
syscall(void)
{
	unsigned long number = current->tf.a7;
	long result;

	current->tf.sepc += ECALL_SIZE;
	if (number < ARRAY_SIZE(linux_table))
		result = linux_table[number](&current->tf.a0);
	else
		result = other_call(number);
	check_return();
	if (result == -ERESTART) {
		current->restart = true;
		thread_notify(current, WORK_SIGNAL);
	} else {
		current->tf.a0 = result;
	}
}

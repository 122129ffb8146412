/*
 * The table of system calls, made from <sys/syscalls.h>, and the function that
 * calls them. base/syscall.h describes their arguments and results.
 */
#include "table.h"

#include <checks.h>
#include <errno.h>

#include "base/compiler.h"
#include "base/riscv.h"
#include "base/syscall.h"
#include "sched/lock.h"
#include "sched/thread.h"

#define SYSCALL(number, name) [number] = sys_##name,
static long (*const table[])(const unsigned long *arg) = {
#include <sys/syscalls.h>
};
#undef SYSCALL

#define TABLE_SIZE ARRAY_SIZE(table)

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
	long result = -ENOSYS;

	current->tf.sepc += ECALL_SIZE;
	if (number < TABLE_SIZE && table[number])
		result = table[number](&current->tf.a0);
	check_return();
	if (result == -ERESTART) {
		current->restart = true;
		thread_notify(current, WORK_SIGNAL);
	} else {
		current->tf.a0 = result;
	}
}

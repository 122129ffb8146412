/* The system call table, made from <sys/syscalls.h>. */
#include "trap.h"

#include "syscall.h"

#define SYSCALL(number, name) [number] = sys_##name,
static long (*const table[])(const unsigned long *arg) = {
#include <sys/syscalls.h>
};
#undef SYSCALL

#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

/*
 * A call that a signal cut short leaves a0 as it was, so that signal_deliver
 * can have it made again; it runs in any case before user mode does.
 */
void
syscall(void)
{
	unsigned long number = current->tf.a7;
	long result = -ENOSYS;

	current->tf.sepc += ECALL_SIZE;
	if (number < TABLE_SIZE && table[number])
		result = table[number](&current->tf.a0);
	if (result == -ERESTART) {
		current->restart = true;
		thread_notify(current, WORK_SIGNAL);
	} else {
		current->tf.a0 = result;
	}
}

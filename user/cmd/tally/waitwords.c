/*
 * Waits in words: what was waited for, by which calls, and who ended it. Each
 * text is in memory of its own, which the caller frees.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/waits.h>

#include "tally.h"

static const char *
function_at(size_t program, uint64_t address)
{
	const struct elfsyms *syms = program_symbols(program);
	size_t i = elfsym_find(syms, address);

	return i < syms->count ? syms->text[i].name : "?";
}

/* That calls: the address is where the callee returns to. The kernel lies at
 * the top of the address space. */
static const char *
kernel_function(unsigned int address)
{
	uint64_t pc = (int64_t)(int32_t)(address & -2U);

	return function_at(KERNEL_SPACE, pc - 1);
}

/* Add a function to calls, the innermost first; NULL: there are none. */
static char *
add_call(char *calls, const char *name)
{
	char *more = calls ? cmd_text("%s < %s", calls, name) : cmd_copy(name);

	free(calls);
	return more;
}

/* The entry of system calls, and what leads there, is in all paths. */
char *
wait_kernel_calls(const struct waits_key *k)
{
	char *calls = NULL;

	for (int i = 0; i < k->nkernel; i++) {
		const char *name = kernel_function(k->pc[i]);

		if (strcmp(name, "syscall") == 0)
			break;
		calls = add_call(calls, name);
	}
	return calls ? calls : cmd_copy("");
}

/* The second may be what register ra held, as <sys/waits.h> says. */
char *
wait_user_calls(const struct waits_key *k, size_t program)
{
	const unsigned int *pc = k->pc + k->nkernel;
	int n = k->n - k->nkernel;
	const char *first;
	char *calls;

	if (n == 0)
		return cmd_copy("");
	first = function_at(program, pc[0]);
	calls = add_call(NULL, first);
	for (int i = 1; i < n; i++) {
		const char *name = function_at(program, pc[i] - 1);

		if (i == 1 &&
		    (strcmp(name, first) == 0 || (n > 2 && pc[1] == pc[2])))
			continue;
		calls = add_call(calls, name);
	}
	if (k->cut & 0xf)
		calls = add_call(calls, "..");
	return calls;
}

static const char *const kinds[WAITS_KINDS] = {
    [WAITS_SLEEP] = "sleep",
    [WAITS_SIGNAL] = "a signal",
    [WAITS_POLL] = "poll",
    [WAITS_CHILD] = "a child",
    [WAITS_CONSOLE_READ] = "the console's input",
    [WAITS_CONSOLE_WRITE] = "the console's output",
    [WAITS_HOST] = "/host",
    [WAITS_STOPPED] = "SIGCONT",
    [WAITS_THREADS] = "the end of threads",
};

char *
wait_what(const struct waits_key *k, size_t program)
{
	unsigned long id = k->id;
	const char *variable;

	switch (k->kind) {
	case WAITS_FUTEX:
		variable = elfsym_variable(program_symbols(program), id);
		return variable ? cmd_text("futex %s", variable)
				: cmd_text("futex %#lx", id);
	case WAITS_PIPE_READ:
		return cmd_text("bytes in pipe %lu", id);
	case WAITS_PIPE_WRITE:
		return cmd_text("room in pipe %lu", id);
	case WAITS_SPIN:
		return cmd_text("spinlock %.16s", k->name);
	case WAITS_MUTEX:
		return cmd_text("kernel mutex %.16s", k->name);
	}
	if (k->kind < WAITS_KINDS && kinds[k->kind])
		return cmd_copy(kinds[k->kind]);
	return cmd_text("%.16s", k->name);
}

char *
wait_waker(const struct waits_waker *w)
{
	static const char *const how[] = {
	    [WAITS_BY_THREAD] = "the kernel",
	    [WAITS_BY_SIGNAL] = "a signal",
	    [WAITS_BY_TIMER] = "a timeout",
	    [WAITS_BY_INTERRUPT] = "an interrupt",
	    [WAITS_BY_OTHERS] = "others",
	};
	const char *name;
	size_t program;

	if (w->how == WAITS_BY_HOLDER)
		return cmd_copy(kernel_function(w->pc));
	if (w->pid == 0)
		return cmd_copy(w->how <= WAITS_BY_OTHERS ? how[w->how] : "?");
	program = pcs_whose(w->pid, w->context);
	name = pcs_programs[program].name;
	return cmd_text(
	    "%s%s [%s %d]", w->how == WAITS_BY_SIGNAL ? "a signal of " : "",
	    function_at(program, w->pc - 1), *name ? name : "process", w->pid);
}

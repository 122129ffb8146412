/*
 * Builtins that steer the shell itself: loops, functions, options, what a
 * name stands for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sh.h"

void
params_free(void)
{
	int i;

	for (i = 0; sh.params.owned && sh.params.owned[i]; i++)
		free(sh.params.owned[i]);
	free(sh.params.owned);
	sh.params = (struct params){0};
}

void
params_set(char **v, int n)
{
	char **copy = xmalloc((n + 1) * sizeof(*copy));
	int i;

	for (i = 0; i < n; i++)
		copy[i] = xstrdup(v[i]);
	copy[n] = NULL;
	params_free();
	sh.params = (struct params){.v = copy, .n = n, .owned = copy};
}

/* The one operand, a number of at least min; otherwise the default. -1: bad. */
static long
operand(int argc, char **argv, long min, long otherwise)
{
	long n = otherwise;

	if (argc > 1 && !number_read(argv[1], 10, min, INT_MAX, &n)) {
		shell_abort(STATUS_USAGE, "%s: %s: bad number", argv[0],
			    argv[1]);
		return -1;
	}
	return n;
}

/* break and continue. */
int
builtin_break(int argc, char **argv)
{
	long n = operand(argc, argv, 1, 1);

	if (n < 0)
		return STATUS_USAGE;
	if (sh.loops > 0) {
		sh.flow = argv[0][0] == 'b' ? FLOW_BREAK : FLOW_CONTINUE;
		sh.flow_loops = n < sh.loops ? n : sh.loops;
	}
	return 0;
}

int
builtin_return(int argc, char **argv)
{
	/* A function that the action calls has a status of its own. */
	bool ends_action = sh.trapped >= 0 && sh.calls == sh.trap_calls;
	long n = operand(argc, argv, 0, ends_action ? sh.trapped : sh.status);

	if (n < 0)
		return STATUS_USAGE;
	sh.flow = FLOW_RETURN;
	return n & 0xff;
}

int
builtin_exit(int argc, char **argv)
{
	long n = operand(argc, argv, 0,
			 sh.trapped >= 0 ? sh.trapped : sh.status);

	if (n < 0)
		return STATUS_USAGE;
	if (!job_may_leave())
		return STATUS_ERROR;
	shell_exit(n & 0xff);
}

int
builtin_eval(int argc, char **argv)
{
	struct buf text = {0};
	int i;

	for (i = 1; i < argc; i++) {
		buf_add(&text, argv[i], strlen(argv[i]));
		buf_put(&text, i + 1 < argc ? ' ' : '\n');
	}
	shell_eval(text.len ? text.s : "");
	buf_free(&text);
	return sh.status;
}

/* The file that . reads: by PATH if there is no slash in its name. */
static int
dot_open(const char *name)
{
	const char *dirs = strchr(name, '/') ? NULL : var_get("PATH");
	int fd = -1;

	while (dirs && fd < 0)
		fd = open(path_next(name, &dirs), O_RDONLY);
	return fd >= 0 ? fd : open(name, O_RDONLY);
}

int
builtin_dot(int argc, char **argv)
{
	const char *outer = sh.file;
	struct input in;
	int fd, up;

	if (argc < 2) {
		shell_abort(STATUS_USAGE, ".: missing file name");
		return STATUS_USAGE;
	}
	fd = dot_open(argv[1]);
	if (fd < 0 || (up = fd_move_up(fd)) < 0) {
		shell_abort(STATUS_USAGE, ".: %s: %s", argv[1],
			    strerror(errno));
		close(fd);
		return STATUS_USAGE;
	}
	input_file(&in, up);
	close(fd);
	sh.file = argv[1];
	shell_run(&in);
	sh.file = outer;
	input_close(&in);
	if (sh.flow == FLOW_RETURN)
		sh.flow = FLOW_NONE;
	return sh.status;
}

int
builtin_exec(int argc, char **argv)
{
	if (argc < 2)
		return 0;
	if (!sh.interactive) {
		trap_exec();
		exec_program(argv + 1);
	}
	/* At a prompt a mistyped name should not end the session. */
	if (!exec_find(argv[1])) {
		shell_warn("%s: not found", argv[1]);
		return STATUS_NOT_FOUND;
	}
	job_leave();
	trap_exec();
	exec_program(argv + 1);
}

int
builtin_shift(int argc, char **argv)
{
	long n = operand(argc, argv, 0, 1);

	if (n < 0)
		return STATUS_USAGE;
	if (n > sh.params.n) {
		shell_abort(STATUS_USAGE, "shift: too many: only %d parameters",
			    sh.params.n);
		return STATUS_USAGE;
	}
	sh.params.v += n;
	sh.params.n -= n;
	return 0;
}

/* Say what name is, in words or as command -v does. */
static int
describe(const char *name, bool words)
{
	const char *path;

	if (alias_get(name)) {
		out_format(words ? "%s is an alias for " : "alias %s=", name);
		quoted_print(alias_get(name));
		out_char('\n');
	} else if (function_find(name)) {
		out_str(name);
		out_str(words ? " is a function\n" : "\n");
	} else if (builtin_find(name)) {
		out_str(name);
		out_str(words ? " is a shell builtin\n" : "\n");
	} else if ((path = exec_find(name))) {
		if (words) {
			out_str(name);
			out_str(" is ");
		}
		out_str(path);
		out_char('\n');
	} else {
		if (words)
			shell_warn("%s: not found", name);
		return STATUS_NOT_FOUND;
	}
	return 0;
}

int
builtin_type(int argc, char **argv)
{
	int i, status = 0;

	for (i = 1; i < argc; i++)
		status |= describe(argv[i], true);
	return status;
}

int
builtin_command(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "-v") == 0)
		return describe(argv[2], false);
	if (argc > 2 && strcmp(argv[1], "-V") == 0)
		return describe(argv[2], true);
	return argc > 1 ? exec_command(argc - 1, argv + 1) : 0;
}

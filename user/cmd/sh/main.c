/*
 * sh: the shell. Options, the loops over commands, errors and the exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cmdlib/show.h"
#include "sh.h"

#define STACK_MAX (6L << 20) /* of the 8 MiB that a process has */

struct shell sh = {.name = "sh", .trapped = -1};

static const char *stack_base; /* main's frame */

bool
too_deep(void)
{
	return stack_base - (char *)__builtin_frame_address(0) > STACK_MAX;
}

static void
message(const char *format, va_list args)
{
	char *what, *text;
	size_t n;

	if (vasprintf(&what, format, args) < 0 ||
	    (sh.file
		 ? asprintf(&text, "%s: line %d: %s", sh.file, sh.line, what)
		 : asprintf(&text, "%s: %s", sh.name, what)) < 0) {
		/* Without memory the format has to do. */
		out_error(format, strlen(format));
		out_error("\n", 1);
		return;
	}
	n = strlen(show_name(text));
	text[n++] = '\n'; /* which show_name would have shown */
	out_error(text, n);
	free(text);
	free(what);
}

void
shell_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(format, args);
	va_end(args);
}

void
shell_abort(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(format, args);
	va_end(args);
	sh.status = status;
	sh.flow = FLOW_ABORT;
}

void
shell_exit(int status)
{
	sh.status = status;
	sh.flow = FLOW_NONE;
	trap_exit();
	job_leave();
	_exit(sh.status);
}

void
shell_run(struct input *in)
{
	enum parsed parsed;
	bool ran = false;
	struct node *n;

	do {
		struct arena *a = arena_new();

		parsed = parse_command(in, a, &n);
		edit_done();
		if (parsed == PARSED) {
			if (!sh.opt_noexec || sh.interactive)
				exec_node(n, in->last && input_ends(in));
			ran = true;
		} else if (parsed == PARSED_ERROR) {
			sh.status = STATUS_USAGE;
			sh.flow = FLOW_ABORT;
		}
		arena_put(a);
	} while (parsed != PARSED_EOF && sh.flow == FLOW_NONE);
	if (!ran && sh.flow == FLOW_NONE)
		sh.status = 0;
}

void
shell_eval(const char *text)
{
	struct input in;

	input_string(&in, text);
	if (sh.file && sh.line > 0)
		in.line = sh.line - 1; /* its lines go on from here */
	shell_run(&in);
	input_close(&in);
}

/* Back at the prompt, whatever was going on is over. */
static void
run_prompts(struct input *in)
{
	for (;;) {
		shell_run(in);
		if (sh.flow == FLOW_NONE && in->at_eof && job_may_leave())
			return;
		if (in->interrupted)
			sh.status = STATUS_SIGNAL + SIGINT;
		sh.flow = FLOW_NONE;
		sh.loops = sh.tested = 0;
		in->at_eof = in->interrupted = false;
		in->p = "";
	}
}

static void
run_script(struct input *in, const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0) {
		shell_warn("%s: %s", path, strerror(errno));
		_exit(errno == ENOENT ? STATUS_NOT_FOUND
				      : STATUS_NOT_EXECUTABLE);
	}
	input_file(in, fd_move_up(fd));
	close(fd);
	sh.name = sh.file = path;
}

struct options {
	bool command;     /* -c */
	bool interactive; /* -i */
	bool stdin;       /* -s */
};

/* The letters of a word; *i is its index, and then that of the last word
 * used. */
static bool
parse_word(int argc, char **argv, int *i, struct options *o)
{
	bool on = argv[*i][0] == '-', ok = true;
	const char *s = argv[*i];

	while (ok && *++s) {
		if (*s == 'c')
			o->command = true;
		else if (*s == 'i')
			o->interactive = true;
		else if (*s == 's')
			o->stdin = true;
		else if (*s == 'o')
			ok = *i + 1 < argc &&
			     shell_option_named(argv[++*i], on);
		else
			ok = shell_option(*s, on);
	}
	return ok;
}

/* Options up to the first operand, whose index it gives. */
static int
parse_options(int argc, char **argv, struct options *o)
{
	bool ok = true;
	int i;

	for (i = 1; ok && i < argc && shell_is_option(argv[i]); i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		ok = parse_word(argc, argv, &i, o);
	}
	if (ok && (!o->command || i < argc))
		return i;
	shell_warn("usage: sh [-aCefinuvx] [-o OPTION] [FILE [WORD...]]"
		   " | -c TEXT [NAME [WORD...]] | -s [WORD...]");
	_exit(STATUS_USAGE);
}

int
main(int argc, char **argv)
{
	struct options o = {0};
	struct input in;
	int i = parse_options(argc, argv, &o);

	stack_base = __builtin_frame_address(0);
	sh.pid = getpid();
	var_init();
	if (o.command) {
		input_string(&in, argv[i++]);
		in.last = true;
		if (i < argc)
			sh.name = argv[i++];
	} else if (i < argc && !o.stdin) {
		run_script(&in, argv[i++]);
	} else if (o.interactive ||
		   (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))) {
		input_terminal(&in);
		history_start();
		sh.interactive = true;
		trap_interactive();
		job_init();
	} else {
		input_file(&in, STDIN_FILENO);
		sh.file = sh.name;
	}
	params_set(argv + i, argc - i);
	if (sh.interactive)
		run_prompts(&in);
	else
		shell_run(&in);
	shell_exit(sh.status);
}

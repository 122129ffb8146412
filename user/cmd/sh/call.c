/*
 * Simple commands: assignments, and calls of functions, builtins and
 * programs. A program costs one fork and one execve: the child finds it by
 * trying the directories of PATH.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sh.h"

#define CALLS_MAX 500 /* nested; keeps runaway recursion off the stack's end */

struct function {
	struct function *next;
	struct node *node; /* holds a reference to its arena */
};

static struct function *functions;

static struct function **
function_link(const char *name)
{
	struct function **f;

	for (f = &functions; *f; f = &(*f)->next)
		if (strcmp((*f)->node->name, name) == 0)
			break;
	return f;
}

struct node *
function_find(const char *name)
{
	struct function *f = *function_link(name);

	return f ? f->node : NULL;
}

void
function_define(struct node *n)
{
	struct function **link = function_link(n->name);

	arena_ref(n->arena);
	if (*link) {
		arena_put((*link)->node->arena);
	} else {
		*link = xmalloc(sizeof(**link));
		(*link)->next = NULL;
	}
	(*link)->node = n;
	sh.status = 0;
}

void
function_unset(const char *name)
{
	struct function **link = function_link(name), *f = *link;

	if (f) {
		*link = f->next;
		arena_put(f->node->arena);
		free(f);
	}
}

/* set -x: a line for a command or an assignment. */
static void
trace(char **words)
{
	const char *prefix = var_get("PS4");
	struct buf line = {0};

	if (!sh.opt_xtrace)
		return;
	if (prefix)
		buf_add(&line, prefix, strlen(prefix));
	for (; *words; words++) {
		buf_add(&line, *words, strlen(*words));
		buf_put(&line, words[1] ? ' ' : '\n');
	}
	out_error(line.s, line.len);
	buf_free(&line);
}

static void
trace_assign(const char *name, const char *value)
{
	struct buf text = {0};

	if (!sh.opt_xtrace)
		return;
	buf_add(&text, name, strlen(name));
	buf_put(&text, '=');
	buf_add(&text, value, strlen(value));
	trace((char *[]){text.s, NULL});
	buf_free(&text);
}

/* Carry out assignments. flag: for the variables; local: in the innermost
 * scope. false: failed, and reported. */
static bool
assign_all(struct assign *a, int flag, bool local)
{
	for (; a; a = a->next) {
		char *value = expand_assign(a->value);

		if (!value)
			return false;
		trace_assign(a->name, value);
		if (local)
			var_local(a->name);
		if (!var_set(a->name, value))
			return false;
		if (flag)
			var_flag(a->name, flag);
	}
	return true;
}

static void
call_function(struct node *f, struct node *n, int argc, char **argv)
{
	struct params outer = sh.params;
	const char *file = sh.file;
	int loops = sh.loops;
	struct scope scope;

	if (sh.calls >= CALLS_MAX) {
		shell_abort(STATUS_USAGE, "%s: too many nested calls", argv[0]);
		return;
	}
	sh.calls++;
	sh.loops = 0;
	arena_ref(f->arena); /* it may redefine itself */
	scope_enter(&scope);
	if (assign_all(n->assigns, VAR_EXPORT, true)) {
		sh.params = (struct params){.v = argv + 1, .n = argc - 1};
		sh.file = f->file;
		exec_node(f->left, false);
		sh.file = file;
		params_free();
		sh.params = outer;
	}
	scope_leave(&scope);
	arena_put(f->arena);
	sh.loops = loops;
	sh.calls--;
	if (sh.flow == FLOW_RETURN)
		sh.flow = FLOW_NONE;
}

static int
call_builtin(const struct builtin *b, int argc, char **argv)
{
	int status = b->run(argc, argv);

	if (!out_flush()) {
		shell_warn("%s: %s", argv[0], strerror(errno));
		status = STATUS_ERROR;
	}
	return status;
}

/* A builtin. The assignments before a special one stay, those before
 * another last as long as the call. */
static void
call_builtin_assigned(struct node *n, const struct builtin *b, int argc,
		      char **argv)
{
	bool local = n->assigns && !b->special;
	struct scope scope;

	if (local)
		scope_enter(&scope);
	if (assign_all(n->assigns, local ? VAR_EXPORT : 0, local))
		sh.status = call_builtin(b, argc, argv);
	if (local)
		scope_leave(&scope);
}

/* A function, or else a builtin, inside the command's redirections. */
static void
call_inside(struct node *n, struct node *function, const struct builtin *b,
	    int argc, char **argv)
{
	struct undo *undo = NULL;
	bool keep = !function && b->run == builtin_exec; /* exec 3<file */

	if (!redirect_apply(n->redirects, keep ? NULL : &undo)) {
		if (sh.flow == FLOW_NONE)
			sh.status = STATUS_ERROR;
		if (b && b->special && !sh.interactive)
			sh.flow = FLOW_ABORT;
	} else if (function) {
		call_function(function, n, argc, argv);
	} else {
		call_builtin_assigned(n, b, argc, argv);
	}
	redirect_undo(undo);
}

char *
path_next(const char *name, const char **dirs)
{
	size_t n = strcspn(*dirs, ":");
	struct buf path = {0};
	char *s;

	buf_add(&path, *dirs, n);
	if (n > 0)
		buf_put(&path, '/');
	buf_add(&path, name, strlen(name));
	s = buf_take(&path, scratch);
	buf_free(&path);
	*dirs = (*dirs)[n] ? *dirs + n + 1 : NULL;
	return s;
}

static const char *
path_dirs(const char *name)
{
	const char *dirs = var_get("PATH");

	return strchr(name, '/') || !dirs ? NULL : dirs;
}

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

char *
exec_find(const char *name)
{
	const char *dirs = path_dirs(name);

	if (!dirs)
		return is_program(name)
			   ? arena_strndup(scratch, name, strlen(name))
			   : NULL;
	while (dirs) {
		char *path = path_next(name, &dirs);

		if (is_program(path))
			return path;
	}
	return NULL;
}

/* Run a program; comes back with errno set. What the kernel can't run is a
 * script for this shell. */
static void
try_program(char *path, char **argv, char **env)
{
	size_t n = 0;
	char **v;

	execve(path, argv, env);
	if (errno != ENOEXEC)
		return;
	while (argv[n])
		n++;
	v = arena_alloc(scratch, (n + 2) * sizeof(*v));
	v[0] = "sh";
	v[1] = path;
	memcpy(v + 2, argv + 1, n * sizeof(*v)); /* with the NULL */
	execve("/bin/sh", v, env);
}

void
exec_program(char **argv)
{
	const char *dirs = path_dirs(argv[0]);
	char **env = var_environ();
	int error = ENOENT;

	if (!dirs) {
		try_program(argv[0], argv, env);
		error = errno;
	}
	while (dirs) {
		try_program(path_next(argv[0], &dirs), argv, env);
		if (errno != ENOENT && errno != ENOTDIR)
			error = errno;
	}
	if (error == ENOENT || error == ENOTDIR) {
		shell_warn("%s: not found", argv[0]);
		_exit(STATUS_NOT_FOUND);
	}
	shell_warn("%s: %s", argv[0], strerror(error));
	_exit(STATUS_NOT_EXECUTABLE);
}

/* In the process that is to become a program. */
static void
become_program(struct node *n, char **argv)
{
	if (!redirect_apply(n->redirects, NULL))
		_exit(STATUS_ERROR);
	if (!assign_all(n->assigns, VAR_EXPORT, false))
		_exit(STATUS_USAGE);
	exec_program(argv);
}

static int
call_program(struct node *n, char **argv, bool last)
{
	struct job *j;

	if (last)
		become_program(n, argv);
	j = job_new(1, n->text);
	if (job_fork(j, FORK_FOREGROUND) == 0)
		become_program(n, argv);
	return job_wait(j);
}

int
exec_command(int argc, char **argv)
{
	static struct node plain = {.kind = NODE_SIMPLE};
	const struct builtin *b = builtin_find(argv[0]);

	return b ? call_builtin(b, argc, argv)
		 : call_program(&plain, argv, false);
}

/* Assignments alone. The status is that of a $( ) in them, if any. */
static void
exec_assigns(struct node *n)
{
	struct undo *undo = NULL;
	bool ok = redirect_apply(n->redirects, &undo) &&
		  assign_all(n->assigns, 0, false);

	if (!ok && sh.flow == FLOW_NONE)
		sh.status = STATUS_ERROR;
	else if (ok)
		sh.status = sh.substituted;
	redirect_undo(undo);
}

/* Special builtins first, then functions, other builtins, programs. */
static void
exec_words(struct node *n, int argc, char **argv, bool last)
{
	const struct builtin *b = builtin_find(argv[0]);
	struct node *f = b && b->special ? NULL : function_find(argv[0]);

	trace(argv);
	if (f || b)
		call_inside(n, f, b, argc, argv);
	else
		sh.status = call_program(n, argv, last);
}

void
exec_simple(struct node *n, bool last)
{
	struct mark m = scratch_mark();
	char **argv;
	int argc;

	sh.substituted = 0;
	argv = expand_fields(n->words, n->declares, &argc);
	if (argv && argc > 0)
		exec_words(n, argc, argv, last);
	else if (argv)
		exec_assigns(n);
	scratch_release(m);
}

/*
 * Running trees: lists, conditions, loops, pipelines and subshells. What a
 * simple command calls is call.c's.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "sh.h"

#define READ_BYTES 1024

/* Run a condition, in which set -e has no say. */
static int
exec_tested(struct node *n)
{
	int status;

	sh.tested++;
	status = exec_node(n, false);
	sh.tested--;
	return status;
}

/* After the body of a loop: is there another round? */
static bool
loop_goes_on(void)
{
	if (sh.flow != FLOW_BREAK && sh.flow != FLOW_CONTINUE)
		return sh.flow == FLOW_NONE;
	if (--sh.flow_loops > 0)
		return false;
	if (sh.flow == FLOW_BREAK) {
		sh.flow = FLOW_NONE;
		return false;
	}
	sh.flow = FLOW_NONE;
	return true;
}

static void
exec_while(struct node *n)
{
	int status = 0;

	sh.loops++;
	for (;;) {
		bool yes = exec_tested(n->left) == 0;

		if (sh.flow == FLOW_NONE) {
			if (yes != (n->kind == NODE_WHILE))
				break;
			status = exec_node(n->right, false);
		}
		if (!loop_goes_on()) {
			status = sh.status;
			break;
		}
	}
	sh.loops--;
	sh.status = status;
}

/* Copies of $1..., since the loop may change them. */
static char **
copy_params(int *count)
{
	char **v = arena_alloc(scratch, (sh.params.n + 1) * sizeof(*v));
	int i;

	*count = sh.params.n;
	for (i = 0; i < *count; i++)
		v[i] = arena_strndup(scratch, sh.params.v[i],
				     strlen(sh.params.v[i]));
	return v;
}

static void
exec_for(struct node *n)
{
	struct mark m = scratch_mark();
	int count = 0, i;
	char **v = n->params ? copy_params(&count)
			     : expand_fields(n->words, false, &count);

	if (v && count == 0)
		sh.status = 0;
	sh.loops++;
	for (i = 0; v && i < count; i++) {
		if (!var_set(n->name, v[i]))
			break;
		exec_node(n->right, false);
		if (!loop_goes_on())
			break;
	}
	sh.loops--;
	scratch_release(m);
}

static bool
case_matches(struct case_item *item, const char *s)
{
	struct word *w;

	for (w = item->patterns; w && sh.flow == FLOW_NONE; w = w->next) {
		char *pattern = expand_pattern(w->parts);

		if (pattern && fnmatch(pattern, s, 0) == 0)
			return true;
	}
	return false;
}

static void
exec_case(struct node *n, bool last)
{
	struct mark m = scratch_mark();
	char *s = expand_string(n->words->parts);
	struct case_item *item = s ? n->items : NULL;

	while (item && !case_matches(item, s))
		item = item->next;
	scratch_release(m);
	if (sh.flow != FLOW_NONE)
		return;
	if (item && item->body)
		exec_node(item->body, last);
	else
		sh.status = 0;
}

/* In the child of a pipeline, whose neighbours are at in and out. */
static void
pipe_child(struct node *n, int in, const int *out)
{
	if (in >= 0) {
		dup2(in, STDIN_FILENO);
		close(in);
	}
	if (out) {
		close(out[0]);
		dup2(out[1], STDOUT_FILENO);
		close(out[1]);
	}
	exec_node(n, true);
	shell_exit(sh.status);
}

static void
exec_pipe(struct node *n)
{
	int count = 2, in = -1, fd[2] = {-1, -1};
	struct node *rest;
	struct job *j;
	pid_t pid = 0;

	for (rest = n; rest->right->kind == NODE_PIPE; rest = rest->right)
		count++;
	j = job_new(count, n->text);
	for (rest = n; count > 0; count--, rest = rest->right) {
		bool more = count > 1;

		if (more && pipe(fd) < 0) {
			shell_warn("pipe: %s", strerror(errno));
			pid = -1;
			break;
		}
		pid = job_fork(j, FORK_FOREGROUND);
		if (pid == 0)
			pipe_child(more ? rest->left : rest, in,
				   more ? fd : NULL);
		if (in >= 0)
			close(in);
		in = more ? fd[0] : -1;
		if (more)
			close(fd[1]);
		if (pid < 0)
			break;
	}
	if (in >= 0)
		close(in);
	sh.status = job_wait(j);
	if (pid < 0) /* the last one's status isn't the pipeline's */
		sh.status = STATUS_ERROR;
}

static void
exec_background(struct node *n)
{
	struct job *j = job_new(1, n->text);
	pid_t pid = job_fork(j, FORK_BACKGROUND);

	if (pid == 0) {
		int null = job_control ? -1 : open("/dev/null", O_RDONLY);

		if (null > 0) {
			dup2(null, STDIN_FILENO);
			close(null);
		}
		exec_node(n->left, true);
		shell_exit(sh.status);
	}
	if (pid > 0)
		sh.last_started = pid;
	sh.status = pid < 0;
	job_background(j);
}

static void
exec_subshell(struct node *n, bool last)
{
	struct job *j;

	if (last) {
		exec_node(n->left, true);
		return;
	}
	j = job_new(1, n->text);
	if (job_fork(j, FORK_FOREGROUND) == 0) {
		exec_node(n->left, true);
		shell_exit(sh.status);
	}
	sh.status = job_wait(j);
}

static void
exec_if(struct node *n, bool last)
{
	bool yes;

	do {
		yes = exec_tested(n->left) == 0;
		if (sh.flow != FLOW_NONE)
			return;
		n = yes ? n->right : n->other;
	} while (n && !yes && n->kind == NODE_IF && !n->redirects);
	if (n)
		exec_node(n, last);
	else
		sh.status = 0;
}

static bool
is_and_or(struct node *n)
{
	return n->kind == NODE_AND || n->kind == NODE_OR;
}

static void
exec_and_or(struct node *n, bool last)
{
	exec_tested(n->left);
	for (; is_and_or(n) && sh.flow == FLOW_NONE; n = n->right) {
		if ((sh.status == 0) != (n->kind == NODE_AND))
			continue;
		if (is_and_or(n->right))
			exec_tested(n->right->left);
		else
			exec_node(n->right, last);
	}
}

static void
exec_compound(struct node *n, bool last)
{
	switch (n->kind) {
	case NODE_SUBSHELL:
		exec_subshell(n, last);
		break;
	case NODE_GROUP:
		exec_node(n->left, last);
		break;
	case NODE_IF:
		exec_if(n, last);
		break;
	case NODE_FOR:
		exec_for(n);
		break;
	case NODE_CASE:
		exec_case(n, last);
		break;
	default:
		exec_while(n);
		break;
	}
}

/* A compound command, inside its redirections. */
static void
exec_redirected(struct node *n, bool last)
{
	struct mark m;
	struct undo *undo = NULL;

	if (!n->redirects) {
		exec_compound(n, last);
		return;
	}
	m = scratch_mark();
	if (redirect_apply(n->redirects, &undo))
		exec_compound(n, last);
	else if (sh.flow == FLOW_NONE)
		sh.status = STATUS_ERROR;
	redirect_undo(undo);
	scratch_release(m);
}

/* set -e: does it end the shell that this command failed? Those that are
 * made of others leave it to them. */
static void
check_errexit(struct node *n)
{
	bool decides = n->kind == NODE_SIMPLE || n->kind == NODE_PIPE ||
		       n->kind == NODE_SUBSHELL;

	if (decides && sh.status != 0 && sh.opt_errexit && !sh.tested &&
	    sh.flow == FLOW_NONE)
		shell_exit(sh.status);
}

static void
exec_one(struct node *n, bool last)
{
	sh.line = n->line;
	switch (n->kind) {
	case NODE_SIMPLE:
		exec_simple(n, last);
		break;
	case NODE_PIPE:
		exec_pipe(n);
		break;
	case NODE_NOT:
		sh.status = exec_tested(n->left) == 0;
		break;
	case NODE_AND:
	case NODE_OR:
		exec_and_or(n, last);
		break;
	case NODE_BACKGROUND:
		exec_background(n);
		break;
	case NODE_FUNCTION:
		function_define(n);
		break;
	default:
		exec_redirected(n, last);
		break;
	}
	check_errexit(n);
}

int
exec_node(struct node *n, bool last)
{
	if (too_deep())
		shell_abort(STATUS_USAGE, TOO_DEEP);
	for (;;) {
		bool is_list = n->kind == NODE_LIST;

		if (trap_caught)
			trap_run();
		if (sh.flow != FLOW_NONE)
			break;
		/* The process must stay if a trap may have to run in it. */
		exec_one(is_list ? n->left : n,
			 last && !is_list && !trap_any());
		if (!is_list)
			break;
		n = n->right;
	}
	if (trap_caught)
		trap_run();
	return sh.status;
}

void
exec_substitute(struct node *n, struct buf *out)
{
	char block[READ_BYTES];
	struct job *j;
	ssize_t got, i;
	int fd[2];

	sh.substituted = 0;
	if (!n)
		return;
	if (pipe(fd) < 0) {
		shell_abort(STATUS_USAGE, "pipe: %s", strerror(errno));
		return;
	}
	j = job_new(1, NULL);
	if (job_fork(j, FORK_PLAIN) == 0)
		pipe_child(n, -1, fd);
	close(fd[1]);
	while ((got = read(fd[0], block, sizeof(block))) > 0 ||
	       (got < 0 && errno == EINTR))
		for (i = 0; i < got; i++)
			if (block[i] != '\0')
				buf_put(out, block[i]);
	close(fd[0]);
	while (out->len > 0 && out->s[out->len - 1] == '\n')
		out->s[--out->len] = '\0';
	sh.substituted = job_wait(j);
}

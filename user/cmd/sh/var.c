/*
 * Variables: a hash table of "NAME=value" strings, which is also the form
 * that the environment wants. A string without = belongs to a variable
 * that has flags but no value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sh.h"

#define BUCKETS 64

struct var {
	struct var *next; /* in its bucket */
	char *text;
	size_t name_len;
	int flags;
};

/* What a local variable hides. */
struct saved {
	struct saved *next;
	char *name, *text; /* text NULL: there was no variable */
	int flags;
};

static struct var *buckets[BUCKETS];
static struct scope *innermost;

static struct var **
var_bucket(const char *name, size_t len)
{
	unsigned int hash = 0;

	while (len-- > 0)
		hash = hash * 31 + (unsigned char)*name++;
	return &buckets[hash % BUCKETS];
}

/* The link that points at a variable, or at the end where it would go. */
static struct var **
var_link(const char *name, size_t len)
{
	struct var **v;

	for (v = var_bucket(name, len); *v; v = &(*v)->next)
		if ((*v)->name_len == len && memcmp((*v)->text, name, len) == 0)
			break;
	return v;
}

static struct var *
var_find(const char *name)
{
	return *var_link(name, strlen(name));
}

static struct var *
var_make(const char *name)
{
	size_t len = strlen(name);
	struct var **link = var_link(name, len);

	if (!*link) {
		*link = xmalloc(sizeof(**link));
		**link = (struct var){.text = xstrdup(name), .name_len = len};
	}
	return *link;
}

static void
var_remove(const char *name)
{
	struct var **link = var_link(name, strlen(name));
	struct var *v = *link;

	if (v) {
		*link = v->next;
		free(v->text);
		free(v);
	}
}

const char *
var_get(const char *name)
{
	struct var *v = var_find(name);

	return v && v->text[v->name_len] ? v->text + v->name_len + 1 : NULL;
}

static bool
var_writable(struct var *v)
{
	if (v && (v->flags & VAR_READONLY)) {
		shell_abort(STATUS_USAGE, "%.*s: readonly", (int)v->name_len,
			    v->text);
		return false;
	}
	return true;
}

bool
var_set(const char *name, const char *value)
{
	struct var *v = var_make(name);
	size_t n = strlen(value) + 1;
	char *text;

	if (!var_writable(v))
		return false;
	/* The value may be part of the old text. */
	text = xmalloc(v->name_len + 1 + n);
	memcpy(text, name, v->name_len);
	text[v->name_len] = '=';
	memcpy(text + v->name_len + 1, value, n);
	free(v->text);
	v->text = text;
	if (sh.opt_allexport)
		v->flags |= VAR_EXPORT;
	return true;
}

bool
var_set_number(const char *name, long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	return var_set(name, text);
}

bool
var_unset(const char *name)
{
	if (!var_writable(var_find(name)))
		return false;
	var_remove(name);
	return true;
}

void
var_flag(const char *name, int flag)
{
	var_make(name)->flags |= flag;
}

/* The strings of all variables with a flag, in scratch; NULL at the end. */
static char **
var_list(int flag, bool valued, size_t *count)
{
	struct strings all = {0};
	struct var *v;
	char **list;
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		for (v = buckets[i]; v; v = v->next)
			if ((v->flags & flag) == flag &&
			    (!valued || v->text[v->name_len]))
				strings_add(&all, v->text);
	list = arena_alloc(scratch, (all.n + 1) * sizeof(*list));
	if (all.n > 0)
		memcpy(list, all.v, all.n * sizeof(*list));
	*count = all.n;
	free(all.v);
	return list;
}

char **
var_environ(void)
{
	size_t count;

	return var_list(VAR_EXPORT, true, &count);
}

void
quoted_print(const char *s)
{
	out_char('\'');
	for (; *s; s++) {
		if (*s == '\'')
			out_str("'\\'");
		out_char(*s);
	}
	out_char('\'');
}

void
var_print(int flag, const char *prefix)
{
	size_t n, i;
	char **list = var_list(flag, false, &n);

	qsort(list, n, sizeof(*list), strings_compare);
	for (i = 0; i < n; i++) {
		size_t name = strcspn(list[i], "=");

		out_str(prefix);
		out_str(arena_strndup(scratch, list[i], name));
		if (list[i][name]) {
			out_char('=');
			quoted_print(list[i] + name + 1);
		}
		out_char('\n');
	}
}

void
scope_enter(struct scope *s)
{
	*s = (struct scope){.outer = innermost};
	innermost = s;
}

bool
var_local(const char *name)
{
	struct var *v = var_find(name);
	struct saved *s;

	if (!innermost)
		return false;
	s = xmalloc(sizeof(*s));
	*s = (struct saved){
	    .next = innermost->saved,
	    .name = xstrdup(name),
	    .text = v ? xstrdup(v->text) : NULL,
	    .flags = v ? v->flags : 0,
	};
	innermost->saved = s;
	return true;
}

void
scope_leave(struct scope *scope)
{
	while (scope->saved) {
		struct saved *s = scope->saved;

		scope->saved = s->next;
		if (s->text) {
			struct var *v = var_make(s->name);

			free(v->text);
			v->text = s->text;
			v->flags = s->flags;
		} else {
			var_remove(s->name);
		}
		free(s->name);
		free(s);
	}
	innermost = scope->outer;
}

static void
var_default(const char *name, const char *value)
{
	if (!var_get(name))
		var_set(name, value);
}

void
var_init(void)
{
	char **e, *cwd = getcwd(NULL, 0);

	for (e = environ; e && *e; e++) {
		size_t n = strcspn(*e, "=");
		char *name = arena_strndup(scratch, *e, n);

		if ((*e)[n] && is_name(name, n)) {
			var_set(name, *e + n + 1);
			var_flag(name, VAR_EXPORT);
		}
	}
	var_set("IFS", " \t\n"); /* never from outside */
	var_set_number("PPID", getppid());
	var_set_number("OPTIND", 1);
	var_default("PATH", "/bin");
	var_default("PS1", "tally$ ");
	var_default("PS2", "> ");
	var_default("PS4", "+ ");
	if (cwd)
		var_set("PWD", cwd);
	free(cwd);
}

/*
 * Aliases: words that stand for text at the beginning of a command. The text
 * takes the word's place in the line, of which a new copy is made.
 *
 * What is left of the line behind a place stays the same, so the number of
 * those characters names the place, whatever copy it is in. By that it is
 * known where an alias's text ends: inside of it, the alias means itself.
 */
#include <stdlib.h>
#include <string.h>

#include "sh.h"

struct alias {
	struct alias *next;
	char *name, *value;
	unsigned long line; /* when it was last used: input_lines then, */
	size_t after;       /* and characters of that line behind its text */
};

static struct alias *aliases;

static struct alias **
alias_link(const char *name)
{
	struct alias **a;

	for (a = &aliases; *a; a = &(*a)->next)
		if (strcmp((*a)->name, name) == 0)
			break;
	return a;
}

const char *
alias_get(const char *name)
{
	struct alias *a = *alias_link(name);

	return a ? a->value : NULL;
}

static void
alias_set(const char *name, const char *value)
{
	struct alias **link = alias_link(name);

	if (!*link) {
		*link = xmalloc(sizeof(**link));
		**link = (struct alias){.name = xstrdup(name)};
	}
	free((*link)->value);
	(*link)->value = xstrdup(value);
}

static bool
alias_unset(const char *name)
{
	struct alias **link = alias_link(name), *a = *link;

	if (!a)
		return false;
	*link = a->next;
	free(a->name);
	free(a->value);
	free(a);
	return true;
}

/* Is the parser in the text of this alias? */
static bool
inside(struct parser *p, struct alias *a)
{
	return a->line == input_lines && strlen(p->start) > a->after;
}

/* Put its text in the place of the token. */
static void
substitute(struct parser *p, struct alias *a)
{
	size_t n = strlen(a->value);
	struct buf line = {0};

	a->line = input_lines;
	a->after = strlen(p->in->p);
	if (n > 0 && strchr(" \t", a->value[n - 1]))
		p->blank_after = a->after + 1;
	buf_add(&line, a->value, n);
	buf_add(&line, p->in->p, a->after);
	buf_free(&p->in->text);
	p->in->text = line;
	p->in->copy = NULL;
	p->in->p = line.s;
	p->have = false;
}

bool
alias_expand(struct parser *p)
{
	struct alias *a;
	bool any = false;

	while (aliases && lex_token(p) == T_WORD && p->literal) {
		a = *alias_link(p->literal);
		if (!a || inside(p, a))
			break;
		substitute(p, a);
		any = true;
	}
	return any;
}

bool
alias_next(struct parser *p)
{
	size_t after = p->blank_after;

	if (after == 0 || lex_token(p) != T_WORD || strlen(p->start) >= after)
		return false;
	p->blank_after = 0;
	return alias_expand(p);
}

static void
alias_print(struct alias *a)
{
	out_str(a->name);
	out_char('=');
	quoted_print(a->value);
	out_char('\n');
}

int
builtin_alias(int argc, char **argv)
{
	struct alias *a;
	int i, status = 0;

	for (a = argc > 1 ? NULL : aliases; a; a = a->next)
		alias_print(a);
	for (i = 1; i < argc; i++) {
		size_t n = strcspn(argv[i], "=");
		char *name = arena_strndup(scratch, argv[i], n);

		if (argv[i][n] && n > 0 &&
		    !strpbrk(name, LEX_META "'\"\\$`/")) {
			alias_set(name, argv[i] + n + 1);
		} else if (!argv[i][n] && (a = *alias_link(name))) {
			alias_print(a);
		} else {
			shell_warn("alias: %s: %s", name,
				   argv[i][n] ? "bad name" : "not found");
			status = STATUS_ERROR;
		}
	}
	return status;
}

int
builtin_unalias(int argc, char **argv)
{
	bool all = argc > 1 && strcmp(argv[1], "-a") == 0;
	int i, status = 0;

	while (all && aliases)
		alias_unset(aliases->name);
	for (i = 1 + all; i < argc; i++) {
		if (alias_unset(argv[i]))
			continue;
		shell_warn("unalias: %s: not found", argv[i]);
		status = STATUS_ERROR;
	}
	return status;
}

/*
 * Expansion: the parts of words to fields. A field is made in a buffer, in
 * the form of a pattern: what was quoted has a backslash before any
 * character that patterns know. Values that weren't quoted are split at the
 * characters of IFS while they are put there. A finished field becomes the
 * names of the files that match, or, without its backslashes, itself.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sh.h"

#define PATTERN_CHARS "*?[]!^-\\"

struct expander {
	struct buf text; /* the field that is being made */
	bool started;    /* it is one, even if it stays empty */
	bool delimited;  /* blanks ended one: a delimiter may still follow */
	bool split;      /* fields are wanted, not one string */
	bool escape;     /* in the form of a pattern */
	bool assign;     /* ~ counts after a colon, too */
	const char *ifs;
	struct strings out;
};

static bool expand_parts(struct expander *e, struct part *parts, bool operand);

static void
put(struct expander *e, char c, bool quoted)
{
	/* Backslashes in the text itself are always quoted: one that comes
	 * from a value means itself. */
	if (e->escape && (c == '\\' || (quoted && strchr(PATTERN_CHARS, c))))
		buf_put(&e->text, '\\');
	buf_put(&e->text, c);
	e->delimited = false;
}

static void
put_all(struct expander *e, const char *s, bool quoted)
{
	e->started |= quoted || *s != '\0';
	for (; *s; s++)
		put(e, *s, quoted);
}

static void
field_end(struct expander *e)
{
	char *field = buf_take(&e->text, scratch);

	e->started = false;
	if (!sh.opt_noglob && glob_is_pattern(field) &&
	    glob_files(field, &e->out))
		return;
	strings_add(&e->out, glob_unescape(field));
}

/*
 * Put a value, ending a field at each delimiter: a run of blanks of IFS,
 * or another character of IFS with the blanks around it.
 */
static void
put_split(struct expander *e, const char *s)
{
	for (; *s; s++) {
		if (!strchr(e->ifs, *s)) {
			put(e, *s, false);
			e->started = true;
		} else if (isspace((unsigned char)*s)) {
			if (e->started) {
				field_end(e);
				e->delimited = true;
			}
		} else if (e->delimited) {
			e->delimited = false;
		} else {
			field_end(e);
		}
	}
}

static void
put_value(struct expander *e, const char *s, bool quoted)
{
	if (e->split && !quoted)
		put_split(e, s);
	else
		put_all(e, s, quoted);
}

/* $@ or $*. */
static void
put_params(struct expander *e, char which, bool quoted)
{
	char sep[2] = {which == '*' ? e->ifs[0] : ' ', '\0'};
	int i;

	for (i = 0; i < sh.params.n; i++) {
		if (i > 0 && e->split && (!quoted || which == '@')) {
			if (quoted || e->started)
				field_end(e);
		} else if (i > 0) {
			put_all(e, sep, quoted);
		}
		put_value(e, sh.params.v[i], quoted);
	}
	e->started |= quoted && which == '*';
}

/* The value of $@ or $* is only whether there is one. */
const char *
param_get(const char *name, struct buf *tmp)
{
	char text[24];
	long value;

	switch (*name) {
	case '@':
	case '*':
		return sh.params.n > 0 ? sh.params.v[0] : NULL;
	case '#':
		value = sh.params.n;
		break;
	case '?':
		value = sh.status;
		break;
	case '$':
		value = sh.pid;
		break;
	case '!':
		if (sh.last_started == 0)
			return NULL;
		value = sh.last_started;
		break;
	case '-':
		return shell_letters();
	default:
		if (!isdigit((unsigned char)*name)) {
			if (strcmp(name, "LINENO") != 0)
				return var_get(name);
			value = sh.line;
			break;
		}
		value = strtol(name, NULL, 10);
		if (value == 0)
			return sh.name;
		return value <= sh.params.n ? sh.params.v[value - 1] : NULL;
	}
	buf_add(tmp, text, snprintf(text, sizeof(text), "%ld", value));
	return tmp->s;
}

/* value without the shortest or longest part at one end that matches. */
static const char *
trim(const char *value, const char *pattern, char op, bool longest)
{
	size_t n = strlen(value), i;
	char *s = arena_strndup(scratch, value, n);

	for (i = 0; i <= n; i++) {
		/* Where to cut: the part that must match is from there on,
		 * or up to there. */
		size_t at = (op == '#') != longest ? i : n - i;
		char kept = s[at];
		bool match;

		if (op == '%') {
			match = fnmatch(pattern, s + at, 0) == 0;
			if (match)
				s[at] = '\0';
		} else {
			s[at] = '\0';
			match = fnmatch(pattern, s, 0) == 0;
			s[at] = kept;
			if (match)
				return s + at;
		}
		if (match)
			break;
	}
	return s;
}

static bool
expand_length(struct expander *e, struct part *part, const char *value)
{
	char text[24];
	long n = value ? (long)strlen(value) : 0;

	if (strchr("@*", *part->text))
		n = sh.params.n;
	snprintf(text, sizeof(text), "%ld", n);
	put_value(e, text, part->quoted);
	return true;
}

/* ${name?word}, where name has no value. */
static bool
expand_complain(struct part *part)
{
	char *message = expand_string(part->operand);

	if (message)
		shell_abort(STATUS_USAGE, "%s: %s", part->text,
			    *message ? message : "not set");
	return false;
}

/* ${name-word} and the like, where word counts. */
static bool
expand_operand(struct expander *e, struct part *part)
{
	char *value;

	e->started |= part->quoted;
	if (part->op != '=')
		return expand_parts(e, part->operand, true);
	if (!is_name(part->text, strlen(part->text))) {
		shell_abort(STATUS_USAGE, "%s: can't be assigned to",
			    part->text);
		return false;
	}
	value = expand_string(part->operand);
	if (!value)
		return false;
	if (!var_set(part->text, value)) {
		sh.flow = FLOW_ABORT;
		return false;
	}
	put_value(e, value, part->quoted);
	return true;
}

static bool
expand_param(struct expander *e, struct part *part)
{
	struct buf tmp = {0};
	const char *value = param_get(part->text, &tmp);
	bool is_set = value && !(part->colon && *value == '\0');
	bool ok = true;

	if (!value && sh.opt_nounset && !strchr("@*", *part->text) &&
	    (part->op == '\0' || strchr("L#%", part->op))) {
		shell_abort(STATUS_USAGE, "%s: not set", part->text);
		ok = false;
	} else if (part->op == 'L') {
		ok = expand_length(e, part, value);
	} else if (part->op == '?' && !is_set) {
		ok = expand_complain(part);
	} else if (part->op == '+'
		       ? is_set
		       : part->op && strchr("-=", part->op) && !is_set) {
		ok = expand_operand(e, part);
	} else if (part->op == '+') {
		e->started |= part->quoted;
	} else if (part->op == '#' || part->op == '%') {
		char *pattern = expand_pattern(part->operand);

		ok = pattern != NULL;
		if (ok)
			put_value(e,
				  trim(value ? value : "", pattern, part->op,
				       part->longest),
				  part->quoted);
	} else if (strchr("@*", *part->text)) {
		put_params(e, *part->text, part->quoted);
	} else {
		put_value(e, value ? value : "", part->quoted);
	}
	buf_free(&tmp);
	return ok;
}

static bool
expand_arith(struct expander *e, struct part *part)
{
	char *expression = expand_string(part->operand);
	char text[24];
	long value;

	if (!expression || !arith_eval(expression, &value))
		return false;
	snprintf(text, sizeof(text), "%ld", value);
	put_value(e, text, part->quoted);
	return true;
}

/* ~ at the start of text, before a slash or the end. */
static const char *
expand_tilde(struct expander *e, const char *text, bool last)
{
	const char *home = var_get("HOME");
	char end = text[0] == '~' ? text[1] : 'x';

	if (!home ||
	    !(end == '/' || (end == '\0' && last) || (end == ':' && e->assign)))
		return text;
	put_all(e, home, true);
	return text + 1;
}

static void
expand_text(struct expander *e, struct part *part, bool first, bool operand)
{
	const char *s = part->text;
	bool last = part->next == NULL;

	if (part->quoted) {
		put_all(e, s, true);
		return;
	}
	if (first)
		s = expand_tilde(e, s, last);
	if (operand && e->split) {
		put_split(e, s);
		return;
	}
	e->started |= *s != '\0';
	while (*s) {
		put(e, *s, false);
		if (*s++ == ':' && e->assign)
			s = expand_tilde(e, s, last);
	}
}

/* operand: text is like a value, and is split like one. */
static bool
expand_parts(struct expander *e, struct part *parts, bool operand)
{
	struct part *part;
	struct buf out = {0};
	bool ok = !too_deep();

	if (!ok)
		shell_abort(STATUS_USAGE, TOO_DEEP);
	for (part = parts; part && ok; part = part->next) {
		switch (part->kind) {
		case PART_TEXT:
			expand_text(e, part, part == parts, operand);
			break;
		case PART_PARAM:
			ok = expand_param(e, part);
			break;
		case PART_COMMAND:
			exec_substitute(part->command, &out);
			put_value(e, out.len ? out.s : "", part->quoted);
			ok = sh.flow == FLOW_NONE;
			out.len = 0;
			break;
		case PART_ARITH:
			ok = expand_arith(e, part);
			break;
		}
	}
	buf_free(&out);
	return ok;
}

static char *
expand_one(struct part *parts, bool escape, bool assign)
{
	const char *ifs = var_get("IFS");
	struct expander e = {
	    .escape = escape, .assign = assign, .ifs = ifs ? ifs : " \t\n"};
	char *s = NULL;

	if (expand_parts(&e, parts, false))
		s = buf_take(&e.text, scratch);
	buf_free(&e.text);
	return s;
}

char *
expand_string(struct part *parts)
{
	return expand_one(parts, false, false);
}

char *
expand_assign(struct part *parts)
{
	return expand_one(parts, false, true);
}

char *
expand_pattern(struct part *parts)
{
	return expand_one(parts, true, false);
}

/* In "export NAME=value", the words that assign. */
static bool
is_assignment(struct word *w)
{
	const char *s = w->parts->text, *equals;

	if (w->parts->kind != PART_TEXT || w->parts->quoted)
		return false;
	equals = strchr(s, '=');
	return equals && is_name(s, equals - s);
}

/* Fields of one word, added to those there are. */
static bool
expand_word(struct expander *e, struct word *w, bool declares)
{
	char *s;

	if (declares && is_assignment(w)) {
		s = expand_assign(w->parts);
		if (s)
			strings_add(&e->out, s);
		return s != NULL;
	}
	if (!expand_parts(e, w->parts, false))
		return false;
	if (e->started)
		field_end(e);
	e->delimited = false;
	return true;
}

char **
expand_fields(struct word *w, bool declares, int *count)
{
	const char *ifs = var_get("IFS");
	struct expander e = {
	    .split = true, .escape = true, .ifs = ifs ? ifs : " \t\n"};
	char **fields = NULL;
	bool ok = true;

	for (; w && ok; w = w->next)
		ok = expand_word(&e, w, declares);
	if (ok) {
		fields = arena_alloc(scratch, (e.out.n + 1) * sizeof(*fields));
		if (e.out.n > 0)
			memcpy(fields, e.out.v, e.out.n * sizeof(*fields));
		*count = e.out.n;
	}
	free(e.out.v);
	buf_free(&e.text);
	return fields;
}

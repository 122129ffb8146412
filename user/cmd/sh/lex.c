/*
 * Characters to tokens. What is inside a word is word.c's.
 *
 * The text of a here-document starts on the line after its <<: it waits in
 * p->here until the newline is read.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sh.h"

void
lex_error(struct parser *p, const char *format, ...)
{
	char *message;
	va_list args;

	if (!p->failed && !p->in->interrupted) {
		va_start(args, format);
		message = xformat(format, args);
		va_end(args);
		sh.line = p->in->line;
		if (sh.file)
			shell_warn("syntax error: %s", message);
		else
			shell_warn("line %d: syntax error: %s", sh.line,
				   message);
		free(message);
	}
	p->failed = true;
}

/* The next character, not taken. */
int
lex_peek_raw(struct parser *p)
{
	struct input *in = p->in;

	if (*in->p == '\0' && !input_line(in))
		return LEX_END;
	return (unsigned char)*in->p;
}

/* The same, but a backslash before a newline vanishes with it. */
int
lex_peek(struct parser *p)
{
	int c = lex_peek_raw(p);

	while (c == '\\' && p->in->p[1] == '\n') {
		p->in->p += 2;
		c = lex_peek_raw(p);
	}
	return c;
}

void
lex_skip(struct parser *p)
{
	if (*p->in->p != '\0')
		p->in->p++;
}

bool
lex_follow(struct parser *p, int c)
{
	if (lex_peek(p) != c)
		return false;
	lex_skip(p);
	return true;
}

bool
is_name_char(int c)
{
	return c == '_' || (c != LEX_END && isalnum(c));
}

bool
is_name(const char *s, size_t n)
{
	size_t i;

	if (n == 0 || isdigit((unsigned char)*s))
		return false;
	for (i = 0; i < n && is_name_char((unsigned char)s[i]); i++)
		;
	return i == n;
}

void
lex_expect_here(struct parser *p, struct redirect *r)
{
	struct redirect **tail = &p->here;

	while (*tail)
		tail = &(*tail)->here;
	*tail = r;
}

void
lex_delimiter(struct parser *p, struct redirect *r)
{
	struct part *part;
	struct buf text = {0};

	for (part = r->target; part; part = part->next) {
		if (part->kind != PART_TEXT) {
			lex_error(p, "bad here-document delimiter");
			break;
		}
		r->literal |= part->quoted;
		buf_add(&text, part->text, strlen(part->text));
	}
	r->delimiter = buf_take(&text, p->arena);
	buf_free(&text);
	lex_expect_here(p, r);
}

/* The text of one here-document: the lines up to the delimiter. */
static void
lex_here(struct parser *p, struct redirect *r)
{
	struct buf text = {0};
	size_t n, len = strlen(r->delimiter);
	bool joined = false; /* the line before ended in a backslash */
	const char *s;
	int c;

	for (;;) {
		p->in->plain = true;
		c = lex_peek_raw(p);
		p->in->plain = false;
		if (c == LEX_END) {
			lex_error(p, "here-document not ended by a line '%s'",
				  r->delimiter);
			break;
		}
		s = p->in->p;
		if (r->op == T_HERE_STRIP)
			s += strspn(s, "\t");
		n = strcspn(s, "\n");
		p->in->p = s + n + (s[n] == '\n');
		if (!joined && n == len && memcmp(s, r->delimiter, n) == 0)
			break;
		joined = !r->literal && n > 0 && s[n - 1] == '\\' &&
			 !(n > 1 && s[n - 2] == '\\');
		buf_add(&text, s, n + (s[n] == '\n'));
	}
	if (r->literal) {
		r->target = arena_alloc(p->arena, sizeof(*r->target));
		r->target->quoted = true;
		r->target->text = buf_take(&text, p->arena);
	} else if (!p->failed) {
		r->target = word_text(p, text.s ? text.s : "");
	}
	buf_free(&text);
}

static enum token
lex_newline(struct parser *p)
{
	lex_skip(p);
	p->blank_after = 0;
	while (p->here && !p->failed) {
		struct redirect *r = p->here;

		p->here = r->here;
		lex_here(p, r);
	}
	return T_NEWLINE;
}

static enum token
lex_word(struct parser *p)
{
	const char *s = p->in->p;
	size_t digits = strspn(s, "0123456789");

	if (digits > 0 && digits <= 2 &&
	    (s[digits] == '<' || s[digits] == '>')) {
		p->number = s[0] - '0';
		if (digits == 2)
			p->number = 10 * p->number + s[1] - '0';
		p->in->p += digits;
		return T_IO_NUMBER;
	}
	p->parts = word_lex(p);
	if (p->parts && !p->parts->next && p->parts->kind == PART_TEXT &&
	    !p->parts->quoted)
		p->literal = p->parts->text;
	return T_WORD;
}

static enum token
lex_less(struct parser *p)
{
	if (lex_follow(p, '&'))
		return T_LESSAND;
	if (lex_follow(p, '>'))
		return T_LESSGREAT;
	if (!lex_follow(p, '<'))
		return T_LESS;
	return lex_follow(p, '-') ? T_HERE_STRIP : T_HERE;
}

static enum token
lex_great(struct parser *p)
{
	if (lex_follow(p, '&'))
		return T_GREATAND;
	if (lex_follow(p, '|'))
		return T_CLOBBER;
	return lex_follow(p, '>') ? T_APPEND : T_GREAT;
}

static enum token
lex_scan(struct parser *p)
{
	int c;

	while ((c = lex_peek(p)) == ' ' || c == '\t')
		lex_skip(p);
	if (c == '#') {
		while ((c = lex_peek_raw(p)) != '\n' && c != LEX_END)
			lex_skip(p);
	}
	p->start = p->in->p;
	p->line = p->in->line;
	p->literal = NULL;
	if (c == LEX_END) {
		if (p->here)
			lex_error(p, "here-document not ended by a line '%s'",
				  p->here->delimiter);
		return T_EOF;
	}
	if (c == '\n')
		return lex_newline(p);
	if (!strchr(LEX_META, c))
		return lex_word(p);
	lex_skip(p);
	switch (c) {
	case '&':
		return lex_follow(p, '&') ? T_AND : T_AMP;
	case '|':
		return lex_follow(p, '|') ? T_OR : T_PIPE;
	case ';':
		return lex_follow(p, ';') ? T_DSEMI : T_SEMI;
	case '<':
		return lex_less(p);
	case '>':
		return lex_great(p);
	default:
		return c == '(' ? T_LPAREN : T_RPAREN;
	}
}

enum token
lex_token(struct parser *p)
{
	if (!p->have)
		p->token = lex_scan(p);
	p->have = true;
	return p->failed ? T_EOF : p->token;
}

void
lex_take(struct parser *p)
{
	p->have = false;
	if (p->in->kind == INPUT_TERMINAL)
		p->behind = input_left(p->in, p->in->p);
	p->end_line = p->in->line;
}

/*
 * The inside of words. A word is cut into parts while it is read: text,
 * quoted or not, "$x" and "${x:-word}", $(command), $((expression)).
 *
 * Commands in a word are parsed here and now, by a parser of their own that
 * reads on in the same input, because nothing less can tell where $( ) ends.
 */
#include <ctype.h>
#include <string.h>

#include "sh.h"

#define SPECIALS  "@*#?-$!" /* parameters of one character */
#define OPERATORS "-=+?#%"  /* in ${name-word} */

enum until {               /* what ends a run of parts; it isn't taken */
	     UNTIL_META,   /* a blank or an operator */
	     UNTIL_DQUOTE, /* " */
	     UNTIL_BRACE,  /* } */
	     UNTIL_ARITH,  /* the ) of a pair that wasn't opened */
	     UNTIL_END,    /* of the input */
};

struct builder {
	struct parser *p;
	struct part *first, **tail;
	struct buf text; /* a part of text that may still grow */
	bool quoted;     /* that part */
};

static void word_parts(struct builder *b, enum until until, bool quoted);

static struct part *
part_add(struct builder *b, int kind, bool quoted)
{
	struct part *part = arena_alloc(b->p->arena, sizeof(*part));

	part->kind = kind;
	part->quoted = quoted;
	*b->tail = part;
	b->tail = &part->next;
	return part;
}

static void
text_end(struct builder *b)
{
	if (b->text.len > 0)
		part_add(b, PART_TEXT, b->quoted)->text = buf_take(&b->text,
								   b->p->arena);
}

static void
text_put(struct builder *b, char c, bool quoted)
{
	if (b->quoted != quoted)
		text_end(b);
	b->quoted = quoted;
	buf_put(&b->text, c);
}

/* Parts up to where they end. */
static struct part *
word_run(struct parser *p, enum until until, bool quoted)
{
	struct builder b = {.p = p};

	if (too_deep())
		lex_error(p, TOO_DEEP);
	b.tail = &b.first;
	word_parts(&b, until, quoted);
	text_end(&b);
	buf_free(&b.text);
	return b.first;
}

static void
word_single_quotes(struct builder *b)
{
	int c;

	while ((c = lex_peek_raw(b->p)) != '\'') {
		if (c == LEX_END) {
			lex_error(b->p, "unterminated '");
			return;
		}
		text_put(b, c, true);
		lex_skip(b->p);
	}
	lex_skip(b->p);
}

static void
word_double_quotes(struct builder *b)
{
	word_parts(b, UNTIL_DQUOTE, true);
	lex_skip(b->p);
}

static void
word_backslash(struct builder *b, enum until until, bool quoted)
{
	int c = lex_peek_raw(b->p);
	const char *escapable = until == UNTIL_BRACE ? "$`\"\\}"
				: until == UNTIL_END ? "$`\\"
						     : "$`\"\\";

	if (c == LEX_END || (quoted && !strchr(escapable, c))) {
		text_put(b, '\\', true);
	} else {
		text_put(b, c, true);
		lex_skip(b->p);
	}
}

/* Parse the commands that start here, and check what ends them. */
static struct node *
word_commands(struct parser *p, struct input *in, enum token end)
{
	struct parser inner = {.in = in, .arena = p->arena};
	struct node *n = parse_list(&inner);

	if (lex_token(&inner) != end)
		lex_error(&inner, "unterminated command substitution");
	p->failed |= inner.failed;
	lex_expect_here(p, inner.here); /* after the outer line */
	return n;
}

/* `command`: first find its end, and drop the backslashes that hide it. */
static void
word_backquotes(struct builder *b, bool quoted)
{
	struct parser *p = b->p;
	struct buf text = {0};
	struct input in;
	int c, line = p->in->line;

	while ((c = lex_peek_raw(p)) != '`' && c != LEX_END) {
		lex_skip(p);
		if (c == '\\') {
			c = lex_peek_raw(p);
			if (c == LEX_END ||
			    !strchr(quoted ? "$`\\\"" : "$`\\", c))
				c = '\\';
			else
				lex_skip(p);
		}
		buf_put(&text, c);
	}
	if (c == LEX_END) {
		lex_error(p, "unterminated `");
	} else {
		lex_skip(p);
		input_string(&in, text.s ? text.s : "");
		in.line = line - 1;
		part_add(b, PART_COMMAND, quoted)->command = word_commands(
		    p, &in, T_EOF);
		input_close(&in);
	}
	buf_free(&text);
}

/* A parameter's name, in the arena; "" if there is none. */
static const char *
word_name(struct parser *p, bool braces)
{
	struct buf name = {0};
	const char *s;
	int c = lex_peek(p);

	if (c != LEX_END && strchr(SPECIALS, c)) {
		buf_put(&name, c);
		lex_skip(p);
	} else if (c != LEX_END && isdigit(c)) {
		do {
			buf_put(&name, c);
			lex_skip(p);
			c = lex_peek(p);
		} while (braces && c != LEX_END && isdigit(c));
	} else {
		for (; is_name_char(c); c = lex_peek(p)) {
			buf_put(&name, c);
			lex_skip(p);
		}
	}
	s = buf_take(&name, p->arena);
	buf_free(&name);
	return s;
}

/* What follows the name in ${name...}. */
static void
word_operator(struct parser *p, struct part *part, bool quoted)
{
	int c;

	part->colon = lex_follow(p, ':');
	c = lex_peek(p);
	if (c == LEX_END || !strchr(OPERATORS, c) ||
	    (part->colon && strchr("#%", c))) {
		lex_error(p, "bad substitution");
		return;
	}
	lex_skip(p);
	part->op = c;
	if (c == '#' || c == '%') {
		part->longest = lex_follow(p, c);
		quoted = false; /* it's a pattern, with quotes of its own */
	}
	part->operand = word_run(p, UNTIL_BRACE, quoted);
}

static void
word_braces(struct builder *b, bool quoted)
{
	struct parser *p = b->p;
	struct part *part = part_add(b, PART_PARAM, quoted);
	int c;

	part->text = word_name(p, true);
	c = lex_peek(p);
	if (strcmp(part->text, "#") == 0 && c != '}' && !strchr(OPERATORS, c)) {
		part->op = 'L';
		part->text = word_name(p, true);
	}
	if (*part->text == '\0')
		lex_error(p, "bad substitution");
	else if (lex_peek(p) != '}' && part->op == '\0')
		word_operator(p, part, quoted);
	if (!p->failed && !lex_follow(p, '}'))
		lex_error(p, "bad substitution");
}

static void
word_dollar(struct builder *b, bool quoted)
{
	struct parser *p = b->p;
	int c = lex_peek(p);

	if (c == LEX_END || !(strchr(SPECIALS "{(", c) || is_name_char(c))) {
		text_put(b, '$', quoted);
		return;
	}
	text_end(b);
	if (lex_follow(p, '{')) {
		word_braces(b, quoted);
	} else if (!lex_follow(p, '(')) {
		part_add(b, PART_PARAM, quoted)->text = word_name(p, false);
	} else if (!lex_follow(p, '(')) {
		part_add(b, PART_COMMAND, quoted)->command = word_commands(
		    p, p->in, T_RPAREN);
	} else {
		part_add(b, PART_ARITH, quoted)->operand = word_run(
		    p, UNTIL_ARITH, true);
		if (!lex_follow(p, ')') || !lex_follow(p, ')'))
			lex_error(p, "unterminated $((");
	}
}

static bool
ends(enum until until, int c, int depth)
{
	switch (until) {
	case UNTIL_META:
		return strchr(LEX_META, c) != NULL;
	case UNTIL_DQUOTE:
		return c == '"';
	case UNTIL_BRACE:
		return c == '}';
	case UNTIL_ARITH:
		return c == ')' && depth == 0;
	default:
		return false;
	}
}

static void
word_parts(struct builder *b, enum until until, bool quoted)
{
	struct parser *p = b->p;
	struct part **start = b->tail;
	int c, depth = 0;

	while ((c = lex_peek(p)) != LEX_END && !p->failed &&
	       !ends(until, c, depth)) {
		lex_skip(p);
		depth += (c == '(') - (c == ')');
		if (c == '\\') {
			word_backslash(b, until, quoted);
		} else if (c == '\'' && !quoted) {
			text_end(b);
			start = b->tail;
			word_single_quotes(b);
			if (b->text.len == 0) /* '' is a field */
				part_add(b, PART_TEXT, true)->text = "";
		} else if (c == '"' && until != UNTIL_END) {
			text_end(b);
			start = b->tail;
			word_double_quotes(b);
			if (b->text.len == 0 && b->tail == start)
				part_add(b, PART_TEXT, true)->text = "";
		} else if (c == '$') {
			word_dollar(b, quoted);
		} else if (c == '`') {
			text_end(b);
			word_backquotes(b, quoted);
		} else {
			text_put(b, c, quoted);
		}
	}
	if (c == LEX_END && until != UNTIL_META && until != UNTIL_END)
		lex_error(p, until == UNTIL_DQUOTE  ? "unterminated \""
			     : until == UNTIL_BRACE ? "unterminated ${"
						    : "unterminated $((");
}

struct part *
word_lex(struct parser *p)
{
	return word_run(p, UNTIL_META, false);
}

struct part *
word_text(struct parser *outer, const char *text)
{
	struct input in;
	struct parser p = {.in = &in, .arena = outer->arena};
	struct part *parts;

	input_string(&in, text);
	in.line = outer->in->line - 1;
	parts = word_run(&p, UNTIL_END, true);
	outer->failed |= p.failed;
	input_close(&in);
	return parts;
}

/*
 * Tokens to trees, by recursive descent: one function for each rule of the
 * grammar. After an error every token is T_EOF, at which all rules end, so
 * none of them checks for failure.
 */
#include <string.h>

#include "sh.h"

static const char *const token_text[] = {
    [T_NEWLINE] = "newline", [T_SEMI] = ";",     [T_DSEMI] = ";;",
    [T_AMP] = "&",           [T_AND] = "&&",     [T_PIPE] = "|",
    [T_OR] = "||",           [T_LPAREN] = "(",   [T_RPAREN] = ")",
    [T_LESS] = "<",          [T_LESSAND] = "<&", [T_LESSGREAT] = "<>",
    [T_HERE] = "<<",         [T_GREAT] = ">",    [T_HERE_STRIP] = "<<-",
    [T_GREATAND] = ">&",     [T_APPEND] = ">>",  [T_CLOBBER] = ">|",
    [T_EOF] = "end of file", [T_WORD] = "word",  [T_IO_NUMBER] = "number",
};

/* Words that end a list where a command could stand. */
static const char *const closers[] = {"then", "else", "elif", "fi",
				      "do",   "done", "esac", "}"};

static struct node *parse_one(struct parser *p);

static void
unexpected(struct parser *p)
{
	enum token t = lex_token(p);

	lex_error(p, "unexpected %s",
		  t == T_WORD && p->literal ? p->literal : token_text[t]);
}

static struct node *
node_new(struct parser *p, enum node_kind kind, struct node *left)
{
	struct node *n = arena_alloc(p->arena, sizeof(*n));

	n->kind = kind;
	n->line = left ? left->line : p->line;
	n->left = left;
	return n;
}

/* Is the next token this reserved word? */
static bool
at(struct parser *p, const char *reserved)
{
	return lex_token(p) == T_WORD && p->literal &&
	       strcmp(p->literal, reserved) == 0;
}

static void
expect(struct parser *p, const char *reserved)
{
	if (at(p, reserved))
		lex_take(p);
	else
		unexpected(p);
}

static void
expect_token(struct parser *p, enum token t)
{
	if (lex_token(p) == t)
		lex_take(p);
	else
		unexpected(p);
}

static void
skip_newlines(struct parser *p)
{
	while (lex_token(p) == T_NEWLINE)
		lex_take(p);
}

static struct word *
take_word(struct parser *p)
{
	struct word *w = arena_alloc(p->arena, sizeof(*w));

	if (lex_token(p) == T_WORD)
		w->parts = p->parts;
	expect_token(p, T_WORD);
	return w;
}

/* Redirections, as many as follow, added at tail; gives the new tail. */
static struct redirect **
parse_redirects(struct parser *p, struct redirect **tail)
{
	enum token t;

	while ((t = lex_token(p)) == T_IO_NUMBER || t >= T_LESS) {
		struct redirect *r = arena_alloc(p->arena, sizeof(*r));

		r->fd = -1;
		if (t == T_IO_NUMBER) {
			r->fd = p->number;
			lex_take(p);
		}
		r->op = lex_token(p);
		if (r->fd < 0)
			r->fd = r->op >= T_GREAT; /* stdin or stdout */
		lex_take(p);
		r->target = take_word(p)->parts;
		if (r->op == T_HERE || r->op == T_HERE_STRIP)
			lex_delimiter(p, r);
		*tail = r;
		tail = &r->next;
	}
	return tail;
}

/* NAME=value at the start of a command; NULL: it's an ordinary word. */
static struct assign *
parse_assign(struct parser *p)
{
	struct part *first = p->parts, *rest;
	const char *equals;
	struct assign *a;

	if (first->kind != PART_TEXT || first->quoted)
		return NULL;
	equals = strchr(first->text, '=');
	if (!equals || !is_name(first->text, equals - first->text))
		return NULL;
	a = arena_alloc(p->arena, sizeof(*a));
	a->name = arena_strndup(p->arena, first->text, equals - first->text);
	rest = arena_alloc(p->arena, sizeof(*rest));
	*rest = *first;
	rest->text = equals + 1;
	a->value = rest;
	return a;
}

static struct node *
parse_function(struct parser *p, const char *name)
{
	struct node *n = node_new(p, NODE_FUNCTION, NULL);

	lex_take(p);
	expect_token(p, T_RPAREN);
	skip_newlines(p);
	n->name = name;
	if (sh.file)
		n->file = arena_strndup(p->arena, sh.file, strlen(sh.file));
	n->arena = p->arena;
	n->left = parse_one(p);
	if (n->left->kind < NODE_SUBSHELL || n->left->kind == NODE_FUNCTION)
		lex_error(p, "a function's body must be a compound command");
	return n;
}

static bool
is_declaration(const char *name)
{
	return name &&
	       (strcmp(name, "export") == 0 || strcmp(name, "readonly") == 0 ||
		strcmp(name, "local") == 0);
}

static struct node *
parse_simple(struct parser *p)
{
	struct node *n = node_new(p, NODE_SIMPLE, NULL);
	struct assign **assign = &n->assigns;
	struct word **word = &n->words;
	struct redirect **redirect = &n->redirects;
	const char *name;

	for (;;) {
		redirect = parse_redirects(p, redirect);
		if (lex_token(p) != T_WORD)
			break;
		if (n->words ? alias_next(p) : alias_expand(p))
			continue;
		if (!n->words && (*assign = parse_assign(p))) {
			assign = &(*assign)->next;
			lex_take(p);
			continue;
		}
		name = n->words ? NULL : p->literal;
		*word = take_word(p);
		word = &(*word)->next;
		if (name && lex_token(p) == T_LPAREN && !n->assigns &&
		    !n->redirects && is_name(name, strlen(name)))
			return parse_function(p, name);
		n->declares |= is_declaration(name);
	}
	if (!n->words && !n->assigns && !n->redirects)
		unexpected(p);
	return n;
}

/* A list that must not be empty. */
static struct node *
parse_body(struct parser *p)
{
	struct node *n = parse_list(p);

	if (!n)
		unexpected(p);
	return n;
}

/* if or elif, and its branch. */
static struct node *
parse_branch(struct parser *p)
{
	struct node *n = node_new(p, NODE_IF, NULL);

	lex_take(p);
	n->left = parse_body(p);
	expect(p, "then");
	n->right = parse_body(p);
	return n;
}

/* One fi ends all. */
static struct node *
parse_if(struct parser *p)
{
	struct node *first = parse_branch(p), **other = &first->other;

	while (at(p, "elif")) {
		*other = parse_branch(p);
		other = &(*other)->other;
	}
	if (at(p, "else")) {
		lex_take(p);
		*other = parse_body(p);
	}
	expect(p, "fi");
	return first;
}

static struct node *
parse_do(struct parser *p)
{
	struct node *n;

	expect(p, "do");
	n = parse_body(p);
	expect(p, "done");
	return n;
}

static struct node *
parse_while(struct parser *p, enum node_kind kind)
{
	struct node *n = node_new(p, kind, NULL);

	lex_take(p);
	n->left = parse_body(p);
	n->right = parse_do(p);
	return n;
}

static struct node *
parse_for(struct parser *p)
{
	struct node *n = node_new(p, NODE_FOR, NULL);
	struct word **word = &n->words;

	lex_take(p);
	n->name = lex_token(p) == T_WORD ? p->literal : NULL;
	if (!n->name || !is_name(n->name, strlen(n->name)))
		unexpected(p);
	lex_take(p);
	n->params = true;
	if (lex_token(p) == T_SEMI)
		lex_take(p);
	skip_newlines(p);
	if (at(p, "in")) {
		n->params = false;
		lex_take(p);
		for (; lex_token(p) == T_WORD; word = &(*word)->next)
			*word = take_word(p);
		if (lex_token(p) != T_SEMI && lex_token(p) != T_NEWLINE)
			unexpected(p);
		lex_take(p);
		skip_newlines(p);
	}
	n->right = parse_do(p);
	return n;
}

static struct node *
parse_case(struct parser *p)
{
	struct node *n = node_new(p, NODE_CASE, NULL);
	struct case_item **tail = &n->items, *item;

	lex_take(p);
	n->words = take_word(p);
	skip_newlines(p);
	expect(p, "in");
	skip_newlines(p);
	while (!at(p, "esac") && !p->failed) {
		struct word **pattern;

		*tail = item = arena_alloc(p->arena, sizeof(*item));
		tail = &item->next;
		if (lex_token(p) == T_LPAREN)
			lex_take(p);
		pattern = &item->patterns;
		*pattern = take_word(p);
		while (lex_token(p) == T_PIPE) {
			lex_take(p);
			pattern = &(*pattern)->next;
			*pattern = take_word(p);
		}
		expect_token(p, T_RPAREN);
		item->body = parse_list(p);
		if (!at(p, "esac"))
			expect_token(p, T_DSEMI);
		skip_newlines(p);
	}
	expect(p, "esac");
	return n;
}

/* { list } or ( list ) */
static struct node *
parse_group(struct parser *p, enum node_kind kind)
{
	struct node *n = node_new(p, kind, NULL);

	lex_take(p);
	n->left = parse_body(p);
	if (kind == NODE_GROUP)
		expect(p, "}");
	else
		expect_token(p, T_RPAREN);
	return n;
}

/* One command; never NULL. */
static struct node *
parse_one(struct parser *p)
{
	struct node *n;

	if (too_deep())
		lex_error(p, TOO_DEEP);
	alias_expand(p);
	if (lex_token(p) == T_LPAREN)
		n = parse_group(p, NODE_SUBSHELL);
	else if (at(p, "{"))
		n = parse_group(p, NODE_GROUP);
	else if (at(p, "if"))
		n = parse_if(p);
	else if (at(p, "while"))
		n = parse_while(p, NODE_WHILE);
	else if (at(p, "until"))
		n = parse_while(p, NODE_UNTIL);
	else if (at(p, "for"))
		n = parse_for(p);
	else if (at(p, "case"))
		n = parse_case(p);
	else
		return parse_simple(p);
	parse_redirects(p, &n->redirects);
	return n;
}

static struct node *
parse_pipe(struct parser *p)
{
	struct node *first = parse_one(p), **last = &first;

	while (lex_token(p) == T_PIPE) {
		lex_take(p);
		skip_newlines(p);
		*last = node_new(p, NODE_PIPE, *last);
		last = &(*last)->right;
		*last = parse_one(p);
	}
	return first;
}

/*
 * Call rule, and keep what was typed for it as the text of a job: to its
 * end, or to the end of its first line. (A line that is gone takes its
 * characters with it; so their number counts, from the line's end, which
 * aliases don't change.)
 */
static struct node *
keep_text(struct parser *p, struct node *(*rule)(struct parser *))
{
	struct input *in = p->in;
	const char *start, *newline;
	struct node *n;
	size_t all;
	int line;

	if (in->kind != INPUT_TERMINAL || lex_token(p) == T_EOF ||
	    p->token == T_NEWLINE || p->line != in->line)
		return rule(p); /* nothing is left of where it starts */
	if (!in->copy)
		in->copy = arena_strndup(p->arena, in->text.s, in->text.len);
	line = in->line;
	start = in->copy + (p->start - in->text.s);
	all = input_left(in, p->start);
	n = rule(p);
	if (p->end_line == line && p->behind < all)
		all -= p->behind;
	newline = memchr(start, '\n', all);
	if (newline)
		all = newline - start;
	n->text = arena_strndup(p->arena, start, all);
	return n;
}

static struct node *
parse_pipeline(struct parser *p)
{
	alias_expand(p);
	if (!at(p, "!"))
		return keep_text(p, parse_pipe);
	lex_take(p);
	return node_new(p, NODE_NOT, keep_text(p, parse_pipe));
}

static struct node *
parse_and_or(struct parser *p)
{
	struct node *first = parse_pipeline(p), **last = &first;
	enum token t;

	while ((t = lex_token(p)) == T_AND || t == T_OR) {
		lex_take(p);
		skip_newlines(p);
		*last = node_new(p, t == T_AND ? NODE_AND : NODE_OR, *last);
		last = &(*last)->right;
		*last = parse_pipeline(p);
	}
	return first;
}

static bool
list_ends(struct parser *p)
{
	enum token t;
	size_t i;

	alias_expand(p);
	t = lex_token(p);
	if (t == T_EOF || t == T_RPAREN || t == T_DSEMI)
		return true;
	for (i = 0; i < sizeof(closers) / sizeof(closers[0]); i++)
		if (at(p, closers[i]))
			return true;
	return false;
}

/* Commands and what separates them, of one line or of as many as follow. */
static struct node *
parse_commands(struct parser *p, bool one_line)
{
	struct node *first = NULL, **tail = &first, *n;
	enum token t;

	for (;;) {
		if (!one_line)
			skip_newlines(p);
		if (list_ends(p) || lex_token(p) == T_NEWLINE)
			break;
		n = keep_text(p, parse_and_or);
		t = lex_token(p);
		if (t == T_AMP) {
			n = node_new(p, NODE_BACKGROUND, n);
			n->text = n->left->text;
		}
		if (*tail) { /* a second command makes it a list */
			*tail = node_new(p, NODE_LIST, *tail);
			tail = &(*tail)->right;
		}
		*tail = n;
		if (t != T_AMP && t != T_SEMI && (one_line || t != T_NEWLINE))
			break;
		lex_take(p);
	}
	return first;
}

struct node *
parse_list(struct parser *p)
{
	return parse_commands(p, false);
}

enum parsed
parse_command(struct input *in, struct arena *a, struct node **out)
{
	struct parser p = {.in = in, .arena = a};

	*out = NULL;
	in->continued = false;
	in->copy = NULL;
	if (in->kind == INPUT_TERMINAL)
		in->line = 0;
	if (lex_token(&p) == T_EOF && !p.failed)
		return in->interrupted ? PARSED_ERROR : PARSED_EOF;
	*out = parse_commands(&p, true);
	if (lex_token(&p) != T_NEWLINE && lex_token(&p) != T_EOF)
		unexpected(&p);
	if (p.failed || in->interrupted)
		return PARSED_ERROR;
	return *out ? PARSED : PARSED_NOTHING;
}

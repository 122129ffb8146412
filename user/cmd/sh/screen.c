/*
 * How a line that is edited looks: behind the prompt, on as many rows of the
 * terminal as it takes. If that is more than there are, those around the
 * cursor are shown.
 *
 * A terminal wraps by itself, but doesn't move its cursor to the next row
 * before there is something to print: a newline does that.
 */
#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../../lib/utf8.h"
#include "edit.h"

#define ROWS    24 /* unless the terminal says otherwise */
#define COLUMNS 80
#define TAB     8

#define ESCAPE '\033'

/* What is printed together, and how wide it is at a column. */
struct cell {
	const char *s;
	size_t bytes;
	size_t width;
};

/* An escape sequence, of a prompt with colours; 0: it is none. */
static size_t
escape_length(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 2 || s[0] != ESCAPE || s[1] != '[')
		return 0;
	while (i < n && !isalpha((unsigned char)s[i]))
		i++;
	return i < n ? i + 1 : n;
}

static struct cell
cell_at(const char *s, size_t n, size_t col)
{
	struct cell c = {.s = s, .bytes = escape_length(s, n)};
	int width;

	if (c.bytes > 0)
		return c;
	c.bytes = utf8_next(s, n, &width);
	c.width = *s == '\t' ? TAB - col % TAB : (size_t)width;
	return c;
}

static void
cell_print(const struct cell *c)
{
	size_t i;

	if (*c->s == '\t')
		for (i = 0; i < c->width; i++)
			out_char(' ');
	else if (c->width > 0 && !utf8_shows(c->s, c->bytes))
		out_char('?');
	else
		for (i = 0; i < c->bytes; i++)
			out_char(c->s[i]);
}

/* Go on by one cell, which wraps if it must; print it if its row is shown. */
static void
pass_cell(const struct screen *s, struct place *p, struct cell *c, bool print)
{
	if (*c->s == '\t' && p->col + c->width > s->columns)
		c->width = s->columns - p->col;
	if (p->col + c->width > s->columns)
		*p = (struct place){.row = p->row + 1};
	p->col += c->width;
	if (print && p->row >= s->top && p->row < s->top + s->rows)
		cell_print(c);
}

static void
pass_text(const struct screen *s, struct place *p, const char *text, size_t n,
	  bool print)
{
	while (n > 0) {
		struct cell c = cell_at(text, n, p->col);

		pass_cell(s, p, &c, print);
		text += c.bytes;
		n -= c.bytes;
	}
}

/* Where a cursor is that stands behind the last column. */
static void
wrap(const struct screen *s, struct place *p)
{
	if (p->col >= s->columns)
		*p = (struct place){.row = p->row + 1};
}

/* Where the cursor belongs, before the character at pos. */
static struct place
place_of(const struct screen *s, const struct buf *line, size_t pos)
{
	struct place p = {0};

	pass_text(s, &p, s->prompt, strlen(s->prompt), false);
	pass_text(s, &p, line->s, pos, false);
	wrap(s, &p);
	return p;
}

static void
go_to(struct screen *s, struct place p)
{
	struct place *now = &s->cursor;

	p.row -= s->top;
	if (p.row == now->row && p.col == now->col)
		return;
	if (p.row < now->row)
		out_format("\033[%zuA", now->row - p.row);
	else if (p.row > now->row)
		out_format("\033[%zuB", p.row - now->row);
	out_char('\r');
	if (p.col > 0)
		out_format("\033[%zuC", p.col);
	*now = p;
}

/* Does the part that is shown have to change for a row to be in it? */
static bool
scroll(struct screen *s, size_t row)
{
	size_t top = s->top;

	if (row < s->top)
		s->top = row;
	else if (row >= s->top + s->rows)
		s->top = row - s->rows + 1;
	return s->top != top;
}

void
screen_measure(struct screen *s)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
		w = (struct winsize){0};
	s->rows = w.ws_row ? w.ws_row : ROWS;
	s->columns = w.ws_col > TAB ? w.ws_col : COLUMNS;
}

void
screen_start(struct screen *s, const char *prompt)
{
	struct place p = {0};

	*s = (struct screen){.prompt = prompt};
	screen_measure(s);
	pass_text(s, &p, prompt, strlen(prompt), true);
	if (p.col == s->columns)
		out_char('\n');
	wrap(s, &p);
	s->cursor = p;
}

void
screen_draw(struct screen *s, const struct buf *line, size_t pos)
{
	struct place cursor = place_of(s, line, pos), p = {0};

	go_to(s, (struct place){.row = s->top});
	out_str("\033[J");
	scroll(s, cursor.row);
	pass_text(s, &p, s->prompt, strlen(s->prompt), true);
	pass_text(s, &p, line->s, line->len, true);
	if (p.row >= s->top + s->rows) {
		p.row = s->top + s->rows - 1;
		p.col = s->columns;
	} else if (p.col == s->columns && p.row + 1 < s->top + s->rows) {
		wrap(s, &p);
		out_char('\n');
	}
	s->cursor = (struct place){.row = p.row - s->top, .col = p.col};
	go_to(s, cursor);
}

void
screen_move(struct screen *s, const struct buf *line, size_t pos)
{
	struct place p = place_of(s, line, pos);

	if (scroll(s, p.row))
		screen_draw(s, line, pos);
	else
		go_to(s, p);
}

void
screen_append(struct screen *s, const struct buf *line, size_t from)
{
	struct place p = {.row = s->cursor.row + s->top, .col = s->cursor.col};
	struct place end = p;
	struct screen all = *s;
	struct cell c = cell_at(line->s + from, line->len - from, p.col);

	if (c.width == 0) {
		screen_draw(s, line, line->len);
		return;
	}
	pass_text(s, &end, line->s + from, line->len - from, false);
	wrap(s, &end);
	scroll(s, end.row); /* as the terminal does by itself */
	all.top = 0;
	all.rows = end.row + 1;
	pass_text(&all, &p, line->s + from, line->len - from, true);
	if (p.col == s->columns)
		out_char('\n');
	s->cursor = (struct place){.row = end.row - s->top, .col = end.col};
}

void
screen_leave(struct screen *s, const struct buf *line)
{
	screen_move(s, line, line->len);
	out_char('\n');
}

static int
width_at(const struct buf *line, size_t pos)
{
	int width;

	utf8_next(line->s + pos, line->len - pos, &width);
	return width;
}

size_t
character_before(const struct buf *line, size_t pos)
{
	do
		while (pos > 0 && utf8_continues(line->s[--pos]))
			;
	while (pos > 0 && width_at(line, pos) == 0);
	return pos;
}

size_t
character_end(const struct buf *line, size_t pos)
{
	int width = 0;

	if (pos < line->len)
		pos += utf8_next(line->s + pos, line->len - pos, &width);
	while (pos < line->len && width_at(line, pos) == 0)
		pos += utf8_next(line->s + pos, line->len - pos, &width);
	return pos;
}

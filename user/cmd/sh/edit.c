/*
 * A line typed at the terminal, in raw mode, which lasts only as long as
 * the line. The line is one row of the screen: what doesn't fit scrolls
 * sideways. A byte is taken to be a column.
 *
 *	^A Home, ^E End        to the beginning, the end
 *	^B Left, ^F Right      one character
 *	^H Backspace, ^D Del   delete before, under the cursor
 *	^W, ^U, ^K             delete the word before, all before, all after
 *	^P Up, ^N Down         older, newer lines
 *	Tab                    complete the word, or show how it may go on
 *	^L                     clear the screen
 *	^C, ^D                 give the line up; on an empty line, end of file
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "sh.h"

#define HISTORY_LINES 100
#define COLUMNS       80 /* unless the terminal says otherwise */
#define COLUMNS_LEAST 16

#define CONTROL(c) ((c)&0x1f)
#define DEL        0x7f
#define KEY_DELETE 0x100 /* these are no characters */
#define KEY_OTHER  0x101
#define KEY_EOF    0x102

struct editor {
	struct buf *line;
	const char *prompt; /* the row it shares with the line */
	size_t pos;         /* the cursor, in line */
	size_t left;        /* the first character shown */
	size_t width;       /* how many fit after the prompt */
	int back;           /* lines back in history; 0: the new one */
	struct buf kept;    /* the new one meanwhile */
};

static char *history[HISTORY_LINES]; /* a ring; line n is at n modulo */
static unsigned int history_count;

static void
history_add(const char *line)
{
	char **slot = &history[history_count % HISTORY_LINES];

	if (line[strspn(line, " \t")] == '\0')
		return;
	if (history_count > 0 &&
	    strcmp(line, history[(history_count - 1) % HISTORY_LINES]) == 0)
		return;
	free(*slot);
	*slot = xstrdup(line);
	history_count++;
}

int
builtin_history(int argc, char **argv)
{
	unsigned int i = history_count < HISTORY_LINES
			     ? 0
			     : history_count - HISTORY_LINES;

	(void)argc, (void)argv;
	for (; i < history_count; i++) {
		out_format("%5u  ", i + 1);
		out_str(history[i % HISTORY_LINES]);
		out_char('\n');
	}
	return 0;
}

static void
put_text(const char *s, size_t n)
{
	for (; n > 0; n--, s++)
		out_char(isprint((unsigned char)*s) || (*s & 0x80) ? *s : '?');
}

/* Put the cursor n columns behind the prompt. */
static void
to_column(struct editor *e, size_t n)
{
	n += strlen(e->prompt);
	out_char('\r');
	if (n > 0)
		out_format("\033[%uC", (unsigned int)n);
}

/* Show the line again, behind the prompt, with the cursor in its place. */
static void
redraw(struct editor *e)
{
	size_t shown;

	if (e->pos < e->left || e->pos > e->left + e->width)
		e->left = e->pos > e->width / 2 ? e->pos - e->width / 2 : 0;
	shown = e->line->len - e->left;
	if (shown > e->width)
		shown = e->width;
	to_column(e, 0);
	put_text(e->line->s + e->left, shown);
	out_str("\033[K");
	to_column(e, e->pos - e->left);
	out_flush();
}

/* Put n characters at the cursor; the usual one at the end just appears. */
static void
insert(struct editor *e, const char *s, size_t n)
{
	struct buf *l = e->line;
	bool simple = e->pos == l->len && e->pos + n - e->left < e->width;

	buf_add(l, s, n);
	memmove(l->s + e->pos + n, l->s + e->pos, l->len - n - e->pos);
	memcpy(l->s + e->pos, s, n);
	e->pos += n;
	if (simple) {
		put_text(s, n);
		out_flush();
	} else {
		redraw(e);
	}
}

/* Delete the characters from one place to another; the cursor goes there. */
static void
erase(struct editor *e, size_t from, size_t to)
{
	struct buf *l = e->line;

	memmove(l->s + from, l->s + to, l->len - to + 1);
	l->len -= to - from;
	e->pos = from;
	redraw(e);
}

static size_t
word_start(struct editor *e)
{
	size_t i = e->pos;

	while (i > 0 && e->line->s[i - 1] == ' ')
		i--;
	while (i > 0 && e->line->s[i - 1] != ' ')
		i--;
	return i;
}

/* Show the line that is so many back in history. */
static void
recall(struct editor *e, int back)
{
	int most = history_count < HISTORY_LINES ? (int)history_count
						 : HISTORY_LINES;
	const char *s;

	if (back < 0 || back > most)
		return;
	if (e->back == 0) {
		e->kept.len = 0;
		buf_add(&e->kept, e->line->s, e->line->len);
	}
	e->back = back;
	s = back ? history[(history_count - back) % HISTORY_LINES] : e->kept.s;
	e->line->len = 0;
	buf_add(e->line, s, strlen(s));
	e->pos = e->line->len;
	redraw(e);
}

/* Print what a word may become, and the row again below it. */
static void
show_choices(struct editor *e, struct strings *found)
{
	size_t i;

	out_char('\n');
	for (i = 0; i < found->n; i++) {
		out_str(found->v[i]);
		out_str(i + 1 < found->n ? "  " : "\n");
	}
	out_str(e->prompt);
	redraw(e);
}

static void
complete(struct editor *e)
{
	struct mark m = scratch_mark();
	struct strings found = {0};
	size_t start = complete_find(e->line->s, e->pos, &found);
	size_t typed = e->pos - start, common = 0, i;

	if (found.n > 0)
		common = strlen(found.v[0]);
	for (i = 1; i < found.n; i++)
		while (strncmp(found.v[0], found.v[i], common) != 0)
			common--;
	if (common > typed)
		insert(e, found.v[0] + typed, common - typed);
	else if (found.n > 1)
		show_choices(e, &found);
	if (found.n == 1 && e->line->s[e->pos - 1] != '/')
		insert(e, " ", 1);
	free(found.v);
	scratch_release(m);
}

static int
read_byte(void)
{
	unsigned char c;
	ssize_t n;

	do
		n = read(STDIN_FILENO, &c, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? c : KEY_EOF;
}

/* What follows ESC: [ or O, perhaps numbers, and a letter or ~. Most of these
 * keys do what a control character does. */
static int
read_escape(void)
{
	static const struct {
		char end, number;
		short key;
	} keys[] = {
	    {'A', 0, CONTROL('P')},   {'B', 0, CONTROL('N')},
	    {'C', 0, CONTROL('F')},   {'D', 0, CONTROL('B')},
	    {'H', 0, CONTROL('A')},   {'F', 0, CONTROL('E')},
	    {'~', '1', CONTROL('A')}, {'~', '4', CONTROL('E')},
	    {'~', '3', KEY_DELETE},
	};
	int c = read_byte(), number = 0;
	size_t i;

	if (c != '[' && c != 'O')
		return KEY_OTHER;
	while ((c = read_byte()) == ';' || isdigit(c))
		number = c;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].end == c && (c != '~' || keys[i].number == number))
			return keys[i].key;
	return KEY_OTHER;
}

static void
move(struct editor *e, size_t pos)
{
	if (pos <= e->line->len) { /* one below 0 isn't, either */
		e->pos = pos;
		redraw(e);
	}
}

static void
clear_screen(struct editor *e)
{
	out_str("\033[H\033[2J");
	out_str(e->prompt);
	redraw(e);
}

/* Keys that move the cursor or choose a line; false: it isn't one. */
static bool
move_key(struct editor *e, int key)
{
	switch (key) {
	case CONTROL('A'):
		move(e, 0);
		return true;
	case CONTROL('E'):
		move(e, e->line->len);
		return true;
	case CONTROL('B'):
		move(e, e->pos - 1);
		return true;
	case CONTROL('F'):
		move(e, e->pos + 1);
		return true;
	case CONTROL('P'):
		recall(e, e->back + 1);
		return true;
	case CONTROL('N'):
		recall(e, e->back - 1);
		return true;
	}
	return false;
}

/* Keys that change the line. */
static void
change_key(struct editor *e, int key)
{
	size_t pos = e->pos, len = e->line->len;
	char c = key;

	if ((key == CONTROL('H') || key == DEL) && pos > 0)
		erase(e, pos - 1, pos);
	else if ((key == CONTROL('D') || key == KEY_DELETE) && pos < len)
		erase(e, pos, pos + 1);
	else if (key == CONTROL('W'))
		erase(e, word_start(e), pos);
	else if (key == CONTROL('U'))
		erase(e, 0, pos);
	else if (key == CONTROL('K'))
		erase(e, pos, len);
	else if (key == CONTROL('L'))
		clear_screen(e);
	else if (key == '\t')
		complete(e);
	else if (key < KEY_DELETE && (isprint(key) || key > DEL))
		insert(e, &c, 1);
}

/* Keys until one ends the line. */
static enum edited
edit_keys(struct editor *e)
{
	for (;;) {
		int key = read_byte();

		if (key == '\033')
			key = read_escape();
		if (key == '\n' || key == '\r')
			return EDIT_LINE;
		if (key == CONTROL('C')) {
			out_str("^C");
			return EDIT_INTERRUPTED;
		}
		if (key == KEY_EOF || (key == CONTROL('D') && !e->line->len))
			return EDIT_EOF;
		if (!move_key(e, key))
			change_key(e, key);
	}
}

static size_t
columns(void)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
		return COLUMNS;
	return w.ws_col < COLUMNS_LEAST ? COLUMNS_LEAST : w.ws_col;
}

enum edited
edit_line(const char *prompt, struct buf *line)
{
	const char *row = strrchr(prompt, '\n');
	struct editor e = {.line = line, .prompt = row ? row + 1 : prompt};
	size_t room = columns() - 1, taken = strlen(e.prompt);
	struct termios cooked, raw;
	enum edited result;

	e.width = taken < room / 2 ? room - taken : room / 2;
	buf_add(line, "", 0);
	tcgetattr(STDIN_FILENO, &cooked);
	raw = cooked;
	raw.c_lflag &= ~(ICANON | ECHO | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	out_str(prompt);
	out_flush();
	result = edit_keys(&e);
	out_char('\n');
	out_flush();
	tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
	if (result == EDIT_LINE) {
		history_add(line->s);
		buf_put(line, '\n');
	}
	buf_free(&e.kept);
	return result;
}

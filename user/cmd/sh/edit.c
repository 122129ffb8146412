/*
 * A line typed at the terminal. It is in raw mode from the first key to the
 * command's last line: edit_done ends that. A key is a byte, but for those
 * that send an escape sequence.
 *
 *	^A Home, ^E End        to the beginning, the end
 *	^B Left, ^F Right      one character
 *	^H Backspace, ^D Del   delete before, under the cursor
 *	^W, ^U, ^K             delete the word before, all before, all after
 *	^P Up, ^N Down         older, newer lines
 *	^R                     search for an older line
 *	Tab                    complete the word, or show how it may go on
 *	^L                     clear the screen, and ask for its size
 *	^C, ^D                 give the line up; on an empty line, end of file
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../../../lib/utf8.h"
#include "../../cmdlib/show.h"
#include "edit.h"

#define CONTROL(c) ((c)&0x1f)
#define DEL        0x7f
#define KEY_DELETE 0x100 /* these are no characters */
#define KEY_OTHER  0x101
#define KEY_EOF    0x102
#define KEY_SIZE   0x103 /* the terminal has said what it is */

/* Where no cursor can be: the terminal stops at its last row and column, and
 * reports that. */
#define ASK_SIZE "\033[999;999H\033[6n"

struct editor {
	struct buf *line;
	struct screen screen;
	size_t pos;      /* the cursor, in line */
	bool plain;      /* a text's line: a tab is a tab */
	int back;        /* lines back in history; 0: the new one */
	struct buf kept; /* the new one meanwhile */
};

static struct termios cooked; /* what edit_done puts back, if raw is set */
static bool raw;
static bool asked; /* for the terminal's size */

static void
draw(struct editor *e)
{
	screen_draw(&e->screen, e->line, e->pos);
	out_flush();
}

static void
move(struct editor *e, size_t pos)
{
	e->pos = pos;
	screen_move(&e->screen, e->line, pos);
	out_flush();
}

/* Put n bytes at the cursor; what comes at the end just appears. */
static void
insert(struct editor *e, const char *s, size_t n)
{
	struct buf *l = e->line;
	size_t from = e->pos;
	bool last = from == l->len;

	buf_add(l, s, n);
	memmove(l->s + from + n, l->s + from, l->len - n - from);
	memcpy(l->s + from, s, n);
	e->pos += n;
	if (!last)
		draw(e);
	else
		screen_append(&e->screen, l, from);
	out_flush();
}

/* Delete the characters from one place to another; the cursor goes there. */
static void
erase(struct editor *e, size_t from, size_t to)
{
	struct buf *l = e->line;

	memmove(l->s + from, l->s + to, l->len - to + 1);
	l->len -= to - from;
	e->pos = from;
	draw(e);
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

static void
replace(struct editor *e, const char *s)
{
	e->line->len = 0;
	buf_add(e->line, s, strlen(s));
	e->pos = e->line->len;
}

/* Show the line that is so many back in history. */
static void
recall(struct editor *e, int back)
{
	const char *s = history_line(back);

	if (back < 0 || (back > 0 && !s))
		return;
	if (e->back == 0) {
		e->kept.len = 0;
		buf_add(&e->kept, e->line->s, e->line->len);
	}
	e->back = back;
	replace(e, back ? s : e->kept.s);
	draw(e);
}

/* Print what a word may become, and the line again below it. */
static void
show_choices(struct editor *e, struct strings *found)
{
	size_t i;

	screen_leave(&e->screen, e->line);
	for (i = 0; i < found->n; i++) {
		const char *name = found->v[i];

		out_str(show_name(arena_strndup(scratch, name, strlen(name))));
		out_str(i + 1 < found->n ? "  " : "\n");
	}
	screen_start(&e->screen, e->screen.prompt);
	draw(e);
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

/* Before the first word there is nothing to complete: a tab indents, as it
 * does in a text, and in both it may have been pasted. */
static void
tab(struct editor *e)
{
	if (e->plain || strspn(e->line->s, " \t") >= e->pos)
		insert(e, "\t", 1);
	else
		complete(e);
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

/* The terminal's answer to ASK_SIZE. */
static int
set_size(const int *number)
{
	struct winsize size = {.ws_row = number[0], .ws_col = number[1]};

	if (!asked || number[0] <= 0 || number[1] <= 0)
		return KEY_OTHER;
	asked = false;
	ioctl(STDOUT_FILENO, TIOCSWINSZ, &size);
	return KEY_SIZE;
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
	    {'A', 0, CONTROL('P')}, {'B', 0, CONTROL('N')},
	    {'C', 0, CONTROL('F')}, {'D', 0, CONTROL('B')},
	    {'H', 0, CONTROL('A')}, {'F', 0, CONTROL('E')},
	    {'~', 1, CONTROL('A')}, {'~', 4, CONTROL('E')},
	    {'~', 3, KEY_DELETE},
	};
	int c = read_byte(), number[2] = {0}, i = 0;
	size_t k;

	if (c != '[' && c != 'O')
		return KEY_OTHER;
	while ((c = read_byte()) == ';' || isdigit(c)) {
		if (c == ';')
			i = 1;
		else if (number[i] < 1000)
			number[i] = 10 * number[i] + c - '0';
	}
	if (c == 'R')
		return set_size(number);
	for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		if (keys[k].end == c && (c != '~' || keys[k].number == *number))
			return keys[k].key;
	return KEY_OTHER;
}

static int
read_key(void)
{
	int key = read_byte();

	return key == '\033' ? read_escape() : key;
}

static bool
is_text(int key)
{
	return key < KEY_DELETE && (isprint(key) || key > DEL);
}

/* A character: the byte that it begins with, and those that belong to it. */
static void
insert_character(struct editor *e, int key)
{
	char bytes[UTF8_MAX] = {key};
	size_t n = 1, more = key >= 0xf0 ? 3 : key >= 0xe0 ? 2 : key >= 0xc0;

	while (n <= more && (key = read_byte()) < KEY_DELETE) {
		bytes[n++] = key;
		if (!utf8_continues(key))
			break;
	}
	insert(e, bytes, n);
}

static void
clear_screen(struct editor *e)
{
	out_str(ASK_SIZE "\033[H\033[2J");
	asked = true;
	screen_start(&e->screen, e->screen.prompt);
	draw(e);
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
		move(e, character_before(e->line, e->pos));
		return true;
	case CONTROL('F'):
		move(e, character_end(e->line, e->pos));
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

/* Keys that change the line, or the screen. */
static void
change_key(struct editor *e, int key)
{
	size_t pos = e->pos, len = e->line->len;

	if ((key == CONTROL('H') || key == DEL) && pos > 0) {
		erase(e, character_before(e->line, pos), pos);
	} else if ((key == CONTROL('D') || key == KEY_DELETE) && pos < len) {
		erase(e, pos, character_end(e->line, pos));
	} else if (key == CONTROL('W')) {
		erase(e, word_start(e), pos);
	} else if (key == CONTROL('U')) {
		erase(e, 0, pos);
	} else if (key == CONTROL('K')) {
		erase(e, pos, len);
	} else if (key == CONTROL('L')) {
		clear_screen(e);
	} else if (key == KEY_SIZE) {
		screen_measure(&e->screen);
		draw(e);
	} else if (key == '\t') {
		tab(e);
	} else if (is_text(key)) {
		insert_character(e, key);
	}
}

/* A search for an older line, as ^R begins it. */
struct search {
	struct buf text, prompt;
	int back; /* where it was found; 0: not yet */
};

/* Find the text in a line that is so many back, or an older one. */
static void
search_from(struct editor *e, struct search *s, int back)
{
	const char *line, *at = NULL;

	for (; (line = history_line(back)); back++)
		if ((at = strstr(line, s->text.s)))
			break;
	if (at && s->text.len > 0) {
		s->back = back;
		replace(e, line);
		e->pos = at - line;
	}
	s->prompt.len = 0;
	buf_add(&s->prompt, at ? "(search '" : "(no '", at ? 9 : 5);
	buf_add(&s->prompt, s->text.s, s->text.len);
	buf_add(&s->prompt, "'): ", 4);
	e->screen.prompt = s->prompt.s;
	draw(e);
}

/* Keys until one ends the search, which it gives. */
static int
search_keys(struct editor *e, struct search *s)
{
	for (;;) {
		int key = read_key();
		char c = key;

		if (key == CONTROL('R')) {
			search_from(e, s, s->back + 1);
		} else if (key == CONTROL('H') || key == DEL) {
			s->text.len = character_before(&s->text, s->text.len);
			s->text.s[s->text.len] = '\0';
			search_from(e, s, 1);
		} else if (is_text(key)) {
			buf_add(&s->text, &c, 1);
			search_from(e, s, s->back ? s->back : 1);
		} else {
			return key;
		}
	}
}

/* ^R: the line that is found takes the place of this one, unless ^C or ^G
 * gives up. Gives the key that goes on with it. */
static int
search(struct editor *e)
{
	const char *prompt = e->screen.prompt;
	struct buf before = {0};
	struct search s = {0};
	int key;

	buf_add(&before, e->line->s, e->line->len);
	buf_add(&s.text, "", 0);
	search_from(e, &s, 1);
	key = search_keys(e, &s);
	if (key == CONTROL('C') || key == CONTROL('G')) {
		replace(e, before.s);
		key = KEY_OTHER;
	}
	e->screen.prompt = prompt;
	draw(e);
	buf_free(&before);
	buf_free(&s.text);
	buf_free(&s.prompt);
	return key;
}

/* Keys until one ends the line. */
static enum edited
edit_keys(struct editor *e)
{
	for (;;) {
		int key = read_key();

		if (key == CONTROL('R') && !e->plain)
			key = search(e);
		if (key == '\n' || key == '\r')
			return EDIT_LINE;
		if (key == CONTROL('C'))
			return EDIT_INTERRUPTED;
		if (key == KEY_EOF || (key == CONTROL('D') && !e->line->len))
			return EDIT_EOF;
		if (!move_key(e, key))
			change_key(e, key);
	}
}

/* What was typed before this waits, and is read by keys. */
static void
set_raw(void)
{
	struct termios keys;

	if (raw || tcgetattr(STDIN_FILENO, &cooked) < 0)
		return;
	keys = cooked;
	keys.c_lflag &= ~(ICANON | ECHO | ISIG);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	raw = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

void
edit_done(void)
{
	if (raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
	raw = false;
}

/* A signal that comes at the prompt, or too late for the last command, must
 * not end the next. */
static void
take_signals(void)
{
	set_raw();
	while (trap_caught) {
		edit_done();
		trap_run();
		sh.flow = FLOW_NONE;
		set_raw();
	}
}

enum edited
edit_line(const char *prompt, bool plain, struct buf *line)
{
	const char *row = strrchr(prompt, '\n');
	struct editor e = {.line = line, .plain = plain};
	enum edited result;

	buf_add(line, "", 0);
	take_signals();
	for (; row && prompt <= row; prompt++)
		out_char(*prompt);
	screen_start(&e.screen, prompt);
	out_flush();
	result = edit_keys(&e);
	take_signals();
	screen_move(&e.screen, line, line->len);
	out_str(result == EDIT_INTERRUPTED ? "^C\n" : "\n");
	out_flush();
	if (result == EDIT_LINE) {
		if (!plain)
			history_add(line->s);
		buf_put(line, '\n');
	}
	buf_free(&e.kept);
	return result;
}

/*
 * The line discipline. In canonical mode (ICANON) the ring's part from ready
 * to typed is the line being typed, which can still be changed; a newline or
 * ^D hands it over. In raw mode there is no such part. What is typed ahead
 * is kept until the ring is full; then the bell answers.
 *
 * Line editing knows ^H and DEL (or VERASE), ^U (VKILL), ^W, ^D (VEOF); VINTR,
 * VQUIT and VSUSP signal the foreground process group. A control character is
 * echoed as ^X. A character's bytes in UTF-8 are erased together.
 */
#include "line.h"

#include "../proc/proc.h"
#include "uart.h"

#define CTRL(c)  ((c)&0x1f)
#define BELL     '\a'
#define DELETE   0x7f
#define EOF_MARK 0x100 /* beside a ^D in the ring: it ends a line */

struct line line = {
    .t = {.c_iflag = ICRNL,
	  .c_oflag = OPOST | ONLCR,
	  .c_cflag = CS8,
	  .c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | IEXTEN,
	  .c_cc = {[VINTR] = CTRL('C'),
		   [VQUIT] = CTRL('\\'),
		   [VERASE] = DELETE,
		   [VKILL] = CTRL('U'),
		   [VEOF] = CTRL('D'),
		   [VSUSP] = CTRL('Z'),
		   [VMIN] = 1}},
};

/* Is c the control character at index i? 0 there: the function is off. */
static bool
is_cc(char c, int i)
{
	return line.t.c_cc[i] && (cc_t)c == line.t.c_cc[i];
}

static bool
is_control(char c)
{
	return (unsigned char)c < ' ' || c == DELETE;
}

/* Show what was typed; if there's no room, it isn't shown. */
static void
echo(char c)
{
	if (c == '\n' &&
	    (line_flag(ECHO) || (line_flag(ECHONL) && line_flag(ICANON))))
		uart_put("\r\n", 2);
	else if (line_flag(ECHO) && is_control(c))
		uart_put((char[]){'^', c ^ 0x40}, 2);
	else if (line_flag(ECHO))
		uart_put(&c, 1);
}

void
line_hand_over(void)
{
	line.ready = line.typed;
}

void
line_flush(void)
{
	line.read = line.ready = line.typed;
}

/* Put c into the ring, unless only `spare` places are left in it. */
static bool
append(uint16_t c, size_t spare)
{
	if (line.typed - line.read + spare >= LINE_RING) {
		if (line_flag(ECHO))
			uart_put((char[]){BELL}, 1);
		return false;
	}
	line.ring[line.typed++ % LINE_RING] = c;
	return true;
}

/* The last character of the line being typed; there must be one. */
static char
last_typed(void)
{
	return line.ring[(line.typed - 1) % LINE_RING];
}

/* Erase the last character, in UTF-8 all its bytes; from the screen too. */
static void
erase(void)
{
	char c;

	do {
		c = last_typed();
		line.typed--;
	} while (((unsigned char)c & 0xc0) == 0x80 && line.typed != line.ready);
	if (!line_flag(ECHO) || !line_flag(ECHOE))
		return;
	uart_put("\b \b", 3);
	if (is_control(c))
		uart_put("\b \b", 3);
}

static void
erase_line(void)
{
	while (line.typed != line.ready)
		erase();
	if (line_flag(ECHOK) && !line_flag(ECHOE))
		echo('\n');
}

/* Blanks, and what stands before them up to a blank. */
static void
erase_word(void)
{
	while (line.typed != line.ready && last_typed() == ' ')
		erase();
	while (line.typed != line.ready && last_typed() != ' ')
		erase();
}

static void
input_canonical(char c)
{
	if (is_cc(c, VERASE) || c == CTRL('H')) {
		if (line.typed != line.ready)
			erase();
	} else if (is_cc(c, VKILL)) {
		erase_line();
	} else if (c == CTRL('W') && line_flag(IEXTEN)) {
		erase_word();
	} else if (is_cc(c, VEOF)) {
		if (append(EOF_MARK | c, 0))
			line_hand_over();
	} else if (c == '\n') {
		if (append(c, 0)) {
			echo(c);
			line_hand_over();
		}
	} else if (append((unsigned char)c, 1)) { /* a newline still fits */
		echo(c);
	}
}

/* If c is one that signals, do so, and forget what was typed before. */
static bool
input_signal(char c)
{
	static const struct {
		int cc, signal;
	} keys[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!line_flag(ISIG) || !is_cc(c, keys[i].cc))
			continue;
		if (!line_flag(NOFLSH))
			line_flush();
		if (line_flag(ECHO)) {
			echo(c);
			echo('\n');
		}
		if (line.pgrp && !signal_send_group(line.pgrp, keys[i].signal))
			line.signalled = keys[i].signal;
		return true;
	}
	return false;
}

/*
 * A key that signals may be hit when the foreground's last process is about
 * to end, and past taking signals: then it is meant for who comes next. (A
 * shell with a loop of short commands could hardly be interrupted else.)
 */
void
line_foreground(pid_t pgrp)
{
	line.pgrp = pgrp;
	if (line.signalled && signal_send_group(pgrp, line.signalled))
		line.signalled = 0;
}

void
line_input(char c)
{
	if (c == '\r' && line.t.c_iflag & ICRNL)
		c = '\n';
	if (input_signal(c))
		return;
	if (line_flag(ICANON)) {
		input_canonical(c);
	} else if (append((unsigned char)c, 0)) {
		echo(c);
		line_hand_over();
	}
}

/* Does the place at i end a line without being part of it? */
static bool
is_eof(size_t i)
{
	return line_flag(ICANON) && line.ring[i % LINE_RING] & EOF_MARK;
}

static bool
is_newline(size_t i)
{
	return line_flag(ICANON) && line.ring[i % LINE_RING] == '\n';
}

size_t
line_count(size_t max)
{
	size_t i = line.read;

	while (i != line.ready && i - line.read < max && !is_eof(i))
		if (is_newline(i++))
			break;
	return i - line.read;
}

/* A ^D right after these bytes is taken with them: else it would be an end of
 * file of its own to the next read. After a newline it is one. */
size_t
line_take(char *buf, size_t max)
{
	size_t n = line_count(max);

	for (size_t i = 0; i < n; i++)
		buf[i] = line.ring[line.read++ % LINE_RING];
	if (line.read != line.ready && is_eof(line.read) &&
	    (n == 0 || !is_newline(line.read - 1)))
		line.read++;
	return n;
}

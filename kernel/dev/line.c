/*
 * The line discipline. What is typed goes into one ring. What comes in raw
 * mode and is read in canonical mode is taken as if it were typed then: whoever
 * types ahead need not know when a shell's editor lets go of the terminal.
 *
 *	read .. ready   lines to be read (canonical mode only)
 *	ready .. typed  the line being typed, which can still be changed
 *	raw .. end      typed, but neither echoed nor edited yet
 *
 * In canonical mode (ICANON) a key that finds nothing in the last part is
 * edited and echoed at once; a newline or ^D hands the line over. What was
 * typed in raw mode waits there until a canonical read comes, which takes it
 * through the same steps, a line at a time. In raw mode the other two parts
 * are empty. When the ring is full the bytes wait in the port (uart.c).
 *
 * Line editing knows ^H and DEL (or VERASE), ^U (VKILL), ^W, ^D (VEOF); VINTR,
 * VQUIT and VSUSP signal the foreground process group as soon as they come. A
 * control character is echoed as ^X. With IUTF8 a character of UTF-8 is
 * erased whole, with the marks on it and all its columns.
 */
#include "line.h"

#include "../../lib/utf8.h"
#include "../proc/proc.h"
#include "uart.h"

#define CTRL(c) ((c)&0x1f)
#define BELL    '\a'
#define DELETE  0x7f

struct line line = {
    .t = {.c_iflag = ICRNL | IUTF8,
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

static char *
place(size_t i)
{
	return &line.ring[i % LINE_RING];
}

size_t
line_room(void)
{
	return LINE_RING - (line.end - line.read);
}

/* Forget what was typed up to a place in or before the last part. */
static void
forget(size_t to)
{
	line.read = line.ready = line.typed = line.raw = to;
}

void
line_flush(void)
{
	forget(line.end);
}

void
line_uncook(void)
{
	size_t n = line.typed - line.read, gap = line.raw - line.typed;

	while (gap > 0 && n-- > 0)
		*place(line.read + gap + n) = *place(line.read + n);
	forget(line.read + gap);
}

/* Put c at the end of the line being typed. A line that fills the ring can't
 * grow, and whoever reads may have it as it is. */
static void
append(char c)
{
	*place(line.typed++) = c;
	if (line.typed - line.read == LINE_RING)
		line.ready = line.typed;
}

/* Drop the last character; gives the columns that it took on the screen. */
static int
drop_character(void)
{
	char bytes[UTF8_MAX], *s = bytes + UTF8_MAX;
	size_t n = 0, most = line.t.c_iflag & IUTF8 ? UTF8_MAX : 1;
	int width;

	do
		*--s = *place(--line.typed);
	while (++n < most && line.typed != line.ready && utf8_continues(*s));
	utf8_next(s, n, &width);
	return is_control(*s) ? 2 : width;
}

/* Erase the last character and the marks that stand on it, from the screen
 * too. There must be one. */
static void
erase(void)
{
	int width;

	do
		width = drop_character();
	while (width == 0 && line.typed != line.ready);
	while (line_flag(ECHO) && line_flag(ECHOE) && width-- > 0)
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
	while (line.typed != line.ready && *place(line.typed - 1) == ' ')
		erase();
	while (line.typed != line.ready && *place(line.typed - 1) != ' ')
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
		append(c);
		line.ready = line.typed;
	} else {
		append(c);
		echo(c);
		if (c == '\n')
			line.ready = line.typed;
	}
}

/* The signal that c stands for; 0: none. */
static int
signal_of(char c)
{
	static const struct {
		int cc, signal;
	} keys[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (is_cc(c, keys[i].cc))
			return keys[i].signal;
	return 0;
}

/* Send a key's signal, and forget what was typed before it, which ends at
 * the place given. */
static void
send_signal(char c, size_t before)
{
	int signal = signal_of(c);

	if (!line_flag(NOFLSH))
		forget(before);
	if (line_flag(ECHO)) {
		echo(c);
		echo('\n');
	}
	if (line.pgrp && !signal_send_group(line.pgrp, signal))
		line.signalled = signal;
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
line_late_signal(void)
{
	char c = *place(line.key - 1);

	if (!line_flag(ISIG))
		return;
	if (line.key > line.raw && signal_of(c))
		send_signal(c, line.key);
	line.key = 0;
}

void
line_input(char c)
{
	bool canonical = line_flag(ICANON);

	if (c == '\r' && line.t.c_iflag & ICRNL)
		c = '\n';
	if (signal_of(c) && line_flag(ISIG)) {
		send_signal(c, line.end);
	} else if (canonical && line.raw == line.end) {
		input_canonical(c);
		line.raw = line.end = line.typed;
	} else {
		*place(line.end++) = c;
		if (signal_of(c))
			line.key = line.end;
		if (!canonical)
			echo(c);
	}
}

void
line_cook(void)
{
	while (line_flag(ICANON) && line.ready == line.read &&
	       line.raw != line.end) {
		char c = *place(line.raw++);

		if (signal_of(c) && line_flag(ISIG))
			send_signal(c, line.raw);
		else
			input_canonical(c);
	}
	if (line.raw == line.end)
		line.raw = line.end = line.typed;
}

size_t
line_waiting(void)
{
	return (line_flag(ICANON) ? line.ready : line.end) - line.read;
}

/* Does the place at i end a line without being part of it? */
static bool
is_eof(size_t i)
{
	return line_flag(ICANON) && is_cc(*place(i), VEOF);
}

static bool
is_newline(size_t i)
{
	return line_flag(ICANON) && *place(i) == '\n';
}

size_t
line_count(size_t max)
{
	size_t i = line.read, end = i + line_waiting();

	while (i != end && i - line.read < max && !is_eof(i))
		if (is_newline(i++))
			break;
	return i - line.read;
}

/* A ^D right after these bytes is taken with them: else it would be an end of
 * file of its own to the next read. After a newline it is one. */
size_t
line_copy(char *buf, size_t max, size_t *taken)
{
	size_t n = line_count(max), end = line.read + n;

	for (size_t i = 0; i < n; i++)
		buf[i] = *place(line.read + i);
	*taken = n;
	if (n != line_waiting() && is_eof(end) &&
	    (n == 0 || !is_newline(end - 1)))
		++*taken;
	return n;
}

void
line_take(size_t n)
{
	line.read += n;
	if (!line_flag(ICANON))
		forget(line.read);
}

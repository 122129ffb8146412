/*
 * The line discipline. All of it runs under console_lock, some of it in the
 * serial port's interrupt handler.
 *
 * In raw mode a character can be read as soon as it is typed. In canonical mode
 * (ICANON) a line can be edited while it is typed, and is read when a newline
 * or ^D has completed it. A shell changes the mode all the time: raw for its
 * own line editor, canonical for the programs that it runs. Whoever types ahead
 * doesn't know which mode is on. So input that comes in raw mode and is read in
 * canonical mode is treated as if it were typed when it is read.
 *
 * All input is in one ring, which five counters divide:
 *
 *	read .. ready   complete lines, which can be read
 *	ready .. typed  the line being typed, which can still be edited
 *	typed .. raw    a gap: characters that editing has used up
 *	raw .. end      typed, but not edited yet
 *
 * In raw mode the first three parts are empty, and reads take from the last. In
 * canonical mode a character is edited and echoed at once if the last part is
 * empty. Otherwise it is appended there, behind what was typed ahead, until a
 * read comes: line_cook then edits that, a line at a time. For example, if
 * "ls<DEL>x" was typed in raw mode and is read in canonical mode, the ring has
 *
 *	before line_cook	read = ready = typed = raw  l s DEL x  end
 *	after it		read = ready  l x  typed = raw = end
 *
 * When the ring is full, further bytes wait in the port (uart.c).
 *
 * ^H and VERASE (DEL) erase a character, VKILL (^U) the line, ^W a word. VEOF
 * (^D) completes a line without being part of it; an empty line is then the end
 * of file. VINTR, VQUIT and VSUSP signal the foreground process group as soon
 * as they are typed. A control character is echoed as ^X. With IUTF8 a
 * character of UTF-8 is erased whole, with the marks on it and all its columns.
 */
#include "line.h"

#include "base/compiler.h"
#include "driver/uart.h"
#include "lib/utf8.h"
#include "proc/signal.h"

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

/* Is c the key for function i, such as VERASE? A key of 0: there is none. */
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

/* Show a character that was typed. If the transmit ring has no room it isn't
 * shown: an interrupt handler can't wait. */
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
line_place(size_t i)
{
	return &line.ring[i % LINE_RING];
}

size_t
line_room(void)
{
	return LINE_RING - (line.end - line.read);
}

/* Discard all input before the counter `to`. What comes after it is then input
 * that isn't edited yet. */
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

/*
 * Move what was edited, read to typed, up by the gap: it then ends at raw, and
 * all input is in the last part. The last byte is moved first, as the old and
 * the new place may overlap.
 */
void
line_uncook(void)
{
	size_t n = line.typed - line.read, gap = line.raw - line.typed;

	while (gap > 0 && n-- > 0)
		*line_place(line.read + gap + n) = *line_place(line.read + n);
	forget(line.read + gap);
}

/* Append c to the line being typed. If that fills the ring, no newline can come
 * any more. So the line can be read as it is. */
static void
line_append(char c)
{
	*line_place(line.typed++) = c;
	if (line.typed - line.read == LINE_RING)
		line.ready = line.typed;
}

/* Remove the last character of the line being typed, which must not be empty,
 * and return how many columns it takes on the screen. */
static int
drop_character(void)
{
	char bytes[UTF8_MAX], *s = bytes + UTF8_MAX;
	size_t n = 0, most = line.t.c_iflag & IUTF8 ? UTF8_MAX : 1;
	int width;

	do
		*--s = *line_place(--line.typed);
	while (++n < most && line.typed != line.ready && utf8_continues(*s));
	utf8_next(s, n, &width);
	return is_control(*s) ? 2 : width;
}

/* Erase the last character of the line being typed, which must not be empty,
 * and the marks behind it that stand on it, which are of width 0. */
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

/* Erase the blanks at the end of the line, and then the word before them. */
static void
erase_word(void)
{
	while (line.typed != line.ready && *line_place(line.typed - 1) == ' ')
		erase();
	while (line.typed != line.ready && *line_place(line.typed - 1) != ' ')
		erase();
}

/* Edit the line by a character that was typed now or ahead. A VEOF stays in the
 * ring to mark where the line ends; line_count keeps it from being read. */
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
		line_append(c);
		line.ready = line.typed;
	} else {
		line_append(c);
		echo(c);
		if (c == '\n')
			line.ready = line.typed;
	}
}

/* The signal that key c stands for if ISIG is set; 0: none. */
static int
signal_of(char c)
{
	static const struct {
		int cc, signal;
	} keys[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (is_cc(c, keys[i].cc))
			return keys[i].signal;
	return 0;
}

/*
 * Send the signal of key c to the foreground, and discard what was typed before
 * it, up to the counter `before`. If nobody takes the signal, line_foreground
 * sends it later.
 */
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
 * When a key that signals is hit, the last process of the foreground may be
 * about to end and take no signals any more. The signal is then meant for the
 * next process group in the foreground. (Otherwise a shell's loop of short
 * commands could hardly be interrupted.)
 */
void
line_foreground(pid_t pgrp)
{
	line.pgrp = pgrp;
	if (line.signalled && signal_send_group(pgrp, line.signalled))
		line.signalled = 0;
}

/*
 * A shell's line editor turns ISIG off, and on again for the command. A ^C that
 * is typed while it is off is stored like other characters, and line.key is the
 * counter behind the last such key. If it hasn't been read before ISIG is on it
 * signals after all. (While key is 0, c is some byte that isn't used.)
 */
void
line_late_signal(void)
{
	char c = *line_place(line.key - 1);

	if (!line_flag(ISIG))
		return;
	if (line.key > line.raw && signal_of(c))
		send_signal(c, line.key);
	line.key = 0;
}

/*
 * A key that signals does so at once. In canonical mode with nothing typed
 * ahead, a character is edited at once: raw and end follow typed, which leaves
 * no gap. Otherwise it is appended to what isn't edited yet.
 */
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
		*line_place(line.end++) = c;
		if (signal_of(c))
			line.key = line.end;
		if (!canonical)
			echo(c);
	}
}

/* Only one line at a time, as the mode may change before the next one is read.
 * When nothing is left to edit, the gap is closed. */
void
line_cook(void)
{
	while (line_flag(ICANON) && line.ready == line.read &&
	       line.raw != line.end) {
		char c = *line_place(line.raw++);

		if (line.raw == line.key)
			line.key = 0; /* it is part of the line now */
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

/* Is there a VEOF at counter i, which ends a line without being part of it? */
static bool
is_eof(size_t i)
{
	return line_flag(ICANON) && is_cc(*line_place(i), VEOF);
}

static bool
is_newline(size_t i)
{
	return line_flag(ICANON) && *line_place(i) == '\n';
}

/* In canonical mode up to a newline, which counts, or a VEOF, which doesn't. */
size_t
line_count(size_t max)
{
	size_t i = line.read, end = i + line_waiting();

	while (i != end && i - line.read < max && !is_eof(i))
		if (is_newline(i++))
			break;
	return i - line.read;
}

/*
 * A VEOF right behind the bytes that were copied is removed with them: to the
 * next read it would be an end of file. For example, after "abc^D" one read
 * returns "abc", and the next one waits. But after "abc\n^D" the second read
 * returns 0: it copies nothing, and removes the VEOF.
 */
size_t
line_copy(char *buf, size_t max, size_t *taken)
{
	size_t n = line_count(max), end = line.read + n;

	for (size_t i = 0; i < n; i++)
		buf[i] = *line_place(line.read + i);
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

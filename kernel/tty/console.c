/*
 * The console: /dev/console, also called /dev/tty, and three more devices that
 * share its serial line, /dev/hostout, /dev/hosterr and /dev/hostdata.
 *
 * What is typed goes through the line discipline in line.c. This file has the
 * rest, in this order: output, input, ioctl, poll.
 *
 * /dev/hostout and /dev/hosterr are the standard output and error of a command
 * that scripts/run runs; /dev/hostdata is for what scripts/tally takes. All are
 * sent in chunks of at most CHUNK bytes, each unbroken and between marks, by
 * which the host's scripts tell it from all else:
 *
 *	DLE o (e, d)   the bytes, each DLE among them doubled   DLE k
 *
 * With the boot argument `framed` the console's output has such marks too, with
 * c: so no program's words are taken for the kernel's.
 *
 * console_lock guards the state of the console, including struct line. No user
 * memory may be touched under it: data goes through a buffer on the stack.
 */
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/riscv.h"
#include "driver/uart.h"
#include "fs/device.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "proc/signal.h"
#include "sched/lock.h"
#include "sched/poll.h"

#include "line.h"

enum { CONSOLE, HOSTOUT, HOSTERR, HOSTDATA };

#define DLE     0x10
#define CHUNK   256             /* bytes written at a time, */
#define ENCODED (2 * CHUNK + 4) /* which become so many at most */
#define READ    2048            /* bytes that a read returns at most */

#define TENTHS_PER_S 10 /* VTIME's unit */

/* Guards what follows, and line. Before the uart's lock in the lock order, and
 * before those that signals and wake-ups take. */
static struct spinlock console_lock = SPINLOCK5("console");
static struct winsize window GUARDED_BY(console_lock);
/* Those who wait for input, and for room. */
static struct waitq readers GUARDED_BY(console_lock) =
    WAITQ_FOR(readers, WAITS_CONSOLE_READ, 0);
static struct waitq writers GUARDED_BY(console_lock) =
    WAITQ_FOR(writers, WAITS_CONSOLE_WRITE, 0);

/*
 * Store in out what is sent for n bytes, at most CHUNK, and return its size.
 * ENCODED bytes are room enough: a byte becomes two at most, and marks are four
 * in all. The caller holds console_lock.
 */
static size_t
encode(unsigned int id, const char *buf, size_t n, char *out)
{
	static const char marks[] = {
	    [CONSOLE] = 'c',
	    [HOSTOUT] = 'o',
	    [HOSTERR] = 'e',
	    [HOSTDATA] = 'd',
	};
	bool framed = id != CONSOLE || bootarg_present("framed");
	bool returns = id == CONSOLE && line.t.c_oflag & OPOST &&
		       line.t.c_oflag & ONLCR;
	char *p = out;

	if (framed) {
		*p++ = DLE;
		*p++ = marks[id];
	}
	for (const char *end = buf + n; buf < end; buf++) {
		if (*buf == DLE && framed)
			*p++ = DLE;
		else if (*buf == '\n' && returns)
			*p++ = '\r';
		*p++ = *buf;
	}
	if (framed) {
		*p++ = DLE;
		*p++ = 'k';
	}
	return p - out;
}

/* Send one chunk: 0, -EAGAIN or -ERESTART. It is unbroken, as uart_put takes
 * all of it or nothing. */
static int
send_chunk(const struct file *f, unsigned int id, const char *buf, size_t n)
{
	char out[ENCODED];
	size_t size;
	int error = 0;

	spin_lock(&console_lock);
	size = encode(id, buf, n, out);
	while (error == 0 && !uart_put(out, size))
		error = f->flags & O_NONBLOCK
			    ? -EAGAIN
			    : wait_on(&writers, &console_lock);
	spin_unlock(&console_lock);
	return error;
}

/* If a chunk can't be sent, a write returns how much was sent before, or the
 * error if that is nothing. */
static ssize_t
console_write(struct vnode *v, struct file *f, struct uio *u)
{
	char buf[CHUNK];
	ssize_t total = 0;

	while (u->left) {
		ssize_t n = uio_from(u, buf, sizeof(buf));
		int error = n < 0 ? n : send_chunk(f, device_id(v), buf, n);

		if (error)
			return total ? total : error;
		total += n;
	}
	return total;
}

void
console_writable(void)
{
	spin_lock(&console_lock);
	wake_all(&writers);
	spin_unlock(&console_lock);
}

/* Wait until the port has taken all output: 0 or -ERESTART. The caller holds
 * console_lock, which is released during waits. */
static int
console_drain(void)
{
	int error = 0;

	must_hold(&console_lock);
	while (error == 0 && uart_room() < UART_RING)
		error = wait_on(&writers, &console_lock);
	return error;
}

/* Take what has come in from the port. If line's ring is full the rest waits
 * there, until console_make_room listens to the port again. */
void
console_readable(void)
{
	size_t waiting;
	char c;

	spin_lock(&console_lock);
	waiting = line_waiting();
	for (int i = 0; i < UART_FIFO && line_room() && uart_get(&c); i++)
		line_input(c);
	if (line_waiting() != waiting)
		wake_all(&readers);
	if (line_room() == 0)
		uart_listen(false);
	spin_unlock(&console_lock);
}

/* Bytes may have been removed from line's ring. Listen to the port again once
 * half of it is free, not for each byte. The caller holds console_lock. */
static void
console_make_room(void)
{
	must_hold(&console_lock);
	if (line_room() >= LINE_RING / 2)
		uart_listen(true);
}

/*
 * How many bytes must be there for a read of `want` bytes to return.
 *
 *	canonical mode		1: only complete lines are counted
 *	VMIN = 0, VTIME = 0	0: it never waits
 *	VMIN = 0, VTIME > 0	1
 *	VMIN > 0		VMIN, but no more than were asked for; 1 if the
 *				read must not wait
 */
static size_t
bytes_needed(const struct file *f, size_t want)
{
	size_t min = line.t.c_cc[VMIN];

	if (line_flag(ICANON))
		return 1;
	if (min == 0)
		return line.t.c_cc[VTIME] ? 1 : 0;
	if (f->flags & O_NONBLOCK)
		return 1;
	return min < want ? min : want;
}

/*
 * When a read that has `have` bytes stops waiting for more, as a value of
 * rdtime. VTIME is in tenths of a second. With VMIN = 0 it is how long to wait
 * for the first byte; with VMIN > 0, for each one after the first.
 */
static uint64_t
read_deadline(size_t have)
{
	if (line_flag(ICANON) || !line.t.c_cc[VTIME] ||
	    (line.t.c_cc[VMIN] && have == 0))
		return WAIT_FOREVER;
	return rdtime() + line.t.c_cc[VTIME] * machine.timebase / TENTHS_PER_S;
}

/*
 * Wait until a read of `want` bytes can return: 0, -EAGAIN or -ERESTART. After
 * 0 there may be nothing to read, if VTIME is over. The caller holds
 * console_lock, which is released during waits; the mode may change then.
 */
static int
wait_input(const struct file *f, size_t want)
{
	int error = 0;

	must_hold(&console_lock);
	for (;;) {
		size_t have;

		line_cook();
		have = line_waiting();
		if (error == -ETIMEDOUT || have >= bytes_needed(f, want))
			return 0;
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		error = wait_until(&readers, &console_lock,
				   read_deadline(have));
		if (error == -ERESTART)
			return error;
	}
}

/*
 * Bytes are copied to user memory without the lock, as that may fault, and
 * removed from the line only after that: a read with a bad address must not
 * lose input. Meanwhile another reader may have taken the same bytes, a signal
 * may have discarded them, or the mode may have changed: line.read, which never
 * goes down, or ICANON tells of that, or, when VEOF has changed, that fewer
 * bytes can be read than were copied. Then this read starts again.
 */
static ssize_t
console_read(struct vnode *, struct file *f, struct uio *u)
{
	const struct uio start = *u;
	char buf[READ];
	size_t n, from, taken, most = u->left < READ ? u->left : READ;
	tcflag_t canonical;
	int error = 0;

	if (u->left == 0)
		return 0;
	spin_lock(&console_lock);
	do {
		error = wait_input(f, most);
		if (error)
			break;
		from = line.read;
		canonical = line_flag(ICANON);
		n = line_copy(buf, most, &taken);
		spin_unlock(&console_lock);
		*u = start;
		error = uio_to(u, buf, n) == (ssize_t)n ? 0 : -EFAULT;
		spin_lock(&console_lock);
	} while (error == 0 &&
		 (line.read != from || line_flag(ICANON) != canonical ||
		  line_waiting() < taken));
	if (error == 0)
		line_take(taken);
	console_make_room();
	spin_unlock(&console_lock);
	return error ? error : (ssize_t)n;
}

/*
 * Change the settings. Input that waits is kept: if it is divided into lines in
 * another way now, line_uncook makes it as if just typed. Readers are woken, as
 * they may have to wait for something else. The caller holds console_lock.
 */
static void
change_termios(const struct termios *t)
{
	must_hold(&console_lock);
	if ((line.t.c_lflag ^ t->c_lflag) & ICANON ||
	    line.t.c_cc[VEOF] != t->c_cc[VEOF])
		line_uncook();
	line.t = *t;
	line_late_signal();
	wake_all(&readers);
}

/* TCSETS changes the settings at once, TCSETSW after all output has been sent,
 * and TCSETSF also discards the input that waits. */
static int
set_termios(unsigned int cmd, uintptr_t arg)
{
	struct termios t;
	int error;

	if (copy_in(&t, arg, sizeof(t)) != 0)
		return -EFAULT;
	spin_lock(&console_lock);
	error = cmd == TCSETS ? 0 : console_drain();
	if (error == 0) {
		if (cmd == TCSETSF)
			line_flush();
		change_termios(&t);
		console_make_room();
	}
	spin_unlock(&console_lock);
	return error;
}

/* Set the foreground process group, to which ^C and the like send a signal. */
static int
set_pgrp(uintptr_t arg)
{
	pid_t pgrp;
	bool exists;

	if (copy_in(&pgrp, arg, sizeof(pgrp)) != 0)
		return -EFAULT;
	if (pgrp <= 0)
		return -EINVAL;
	spin_lock(&proc_tree_lock);
	exists = proc_group_exists(pgrp);
	spin_unlock(&proc_tree_lock);
	if (!exists)
		return -EPERM;
	spin_lock(&console_lock);
	line_foreground(pgrp);
	spin_unlock(&console_lock);
	return 0;
}

/* Set the window's size. If it changes, the foreground is told by SIGWINCH. */
static int
set_size(uintptr_t arg)
{
	struct winsize size;

	if (copy_in(&size, arg, sizeof(size)) != 0)
		return -EFAULT;
	spin_lock(&console_lock);
	if (memcmp(&window, &size, sizeof(size)) != 0 && line.pgrp)
		signal_send_group(line.pgrp, SIGWINCH);
	window = size;
	spin_unlock(&console_lock);
	return 0;
}

/* Copy out to arg what the lock guards, no more than a struct termios. */
static int
get(uintptr_t arg, const void *what, size_t size)
{
	char copy[sizeof(struct termios)];

	spin_lock(&console_lock);
	memcpy(copy, what, size);
	spin_unlock(&console_lock);
	return copy_out(arg, copy, size);
}

/* FIONREAD: how many bytes a read would return now. */
static int
get_count(uintptr_t arg)
{
	int count;

	spin_lock(&console_lock);
	line_cook();
	count = line_count(LINE_RING);
	spin_unlock(&console_lock);
	return copy_out(arg, &count, sizeof(count));
}

static int
drain(void)
{
	int error;

	spin_lock(&console_lock);
	error = console_drain();
	spin_unlock(&console_lock);
	return error;
}

/* which: 0 what was typed, 1 output, which is never thrown away, 2 both. */
static int
flush(uintptr_t which)
{
	if (which > 2)
		return -EINVAL;
	spin_lock(&console_lock);
	if (which != 1) {
		line_flush();
		console_make_room();
	}
	spin_unlock(&console_lock);
	return 0;
}

static int
get_session(uintptr_t arg)
{
	pid_t session;

	spin_lock(&proc_tree_lock);
	session = current->proc->session;
	spin_unlock(&proc_tree_lock);
	return copy_out(arg, &session, sizeof(session));
}

static int
console_ioctl(struct vnode *v, struct file *, unsigned int cmd, uintptr_t arg)
{
	if (device_id(v) != CONSOLE)
		return -ENOTTY;
	switch (cmd) {
	case TCGETS:
		return get(arg, &line.t, sizeof(line.t));
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_termios(cmd, arg);
	case TCSBRK:
		return drain();
	case TCXONC:
		return arg <= 3 ? 0 : -EINVAL;
	case TCFLSH:
		return flush(arg);
	case TIOCSCTTY:
		return 0;
	case TIOCGSID:
		return get_session(arg);
	case TIOCGPGRP:
		return get(arg, &line.pgrp, sizeof(line.pgrp));
	case TIOCSPGRP:
		return set_pgrp(arg);
	case TIOCGWINSZ:
		return get(arg, &window, sizeof(window));
	case TIOCSWINSZ:
		return set_size(arg);
	case FIONREAD:
		return get_count(arg);
	default:
		return -ENOTTY;
	}
}

/* What is ready now: a write if there is room for a whole chunk. */
static unsigned int
console_poll(struct vnode *v, struct file *)
{
	unsigned int ready = 0;

	spin_lock(&console_lock);
	poll_out(&writers);
	if (uart_room() >= ENCODED)
		ready |= POLLOUT;
	if (device_id(v) == CONSOLE) {
		poll_in(&readers);
		line_cook();
		if (line_waiting())
			ready |= POLLIN;
	}
	spin_unlock(&console_lock);
	return ready;
}

/* By the boot arguments rows and columns, scripts/run passes on the size of the
 * terminal that it was called from. No other hart runs yet. */
static UNGUARDED void
console_init(void)
{
	window.ws_row = bootarg_number("rows", 24);
	window.ws_col = bootarg_number("columns", 80);
}

static const struct devfile files[] = {
    {.name = "console", .id = CONSOLE, .mode = 0666},
    {.name = "tty", .id = CONSOLE, .mode = 0666},
    {.name = "hostout", .id = HOSTOUT, .mode = 0222},
    {.name = "hosterr", .id = HOSTERR, .mode = 0222},
    {.name = "hostdata", .id = HOSTDATA, .mode = 0222},
    {0},
};

const struct device console_device = {
    .files = files,
    .stream = true,
    .init = console_init,
    .ops.read = console_read,
    .ops.write = console_write,
    .ops.ioctl = console_ioctl,
    .ops.poll = console_poll,
};

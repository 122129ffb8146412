/*
 * The console: /dev/console, also called /dev/tty, and the two channels that
 * share its line. What is typed goes through the line discipline in line.c.
 *
 * /dev/hostout and /dev/hosterr are for scripts/run, which tells a command's
 * output from all else on the line: at most CHUNK bytes at a time go out as
 * DLE o (or e), the bytes with each DLE doubled, DLE k; nothing comes between.
 * With the boot argument `framed` what goes to the console itself does so as
 * DLE c...: no program's words are taken for the kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../machine.h"
#include "../proc/proc.h"
#include "../syscall.h"
#include "dev.h"
#include "line.h"
#include "uart.h"

enum { CONSOLE, HOSTOUT, HOSTERR };

#define DLE     0x10
#define CHUNK   256             /* bytes written at a time, */
#define ENCODED (2 * CHUNK + 4) /* which can become as many */
#define READ    2048            /* bytes that a read gives at most */

#define TENTHS_PER_S 10 /* VTIME's unit */

/* Guards what follows, and line. The uart's lock comes after it. */
static struct spinlock console_lock = SPINLOCK5("console");
static struct winsize window;
static struct waitq readers = WAITQ_INIT(readers); /* wait for input */
static struct waitq writers = WAITQ_INIT(writers); /* for room to write */

/* As it goes out on the line; out has room for ENCODED bytes. */
static size_t
encode(unsigned int id, const char *buf, size_t n, char *out)
{
	static const char marks[] = {
	    [CONSOLE] = 'c', [HOSTOUT] = 'o', [HOSTERR] = 'e'};
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

/* Send one chunk, unbroken: 0, -EAGAIN or -ERESTART. */
static int
send_chunk(const struct file *f, unsigned int id, const char *buf, size_t n)
{
	char out[ENCODED];
	size_t size;
	int err = 0;

	spin_lock(&console_lock);
	size = encode(id, buf, n, out);
	while (err == 0 && !uart_put(out, size))
		err = f->flags & O_NONBLOCK ? -EAGAIN
					    : wait_on(&writers, &console_lock);
	spin_unlock(&console_lock);
	return err;
}

static ssize_t
console_write(struct vnode *v, struct file *f, struct uio *u)
{
	char buf[CHUNK];
	ssize_t total = 0;

	while (u->left) {
		ssize_t n = uio_from(u, buf, sizeof(buf));
		int err = n < 0 ? n : send_chunk(f, dev_id(v), buf, n);

		if (err)
			return total ? total : err;
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

/* Wait until all that was written has gone out. The lock is held. */
static int
drain(void)
{
	int err = 0;

	while (err == 0 && uart_room() < UART_RING)
		err = wait_on(&writers, &console_lock);
	return err;
}

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

/* Some of what was typed is gone from the line. It pays to listen to the port
 * again when there is much room. The lock is held. */
static void
make_room(void)
{
	if (line_room() >= LINE_RING / 2)
		uart_listen(true);
}

/* How many bytes a read of at most `want` waits for, by the terminal's mode. */
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

/* When to give up waiting: with VMIN, VTIME counts from the last byte. */
static uint64_t
read_deadline(size_t have)
{
	if (line_flag(ICANON) || !line.t.c_cc[VTIME] ||
	    (line.t.c_cc[VMIN] && have == 0))
		return WAIT_FOREVER;
	return rdtime() + line.t.c_cc[VTIME] * machine.timebase / TENTHS_PER_S;
}

/* Wait for input, for a read of at most `want` bytes: 0, -EAGAIN or -ERESTART.
 * The lock is held. */
static int
wait_input(const struct file *f, size_t want)
{
	int err = 0;

	for (;;) {
		size_t have;

		line_cook();
		have = line_waiting();
		if (err == -ETIMEDOUT || have >= bytes_needed(f, want))
			return 0;
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_until(&readers, &console_lock, read_deadline(have));
		if (err == -ERESTART)
			return err;
	}
}

/*
 * What a read gives is copied out without the lock, and taken off the line
 * after that, or a bad address would lose it. If another has taken it
 * meanwhile, or changed the mode, this one reads once more.
 */
static ssize_t
console_read(struct vnode *, struct file *f, struct uio *u)
{
	char buf[READ];
	size_t n, from, taken, most = u->left < READ ? u->left : READ;
	tcflag_t canonical;
	int err = 0;

	if (u->left == 0)
		return 0;
	spin_lock(&console_lock);
	do {
		err = wait_input(f, most);
		if (err)
			break;
		from = line.read;
		canonical = line_flag(ICANON);
		n = line_copy(buf, most, &taken);
		spin_unlock(&console_lock);
		err = copy_out(u->base, buf, n);
		spin_lock(&console_lock);
	} while (err == 0 &&
		 (line.read != from || line_flag(ICANON) != canonical));
	if (err == 0)
		line_take(taken);
	make_room();
	spin_unlock(&console_lock);
	return err ? err : (ssize_t)n;
}

/* Nothing that waits is lost, whatever changes. The lock is held. */
static void
change_termios(const struct termios *t)
{
	if ((line.t.c_lflag ^ t->c_lflag) & ICANON ||
	    line.t.c_cc[VEOF] != t->c_cc[VEOF])
		line_uncook();
	line.t = *t;
	line_late_signal();
	wake_all(&readers);
}

static int
set_termios(unsigned int cmd, uintptr_t arg)
{
	struct termios t;
	int err;

	if (copy_in(&t, arg, sizeof(t)) != 0)
		return -EFAULT;
	spin_lock(&console_lock);
	err = cmd == TCSETS ? 0 : drain();
	if (err == 0) {
		if (cmd == TCSETSF)
			line_flush();
		change_termios(&t);
		make_room();
	}
	spin_unlock(&console_lock);
	return err;
}

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
console_ioctl(struct vnode *v, struct file *, unsigned int cmd, uintptr_t arg)
{
	if (dev_id(v) != CONSOLE)
		return -ENOTTY;
	switch (cmd) {
	case TCGETS:
		return get(arg, &line.t, sizeof(line.t));
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_termios(cmd, arg);
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

static unsigned int
console_poll(struct vnode *v, struct file *)
{
	unsigned int ready = 0;

	spin_lock(&console_lock);
	writers.polled = true;
	if (uart_room() >= ENCODED)
		ready |= POLLOUT;
	if (dev_id(v) == CONSOLE) {
		readers.polled = true;
		line_cook();
		if (line_waiting())
			ready |= POLLIN;
	}
	spin_unlock(&console_lock);
	return ready;
}

/* scripts/run says how large the terminal is that it was called from. */
static void
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

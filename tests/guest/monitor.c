/*
 * monitor, monstartup and moncontrol: monitor(3). Ticks are made up, so every
 * byte of mon.out is known. Calls are counted in tests/guest/gmon, which is
 * compiled with -pg.
 */
#include <mon.h>

#include "profil.h"

#define NARROW 0x100
#define WIDE   0x30000 /* bytes of text: three ranges of profil's */
#define CELL   8       /* counters */

/* mon.out as it was read last. */
static struct {
	uint64_t low, high, cells;
	unsigned short counts[WIDE / 2];
} out;
static ssize_t size;

static unsigned short buffer[NARROW];

static void *
text(unsigned long d)
{
	return (void *)(TEXT + d);
}

/* End it, and read the file. */
static bool
written(void)
{
	int fd;

	unlink("mon.out");
	memset(&out, 0, sizeof(out));
	if (monitor(0) < 0)
		return false;
	fd = open("mon.out", O_RDONLY);
	size = read(fd, &out, sizeof(out));
	close(fd);
	return size > 24;
}

/* It has so many counters, of which i is n and all others are 0. */
static bool
has(size_t ncounts, size_t i, unsigned int n)
{
	unsigned long sum = 0;

	for (size_t k = 0; k < WIDE / 2; k++)
		sum += out.counts[k];
	return size == (ssize_t)(24 + 2 * ncounts) && out.counts[i] == n &&
	       sum == n;
}

static bool
header(unsigned long high)
{
	return out.low == TEXT && out.high == TEXT + high && out.cells == 0;
}

/* Two bytes of text a counter, also far from the beginning. */
static void
check_startup(void)
{
	static const unsigned long at[] = {0,       1,       2,       3,
					   0xfffe,  0xffff,  0x10000, 0x10002,
					   0x1fffe, 0x20000, 0x20002, WIDE - 1};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		CHECK(monstartup(text(0), text(WIDE)) == 0, "monstartup");
		hit(TEXT + at[i], 5);
		hit(TEXT - 1, 1);
		hit(TEXT + WIDE, 1);
		CHECK(written() && header(WIDE) && has(WIDE / 2, at[i] / 2, 5),
		      "byte %#lx is in its counter", at[i]);
	}
	CHECK(monstartup(text(0), text(3)) == 0 && written() && header(4) &&
		  has(2, 0, 0),
	      "highpc is made a whole number of counters away");
}

/* With a buffer of size counters the text of so many bytes has a counter for
 * each width, and every pc counts where it should. */
static void
check_width(int counters, unsigned long bytes, unsigned int width)
{
	size_t n = (bytes + width - 1) / width;
	unsigned long step = width > 64 ? width / 8 - 1 : 1;
	bool good = true;

	for (unsigned long d = 0; d < bytes && d < 6 * width; d += step) {
		memset(buffer, 0xff, sizeof(buffer));
		good &= monitor(text(0), text(bytes), buffer, counters, 0) == 0;
		hit(TEXT + d, 3);
		hit(TEXT + bytes, 1);
		good &= written() && header(n * width) && has(n, d / width, 3);
		good &= buffer[counters] == 0xffff;
	}
	CHECK(good, "%lu bytes in %d counters: one for each %u", bytes,
	      counters, width);
}

static void
check_widths(void)
{
	check_width(32, 64, 2);
	check_width(31, 64, 4);
	check_width(17, 64, 4);
	check_width(16, 64, 8);
	check_width(2, 64, 64);
	check_width(64, 70000, 2048);
	check_width(33, 1UL << 20, 0x8000);
	monitor(text(0), text(64), buffer, 17, 0);
	hit(TEXT, 40000);
	hit(TEXT + 2, 40000);
	CHECK(written() && has(16, 0, 65535), "a counter stays at 65535");
}

static void
check_errors(void)
{
	CHECK_ERRNO(monitor(text(0), text(64), buffer, 1, 0), EINVAL,
		    "EINVAL: too small for a counter and a half");
	CHECK_ERRNO(monitor(text(0), text(1UL << 20), buffer, 32, 0), EINVAL,
		    "EINVAL: more than 32 KiB a counter");
	CHECK_ERRNO(monitor(text(0), text(0), buffer, 32, 0), EINVAL,
		    "EINVAL: no text");
	CHECK_ERRNO(monitor(text(0), text(64), buffer, -1, 0), EINVAL,
		    "EINVAL: a negative size");
	CHECK_ERRNO(monitor(text(0), text(64), buffer, 32, -1), EINVAL,
		    "EINVAL: a negative number of functions");
	CHECK_ERRNO(monitor(text(0), text(4), buffer, 4 * CELL, 4), EINVAL,
		    "EINVAL: only room for cells");
	CHECK_ERRNO(monitor(text(0), text(64), buffer, NARROW, 1 << 30), EINVAL,
		    "EINVAL: no room for cells");
	CHECK_ERRNO(moncontrol(1), EINVAL, "after an error nothing is on");
	CHECK_ERRNO(monstartup(text(64), text(0)), EINVAL,
		    "EINVAL: monstartup of no text");
	CHECK_ERRNO(monstartup(text(0), (void *)(1UL << 40)), ENOMEM,
		    "ENOMEM: monstartup of more than memory");
	unlink("mon.out");
	CHECK(monitor(0) == 0 && access("mon.out", F_OK) < 0,
	      "monitor(0) without a profile does nothing");
}

static void
check_control(void)
{
	CHECK_ERRNO(moncontrol(0), EINVAL, "moncontrol before monitor");
	monstartup(text(0), text(64));
	CHECK(moncontrol(0) == 1, "moncontrol gives that it ran");
	hit(TEXT, 1);
	CHECK(moncontrol(0) == 0, "or not");
	hit(TEXT, 1);
	CHECK(moncontrol(1) == 0, "moncontrol(1) goes on");
	hit(TEXT + 2, 2);
	CHECK(moncontrol(5) == 1, "going on twice is nothing");
	CHECK(written() && has(32, 1, 2), "while halted nothing counts");
	monitor(text(0), text(64), buffer, 32, 0);
	hit(TEXT, 1);
	monitor(text(0), text(64), buffer + 32, 32, 0);
	hit(TEXT + 2, 1);
	CHECK(buffer[0] == 1 && written() && has(32, 1, 1),
	      "another monitor drops what there is");
	monitor(text(0), text(64), buffer, 32 + CELL + 3, 1);
	hit(TEXT + 6, 2);
	CHECK(written() && header(64) && has(32, 3, 2),
	      "cells without calls aren't in the file");
	monitor(text(0), text(64), buffer + 1, 32 + CELL + 3, 1);
	hit(TEXT + 6, 2);
	CHECK(written() && header(64) && has(32, 3, 2),
	      "a buffer may begin at any even address");
}

/* In the child: does it begin from nothing? */
static int
child(void)
{
	hit(TEXT + 4, 9);
	return written() && has(32, 2, 9) ? 0 : 1;
}

static void
check_children(void)
{
	pid_t pid;

	monstartup(text(0), text(64));
	hit(TEXT, 3);
	pid = fork();
	if (pid == 0)
		_exit(child());
	CHECK(child_wait(pid) == 0, "a child counts from 0");
	pid = vfork();
	if (pid == 0)
		_exit(child());
	CHECK(child_wait(pid) == 0, "also vfork's");
	hit(TEXT, 4);
	CHECK(written() && has(32, 0, 7), "and not in its parent's counters");
}

static void
check_file(void)
{
	char name[64];

	unlink("mon.out");
	mkdir("mon.out", 0777);
	monstartup(text(0), text(64));
	CHECK_ERRNO(monitor(0), EISDIR, "a file that can't be written");
	rmdir("mon.out");
	CHECK(monitor(0) == 0 && access("mon.out", F_OK) < 0,
	      "the profile is gone then");
	setenv("PROFDIR", "/tmp", 1);
	snprintf(name, sizeof(name), "/tmp/%d.monitor", getpid());
	monstartup(text(0), text(64));
	CHECK(monitor(0) == 0 && access(name, R_OK) == 0 &&
		  access("mon.out", F_OK) < 0,
	      "PROFDIR: a file for each process");
	unlink(name);
	unsetenv("PROFDIR");
}

int
main(void)
{
	scratch_enter("monitor");
	ctl(PROFCLOCK, "hold");
	check_control();
	check_startup();
	check_widths();
	check_errors();
	check_children();
	check_file();
	ctl(PROFCLOCK, "go");
	return check_done();
}

/*
 * Profiles as programs write them (user/libmon), little-endian. Nothing is
 * trusted: each piece is taken from what is left of the file.
 *
 * mon.out: { u64 low, high, n }, n times { u64 pc, count }, and u16 counters
 * to the end of the file, of equal parts of [low, high).
 *
 * gmon.out: "gmon", u32 version 1, 12 bytes; then records: u8 0, { u64 low,
 * high, u32 n, hz, 16 bytes } and n u16 counters; u8 1, { u64 from, self, u32
 * count }.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cmdlib/cmd.h"
#include "prof.h"

#define MAGIC       "gmon"
#define VERSION     1
#define HEADER      20 /* bytes */
#define DESCRIPTION 16

enum { HISTOGRAM, CALLS };

static const char *path;
static const char *at; /* what is left of the file */
static size_t left;

static _Noreturn void
wrong(const char *what)
{
	cmd_error("%s: %s", path, what);
	exit(cmd_status);
}

static _Noreturn void
wrong_kind(void)
{
	wrong("truncated, or not a profile");
}

static const void *
take(size_t size)
{
	const char *piece = at;

	if (size > left)
		wrong_kind();
	at += size;
	left -= size;
	return piece;
}

/* A number of so many bytes. */
static uint64_t
number(size_t size)
{
	uint64_t value = 0;

	memcpy(&value, take(size), size);
	return value;
}

/* Can so many counters be of equal parts of the text? */
static void
check(uint64_t low, uint64_t high, uint64_t n)
{
	if (low >= high || n == 0 || (high - low) % n != 0)
		wrong_kind();
}

static void
histogram(const struct reader *to, uint64_t low, uint64_t high, uint64_t n)
{
	check(low, high, n);
	for (uint64_t i = 0, width = (high - low) / n; i < n; i++)
		to->charge(low + i * width, width, number(2));
}

static void
read_mon(const struct reader *to)
{
	uint64_t low = number(8), high = number(8), calls = number(8), n;

	if (calls > left / 16 || left % 2 != 0)
		wrong_kind();
	n = (left - calls * 16) / 2;
	check(low, high, n);
	while (calls-- > 0) {
		uint64_t pc = number(8);

		to->called(pc, number(8));
	}
	histogram(to, low, high, n);
}

static unsigned int
read_gmon(const struct reader *to)
{
	unsigned int hz = 0;

	take(strlen(MAGIC));
	if (number(4) != VERSION)
		wrong("an unknown version of gmon.out");
	take(HEADER - strlen(MAGIC) - 4);
	while (left > 0) {
		uint64_t tag = number(1), low = number(8), high = number(8);
		uint64_t n = number(4);

		if (tag == CALLS) {
			to->called(high, n);
		} else if (tag == HISTOGRAM) {
			hz = number(4);
			take(DESCRIPTION);
			histogram(to, low, high, n);
		} else {
			wrong("a record of an unknown kind");
		}
	}
	return hz;
}

unsigned int
profile_read(const char *name, const struct reader *to)
{
	unsigned int hz = 0;
	char *file = NULL;
	int fd;

	path = name;
	fd = cmd_open(name);
	if (fd >= 0) {
		file = cmd_slurp(fd, name, &left);
		close(fd);
	}
	if (file == NULL)
		exit(cmd_status);
	at = file;
	if (left >= HEADER && memcmp(at, MAGIC, strlen(MAGIC)) == 0)
		hz = read_gmon(to);
	else
		read_mon(to);
	free(file);
	return hz;
}

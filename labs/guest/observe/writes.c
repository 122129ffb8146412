/* Writing files: bytes of the script, bytes from addresses where there are too
 * few, and bytes that another file had. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "observe.h"

static void
do_put(void)
{
	int file = files[number()];

	answer_number(write(file, text(), strlen(text())));
}

static void
do_write(void)
{
	int file = files[number()];

	answer_number(write(file, buffer, bytes()));
}

static void
do_pwrite(void)
{
	int file = files[number()];
	off_t offset = number();

	answer_number(pwrite(file, buffer, bytes(), offset));
}

/* many SLOT COUNT: the next COUNT lines are written there, one by one. The
 * answer is how many of these writes have failed. */
static void
do_many(void)
{
	int file = files[number()];
	long failed = 0;
	const char *line;

	for (long n = number(); n > 0 && (line = script_next()); n--)
		failed += write(file, line, strlen(line)) < 0;
	answer_number(failed);
}

/* write-at SLOT ADDRESS SIZE: write what is at an address of the script's
 * own. */
static void
do_write_at(void)
{
	int file = files[number()];
	uintptr_t address = number();

	answer_number(write(file, (const void *)address, number()));
}

/* write-edge SLOT ROOM SIZE: write the last ROOM bytes of the heap, and on.
 * These are 0, 1, up to 250, and begin again. */
static void
do_write_edge(void)
{
	int file = files[number()];
	size_t room = number();
	char *from = last_bytes(room);

	for (size_t i = 0; i < room; i++)
		from[i] = i % 251;
	answer_number(write(file, from, number()));
}

/* write-many SLOT SIZE TIMES: write SIZE bytes of 0xa5 so often, until a write
 * is short. The answer is how many bytes were written, and the last errno. */
static void
do_write_many(void)
{
	int file = files[number()];
	ssize_t size = number(), n = size;
	long all = 0;
	char text[48];

	memset(buffer, FILLED, size);
	for (long times = number(); times > 0 && n == size; times--) {
		n = write(file, buffer, size);
		all += n > 0 ? n : 0;
	}
	snprintf(text, sizeof(text), "%ld %s", all,
		 n < 0 ? error_name(errno) : "-");
	answer(text);
}

/* relay IN OUT COUNT: pass so many bytes on, one by one. */
static void
do_relay(void)
{
	int in = files[number()], out = files[number()];
	long n = number(), done = 0;

	while (done < n && read(in, buffer, 1) == 1 &&
	       write(out, buffer, 1) == 1)
		done++;
	answer_number(done);
}

/* take-turns SLOT SLOT SIZE TIMES: empty the first file and write SIZE bytes of
 * 0x22 to the second; then empty that and write as many of 0x11 to the first.
 * So at most one of the two has anything. The answer is how often all four
 * calls have done this. */
static void
do_take_turns(void)
{
	int first = files[number()], second = files[number()];
	ssize_t size = number();
	long times = number(), good = 0;

	memset(buffer, 0x11, size);
	memset(buffer + size, 0x22, size);
	for (long i = 0; i < times; i++)
		good += ftruncate(first, 0) == 0 &&
			pwrite(second, buffer + size, size, 0) == size &&
			ftruncate(second, 0) == 0 &&
			pwrite(first, buffer, size, 0) == size;
	answer_number(good);
}

const struct operation write_operations[] = {
    {"put", do_put},
    {"write", do_write},
    {"pwrite", do_pwrite},
    {"many", do_many},
    {"write-at", do_write_at},
    {"write-edge", do_write_edge},
    {"write-many", do_write_many},
    {"relay", do_relay},
    {"take-turns", do_take_turns},
    {NULL, NULL},
};

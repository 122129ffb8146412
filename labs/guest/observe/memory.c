/* Memory, at addresses of the script's own. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "observe.h"

char *__brk(char *end); /* the system call: the library's sbrk asks for more */

/* The library has more of the heap than it says, so the kernel is asked where
 * the heap ends. The bytes before that end are in nobody's use: so many are
 * taken first, and what lies behind them the library has only in store. */
char *
last_bytes(size_t room)
{
	uintptr_t end;

	sbrk(room);
	end = (uintptr_t)__brk(NULL);
	return (char *)((end + PAGE - 1) & ~(PAGE - 1UL)) - room;
}

static void
do_poke(void)
{
	unsigned char *to = (unsigned char *)number();
	size_t n = bytes();

	memcpy(to, buffer, n);
	answer_number(n);
}

static void
do_peek(void)
{
	const unsigned char *from = (const unsigned char *)number();
	size_t n = number();

	memcpy(buffer, from, n);
	answer_bytes(n, n);
}

/* fill ADDRESS PAGES BYTE: store to the first byte of each page. */
static void
do_fill(void)
{
	unsigned char *to = (unsigned char *)number();
	long pages = number(), byte = number();

	for (long i = 0; i < pages; i++)
		to[i * PAGE] = byte;
	answer_number(pages);
}

/* poke-told SLOT REQUEST VALUE ADDRESS BYTE: make an ioctl and store a byte.
 * The answer is by how much that changes the four counts that are read from a
 * file. They are read several times before: so this function has already stored
 * to each of its own pages when the counts are taken. */
static void
do_poke_told(void)
{
	static unsigned long told[2][4];
	int file = files[number()];
	unsigned long request = number(), value = number();
	volatile unsigned char *to = (unsigned char *)number();
	unsigned char byte = number();
	char text[96];

	memset(text, 0, sizeof(text));
	for (int i = 3; i >= 0; i--)
		read(file, told[i & 1], sizeof(told[0]));
	ioctl(file, request, value);
	*to = byte;
	read(file, told[1], sizeof(told[1]));
	snprintf(text, sizeof(text), "%ld %ld %ld %ld", told[1][0] - told[0][0],
		 told[1][1] - told[0][1], told[1][2] - told[0][2],
		 told[1][3] - told[0][3]);
	answer(text);
}

/* pages: how many pages of memory are free. */
static void
do_pages(void)
{
	struct sysinfo info;

	answer_number(sysinfo(&info, sizeof(info)) < 0 ? -1
						       : (long)info.pages_free);
}

const struct operation memory_operations[] = {
    {"poke", do_poke},           {"peek", do_peek},   {"fill", do_fill},
    {"poke-told", do_poke_told}, {"pages", do_pages}, {NULL, NULL},
};

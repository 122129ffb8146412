/* Reading files: once, again and again, and to addresses where there is too
 * little room. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "observe.h"

static void
do_read(void)
{
	int file = files[number()];
	ssize_t n = read(file, buffer, number());

	answer_bytes(n, n);
}

static void
do_pread(void)
{
	int file = files[number()];
	size_t size = number();
	ssize_t n = pread(file, buffer, size, number());

	answer_bytes(n, n);
}

/* read-all SLOT SIZE: read until the end. The answer has all that came. */
static void
do_read_all(void)
{
	int file = files[number()];
	size_t size = number(), all = 0;
	ssize_t n = 0;

	while (all + size <= BUFFER && (n = read(file, buffer + all, size)) > 0)
		all += n;
	answer_bytes(n < 0 ? n : (ssize_t)all, all);
}

/* read-at SLOT ADDRESS SIZE: read to an address of the script's own. */
static void
do_read_at(void)
{
	int file = files[number()];
	uintptr_t address = number();

	answer_number(read(file, (void *)address, number()));
}

/* read-edge SLOT ROOM SIZE: read to the last ROOM bytes of the heap, and on. */
static void
do_read_edge(void)
{
	int file = files[number()];
	char *to = last_bytes(number());

	answer_number(read(file, to, number()));
}

/* read-room SLOT ROOM SIZE: the same. The answer also has what is in the room
 * then. */
static void
do_read_room(void)
{
	int file = files[number()];
	size_t room = number();
	char *to = last_bytes(room);
	ssize_t n;

	memset(to, FILLED, room);
	n = read(file, to, number());
	memcpy(buffer, to, room);
	answer_bytes(n, room);
}

/* drain SLOT SIZE MS: read for so many milliseconds. The answer is how many
 * bytes came. */
static void
do_drain(void)
{
	int file = files[number()];
	size_t size = number();
	long until = now_ns() + number() * NS_PER_MS, all = 0;

	do {
		ssize_t n = read(file, buffer, size);

		if (n > 0)
			all += n;
	} while (now_ns() < until);
	answer_number(all);
}

static void *
map_and_unmap(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE)) {
		char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; p != MAP_FAILED && i < 8; i++)
			p[i * PAGE] = 1;
		munmap(p, 8 * PAGE);
	}
	return NULL;
}

/* drain-new SLOT SIZE MS: the same, but each read is to a page that isn't there
 * yet, and another thread changes the address space all the time. */
static void
do_drain_new(void)
{
	int file = files[number()];
	size_t size = number();
	long until = now_ns() + number() * NS_PER_MS, all = 0;
	bool stop = false;
	pthread_t other;

	pthread_create(&other, NULL, map_and_unmap, &stop);
	do {
		char *to = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ssize_t n = read(file, to, size);

		if (n > 0)
			all += n;
		munmap(to, size);
	} while (now_ns() < until);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	answer_number(all);
}

/* values SLOT SIZE TIMES: read so often from the beginning of a file. The
 * answer has all values that a 64th byte has had, in order. */
static void
do_values(void)
{
	int file = files[number()];
	size_t size = number(), n = 0;
	bool found[256] = {false};

	for (long times = number(); times > 0; times--) {
		ssize_t got = pread(file, buffer, size, 0);

		for (ssize_t i = 0; i < got; i += 64)
			found[buffer[i]] = true;
	}
	for (size_t i = 0; i < 256; i++)
		if (found[i])
			buffer[n++] = i;
	answer_bytes(n, n);
}

const struct operation read_operations[] = {
    {"read", do_read},           {"pread", do_pread},
    {"read-all", do_read_all},   {"read-at", do_read_at},
    {"read-edge", do_read_edge}, {"read-room", do_read_room},
    {"drain", do_drain},         {"drain-new", do_drain_new},
    {"values", do_values},       {NULL, NULL},
};

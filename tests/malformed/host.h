/*
 * Kernel files on the host, under its sanitizers: what each of these programs
 * shares. The kernel's file is included as it is; what it calls is played by
 * the program. Compiled with -Dregister=extern '-Dasm(...)=', as the running
 * thread is in no register here.
 *
 * PROGRAM ROUNDS SEED [FILE] ends with status 0, or says what was wrong.
 */
#ifndef HOST_H
#define HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Newer C libraries have it, older ones don't. */
#define strlcpy host_strlcpy
static inline size_t
host_strlcpy(char *to, const char *from, size_t size)
{
	size_t n = strlen(from);

	if (size > 0) {
		size_t m = n < size ? n : size - 1;

		memcpy(to, from, m);
		to[m] = '\0';
	}
	return n;
}

static long round_number;

#define EXPECT(good)                                                   \
	((good) ? (void)0                                              \
		: (fprintf(stderr, "%s:%d: round %ld: %s\n", __FILE__, \
			   __LINE__, round_number, #good),             \
		   exit(1)))

/* A panic ends a round, with its words. */
static void *panicked[5];
static char panic_text[256];

void
panic(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(panic_text, sizeof(panic_text), format, args);
	va_end(args);
	__builtin_longjmp(panicked, 1);
}

void
kprintf(const char *format, ...)
{
	char text[1024];
	va_list args;

	/* It reads what it is given. */
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
}

static uint64_t random_state;

/* xorshift64*. */
static uint64_t
random_64(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

/* 0..n-1; 0 for none. */
static uint64_t
random_below(uint64_t n)
{
	return n == 0 ? 0 : (random_64() >> 11) % n;
}

static uint64_t
random_number(void)
{
	uint64_t n = UINT64_C(1) << random_below(64);

	switch (random_below(4)) {
	case 0:
		return n - random_below(3);
	case 1:
		return -n;
	case 2:
		return random_64();
	default:
		return random_below(300);
	}
}

static inline void *
file_contents(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data;

	EXPECT(f != NULL && fseek(f, 0, SEEK_END) == 0);
	*size = ftell(f);
	rewind(f);
	data = malloc(*size);
	EXPECT(fread(data, 1, *size, f) == *size);
	fclose(f);
	return data;
}

#endif

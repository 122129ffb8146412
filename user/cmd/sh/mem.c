/*
 * Memory: arenas, strings that grow, and the builtins' output.
 *
 * An arena is a list of chunks that are only ever freed together, or back
 * to a mark.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sh.h"

#define CHUNK_BYTES 2048
#define ALIGNMENT   16
#define OUT_BYTES   1024

struct chunk {
	struct chunk *older;
	size_t size, used;
	char data[] __attribute__((aligned(ALIGNMENT)));
};

struct arena {
	struct chunk *chunk; /* the newest; NULL: none yet */
	unsigned int refs;
};

static struct arena scratch_arena;
struct arena *scratch = &scratch_arena;

static char out_text[OUT_BYTES];
static size_t out_len;
static bool out_failed;

static void *
or_die(void *p)
{
	if (!p) {
		shell_warn("out of memory");
		_exit(STATUS_USAGE);
	}
	return p;
}

void *
xmalloc(size_t n)
{
	return or_die(malloc(n));
}

void *
xrealloc(void *p, size_t n)
{
	return or_die(realloc(p, n));
}

char *
xstrdup(const char *s)
{
	return or_die(strdup(s));
}

char *
xformat(const char *format, va_list args)
{
	char *text;

	return or_die(vasprintf(&text, format, args) < 0 ? NULL : text);
}

struct arena *
arena_new(void)
{
	struct arena *a = xmalloc(sizeof(*a));

	*a = (struct arena){.refs = 1};
	return a;
}

void
arena_ref(struct arena *a)
{
	a->refs++;
}

static void
chunks_free(struct arena *a, struct chunk *last)
{
	while (a->chunk != last) {
		struct chunk *c = a->chunk;

		a->chunk = c->older;
		free(c);
	}
}

void
arena_put(struct arena *a)
{
	if (--a->refs > 0)
		return;
	chunks_free(a, NULL);
	free(a);
}

void *
arena_alloc(struct arena *a, size_t n)
{
	struct chunk *c = a->chunk;

	n = (n + ALIGNMENT - 1) & -(size_t)ALIGNMENT;
	if (!c || n > c->size - c->used) {
		size_t size = n > CHUNK_BYTES ? n : CHUNK_BYTES;

		c = xmalloc(sizeof(*c) + size);
		*c = (struct chunk){.older = a->chunk, .size = size};
		a->chunk = c;
	}
	c->used += n;
	return memset(c->data + c->used - n, 0, n);
}

char *
arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	return copy;
}

struct mark
scratch_mark(void)
{
	struct chunk *c = scratch->chunk;

	return (struct mark){.chunk = c, .used = c ? c->used : 0};
}

void
scratch_release(struct mark m)
{
	chunks_free(scratch, m.chunk);
	if (scratch->chunk)
		scratch->chunk->used = m.used;
}

void
buf_add(struct buf *b, const char *s, size_t n)
{
	if (n + 1 > b->cap - b->len) {
		b->cap = (b->len + n + 1) * 2;
		b->s = xrealloc(b->s, b->cap);
	}
	memcpy(b->s + b->len, s, n);
	b->len += n;
	b->s[b->len] = '\0';
}

void
buf_put(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

char *
buf_take(struct buf *b, struct arena *a)
{
	char *s = arena_strndup(a, b->len ? b->s : "", b->len);

	b->len = 0;
	return s;
}

void
buf_free(struct buf *b)
{
	free(b->s);
	*b = (struct buf){0};
}

/* false: an error; a signal or a partial write isn't one. */
static bool
write_all(int fd, const char *s, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, s, n);

		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			s += done;
			n -= done;
		}
	}
	return true;
}

void
out_char(char c)
{
	if (out_len == OUT_BYTES) {
		out_failed |= !write_all(STDOUT_FILENO, out_text, out_len);
		out_len = 0;
	}
	out_text[out_len++] = c;
}

void
out_str(const char *s)
{
	while (*s)
		out_char(*s++);
}

void
out_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xformat(format, args);
	va_end(args);
	out_str(text);
	free(text);
}

bool
out_flush(void)
{
	bool ok = write_all(STDOUT_FILENO, out_text, out_len) && !out_failed;

	out_len = 0;
	out_failed = false;
	return ok;
}

void
out_error(const char *s, size_t n)
{
	write_all(STDERR_FILENO, s, n);
}

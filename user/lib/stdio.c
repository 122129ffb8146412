/*
 * Input and output of whole strings and blocks, and of lines: what the C
 * library does byte by byte, or doesn't have. All work on any kind of FILE,
 * and faster on a stream of ours (stream.h).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

/* Put n bytes; how many went well. f is locked. */
static size_t
put_locked(const char *from, size_t n, FILE *f)
{
	struct stream *s = stream_of(f);
	size_t done = 0;

	if (!(f->flags & __SWR))
		return 0;
	while (done < n) {
		/* All but the last byte that fits never need a flush. */
		if (s != NULL && s->writing && s->buffering != BY_LINE) {
			size_t room = s->size - s->len - 1;
			size_t some = n - done < room ? n - done : room;
			memcpy(s->buf + s->len, from + done, some);
			s->len += some;
			done += some;
			if (done == n)
				break;
		}
		if (f->put(from[done], f) < 0)
			return done;
		done++;
	}
	return stream_settle(f) < 0 ? 0 : n;
}

static size_t
put_bytes(const char *from, size_t n, FILE *f)
{
	stream_lock(f);
	n = put_locked(from, n, f);
	stream_unlock(f);
	return n;
}

size_t
fwrite(const void *from, size_t size, size_t count, FILE *f)
{
	if (size == 0 || count == 0)
		return 0;
	return put_bytes(from, size * count, f) / size;
}

int
fputs(const char *s, FILE *f)
{
	size_t n = strlen(s);
	return put_bytes(s, n, f) == n ? 0 : EOF;
}

int
puts(const char *s)
{
	int result;

	stream_lock(stdout);
	result = fputs(s, stdout) < 0 || fputc('\n', stdout) < 0 ? EOF : 0;
	stream_unlock(stdout);
	return result;
}

int
fputc(int c, FILE *f)
{
	int result = (unsigned char)c;

	stream_lock(f);
	if (!(f->flags & __SWR) || f->put(c, f) < 0 || stream_settle(f) < 0)
		result = EOF;
	stream_unlock(f);
	return result;
}

#undef putc
int
putc(int c, FILE *f)
{
	return fputc(c, f);
}

/* The linker sends every call of vfprintf here (--wrap): only the end of a
 * message tells an unbuffered stream when to write. */
int __real_vfprintf(FILE *f, const char *format, va_list args);
int __wrap_vfprintf(FILE *f, const char *format, va_list args);

int
__wrap_vfprintf(FILE *f, const char *format, va_list args)
{
	int n;

	stream_lock(f);
	n = __real_vfprintf(f, format, args);
	if (stream_settle(f) < 0)
		n = EOF;
	stream_unlock(f);
	return n;
}

/* How many bytes f can give without a call, up to the first delim and with
 * it (ANY: no such): 0 if f isn't one of ours. */
#define ANY (-1)

static size_t
buffered(FILE *f, int delim)
{
	struct stream *s = stream_of(f);
	if (s == NULL || s->writing)
		return 0;
	char *at = s->buf + s->pos;
	size_t n = s->len - s->pos;
	char *end = delim == ANY ? NULL : memchr(at, delim, n);
	return end == NULL ? n : (size_t)(end + 1 - at);
}

/* Move n of those that buffered found. */
static void
take(FILE *f, char *to, size_t n)
{
	struct stream *s = stream_of(f);
	if (n > 0) {
		memcpy(to, s->buf + s->pos, n);
		s->pos += n;
	}
}

size_t
fread(void *to, size_t size, size_t count, FILE *f)
{
	char *p = to;
	size_t left = size * count;

	if (left == 0)
		return 0;
	stream_lock(f);
	while (left > 0) {
		int c = getc(f); /* fills the buffer; knows of ungetc */
		if (c == EOF)
			break;
		*p++ = c;
		left--;
		size_t n = buffered(f, ANY);
		if (n > left)
			n = left;
		take(f, p, n);
		p += n;
		left -= n;
	}
	stream_unlock(f);
	return (p - (char *)to) / size;
}

/* The C library's gives NULL for a last line that lacks its newline. */
char *
fgets(char *s, int size, FILE *f)
{
	char *p = s, *end = s + size - 1;

	stream_lock(f);
	while (p < end && (p == s || p[-1] != '\n')) {
		int c = getc(f);
		if (c == EOF)
			break;
		*p++ = c;
		if (c == '\n')
			break;
		size_t n = buffered(f, '\n');
		if (n > (size_t)(end - p))
			n = end - p;
		take(f, p, n);
		p += n;
	}
	stream_unlock(f);
	if (p == s && size != 1)
		return NULL;
	*p = '\0';
	return s;
}

/* Make room for need bytes in *line. 0, or -1: ENOMEM. */
static int
line_room(char **line, size_t *size, size_t need)
{
	if (*line != NULL && *size >= need)
		return 0;
	size_t more = need < 120 ? 120 : 2 * need;
	char *p = realloc(*line, more);
	if (p == NULL)
		return -1;
	*line = p;
	*size = more;
	return 0;
}

/* As getdelim; f is locked. */
static ssize_t
get_locked(char **line, size_t *size, int delim, FILE *f)
{
	size_t used = 0;

	for (;;) {
		int c = getc(f); /* fills the buffer; knows of ungetc */
		if (c == EOF)
			break;
		size_t n = c == delim ? 0 : buffered(f, delim);
		if (line_room(line, size, used + n + 2) < 0)
			return -1;
		(*line)[used++] = c;
		take(f, *line + used, n);
		used += n;
		if ((*line)[used - 1] == (char)delim)
			break;
	}
	if (used == 0)
		return -1;
	(*line)[used] = '\0';
	return used;
}

ssize_t
getdelim(char **line, size_t *size, int delim, FILE *f)
{
	ssize_t n;

	stream_lock(f);
	n = get_locked(line, size, delim, f);
	stream_unlock(f);
	return n;
}

ssize_t
getline(char **line, size_t *size, FILE *f)
{
	return getdelim(line, size, '\n', f);
}

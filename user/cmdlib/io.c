/* Input and output in large blocks: see cmd.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

static char out_buffer[CMD_BUFFER];
struct out out = {.fd = STDOUT_FILENO, .buf = out_buffer};

bool
out_direct(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0)
			return false;
		at += n;
		size -= n;
	}
	return true;
}

/* A command whose output is lost has nothing left to do. */
void
out_flush(void)
{
	size_t used = out.used;

	out.used = 0;
	if (!out_direct(out.fd, out.buf, used))
		cmd_die("write error");
}

void
out_bytes(const void *bytes, size_t size)
{
	if (size > CMD_BUFFER - out.used)
		out_flush();
	if (size > CMD_BUFFER) {
		if (!out_direct(out.fd, bytes, size))
			cmd_die("write error");
		return;
	}
	memcpy(out.buf + out.used, bytes, size);
	out.used += size;
}

void
out_string(const char *text)
{
	out_bytes(text, strlen(text));
}

void
out_name(const char *name)
{
	char *shown = cmd_shown(name);

	out_string(shown);
	free(shown);
}

void
out_path(const char *path)
{
	static int terminal = -1; /* not known yet */

	if (terminal < 0)
		terminal = isatty(out.fd);
	if (terminal)
		out_name(path);
	else
		out_string(path);
}

void
out_printf(const char *format, ...)
{
	size_t room = CMD_BUFFER - out.used;
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(out.buf + out.used, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < room) {
		out.used += n;
		return;
	}
	va_start(args, format);
	text = cmd_text_of(format, args);
	va_end(args);
	out_bytes(text, n);
	free(text);
}

int
cmd_open(const char *path)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return STDIN_FILENO;
	fd = open(path, O_RDONLY);
	if (fd < 0)
		cmd_warn("%s", path);
	return fd;
}

ssize_t
cmd_read(int fd, void *buf, size_t size, const char *name)
{
	ssize_t n;

	if (out.used > 0 && isatty(out.fd))
		out_flush();
	n = read(fd, buf, size);
	if (n < 0)
		cmd_warn("%s", name);
	return n;
}

/* Read into the output buffer, and nothing is copied here. */
void
out_copy(int fd, const char *name)
{
	ssize_t n;

	out_flush();
	while ((n = cmd_read(fd, out.buf, CMD_BUFFER, name)) > 0) {
		out.used = n;
		out_flush();
	}
}

const char *
cmd_title(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

void
cmd_files(void (*work)(int fd, const char *name))
{
	static char *standard_input[] = {"-", NULL};
	char **path = cmd_argc > 0 ? cmd_argv : standard_input;

	for (; *path; path++) {
		int fd = cmd_open(*path);

		if (fd < 0)
			continue;
		work(fd, *path);
		if (fd != STDIN_FILENO)
			close(fd);
	}
}

void
lines_open(struct lines *in, int fd, const char *name)
{
	*in = (struct lines){
	    .fd = fd,
	    .name = name,
	    .size = CMD_BUFFER,
	    .buf = cmd_alloc(CMD_BUFFER),
	};
}

/* Read more behind what is left of the buffer, which moves to its front and
 * grows if it is full. One byte stays free for a NUL. */
static void
lines_fill(struct lines *in)
{
	size_t left = in->end - in->start;
	ssize_t n;

	memmove(in->buf, in->buf + in->start, left);
	in->start = 0;
	in->end = left;
	if (left + 1 >= in->size) {
		in->size *= 2;
		in->buf = cmd_realloc(in->buf, in->size);
	}
	n = cmd_read(in->fd, in->buf + left, in->size - left - 1, in->name);
	if (n <= 0)
		in->ended = true;
	else
		in->end += n;
}

char *
lines_next(struct lines *in, size_t *length)
{
	size_t searched = 0; /* of the unread part, without a newline */
	char *line, *newline;

	for (;;) {
		line = in->buf + in->start;
		newline = memchr(line + searched, '\n',
				 in->end - in->start - searched);
		if (newline || in->ended)
			break;
		searched = in->end - in->start;
		lines_fill(in);
	}
	if (!newline) {
		if (in->start == in->end)
			return NULL;
		newline = in->buf + in->end++; /* the last line had none */
	}
	*newline = '\0';
	*length = newline - line;
	in->start += *length + 1;
	return line;
}

void
lines_close(struct lines *in)
{
	free(in->buf);
}

char *
cmd_slurp(int fd, const char *name, size_t *size)
{
	struct stat st;
	size_t room = CMD_BUFFER, used = 0;
	char *text;
	ssize_t n;

	if (fstat(fd, &st) == 0 && st.st_size > 0)
		room = st.st_size + 2; /* the NUL, and room to see the end */
	text = cmd_alloc(room);
	while ((n = cmd_read(fd, text + used, room - used - 1, name)) > 0) {
		used += n;
		if (room - used < 2)
			text = cmd_grow(text, &room, 1);
	}
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[used] = '\0';
	*size = used;
	return text;
}

/*
 * Streams on files: fopen and its kin, stdin, stdout and stderr.
 *
 * The C library's stdio works on any FILE that has functions to put and get
 * a byte, flush, close, seek and set a buffer. It has some for files itself,
 * but they take a lock and two calls for each byte, and forget what is still
 * buffered when the program exits. These are Tally's.
 *
 * A stream becomes one of the writers when it is first written to; what they
 * hold is written at exit. An unbuffered stream has a buffer too, which
 * holds a message together until the call that makes it returns
 * (stream_settle). A stream's lock keeps other threads out for the time of a
 * call; the list of writers has its own.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stream *writers;
static struct __lock writers_lock;

static int stream_put(char c, FILE *f);
static int stream_get(FILE *f);
static int stream_close(FILE *f);
static __off_t stream_seek(FILE *f, __off_t offset, int whence);
static int stream_setvbuf(FILE *f, char *buf, int mode, size_t size);

#define EXT(mode)                                                          \
	FDEV_SETUP_EXT(stream_put, stream_get, stream_flush, stream_close, \
		       stream_seek, stream_setvbuf, mode)

static char in_buf[BUFFER_SIZE], out_buf[BUFFER_SIZE], err_buf[BUFSIZ];

static struct stream in = {
    .ext = EXT(__SRD),
    .fd = STDIN_FILENO,
    .buffering = AUTO,
    .buf = in_buf,
    .size = sizeof(in_buf),
};
static struct stream out = {
    .ext = EXT(__SWR),
    .fd = STDOUT_FILENO,
    .buffering = AUTO,
    .buf = out_buf,
    .size = sizeof(out_buf),
};
static struct stream err = {
    .ext = EXT(__SWR),
    .fd = STDERR_FILENO,
    .buffering = NONE,
    .buf = err_buf,
    .size = sizeof(err_buf),
};

FILE *const stdin = &in.ext.cfile.file;
FILE *const stdout = &out.ext.cfile.file;
FILE *const stderr = &err.ext.cfile.file;

struct stream *
stream_of(FILE *f)
{
	return f->put == stream_put ? (struct stream *)f : NULL;
}

void
stream_lock(FILE *f)
{
	struct stream *s = stream_of(f);

	if (s != NULL)
		lock_take(&s->lock);
}

void
stream_unlock(FILE *f)
{
	struct stream *s = stream_of(f);

	if (s != NULL)
		lock_give(&s->lock);
}

/* How many bytes were read ahead; one that was pushed back is among them. */
static off_t
stream_ahead(struct stream *s)
{
	struct __file *f = &s->ext.cfile.file;

	if (f->unget != 0 && s->pos > 0) {
		s->buf[--s->pos] = f->unget;
		f->unget = 0;
	}
	return s->len - s->pos;
}

/* Give back to the file what was read ahead. A pipe doesn't take it: then it
 * stays, to be read. */
static void
stream_stop_reading(struct stream *s)
{
	off_t ahead = stream_ahead(s);

	if (ahead > 0 && lseek(s->fd, -ahead, SEEK_CUR) < 0)
		return;
	s->pos = s->len = 0;
}

void
stream_start_writing(struct stream *s)
{
	struct stream **link = &writers;

	lock_take(&writers_lock);
	while (*link != NULL && *link != s)
		link = &(*link)->next;
	*link = s;
	lock_give(&writers_lock);
	if (s->buffering == AUTO) {
		int e = errno;
		s->buffering = isatty(s->fd) ? BY_LINE : BY_BLOCK;
		errno = e;
	}
	stream_stop_reading(s);
	s->pos = s->len = 0;
	s->writing = true;
}

int
stream_flush(FILE *f)
{
	struct stream *s = (struct stream *)f;
	size_t done = 0;

	if (!s->writing) {
		stream_stop_reading(s);
		return 0;
	}
	while (done < s->len) {
		ssize_t n = write(s->fd, s->buf + done, s->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			s->len = 0;
			f->flags |= __SERR;
			return EOF;
		}
		done += n;
	}
	s->len = 0;
	return 0;
}

int
stream_settle(FILE *f)
{
	struct stream *s = stream_of(f);
	return s != NULL && s->writing && s->buffering == NONE ? stream_flush(f)
							       : 0;
}

static int
stream_put(char c, FILE *f)
{
	struct stream *s = (struct stream *)f;
	int result = (unsigned char)c;

	lock_take(&s->lock);
	if (!s->writing)
		stream_start_writing(s);
	s->buf[s->len++] = c;
	if (s->len == s->size || (c == '\n' && s->buffering == BY_LINE))
		if (stream_flush(f) < 0)
			result = _FDEV_ERR;
	lock_give(&s->lock);
	return result;
}

/* Read more, having shown the user what he is asked. */
static int
stream_fill(struct stream *s)
{
	ssize_t n;

	if (s->writing && stream_flush(&s->ext.cfile.file) < 0)
		return _FDEV_ERR;
	s->writing = false;
	if (s == &in && out.writing && out.buffering == BY_LINE)
		stream_flush(stdout);
	size_t want = s->buffering == NONE ? 1 : s->size;
	do
		n = read(s->fd, s->buf, want);
	while (n < 0 && errno == EINTR);
	s->pos = 0;
	s->len = n > 0 ? n : 0;
	return n > 0 ? 0 : n == 0 ? _FDEV_EOF : _FDEV_ERR;
}

static int
stream_get(FILE *f)
{
	struct stream *s = (struct stream *)f;
	int result = 0;

	lock_take(&s->lock);
	if (s->writing || s->pos == s->len)
		result = stream_fill(s);
	if (result == 0)
		result = (unsigned char)s->buf[s->pos++];
	lock_give(&s->lock);
	return result;
}

static __off_t
stream_seek(FILE *f, __off_t offset, int whence)
{
	struct stream *s = (struct stream *)f;

	if (!s->writing && offset == 0 && whence == SEEK_CUR) {
		off_t at = lseek(s->fd, 0, SEEK_CUR);
		return at < 0 ? at : at - stream_ahead(s);
	}
	/* What was read ahead is given back: then the offsets agree. */
	if (stream_flush(f) < 0)
		return -1;
	return lseek(s->fd, offset, whence);
}

static int
stream_setvbuf(FILE *f, char *buf, int mode, size_t size)
{
	struct stream *s = (struct stream *)f;

	if (mode != _IOFBF && mode != _IOLBF && mode != _IONBF)
		return EOF;
	if (stream_flush(f) < 0)
		return EOF;
	s->buffering = mode;
	if (mode == _IONBF || buf == NULL || size == 0)
		return 0; /* the buffer there is does */
	if (s->own_buf)
		free(s->buf);
	s->own_buf = false;
	s->buf = buf;
	s->size = size;
	return 0;
}

/* Write what is left, forget the buffer, close the file. */
static int
stream_shut(struct stream *s)
{
	int result = stream_flush(&s->ext.cfile.file);
	struct stream **link = &writers;

	lock_take(&writers_lock);
	while (*link != NULL && *link != s)
		link = &(*link)->next;
	if (*link == s)
		*link = s->next;
	s->next = NULL;
	lock_give(&writers_lock);
	s->writing = false;
	s->pos = s->len = 0;
	if (close(s->fd) < 0)
		result = EOF;
	s->fd = -1;
	return result;
}

static int
stream_close(FILE *f)
{
	struct stream *s = (struct stream *)f;
	int result = stream_shut(s);

	f->flags &= ~(__SRD | __SWR);
	if (s->own_buf)
		free(s->buf);
	if (s->allocated)
		free(s);
	return result;
}

/* The open(2) flags that mode stands for, or -1: EINVAL. */
static int
mode_flags(const char *mode)
{
	bool both = strchr(mode, '+') != NULL;
	int flags = strchr(mode, 'e') != NULL ? O_CLOEXEC : 0;

	if (strchr(mode, 'x') != NULL)
		flags |= O_EXCL;
	switch (mode[0]) {
	case 'r':
		return flags | (both ? O_RDWR : O_RDONLY);
	case 'w':
		return flags | (both ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
	case 'a':
		return flags | (both ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
	}
	errno = EINVAL;
	return -1;
}

/* Make *s a stream on fd, with the access that open flags say. */
static void
stream_set(struct stream *s, int fd, int flags)
{
	int access = flags & O_ACCMODE;

	s->fd = fd;
	s->ext.cfile.file.unget = 0;
	s->ext.cfile.file.flags &= ~(__SRD | __SWR | __SERR | __SEOF);
	if (access != O_WRONLY)
		s->ext.cfile.file.flags |= __SRD;
	if (access != O_RDONLY)
		s->ext.cfile.file.flags |= __SWR;
}

FILE *
fdopen(int fd, const char *mode)
{
	int flags = mode_flags(mode);
	if (flags < 0)
		return NULL;
	struct stream *s = malloc(sizeof(*s));
	char *buf = malloc(BUFFER_SIZE);
	if (s == NULL || buf == NULL) {
		free(s);
		free(buf);
		errno = ENOMEM;
		return NULL;
	}
	*s = (struct stream){
	    .ext = EXT(0),
	    .buffering = AUTO,
	    .allocated = true,
	    .own_buf = true,
	    .buf = buf,
	    .size = BUFFER_SIZE,
	};
	stream_set(s, fd, flags);
	return &s->ext.cfile.file;
}

FILE *
fopen(const char *path, const char *mode)
{
	int flags = mode_flags(mode);
	if (flags < 0)
		return NULL;
	int fd = open(path, flags, 0666);
	if (fd < 0)
		return NULL;
	FILE *f = fdopen(fd, mode);
	if (f == NULL)
		close(fd);
	return f;
}

/* f becomes a stream on path; on the same descriptor for the first three,
 * as what runs the program's children must see. */
FILE *
freopen(const char *path, const char *mode, FILE *f)
{
	struct stream *s = stream_of(f);
	int flags = mode_flags(mode);
	if (s == NULL || flags < 0)
		return NULL;
	int old = s->fd;
	stream_shut(s);
	int fd = open(path, flags, 0666);
	if (fd < 0) {
		f->flags &= ~(__SRD | __SWR);
		return NULL;
	}
	if (fd != old && old >= 0 && old <= STDERR_FILENO) {
		dup2(fd, old);
		close(fd);
		fd = old;
	}
	if (s->buffering != NONE)
		s->buffering = AUTO;
	stream_set(s, fd, flags);
	return f;
}

int
fileno(FILE *f)
{
	struct stream *s = stream_of(f);
	if (s == NULL || s->fd < 0) {
		errno = EBADF;
		return -1;
	}
	return s->fd;
}

/* The first destructors are those without a number, then the highest. */
#define LAST_OF_ALL 101

/* Write what all streams hold; at exit too. */
static __attribute__((destructor(LAST_OF_ALL))) int
stream_flush_all(void)
{
	int result = 0;

	lock_take(&writers_lock);
	for (struct stream *s = writers; s != NULL; s = s->next)
		if (s->writing && fflush(&s->ext.cfile.file) < 0)
			result = EOF;
	lock_give(&writers_lock);
	return result;
}

int
fflush(FILE *f)
{
	int result = 0;

	if (f == NULL)
		return stream_flush_all();
	stream_lock(f);
	if (f->flush != NULL)
		result = f->flush(f);
	stream_unlock(f);
	return result;
}

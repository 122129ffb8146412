/*
 * A stream on a file, as stream.c makes them: what stdio.c needs to know to
 * move many bytes at once.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stdio.h>

#include "locks.h"

#define BUFFER_SIZE 4096 /* bytes */

/* How a stream is buffered; AUTO: by lines on a terminal, else fully. */
enum buffering { BY_BLOCK = _IOFBF, BY_LINE = _IOLBF, NONE = _IONBF, AUTO };

struct stream {
	struct __file_ext ext; /* the C library's part */
	int fd;
	unsigned char buffering; /* enum buffering; AUTO until written to */
	bool allocated;          /* the stream is, by malloc */
	bool own_buf;            /* and buf is */
	bool writing;            /* buf holds what is to be written */
	char *buf;
	size_t size; /* bytes in buf */
	size_t len;  /* of them filled */
	size_t pos;  /* of them already read; 0 when writing */
	struct stream *next;
	struct __lock lock; /* guards all of it */
};

/* f as a stream of ours; NULL if it is of another kind, in memory say. */
struct stream *stream_of(FILE *f);
/* For a call that uses f more than once: keep other threads out. */
void stream_lock(FILE *f);
void stream_unlock(FILE *f);
/* Make s ready for bytes to be written. */
void stream_start_writing(struct stream *s);
/* Write what is in buf. 0; or EOF, with the error mark set. */
int stream_flush(FILE *f);
/* After a call that wrote to f: don't let an unbuffered stream keep it. */
int stream_settle(FILE *f);

#endif

/*
 * The console's line discipline: what happens to characters from when they are
 * typed until they are read. line.c explains it; console.c is its only user.
 * The caller of each function here holds console_lock.
 */
#ifndef KERNEL_LINE_H
#define KERNEL_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/termios.h>
#include <sys/types.h>

#define LINE_RING (16 << 10) /* bytes; more wait in the port */

/*
 * read <= ready <= typed <= raw <= end. Each counts bytes, and modulo the size
 * of ring is a place in it. line.c says what is in the parts between them. read
 * never goes down.
 */
struct line {
	struct termios t;
	pid_t pgrp;    /* the foreground process group; 0: none yet */
	int signalled; /* a signal that nobody in it could take; 0: none */
	size_t read, ready, typed, raw, end;
	size_t key; /* see line_late_signal; 0: none */
	char ring[LINE_RING];
};

extern struct line line;

/* Is a flag of c_lflag set? */
static inline bool
line_flag(tcflag_t flag)
{
	return line.t.c_lflag & flag;
}

/* A character was typed: edit the line, echo, send a signal. line_room must not
 * be 0. The caller wakes up readers if line_waiting has changed. */
void line_input(char c);
/* How many more characters the ring can take. */
size_t line_room(void);
/* Make a process group the foreground. */
void line_foreground(pid_t pgrp);
/* Discard all input that hasn't been read. */
void line_flush(void);

/* ICANON or VEOF is about to change: make all input that waits what it was
 * before it was edited. (What was erased is gone.) */
void line_uncook(void);
/* ISIG may have been set: send the signal of a key that was hit before. */
void line_late_signal(void);

/* Call this before the functions below. In canonical mode it edits what was
 * typed ahead, until there is a complete line. */
void line_cook(void);
/* How many bytes wait to be read. A ^D that ends a line is counted, though no
 * read returns it. */
size_t line_waiting(void);
/*
 * Copy what a read of max bytes returns to buf, and return how many bytes that
 * is. In canonical mode it is no more than a line. Nothing is removed yet:
 * line_take removes *taken bytes, which may be one more because of a ^D.
 */
size_t line_copy(char *buf, size_t max, size_t *taken);
void line_take(size_t n);
/* How many bytes line_copy would copy. */
size_t line_count(size_t max);

#endif

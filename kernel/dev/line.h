/*
 * The console's line discipline (line.c): what becomes of the characters
 * typed until they are read. All of it is under the console's lock.
 */
#ifndef KERNEL_LINE_H
#define KERNEL_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/termios.h>
#include <sys/types.h>

#define LINE_RING 2048

/* Counters that only go up say what was read, what may be read, and what was
 * typed; each is an index of the ring, modulo its size. */
struct line {
	struct termios t;
	pid_t pgrp;    /* the foreground's; 0: none yet */
	int signalled; /* a signal that found nobody there to take it */
	uint16_t ring[LINE_RING];
	size_t read, ready, typed;
};

extern struct line line;

/* Is a flag of c_lflag set? */
static inline bool
line_flag(tcflag_t flag)
{
	return line.t.c_lflag & flag;
}

/* A character was typed: edit the line, echo, send a signal. If that moved
 * line.ready, wake those who wait to read. */
void line_input(char c);
/* Another process group is in the foreground. */
void line_foreground(pid_t pgrp);
/* Let what was typed be read, though no newline ended it. */
void line_hand_over(void);
void line_flush(void);

/* Take up to max bytes off the ring, but not past the end of a line in
 * canonical mode. There are never more than LINE_RING. */
size_t line_take(char *buf, size_t max);
/* How many bytes that would be now. */
size_t line_count(size_t max);

#endif

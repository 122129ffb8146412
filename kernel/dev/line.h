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

#define LINE_RING (16 << 10) /* bytes; more wait in the port */

/* Counters, each an index of the ring modulo its size: line.c says what they
 * part it into. read only goes up. */
struct line {
	struct termios t;
	pid_t pgrp;    /* the foreground's; 0: none yet */
	int signalled; /* a signal that found nobody there to take it */
	size_t read, ready, typed, raw, end;
	size_t key; /* behind the last key that would signal, but for ISIG; 0 */
	char ring[LINE_RING];
};

extern struct line line;

/* Is a flag of c_lflag set? */
static inline bool
line_flag(tcflag_t flag)
{
	return line.t.c_lflag & flag;
}

/* A character was typed: edit the line, echo, send a signal. There must be
 * room. Wake those who wait to read if line_waiting has changed. */
void line_input(char c);
size_t line_room(void);
/* Another process group is in the foreground. */
void line_foreground(pid_t pgrp);
void line_flush(void);

/* ICANON or VEOF changes: all that waits is as it was before it was edited.
 * (What was erased is gone.) */
void line_uncook(void);
/* ISIG may have been set: send a signal whose key came before that. */
void line_late_signal(void);

/* Before a read, or a question what it would give: in canonical mode, edit
 * what was typed ahead until there is a line. */
void line_cook(void);
/* How many bytes wait to be read, with those that end a line unseen. */
size_t line_waiting(void);
/* Copy what a read of max bytes gives, in canonical mode no more than a line;
 * then *taken bytes are for line_take. */
size_t line_copy(char *buf, size_t max, size_t *taken);
void line_take(size_t n);
/* How many bytes that read would give. */
size_t line_count(size_t max);

#endif

/*
 * getpc: store what the sampling device pcs sees while a command runs.
 *
 * main.c has the options, and asks the device. store.c makes the stream, in
 * which whose.c says which files and contexts the samples are of. What the
 * device lost is said at the end.
 */
#ifndef GETPC_H
#define GETPC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/pcs.h>

#include "../../cmdlib/cmd.h"

#define REQUESTS 8 /* all that can be made */

/*
 * The stream is as <sys/pcs.h> has it: a buffer of our own with START and the
 * requests, the device's buffers, and one of our own with STOP. Each buffer of
 * a sealed stream has a SEAL, so that those that are left tell what is lost.
 */
void store_open(const char *path, bool sealed);
void store_start(unsigned int time, const struct ISAMPLE *requests,
		 size_t count);
void store_take(const struct LOGBUF *b, size_t count); /* the device's */
void store_end(const struct pcs_stat *account);
bool store_failed(void); /* Nothing more is written then. */

/* For whose.c: a buffer of our own; and how many have been stored. */
void store_own(const void *records, size_t size, short numlost);
unsigned int store_count(void);

/* --- whose.c --- */

/* Read the files that every recording needs, before the clock is on. */
void whose_prepare(void);
void whose_start(void); /* store what these are */
void whose_end(void);   /* read all others, too, and store what they are */
/*
 * Look at each of the device's records, before its buffer is stored. So the
 * records that tell whose a sample is stand before the sample.
 */
void whose_look(const void *record, unsigned int context);
void whose_store(void); /* what looking at a buffer has led to */

#endif

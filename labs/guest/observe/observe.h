/*
 * observe FILE: what the files of the program share.
 *
 * main.c has the script and finds the operation of each line. words.c takes a
 * line's arguments and writes its answer. Every other file has the operations
 * of one subject, and a table of them: a new operation is a function and an
 * entry of the table there, and a line of ../README.md.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SLOTS     16
#define BUFFER    (1 << 20)
#define FILLED    0xa5 /* what a buffer has before a call */
#define PAGE      4096
#define NS_PER_MS 1000000L

/* Does what a line says: it takes the line's arguments, and answers once. */
struct operation {
	const char *name;
	void (*run)(void);
};

/* One table for each subject. It ends with an operation without a name. */
extern const struct operation call_operations[];
extern const struct operation clock_operations[];
extern const struct operation file_operations[];
extern const struct operation memory_operations[];
extern const struct operation process_operations[];
extern const struct operation read_operations[];
extern const struct operation sharing_operations[];
extern const struct operation write_operations[];

/* --- The script: main.c --- */

/* Take the next of this process's lines; NULL: there is none. */
char *script_next(void);
/* Leave the next n lines out: they are a child's. */
void script_leave_out(long n);
/* This process ends after the next n lines, for it is the child. */
void script_keep(long n);

/* --- Arguments: words.c --- */

/* Begin a line. Its token is kept for the answer; returns the name behind it,
 * which is that of the operation. */
char *words_begin(char *line);

/* These take the next argument of the line: a number, decimal or hexadecimal
 * with 0x, 0 if there is none; and a word. */
long number(void);
char *word(void);
/* The rest of the line as it is. It isn't taken. */
char *text(void);
/* The same as hexadecimal digits, whose bytes go into the buffer. Returns how
 * many bytes they are. */
size_t bytes(void);
/* If the next argument begins with this word, take the word. */
bool word_is(const char *word);

/* --- Answers: words.c --- */

/* BUFFER bytes, which calls read and write unless the script gives them an
 * address. */
extern unsigned char *const buffer;

void answer(const char *text);
/* A number; or if that is negative, the name of errno. */
void answer_number(long result);
/* The same, and behind a number the first n bytes of the buffer. */
void answer_bytes(long result, size_t n);
const char *error_name(int number);

/* --- What several subjects need --- */

extern int files[SLOTS]; /* files.c: descriptors, by the script's numbers */

/* processes.c: catch the signals that the script sends. */
void signals_catch(void);
/* Send a child a signal. Where fork has failed there is no child, and -1 would
 * mean every process: then it is ESRCH. */
int kill_child(pid_t pid, int sig);

/* clock.c: the machine's own time. The kernel that is judged could lie about
 * it, so it isn't asked. */
long now_ns(void);
void nap(long ms);

/* memory.c: where the last `room' bytes of the heap begin. */
char *last_bytes(size_t room);

#endif

/*
 * What the commands share: who they are, their options, their errors, and
 * input and output in large blocks.
 *
 * A command calls cmd_start, then cmd_option until it gives -1, works on
 * cmd_argv[0..cmd_argc-1], and ends with `return cmd_done();`. Its standard
 * output goes through the out_ functions, never through stdio, so that a
 * failed write is noticed in one place. Messages look alike everywhere:
 * `NAME: what is wrong`, on standard error. A command goes on with its other
 * operands after an error, and then exits with cmd_trouble.
 */
#ifndef CMD_H
#define CMD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "number.h"

#define CMD_BUFFER (64 * 1024) /* bytes moved at a time */

#define CMD_PRINTF(string, first) __attribute__((format(printf, string, first)))

/* --- Starting and ending --- */

extern char **cmd_argv; /* the operands, and a NULL after them */
extern int cmd_argc;
extern char *cmd_value; /* of the option that cmd_option gave last */
extern int cmd_status;  /* what cmd_done will return: 0, or cmd_trouble */
extern int cmd_trouble; /* 1, until a command sets it */

#define CMD_USAGE 2 /* the exit status of a command called wrongly */

/* The usage line is the name and the synopsis. */
void cmd_start(int argc, char **argv, const char *name, const char *synopsis);

/*
 * The next option's letter, or -1 when only operands are left. letters is as
 * for getopt(3): a colon after one that takes a value, kept in cmd_value.
 * Options may follow operands, unless letters begins with `+`; `--` ends
 * them. A `#` in letters takes -NUMBER as the option '#'; a `0` takes it as
 * an operand. Anything not in letters ends the command with a usage message.
 */
int cmd_option(const char *letters);

/* Take all options, of a command whose options have no values. */
void cmd_flags(const char *letters);
extern bool cmd_given[128]; /* indexed by letter, whoever took it */

/* End with a usage message unless min <= cmd_argc <= max. */
void cmd_operands(int min, int max);
#define CMD_MANY 0x7fffffff

/* Flush the output; gives the exit status. */
int cmd_done(void);

/* --- Errors: errno's text follows the message of warn and die --- */

void cmd_warn(const char *format, ...) CMD_PRINTF(1, 2);
void cmd_error(const char *format, ...) CMD_PRINTF(1, 2);
_Noreturn void cmd_die(const char *format, ...) CMD_PRINTF(1, 2);
_Noreturn void cmd_usage(const char *format, ...) CMD_PRINTF(1, 2);

/* --- Values --- */

/* Text as a decimal number from min to max, or a usage message that says what
 * it is not; and the bounds, unless max is LONG_MAX. */
long cmd_number(const char *text, const char *what, long min, long max);
/* Text as a number that may have a fraction. */
double cmd_decimal(const char *text, const char *what);

/*
 * The character that an escape like \n stands for, with *text behind the
 * backslash, which moves on; up to `digits` octal digits are one too. -1 if
 * it is none of them, and *text stays.
 */
int cmd_escape(const char **text, int digits);

/*
 * Cut the first piece off *rest, which moves behind the separator; NULL when
 * all have been given. As strsep(3) should be: the C library's loses a last
 * piece that is empty.
 */
char *cmd_piece(char **rest, const char *separators);

/* Memory, or the end of the command. */
void *cmd_alloc(size_t size);
void *cmd_realloc(void *old, size_t size);
/* Double an array that is full: elements of size, *room of them. */
void *cmd_grow(void *array, size_t *room, size_t size);

/* A text, and what printf would print, in memory of its own. */
char *cmd_copy(const char *text);
char *cmd_text(const char *format, ...) CMD_PRINTF(1, 2);
char *cmd_text_of(const char *format, va_list args);
/* A name as show.h has it, in memory of its own. */
char *cmd_shown(const char *name);
/* The same, but quoted for a shell that knows $'', where it has to be. */
char *cmd_quoted(const char *name);
/* DIR/NAME in memory of its own; the last component of a path. */
char *cmd_join(const char *dir, const char *name);
const char *cmd_base(const char *path);

/* Where a symbolic link leads, in memory of its own; NULL with errno. */
char *cmd_readlink(const char *path);

/* Bytes as up to four digits and a letter: 999, 1.5K, 20M. */
#define CMD_HUMAN 8
const char *cmd_human(uint64_t bytes, char text[CMD_HUMAN]);

/* Become another program, found by PATH; 127 if there is none, else 126. */
_Noreturn void cmd_exec(char **argv);

/* --- Input --- */

/* `-` is standard input. -1 after a message. */
int cmd_open(const char *path);
/* read(2) after the output is flushed, should someone wait for it at a
 * terminal. -1 after a message about name. */
ssize_t cmd_read(int fd, void *buf, size_t size, const char *name);
/* What to call a file above its contents: `-` is standard input there. */
const char *cmd_title(const char *path);
/* Call work for each operand, opened; for standard input without any. */
void cmd_files(void (*work)(int fd, const char *name));

/* A file line by line. */
struct lines {
	int fd;
	const char *name; /* for messages */
	bool ended;       /* nothing more to read */
	char *buf;
	size_t start, end, size; /* of the unread part; of buf */
};

void lines_open(struct lines *in, int fd, const char *name);
/* The next line, a NUL in place of its newline, valid until the next call;
 * NULL at the end. *length may count NULs that are part of the line. */
char *lines_next(struct lines *in, size_t *length);
void lines_close(struct lines *in); /* but not its fd */

/* The whole of a file, *size bytes and a NUL; NULL after a message. */
char *cmd_slurp(int fd, const char *name, size_t *size);

/* --- Output --- */

extern struct out {
	int fd; /* standard output, until sort -o says otherwise */
	size_t used;
	char *buf; /* CMD_BUFFER bytes */
} out;

void out_flush(void);
void out_bytes(const void *bytes, size_t size);
void out_string(const char *text);
void out_name(const char *name); /* as show.h has it */
void out_path(const char *path); /* a file's: the same, at a terminal */
void out_printf(const char *format, ...) CMD_PRINTF(1, 2);
/* All that is left of a file, as it comes: it may be a pipe that someone
 * watches. */
void out_copy(int fd, const char *name);
/* Without the buffer; false with errno. */
bool out_direct(int fd, const void *bytes, size_t size);

static inline void
out_char(char c)
{
	if (out.used == CMD_BUFFER)
		out_flush();
	out.buf[out.used++] = c;
}

/* --- Trees of files, for cp, mv and rm --- */

#define TREE_RECURSE 0x1  /* into directories */
#define TREE_KEEP    0x2  /* copies keep mode and times */
#define TREE_FORCE   0x4  /* replace a file that cannot be written */
#define TREE_ASK     0x8  /* before each removal */
#define TREE_MISSING 0x10 /* is not an error */

/* Each says what is wrong, goes on, and gives whether all went well. Symbolic
 * links are removed themselves. A copy follows them, unless directories are
 * copied: then they are copied themselves. */
bool tree_copy(const char *from, const char *to, unsigned int flags);
bool tree_remove(const char *path, unsigned int flags);

/* Call work for each operand but the last, with the last as what to become,
 * or inside the last if that is a directory. */
void cmd_onto(void (*work)(const char *from, const char *to));

/* dir/ and dir name the same, but only dir has a last component: remove
 * slashes from the end of a path. */
void tree_trim(char *path);

/*
 * The names in a directory, without `.` and `..`, in memory of their own and
 * NULL at the end. After a message: those that could be read, or NULL.
 */
char **tree_names(const char *path, size_t *count);
void tree_free(char **names);

#endif

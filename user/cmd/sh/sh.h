/*
 * The shell. Text becomes trees, and trees are run:
 *
 *	input.c  where lines come from: a string, a file, the terminal
 *	lex.c    characters to tokens
 *	word.c   the inside of a word: "$x", $(ls), text
 *	parse.c  tokens to trees of struct node
 *	exec.c   runs a tree, call.c its simple commands; redirect.c and
 *	         jobs.c see to files and processes
 *	expand.c words to fields: $x, $(ls), splitting, file names (glob.c)
 *	arith.c  $(( ))
 *	var.c    variables, and their local values in functions
 *	trap.c   signals
 *	options.c, alias.c
 *	builtin.c, control.c, echo.c, getopts.c, jobcmd.c, limits.c, test.c
 *	         the shell's commands
 *	edit.c, screen.c, history.c, complete.c  a line typed at the terminal
 *	main.c   options, the loops over commands, errors
 *	mem.c    arenas, strings that grow, output
 *
 * Memory. The tree of one complete command lies in an arena, which goes
 * when the command is done; a function keeps the one it was defined in.
 * What expansion makes lies in the scratch arena, marked before a command
 * and released after it. So a loop that runs for hours needs no more
 * memory than one that runs twice.
 *
 * Errors. There is no longjmp. What ends more than one command, such as
 * break, return, an error of expansion or Ctrl-C, sets sh.flow, and every
 * loop and list stops when that isn't FLOW_NONE. Who the flow is meant for
 * sets it back.
 */
#ifndef SH_H
#define SH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../cmdlib/number.h"

/* Exit statuses that POSIX names. */
enum {
	STATUS_ERROR = 1,
	STATUS_USAGE = 2, /* also syntax errors and failed expansions */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128, /* and the signal's number */
};

/* ------------------------------------------------------------ main.c */

enum flow {
	FLOW_NONE,
	FLOW_BREAK,    /* out of sh.flow_loops loops */
	FLOW_CONTINUE, /* out of sh.flow_loops - 1, then round again */
	FLOW_RETURN,   /* out of a function or a file read with "." */
	FLOW_ABORT,    /* to the prompt; without one, the shell exits */
};

struct params { /* $1... */
	char **v;
	int n;
	char **owned; /* what to free: v when it was set; NULL: nothing */
};

struct shell {
	int status;      /* $? */
	int substituted; /* status of this command's last $( ); 0: none */
	int trapped;     /* $? before the trap's action; -1: none runs */
	int trap_calls;  /* .calls when that began */
	enum flow flow;
	int flow_loops;
	int loops;  /* running around this command, in this function */
	int tested; /* > 0: set -e is off, a condition is being evaluated */
	int calls;  /* of functions, nested */
	int line;   /* of the command that runs, from 1 in its file */
	/* That file, for errors; NULL: the command was typed, or is -c's. */
	const char *file;
	bool interactive; /* there is a prompt to go back to */
	/* options.c has their letters and names */
	bool opt_allexport, opt_errexit, opt_noclobber, opt_noexec, opt_noglob;
	bool opt_nounset, opt_pipefail, opt_verbose, opt_xtrace;
	pid_t pid;          /* $$ */
	pid_t last_started; /* $!, 0: none */
	const char *name;   /* $0 */
	struct params params;
};

extern struct shell sh;

struct input;
void shell_run(struct input *in);  /* all its commands, until a flow */
void shell_eval(const char *text); /* run text here; sets sh.status */
void shell_exit(int status) __attribute__((noreturn)); /* runs EXIT's trap */
/* Is the stack nearly full? All that calls itself as deep as a command is
 * nested has to ask, and to fail with this message. */
bool too_deep(void);
#define TOO_DEEP "nested too deeply"
/* One line on stderr. It starts with $0, or with the file and the line that
 * the command was read from. */
void shell_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and give up the whole command with a status. */
void shell_abort(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* -------------------------------------------------------- options.c */

bool shell_is_option(const char *s); /* -x or +x */
/* false: there is no such option */
bool shell_option(char letter, bool on);
bool shell_option_named(const char *name, bool on);
const char *shell_letters(void); /* $- */
int builtin_set(int argc, char **argv);

/* ------------------------------------------------------------- mem.c */

/* These end the shell when there is no memory. */
void *xmalloc(size_t n);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
char *xformat(const char *format, va_list args); /* as vprintf prints it */

struct arena;
struct arena *arena_new(void); /* with one reference */
void arena_ref(struct arena *a);
void arena_put(struct arena *a);              /* the last one frees it all */
void *arena_alloc(struct arena *a, size_t n); /* zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);

extern struct arena *scratch;
struct mark {
	void *chunk;
	size_t used;
};
struct mark scratch_mark(void);
void scratch_release(struct mark m); /* forget what came after the mark */

/* A string that grows; s is terminated, and NULL until something is put. */
struct buf {
	char *s;
	size_t len, cap;
};
void buf_put(struct buf *b, char c);
void buf_add(struct buf *b, const char *s, size_t n);
char *buf_take(struct buf *b, struct arena *a); /* copy to a, empty b */
void buf_free(struct buf *b);

/* What builtins print: kept until out_flush, which gives false if it
 * could not be written. */
void out_char(char c);
void out_str(const char *s);
void out_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool out_flush(void);
void out_error(const char *s, size_t n); /* to stderr, at once */

/* ----------------------------------------------------------- input.c */

struct input {
	const char *p;    /* what follows; at its NUL, input_line for more */
	int line;         /* of the line that p is in */
	bool continued;   /* a command has begun: prompt with PS2 */
	bool plain;       /* the next line is a here-document's */
	bool interrupted; /* Ctrl-C at the prompt */
	bool last;        /* when it has ended, so has the shell */
	bool at_eof;
	/* Where lines come from: */
	enum input_kind { INPUT_STRING, INPUT_FILE, INPUT_TERMINAL } kind;
	const char *rest;  /* STRING: the lines not yet given */
	int fd;            /* FILE, TERMINAL */
	char *block;       /* FILE: what was read ahead; NULL: nothing is */
	size_t next, have; /* the part of block not yet given */
	struct buf text;   /* the line */
	const char *copy;  /* TERMINAL: of it, in the arena; NULL: not yet */
};

void input_string(struct input *in, const char *text);
void input_file(struct input *in, int fd); /* takes over fd, unless 0 */
void input_terminal(struct input *in);     /* descriptor 0, with prompts */
void input_close(struct input *in);
extern unsigned long input_lines;  /* how many were read, of all inputs */
bool input_line(struct input *in); /* go on to the next line; false: none */
size_t input_left(struct input *in, const char *p); /* of the line, from p */
bool input_ends(struct input *in); /* only blanks are left of a string */

/* ----------------------------------------- lex.c, word.c, parse.c */

enum token {
	T_EOF,
	T_NEWLINE,
	T_WORD,
	T_IO_NUMBER, /* digits right before < or > */
	T_SEMI,
	T_DSEMI, /* ;; */
	T_AMP,
	T_AND,
	T_PIPE,
	T_OR,
	T_LPAREN,
	T_RPAREN,
	T_LESS,
	T_LESSAND,    /* <& */
	T_LESSGREAT,  /* <> */
	T_HERE,       /* << */
	T_HERE_STRIP, /* <<- */
	T_GREAT,
	T_GREATAND, /* >& */
	T_APPEND,   /* >> */
	T_CLOBBER,  /* >| */
};

struct part {
	enum { PART_TEXT, PART_PARAM, PART_COMMAND, PART_ARITH } kind;
	bool quoted;      /* no splitting, no patterns */
	const char *text; /* TEXT; PARAM: the name */
	/* PARAM: 0, or - = + ? # % as in ${name-word}, or 'L': ${#name} */
	char op;
	bool colon;           /* :- := :+ :? take empty for unset */
	bool longest;         /* ## %% */
	struct part *operand; /* PARAM: the word; ARITH: the expression */
	struct node *command; /* COMMAND */
	struct part *next;
};

struct word {
	struct part *parts;
	struct word *next;
};

struct assign {
	const char *name;
	struct part *value;
	struct assign *next;
};

struct redirect {
	enum token op;
	int fd;
	struct part *target;   /* a file or descriptor; << the text */
	const char *delimiter; /* << until the text has been read */
	bool literal;          /* << the delimiter was quoted */
	struct redirect *here; /* the next << whose text is to come */
	struct redirect *next;
};

struct case_item {
	struct word *patterns;
	struct node *body;
	struct case_item *next;
};

enum node_kind {
	NODE_SIMPLE,     /* assigns words redirects */
	NODE_PIPE,       /* left | right */
	NODE_NOT,        /* ! left */
	NODE_AND,        /* left && right, which may be another of these */
	NODE_OR,         /* left || right: they are done from the left */
	NODE_LIST,       /* left; right */
	NODE_BACKGROUND, /* left & */
	NODE_SUBSHELL,   /* ( left ) redirects */
	NODE_GROUP,      /* { left } redirects */
	NODE_IF,         /* if left; then right; else other; fi redirects */
	NODE_WHILE,      /* while left; do right; done redirects */
	NODE_UNTIL,      /* the same, until */
	NODE_FOR,        /* for name in words; do right; done redirects */
	NODE_CASE,       /* case words in items esac redirects */
	NODE_FUNCTION,   /* name() left */
};

struct node {
	enum node_kind kind;
	int line;
	struct node *left, *right, *other;
	struct word *words;
	struct assign *assigns;
	struct redirect *redirects;
	struct case_item *items;
	const char *name;
	const char *file;    /* FUNCTION: where it is defined, as sh.file */
	const char *text;    /* as typed, for jobs; NULL unless interactive */
	struct arena *arena; /* the tree is in; FUNCTION only */
	bool params;         /* FOR: without "in", over "$@" */
	bool declares;       /* SIMPLE: export a=$b doesn't split $b */
};

struct parser {
	struct input *in;
	struct arena *arena;
	bool failed; /* an error was reported; only T_EOF from here on */
	/* The token looked at, if there is one. */
	bool have;
	enum token token;
	struct part *parts;    /* T_WORD */
	const char *literal;   /* T_WORD of unquoted text only: that text */
	int number;            /* T_IO_NUMBER */
	const char *start;     /* of the token, in in's line */
	int line;              /* that line's number */
	size_t blank_after;    /* an alias ended in a blank: see alias.c */
	int end_line;          /* of the token before: line, */
	size_t behind;         /* and what followed there, for jobs */
	struct redirect *here; /* whose texts start on the next line */
};

enum token lex_token(struct parser *p); /* look at the next */
void lex_take(struct parser *p);        /* drop it */
/* A syntax error, with its line; the first is reported. */
void lex_error(struct parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A here-document, whose target is its delimiter until the text is read. */
void lex_delimiter(struct parser *p, struct redirect *r);
/* Texts of here-documents that start on the next line: r and r->here... */
void lex_expect_here(struct parser *p, struct redirect *r);

/* Characters, for word.c. One that was peeked at is dropped by lex_skip. */
#define LEX_END  (-1)           /* instead of a character */
#define LEX_META " \t\n;&|<>()" /* what can't be in a word, unquoted */
int lex_peek_raw(struct parser *p);
int lex_peek(struct parser *p); /* a backslash and newline vanish */
void lex_skip(struct parser *p);
bool lex_follow(struct parser *p, int c); /* drop it if it is c */
bool is_name_char(int c);
bool is_name(const char *s, size_t n);

struct part *word_lex(struct parser *p); /* the word that starts here */
/* Parts of a text whose quotes are plain: a here-document, a prompt. */
struct part *word_text(struct parser *outer, const char *text);

/* alias.c: put an alias's text in the place of the next token, if it is one;
 * and if that token follows one whose text ends in a blank. */
bool alias_expand(struct parser *p);
bool alias_next(struct parser *p);
const char *alias_get(const char *name); /* NULL: there is none */
int builtin_alias(int argc, char **argv);
int builtin_unalias(int argc, char **argv);

struct node *parse_list(struct parser *p); /* to what can't be in one */
enum parsed { PARSED, PARSED_NOTHING, PARSED_ERROR, PARSED_EOF };
/* One complete command. The arena is the caller's to put, always. */
enum parsed parse_command(struct input *in, struct arena *a, struct node **out);

/* ---------------------------------------------------------- expand.c */

/* All results are in the scratch arena; NULL: failed, and sh.flow is set. */
char **expand_fields(struct word *w, bool declares, int *count);
char *expand_string(struct part *parts);  /* one string, no patterns */
char *expand_assign(struct part *parts);  /* ~ after a colon too */
char *expand_pattern(struct part *parts); /* quoted parts escaped */
const char *param_get(const char *name, struct buf *tmp); /* NULL: unset */

/* ------------------------------------------------------------ glob.c */

struct strings { /* a list that grows; the strings are in scratch */
	char **v;
	size_t n, cap;
};
void strings_add(struct strings *l, char *s);
int strings_compare(const void *a, const void *b); /* for qsort */

char *glob_unescape(char *pattern); /* in place */
bool glob_is_pattern(const char *s);
/* Add the sorted names that match; false: there are none. */
bool glob_files(const char *pattern, struct strings *out);

/* ----------------------------------------------------------- arith.c */

/* false: reported, and sh.flow is set. */
bool arith_eval(const char *text, long *value);

/* ------------------------------------------------------------- var.c */

enum { VAR_EXPORT = 1, VAR_READONLY = 2 };
void var_init(void); /* from the environment */
const char *var_get(const char *name);
bool var_set(const char *name, const char *value); /* false: readonly */
bool var_set_number(const char *name, long value);
bool var_unset(const char *name);
void var_flag(const char *name, int flag);
void var_print(int flag, const char *prefix); /* those with flag; 0: all */
void quoted_print(const char *s);             /* so that it can be read again */
char **var_environ(void);                     /* in scratch */

struct scope {
	struct saved *saved;
	struct scope *outer;
};
void scope_enter(struct scope *s);
void scope_leave(struct scope *s); /* put back what was made local */
bool var_local(const char *name);  /* in the innermost; false: there's none */

/* -------------------------------------- exec.c, call.c, redirect.c */

/* Run a tree; gives and sets sh.status. last: the process has nothing to
 * do afterwards but to exit with it, so it may become the command. */
int exec_node(struct node *n, bool last);
void exec_simple(struct node *n, bool last); /* call.c from here */
void function_define(struct node *n);
/* The output of a command, trailing newlines cut, added to out. */
void exec_substitute(struct node *n, struct buf *out);
void exec_program(char **argv) __attribute__((noreturn));
/* The file that name is run from, in scratch; NULL: there is none. */
char *exec_find(const char *name);
/* The next path that a name may have, in scratch; *dirs moves on in PATH,
 * and is NULL at its end. */
char *path_next(const char *name, const char **dirs);
struct node *function_find(const char *name); /* the NODE_FUNCTION */
void function_unset(const char *name);
/* Run a builtin or a program, no function; gives the status. */
int exec_command(int argc, char **argv);

struct undo { /* a descriptor, and where the old one was kept */
	int fd, copy;
	struct undo *next;
};
/* Carry out redirections; with undo, note in it how to take them back.
 * false: reported, and taken back. */
bool redirect_apply(struct redirect *r, struct undo **undo);
void redirect_undo(struct undo *u);
int fd_move_up(int fd); /* out of the way of scripts; close on exec */

/* ------------------------------------------------------------ jobs.c */

struct job;
extern bool job_control; /* jobs have process groups, and the terminal */
void job_init(void);     /* turn that on, if there is a terminal */
struct job *job_new(int processes, const char *text);
enum fork_mode {
	FORK_FOREGROUND, /* the job gets the terminal */
	FORK_BACKGROUND,
	FORK_PLAIN, /* it stays in the shell's own process group */
};
/* Add a process to a job: gives its pid, and 0 in the child, which is a
 * subshell from then on. -1: there is none, and it was reported. */
pid_t job_fork(struct job *j, enum fork_mode mode);
int job_wait(struct job *j);        /* to its end or stop; the status */
void job_background(struct job *j); /* let it be */
void job_report(void);              /* what has changed, before a prompt */
bool job_may_leave(void); /* false: some are stopped, which it says once */
void job_leave(void);     /* the shell exits: give the terminal back */
int builtin_bg(int argc, char **argv);
int builtin_jobs(int argc, char **argv);
int builtin_fg(int argc, char **argv);
int builtin_wait(int argc, char **argv);
int builtin_kill(int argc, char **argv);

/* ------------------------------------------------------------ trap.c */

enum { TRAP_EXIT = 0 };
extern volatile bool trap_caught; /* a signal waits for trap_run */
void trap_init(void);
void trap_interactive(void); /* Ctrl-C must not end this shell */
/* In a child: as it was when the shell started. A command that runs aside
 * from the terminal ignores what is typed there. */
void trap_subshell(bool aside);
void trap_exec(void); /* execve comes next: as a program expects it */
void trap_run(void);
void trap_exit(void);                /* run the one of EXIT, once */
bool trap_any(void);                 /* may one still have to run? */
int trap_signal(void);               /* one that waits; 0: none */
int signal_number(const char *name); /* "INT", "SIGINT", "2"; -1 */
const char *signal_name(int sig);    /* "INT" */
int builtin_trap(int argc, char **argv);

/* --------------------------------------------------------- builtin.c */

struct builtin {
	const char *name;
	int (*run)(int argc, char **argv);
	bool special; /* POSIX: an error ends a script, assignments stay */
	const char *usage;
};
const struct builtin *builtin_find(const char *name);
const struct builtin *builtin_next(const struct builtin *b); /* NULL: first */

int builtin_break(int argc, char **argv); /* control.c */
int builtin_dot(int argc, char **argv);
int builtin_eval(int argc, char **argv);
int builtin_exec(int argc, char **argv);
int builtin_exit(int argc, char **argv);
int builtin_return(int argc, char **argv);
int builtin_shift(int argc, char **argv);
int builtin_command(int argc, char **argv);
int builtin_type(int argc, char **argv);
void params_set(char **v, int n); /* copies */
void params_free(void);

int builtin_echo(int argc, char **argv);    /* echo.c */
int builtin_test(int argc, char **argv);    /* test.c */
int builtin_getopts(int argc, char **argv); /* getopts.c */
int builtin_ulimit(int argc, char **argv);  /* limits.c */
int builtin_times(int argc, char **argv);

/* ---------------------------------- edit.c, history.c, complete.c */

enum edited { EDIT_LINE, EDIT_EOF, EDIT_INTERRUPTED };
/* plain: a line of a text, not of a command. */
enum edited edit_line(const char *prompt, bool plain, struct buf *line);
void edit_done(void);     /* a command runs next: the terminal is as it was */
void history_start(void); /* what earlier shells left */
int builtin_history(int argc, char **argv);

/* Every way to go on with the word that ends at text + pos, which starts
 * at the offset given; sorted, in scratch. */
size_t complete_find(const char *text, size_t pos, struct strings *found);

#endif

/*
 * tally: where the time goes while a command runs, or now.
 *
 * count.c adds up samples, report.c prints them as tables, live.c shows them
 * again and again, annotate.c shows the instructions of a function. waits.c has
 * its own tables of waits, in the words of waitwords.c; path.c finds what a
 * run's end waited for. main.c has the options.
 */
#ifndef TALLY_H
#define TALLY_H

#include "../../cmdlib/cmd.h"
#include "../../cmdlib/elfsym.h"
#include "../../cmdlib/pcsdev.h"
#include "../../cmdlib/pcsread.h"
#include "../../cmdlib/pcswho.h"
#include "../../cmdlib/profclock.h"
#include "../../cmdlib/table.h"

/* --- Options --- */

extern size_t limit;      /* functions to be shown */
extern unsigned int rate; /* samples a second on each hart */
extern bool only_kernel, only_user;
void open_output(void);    /* that of the report */
void report_command(void); /* its first line */

/* --- Samples --- */

/* What was executed, by any number of processes: one of pcs_programs, or the
 * kernel. */
struct program {
	bool loaded;
	struct elfsyms syms;   /* none, if it has none or can't be read */
	uint64_t user, kernel; /* hits of its processes; of the kernel's own */
	uint64_t *functions;   /* hits of each symbol, and then of none */
	size_t processes;      /* those with hits */
	int pid;               /* of one of them */
	unsigned char *pids;   /* a bit for each; NULL: none */
};
#define KERNEL_SPACE UINT32_MAX /* instead of a program's number */

extern struct program *programs; /* by number, as far as they have hits */
extern size_t programs_count;
extern struct program kernel;
extern struct pcs_walk seen; /* the hits of harts */

/* The one of pcs_programs with this number; one more process of it, if that
 * hasn't been seen; and its symbols, or the kernel's. */
struct program *program_at(size_t number);
void program_seen(struct program *p, int pid);
const struct elfsyms *program_symbols(size_t number);

/* Open the device and ask it for what the options want; begin. */
int count_open(void);
/* Add up buffers. */
void count_buffers(const struct LOGBUF *b, size_t count);
/* The hits of one address of a program, or of KERNEL_SPACE. */
uint64_t count_at(size_t number, uint64_t address);
/* Find the functions of what has been counted. */
void count_functions(void);
/* Forget all hits. */
void count_clear(void);

/* --- Printing --- */

/* How many samples there were in all, were lost, and were skipped. */
void report_total(uint64_t lost, uint64_t skipped);
int hart_count(void);
/* What the times are not, as far as there is something to say. Are they those
 * of instructions, so that chance alone makes a share wrong? */
bool report_clock(void);
/* For each hart what it did, in lines of so many columns. */
void report_harts(int columns);
/* A program's name; and which process it was, if it was one. */
#define WHO_MAX 48
const char *report_who(size_t number, char text[WHO_MAX]);
/* The other tables; the bars are so wide. */
void report_states(struct table *t);
void report_functions(struct table *t, size_t rows);
void report_processes(struct table *t, size_t rows);

/* The instructions of all functions of this name that have samples. */
void report_annotated(const char *name);

/* --- Waits --- */

#define AT_ONCE 64 /* records that are read at once */
#define INDENT  "            "

/* Run the command; report what it waited for. */
void waits_run(void);

/* What the command's record of this number was for, by which calls. No `what':
 * for a hart. */
void path_record(size_t record, size_t program, const char *what,
		 const char *calls);
/* The critical path of this process; times are given so many counts a ms. */
void path_report(pid_t first, double per_ms);

/* In words, each in memory of its own: what was waited for; the calls of the
 * program and of the kernel; who ended it. */
struct waits_key;
struct waits_waker;
char *wait_what(const struct waits_key *k, size_t program);
char *wait_user_calls(const struct waits_key *k, size_t program);
char *wait_kernel_calls(const struct waits_key *k);
char *wait_waker(const struct waits_waker *w);

/* Until q, an interrupt, or so many seconds (0: no limit) have passed. */
void live(unsigned long seconds);

#endif

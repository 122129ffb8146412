/*
 * tally: where the time goes while a command runs, or now.
 *
 * clock.c sets the sampling clock, count.c adds up samples, report.c prints
 * them as tables, live.c shows them again and again; main.c has the options.
 */
#ifndef TALLY_H
#define TALLY_H

#include "../../cmdlib/cmd.h"
#include "../../cmdlib/elfsym.h"
#include "../../cmdlib/pcsdev.h"
#include "../../cmdlib/pcsread.h"
#include "../../cmdlib/processes.h"
#include "../../cmdlib/table.h"

/* --- Options --- */

extern size_t limit;      /* functions to be shown */
extern unsigned int rate; /* samples a second on each hart */
extern bool only_kernel, only_user;

/* --- The sampling clock --- */

/* Let it strike at `rate`, at random intervals, until the program ends. */
void clock_set(void);
void clock_restore(void);

/* --- Samples --- */

struct program {
	const char *path;
	struct elfsyms syms; /* none, if it has none or can't be read */
};

/* Whose functions are charged: KERNEL_SPACE, or a program run by a process. */
struct process {
	int pid;
	char name[PROCESS_NAME]; /* empty: it ended before it was looked at */
	const char *path;        /* as it was called, if by a path */
	struct program *program; /* where it's known */
	uint64_t user, kernel;   /* hits */
	uint64_t *functions;     /* hits of each symbol, and then of none */
};
#define KERNEL_SPACE 0

#define LOOK 20 /* ms from one look at the processes to the next */

extern struct process *all_processes;
extern size_t all_processes_count;
extern struct pcs_walk seen; /* the hits of harts */

/* Open the device and ask it for what the options want; begin. */
int count_open(void);
/* Look who runs: names are known of those who live. */
void count_look(void);
/* This process will run this program. */
void count_command(pid_t pid, const char *path);
/* Add up a buffer. */
void count_buffers(const struct LOGBUF *b, size_t count);
/* Find the functions of what has been counted. */
void count_functions(void);
/* Forget all hits. */
void count_clear(void);

/* --- Printing --- */

/* How many samples there were in all, were lost, and were skipped. */
void report_total(uint64_t lost, uint64_t skipped);
int hart_count(void);
/* For each hart what it did, in lines of so many columns. */
void report_harts(int columns);
/* The other tables; the bars are so wide. */
void report_states(struct table *t);
void report_functions(struct table *t, size_t rows);
void report_processes(struct table *t);

/* Until q, an interrupt, or so many seconds (0: no limit) have passed. */
void live(unsigned long seconds);

#endif

/*
 * What the parts of the stress share. A part is a function that runs one round
 * of one kind of work, checks what came of it, and leaves nothing behind; it
 * is called over and over, in a process of its own, beside many others.
 */
#ifndef STRESS_H
#define STRESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Is memory so scarce that everything may fail? Then only the kernel is
 * judged: what fails ends its process, which is started anew. */
extern bool scarce;

/* 0 <= it < n. Each process has its own sequence. */
unsigned int chance(unsigned int n);
void chance_seed(unsigned int seed);

/* fork, with a sequence of its own for the child; failing ends the process. */
pid_t split(void);

/* Give others time to do what they shouldn't: a little or none. */
void dawdle(void);

/* It is wrong: say so, and end this process. */
void wrong(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));
#define must(condition)        \
	((condition) ? (void)0 \
		     : wrong("%s:%d: %s", __FILE__, __LINE__, #condition))

/* children.c */
void round_of_children(void);
void run_executed(char **argv) __attribute__((noreturn));

/* threads.c */
void round_of_threads(void);

/* streams.c */
/* Interrupt this process now and then, with calls restarted or not. */
void be_interrupted(void);
void round_of_streams(void);

/* contents.c */
void round_of_files(void);
void round_of_names(void);

/* growth.c */
void round_of_growth(void);
void round_of_hog(void);

/* profilers.c */
void profil_any(void);
void round_of_profil(void);
void round_of_pcs(void);
void round_of_tables(void);

#endif

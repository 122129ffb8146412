/* What the workloads share. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>

struct workload {
	const char *name;
	/* A piece of work, done again and again. */
	void (*work)(void);
	/* Before the counting: others that take part; NULL: none. */
	void (*start)(unsigned int harts);
	/* Each hart gets a process that does the same. */
	bool copies;
	/* It waits for the host, and harts are busy with interrupts meanwhile:
	 * profil's samples, of the program alone, must be enough as well. */
	bool waits;
};

extern const struct workload workloads[];
extern const unsigned int nworkloads;

/* Ends the program with a message. */
void die(const char *what);
/* Start a process that does work for good, until the driver ends. */
void helper(void (*work)(void));
/* Start a program whose samples are to be told apart from the driver's. */
void program(char **argv);

#endif

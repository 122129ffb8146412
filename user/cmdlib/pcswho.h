/*
 * Whose samples pcs gives: what the records of PROF_EVENTS tell of contexts, as
 * far as they have been read. See <sys/pcs.h>.
 */
#ifndef PCSWHO_H
#define PCSWHO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/pcs.h>
#include <sys/stat.h>

/* What processes execute. Two of one name differ by their files. */
struct pcs_program {
	char name
	    [17];   /* of what was executed, a script perhaps; empty: unknown */
	char *path; /* of the program's file; NULL: it isn't known */
	uint64_t ino; /* of that, as MAP_RECORD has it */
	int64_t mtime;
};

#define PCS_UNKNOWN 0 /* the first program: of those of whom nothing is told */

extern struct pcs_program *pcs_programs;
extern size_t pcs_programs_count;

/* As MAP_RECORD has it. */
static inline int64_t
pcs_mtime(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec;
}

/* One of the records from BORN on; others are passed over. */
void pcs_tell(const void *record);

/* The number of the program that a sample of a process was taken in. A made-up
 * sample has no context, 0: it is of what the process executes now. */
size_t pcs_whose(int pid, unsigned int context);

/* The path of a program's file, if that is still what was executed; or NULL. */
const char *pcs_file(size_t program);

#endif

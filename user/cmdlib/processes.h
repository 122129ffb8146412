/* The processes there are, and the programs they run. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <sys/sysinfo.h>

#define PROCESS_NAME (sizeof(((struct psinfo *)0)->name) + 1)

/* All processes, *count of them, until the next call. */
struct psinfo *processes(int *count);

/* A process's name, with a NUL. */
const char *process_name(const struct psinfo *p, char name[PROCESS_NAME]);

/* Where a program lies whose name a process bears: found by PATH, then in the
 * current directory. In memory of its own; NULL: it isn't there. */
char *process_program(const char *name);

#endif

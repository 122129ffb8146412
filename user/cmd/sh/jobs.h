/* Jobs from the inside, for jobs.c and jobcmd.c. */
#ifndef JOBS_H
#define JOBS_H

#include "sh.h"

enum state { RUNNING, STOPPED, DONE };

struct process {
	pid_t pid;
	int status; /* as waitpid gave it */
	enum state state;
};

struct job {
	struct job *next;
	int id;          /* as in %1; 0: it has no number */
	pid_t pgrp;      /* 0: the shell's */
	char *text;      /* NULL: unknown */
	enum state told; /* the state its user knows of */
	int n;
	struct process p[];
};

extern struct job *jobs; /* the oldest first */

void job_free(struct job *j);
enum state job_state(struct job *j); /* running while any process is */
int job_status(struct job *j);       /* of its last process, as $? has it */
struct job *job_of(pid_t pid, struct process **p); /* NULL: none of ours */
bool job_reap(int options); /* learn of a child's change; false: none came */
void job_foreground(struct job *j); /* give it the terminal */
/* Print the jobs with numbers, all or those with news; forget the done. */
void job_list(bool all);

#endif

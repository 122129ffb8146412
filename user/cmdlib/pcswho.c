/* See pcswho.h. */
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "pcsread.h"
#include "pcswho.h"

#define CONTEXTS 65536

/* The last that had each number. */
static struct context {
	int pid;
	uint32_t program;
} contexts[CONTEXTS];

/* What each executes, or did last, and since when. */
static struct {
	uint32_t program;
	uint64_t time;
} of_pid[PCS_PIDS];

struct pcs_program *pcs_programs;
size_t pcs_programs_count;
static size_t programs_room;

static size_t
add_program(const struct pcs_program *new)
{
	struct pcs_program *p;

	if (pcs_programs_count == programs_room)
		pcs_programs = cmd_grow(pcs_programs, &programs_room,
					sizeof(*p));
	p = &pcs_programs[pcs_programs_count];
	*p = *new;
	if (new->path)
		p->path = cmd_copy(new->path);
	return pcs_programs_count++;
}

static bool
is_same(const struct pcs_program *a, const struct pcs_program *b)
{
	if (strcmp(a->name, b->name) != 0)
		return false;
	if (!a->path || !b->path)
		return !a->path && !b->path;
	return strcmp(a->path, b->path) == 0 && a->ino == b->ino &&
	       a->mtime == b->mtime;
}

static size_t
find_program(const struct pcs_program *wanted)
{
	for (size_t i = 1; i < pcs_programs_count; i++)
		if (is_same(&pcs_programs[i], wanted))
			return i;
	return add_program(wanted);
}

size_t
pcs_whose(int pid, unsigned int context)
{
	const struct context *c = &contexts[context];

	if (context == 0)
		return of_pid[pid].program;
	return c->pid == pid ? c->program : PCS_UNKNOWN;
}

/* A record may repeat what was before the process's present program. */
static void
set(const struct EVENT *event, size_t program)
{
	int pid = event->pid % PCS_PIDS;

	contexts[event->context] = (struct context){event->pid, program};
	if (event->time < of_pid[pid].time)
		return;
	of_pid[pid].program = program;
	of_pid[pid].time = event->time;
}

/* Record by record, as they lie in a LOGBUF at any address. */
static void
tell_born(const char *record)
{
	struct BORN_RECORD r;

	memcpy(&r, record, sizeof(r));
	set(&r.event, r.of ? pcs_whose(r.parent, r.of) : PCS_UNKNOWN);
}

static void
tell_execed(const char *record)
{
	struct pcs_program p = {0};
	struct EXEC_RECORD r;

	memcpy(&r, record, sizeof(r));
	memcpy(p.name, r.name, sizeof(r.name));
	set(&r.event, find_program(&p));
}

static void
tell_mapped(const char *record)
{
	struct MAP_RECORD r;
	struct pcs_program p;

	memcpy(&r, record, sizeof(r));
	p = pcs_programs[pcs_whose(r.event.pid, r.event.context)];
	p.path = (char *)record + sizeof(r);
	p.ino = r.ino;
	p.mtime = r.mtime;
	if (*p.path)
		set(&r.event, find_program(&p));
}

void
pcs_tell(const void *record)
{
	static const struct pcs_program unknown;

	if (pcs_programs_count == 0)
		add_program(&unknown);
	switch (*(const char *)record) {
	case BORN:
		tell_born(record);
		break;
	case EXECED:
		tell_execed(record);
		break;
	case MAPPED:
		tell_mapped(record);
		break;
	}
}

const char *
pcs_file(size_t program)
{
	const struct pcs_program *p = &pcs_programs[program];
	struct stat st;

	if (!p->path || stat(p->path, &st) < 0 || IN_FILE(st) != p->ino ||
	    pcs_mtime(&st) != p->mtime)
		return NULL;
	return p->path;
}

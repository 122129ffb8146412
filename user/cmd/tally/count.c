/*
 * Samples, added up: so many hits of a process at a pc. That a pc lies in a
 * function is only found when a report needs it, not while the command runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tally.h"

#define SELF      "tally"
#define NAMELIST  "/boot/kernel"
#define BUFFERS   (MAX_BUFS - DEF_BUFNO) /* more than the device has */
#define SPOTS_MIN 1024
#define HASH      0x9e3779b97f4a7c15 /* spreads */

/* An open hash table, at most half full, of so many slots, a power of 2. */
static struct spot {
	uint32_t process; /* its number */
	struct PSAMPLE at;
	uint64_t hits; /* 0: the slot is empty */
} * spots;
static size_t spots_size, spots_count;

struct process *all_processes;
size_t all_processes_count;
static size_t processes_room;
static uint32_t current[PCS_PIDS]; /* who has the id; 0: nobody known */
struct pcs_walk seen;

static struct program **programs;
static size_t programs_count, programs_room;

/* --- Processes --- */

static uint32_t
add_process(int pid, const char *name)
{
	if (all_processes_count == processes_room)
		all_processes = cmd_grow(all_processes, &processes_room,
					 sizeof(*all_processes));
	all_processes[all_processes_count] = (struct process){.pid = pid};
	strcpy(all_processes[all_processes_count].name, name);
	return all_processes_count++;
}

/* A process bears a name: the same one as before, its first, or it runs
 * another program now. */
static void
know(int pid, const char *name)
{
	uint32_t i = current[pid];

	if (i && !*all_processes[i].name)
		strcpy(all_processes[i].name, name);
	if (i && strcmp(all_processes[i].name, name) == 0)
		return;
	for (i = 1; i < all_processes_count; i++)
		if (all_processes[i].pid == pid &&
		    strcmp(all_processes[i].name, name) == 0)
			break;
	current[pid] = i < all_processes_count ? i : add_process(pid, name);
}

void
count_look(void)
{
	char name[PROCESS_NAME];
	int count;
	const struct psinfo *p = processes(&count);

	for (int i = 0; i < count; i++) {
		process_name(&p[i], name);
		/* Our child bears our name until it has become its command. */
		if (p[i].ppid != getpid() || strcmp(name, SELF) != 0)
			know(p[i].pid, name);
	}
}

void
count_command(pid_t pid, const char *path)
{
	struct psinfo p;
	char name[PROCESS_NAME];

	/* As exec does it. */
	snprintf(p.name, sizeof(p.name), "%s", cmd_base(path));
	know(pid, process_name(&p, name));
	if (strchr(path, '/'))
		all_processes[current[pid]].path = path;
}

int
count_open(void)
{
	int device = pcs_open();

	seen.name = PCS_DEVICE;
	add_process(0, "kernel");
	pcs_ask(device, BUF_INCR, BUFFERS);
	return device;
}

/* --- Hits --- */

static struct spot *
find_spot(uint32_t process, const struct PSAMPLE *at)
{
	uint64_t hash = ((uint64_t)process << 32 | at->pc) * HASH;
	size_t i = hash >> 32;

	for (;; i++) {
		struct spot *s = &spots[i & (spots_size - 1)];

		if (s->hits == 0 ||
		    (s->process == process && s->at.pc == at->pc))
			return s;
	}
}

static void
make_room(void)
{
	struct spot *old = spots;
	size_t size = spots_size;

	spots_size = size ? 2 * size : SPOTS_MIN;
	spots = cmd_alloc(spots_size * sizeof(*spots));
	memset(spots, 0, spots_size * sizeof(*spots));
	for (size_t i = 0; i < size; i++)
		if (old[i].hits)
			*find_spot(old[i].process, &old[i].at) = old[i];
	free(old);
}

static void
count_sample(const struct PSAMPLE *s)
{
	bool user = s->type == USER;
	struct spot *spot;
	uint32_t process;

	if (!current[s->pid])
		current[s->pid] = add_process(s->pid, "");
	process = current[s->pid];
	if (user ? only_kernel : only_user)
		return;
	if (user)
		all_processes[process].user++;
	else
		all_processes[process].kernel++;
	if (spots_count >= spots_size / 2)
		make_room();
	spot = find_spot(user ? process : KERNEL_SPACE, s);
	if (spot->hits++ == 0) {
		spot->process = user ? process : KERNEL_SPACE;
		spot->at = *s;
		spots_count++;
	}
}

void
count_buffers(const struct LOGBUF *b, size_t count)
{
	const void *record;

	/* Who they are of, while they live. */
	count_look();
	for (; count > 0; b++, count--) {
		pcs_buffer(&seen, b);
		while ((record = pcs_next(&seen)))
			if (pcs_is_sample(*(const char *)record))
				count_sample(record);
	}
}

void
count_clear(void)
{
	memset(seen.hits, 0, sizeof(seen.hits));
	memset(spots, 0, spots_size * sizeof(*spots));
	spots_count = 0;
	for (size_t i = 0; i < all_processes_count; i++)
		all_processes[i].user = all_processes[i].kernel = 0;
}

/* --- Functions --- */

/* A program that can't be read has no symbols, which is no error. */
static struct program *
load(const char *path)
{
	struct program *p;
	struct stat st;

	for (size_t i = 0; i < programs_count; i++)
		if (strcmp(programs[i]->path, path) == 0)
			return programs[i];
	p = cmd_alloc(sizeof(*p));
	p->path = path;
	/* What isn't a file couldn't be run, and the child has said so. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    elfsym_load(&p->syms, path) != NULL)
		p->syms.count = 0;
	if (programs_count == programs_room)
		programs = cmd_grow(programs, &programs_room, sizeof(p));
	return programs[programs_count++] = p;
}

/* Find its symbols, and set its functions to 0. */
static void
prepare(struct process *p)
{
	const char *path = p->path;
	size_t size;

	if (p == &all_processes[KERNEL_SPACE])
		path = NAMELIST;
	else if (!path && *p->name)
		path = process_program(p->name);
	if (!p->program && path)
		p->program = load(path);
	p->path = path;
	size = ((p->program ? p->program->syms.count : 0) + 1) *
	       sizeof(*p->functions);
	p->functions = memset(cmd_realloc(p->functions, size), 0, size);
}

void
count_functions(void)
{
	for (size_t i = 0; i < all_processes_count; i++) {
		struct process *p = &all_processes[i];

		if (i == KERNEL_SPACE || p->user)
			prepare(p);
	}
	for (size_t i = 0; i < spots_size; i++) {
		const struct spot *s = &spots[i];
		struct process *p = &all_processes[s->process];
		size_t f = 0;

		if (s->hits == 0)
			continue;
		if (p->program)
			f = elfsym_find(&p->program->syms, pcs_address(&s->at));
		p->functions[f] += s->hits;
	}
}

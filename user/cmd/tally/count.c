/*
 * Samples, added up: so many hits of a program at a pc. That a pc lies in a
 * function is only found when a report needs it, not while the command runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

#define NAMELIST  "/boot/kernel"
#define BUFFERS   (MAX_BUFS - DEF_BUFNO) /* more than the device has */
#define SPOTS_MIN 1024
#define HASH      0x9e3779b97f4a7c15 /* spreads */

/* An open hash table, at most half full, of so many slots, a power of 2. */
static struct spot {
	uint32_t program;
	struct PSAMPLE at;
	uint64_t hits; /* 0: the slot is empty */
} * spots;
static size_t spots_size, spots_count;

struct program *programs;
size_t programs_count;
static size_t programs_room;
struct program kernel;
struct pcs_walk seen;

int
count_open(void)
{
	int device = pcs_open();

	seen.name = PCS_DEVICE;
	pcs_ask(device, BUF_INCR, BUFFERS);
	pcs_ask(device, PROF_EVENTS, 0);
	return device;
}

/* --- Hits --- */

static struct spot *
find_spot(uint32_t program, const struct PSAMPLE *at)
{
	uint64_t hash = ((uint64_t)program << 32 | at->pc) * HASH;
	size_t i = hash >> 32;

	for (;; i++) {
		struct spot *s = &spots[i & (spots_size - 1)];

		if (s->hits == 0 ||
		    (s->program == program && s->at.pc == at->pc))
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
			*find_spot(old[i].program, &old[i].at) = old[i];
	free(old);
}

struct program *
program_at(size_t number)
{
	while (programs_count <= number) {
		if (programs_count == programs_room)
			programs = cmd_grow(programs, &programs_room,
					    sizeof(*programs));
		programs[programs_count++] = (struct program){0};
	}
	return &programs[number];
}

void
program_seen(struct program *p, int pid)
{
	if (!p->pids) {
		p->pids = cmd_alloc(PCS_PIDS / 8);
		memset(p->pids, 0, PCS_PIDS / 8);
	}
	if (p->pids[pid / 8] & 1 << pid % 8)
		return;
	p->pids[pid / 8] |= 1 << pid % 8;
	p->processes++;
	p->pid = pid;
}

static void
count_sample(const struct PSAMPLE *s)
{
	bool user = s->type == USER;
	size_t number = pcs_whose(s->pid, seen.context);
	struct program *p = s->pid ? program_at(number) : &kernel;
	uint32_t space = user ? number : KERNEL_SPACE;
	struct spot *spot;

	if (user ? only_kernel : only_user)
		return;
	if (user)
		p->user++;
	else
		p->kernel++;
	if (s->pid)
		program_seen(p, s->pid);
	if (spots_count >= spots_size / 2)
		make_room();
	spot = find_spot(space, s);
	if (spot->hits++ == 0) {
		spot->program = space;
		spot->at = *s;
		spots_count++;
	}
}

void
count_buffers(const struct LOGBUF *b, size_t count)
{
	const void *record;

	for (; count > 0; b++, count--) {
		pcs_buffer(&seen, b);
		while ((record = pcs_next(&seen))) {
			pcs_tell(record);
			if (pcs_is_sample(*(const char *)record))
				count_sample(record);
		}
	}
}

static void
clear(struct program *p)
{
	free(p->pids);
	p->pids = NULL;
	p->user = p->kernel = 0;
	p->processes = 0;
}

void
count_clear(void)
{
	memset(seen.hits, 0, sizeof(seen.hits));
	memset(spots, 0, spots_size * sizeof(*spots));
	spots_count = 0;
	clear(&kernel);
	for (size_t i = 0; i < programs_count; i++)
		clear(&programs[i]);
}

/* --- Functions --- */

/* Find its symbols. What can't be read has none. */
static const struct elfsyms *
load(struct program *p, const char *path)
{
	if (!p->loaded && (!path || elfsym_load(&p->syms, path) != NULL))
		p->syms.count = 0;
	p->loaded = true;
	return &p->syms;
}

const struct elfsyms *
program_symbols(size_t number)
{
	if (number == KERNEL_SPACE)
		return load(&kernel, NAMELIST);
	return load(program_at(number), pcs_file(number));
}

/* Find its symbols, and set its functions to 0. */
static void
prepare(struct program *p, const char *path)
{
	size_t size;

	load(p, path);
	size = (p->syms.count + 1) * sizeof(*p->functions);
	p->functions = memset(cmd_realloc(p->functions, size), 0, size);
}

uint64_t
count_at(size_t number, uint64_t address)
{
	const struct PSAMPLE at = {.pc = address};

	return spots_size > 0 ? find_spot(number, &at)->hits : 0;
}

void
count_functions(void)
{
	prepare(&kernel, NAMELIST);
	for (size_t i = 0; i < programs_count; i++)
		if (programs[i].user)
			prepare(&programs[i], pcs_file(i));
	for (size_t i = 0; i < spots_size; i++) {
		const struct spot *s = &spots[i];
		struct program *p = s->program == KERNEL_SPACE
					? &kernel
					: &programs[s->program];

		if (s->hits)
			p->functions[elfsym_find(
			    &p->syms, pcs_address(&s->at))] += s->hits;
	}
}

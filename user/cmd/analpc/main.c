/* analpc's options: see analpc.h. */
#include <stdlib.h>
#include <string.h>

#include "analpc.h"

#define SYNOPSIS                           \
	"[-n COUNT] [-u PID=PROGRAM] ... " \
	"[FILE [NAMELIST [PROGRAM]]]"
#define FILE_DEFAULT "pc.out"
#define NAMELIST     "/boot/kernel"

static struct profile profile;
static struct program *programs;
static size_t programs_count, programs_room;

static void
program_add(int pid, const char *path)
{
	struct program p = {.pid = pid, .path = path};

	if (programs_count == programs_room)
		programs = cmd_grow(programs, &programs_room, sizeof(p));
	programs[programs_count++] = p;
}

void
program_use(struct program *p, const char *path)
{
	size_t size = (p->syms.count + 1) * sizeof(*p->hits);

	p->path = path;
	p->hits = memset(cmd_alloc(size), 0, size);
}

static void
program_load(struct program *p)
{
	const char *wrong = elfsym_load(&p->syms, p->path);

	if (wrong && *wrong)
		cmd_error("%s: %s", p->path, wrong);
	if (wrong)
		exit(cmd_status);
	program_use(p, p->path);
}

/* PID=PROGRAM */
static void
program_option(char *text)
{
	char *path = text, *pid = cmd_piece(&path, "=");
	long n;

	if (!path || !*path || !number_read(pid, 10, 1, PCS_PIDS - 1, &n))
		cmd_usage("not PID=PROGRAM: %s", pid);
	program_add(n, path);
}

int
main(int argc, char **argv)
{
	size_t limit = SIZE_MAX;
	int c;

	cmd_start(argc, argv, "analpc", SYNOPSIS);
	while ((c = cmd_option("n:u:")) != -1) {
		if (c == 'n')
			limit = cmd_number(cmd_value, "a number of lines", 0,
					   LONG_MAX);
		else
			program_option(cmd_value);
	}
	cmd_operands(0, 3);
	program_add(KERNEL_SPACE, cmd_argc > 1 ? cmd_argv[1] : NAMELIST);
	if (cmd_argc > 2)
		program_add(OTHERS, cmd_argv[2]);
	for (size_t i = 0; i < programs_count; i++)
		program_load(&programs[i]);
	stream_load(&profile, cmd_argc > 0 ? cmd_argv[0] : FILE_DEFAULT);
	report(&profile, programs, programs_count, limit);
	return cmd_done();
}

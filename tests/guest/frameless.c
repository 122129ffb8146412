/*
 * The span of code without frame pointers is each program's own: one that has
 * none doesn't get that of a program whose memory it gets.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "children.h"
#include "stacks.h"

#define HZ      1000
#define RUN_US  200000
#define CALLERS 3 /* of deep, at least: middle, main and _start */

static char program[1 << 20];
static volatile long sink;

/* A copy of a program: its span is all there is, or there is none. */
static bool
copy_made(const char *from, const char *to, bool all)
{
	Elf64_Phdr *ph = NULL;
	Elf64_Ehdr *h = (Elf64_Ehdr *)program;
	int fd = open(from, O_RDONLY);
	ssize_t n = read(fd, program, sizeof(program));

	close(fd);
	fd = open(to, O_CREAT | O_WRONLY | O_TRUNC, 0755);
	for (int i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr *p = (Elf64_Phdr *)(program + h->e_phoff) + i;

		if (p->p_type == PT_FRAMELESS)
			ph = p;
	}
	if (ph != NULL && all) {
		ph->p_vaddr = 0x10000;
		ph->p_memsz = 0x10000000;
	} else if (ph != NULL) {
		ph->p_type = 0; /* PT_NULL */
	}
	return ph != NULL && write(fd, program, n) == n && close(fd) == 0;
}

static __attribute__((noinline, noipa)) void
deep(void)
{
	for (;;)
		sink++;
}

static __attribute__((noinline, noipa)) void
middle(void)
{
	deep();
	asm volatile(""); /* no tail call */
}

static pid_t
program_start(const char *path, const char *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(path, path, arg, NULL);
		_exit(127);
	}
	return pid;
}

static void
check_stacks(void)
{
	pid_t pid = program_start("/tmp/none", "spin");
	int fd = stacks_begin(HZ);
	int good = 0, wrong = 0;

	usleep(RUN_US);
	stacks_end(fd);
	child_end(pid);
	for (size_t i = 0; i < nseen; i++) {
		const struct seen *s = &seen[i];

		if (s->p.pid != pid || s->p.type != USER || s->n == NO_STACK)
			continue;
		if (STACK_USER(s->cut) == STACK_FRAMELESS)
			wrong++;
		else
			good += s->n >= CALLERS;
	}
	CHECK(good > 10 && wrong == 0,
	      "no code of this program is without frames: %d stacks, %d", good,
	      wrong);
}

int
main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		middle();
	alarm(DEADLINE);
	CHECK(copy_made("/bin/true", "/tmp/all", true), "all without frames");
	CHECK(copy_made("/bin/frameless", "/tmp/none", false), "and none");
	for (int i = 0; i < 3; i++) {
		/* Its address space is free again, for the next. */
		CHECK(status_of(program_start("/tmp/all", NULL), 0) == 0,
		      "a program without frames runs");
		check_stacks();
	}
	return check_done();
}

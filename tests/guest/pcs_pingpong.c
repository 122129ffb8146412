/*
 * pcs's call stacks of two processes that wait for each other: each has its own
 * callers, none the other's. While a hart goes from one to the other, one's
 * memory is loaded already and the other still the one that runs.
 */
#include "stacks.h"

#define HZ     2000
#define ENOUGH 600 /* stacks of each */
#define ROUNDS 200

static int ping[2], pong[2];

static __attribute__((noipa)) void
pass(int from, int to)
{
	char c;

	read(from, &c, 1);
	write(to, &c, 1);
}

/* Where one ends the next begins. */
#define HALF __attribute__((noipa, no_reorder, section(".text.halves")))

HALF static void
parents_half(void)
{
	write(ping[1], "", 1);
	for (int i = 0; i < ROUNDS; i++)
		pass(pong[0], ping[1]);
	read(pong[0], (char[1]){0}, 1);
}

HALF static void
childs_half(void)
{
	for (;;)
		pass(ping[0], pong[1]);
}

HALF static void
halves_end(void)
{
}

/* Is a process in its half, or the other's, by what it has called there? */
static bool
has_called(const struct seen *s, void (*half)(void), void (*end)(void))
{
	for (size_t i = s->nkernel; i < s->n; i++)
		if (s->pc[i] > (uintptr_t)half && s->pc[i] <= (uintptr_t)end)
			return true;
	return false;
}

static struct {
	size_t seen, cut, wrong;
} of_parent, of_child;

static void
look(pid_t child)
{
	for (const struct seen *s = seen; s < seen + nseen; s++) {
		bool childs = has_called(s, childs_half, halves_end);
		bool parents = has_called(s, parents_half, childs_half);
		bool whole = STACK_USER(s->cut) == STACK_WHOLE;

		if (s->n == NO_STACK || s->p.type == USER)
			continue;
		if (s->p.pid == child) {
			of_child.seen++;
			of_child.cut += !whole;
			of_child.wrong += parents || (whole && !childs);
		} else if (s->p.pid == getpid() && (parents || childs)) {
			of_parent.seen++;
			of_parent.cut += !whole;
			of_parent.wrong += childs;
		}
	}
}

int
main(void)
{
	pid_t child;

	alarm(DEADLINE);
	pipe(ping);
	pipe(pong);
	child = fork();
	if (child == 0)
		childs_half();
	parents_half(); /* then the child is in its half, too */
	/* How many that takes on free harts, the host's load decides. */
	while (of_parent.seen < ENOUGH || of_child.seen < ENOUGH) {
		int fd = stacks_begin(HZ);

		parents_half();
		stacks_end(fd);
		look(child);
	}
	kill(child, SIGKILL);
	child_end(child);
	CHECK(of_parent.wrong == 0, "the parent has only its own callers");
	CHECK(of_child.wrong == 0, "and the child");
	/* A few, but for a host that stops harts while they switch. */
	CHECK(of_parent.cut < of_parent.seen && of_child.cut < of_child.seen,
	      "not all are cut");
	CHECK(stray == 0, "the records are whole");
	return check_done();
}

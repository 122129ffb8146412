/*
 * Memory that grows and shrinks: what is new is zero, what was written stays,
 * and a child's changes are its own. The stack grows too.
 */
#include "children.h"
#include "stress.h"

#define PAGES_MAX 400
#define DEPTH_MAX 500

static void
fill(long *page, long n, long key)
{
	for (long i = 0; i < n; i++)
		page[i * PAGE / 8] = page[(i + 1) * PAGE / 8 - 1] = key + i;
}

static bool
holds(const long *page, long n, long key, bool stays)
{
	for (long i = 0; i < n; i++)
		if (page[i * PAGE / 8] != (stays ? key + i : 0) ||
		    page[(i + 1) * PAGE / 8 - 1] != (stays ? key + i : 0))
			return false;
	return true;
}

static __attribute__((noipa)) unsigned long
deep(unsigned int depth)
{
	volatile unsigned long room[64];

	room[0] = room[63] = depth;
	if (depth > 0)
		must(deep(depth - 1) == depth - 1);
	must(room[63] == depth);
	return room[0];
}

static void
in_child(long *page, long n, long key)
{
	pid_t pid = split();

	if (pid == 0) {
		must(holds(page, n, key, true));
		fill(page, n / 2, key + 1);
		must(holds(page, n / 2, key + 1, true));
		deep(chance(DEPTH_MAX));
		_exit(4);
	}
	dawdle();
	must(holds(page, n, key, true));
	fill(page, n, key + 2);
	must(exited(pid, 4));
	must(holds(page, n, key + 2, true));
}

void
round_of_growth(void)
{
	long n = 1 + chance(PAGES_MAX), key = chance(1 << 20);
	char *end = memory_end();
	long *page = (long *)(((unsigned long)end + PAGE - 1) & -PAGE);

	must(__brk((char *)page + n * PAGE) == (char *)page + n * PAGE);
	must(holds(page, n, 0, false));
	fill(page, n, key);
	dawdle();
	must(holds(page, n, key, true));
	if (chance(2))
		in_child(page, n, key);
	deep(chance(DEPTH_MAX));
	must(__brk(end) == end);
}

/* Take all memory there is, and more; then give it back, for a while. */
void
round_of_hog(void)
{
	struct timespec rest = {.tv_nsec = 30 * NS_PER_MS};
	long n = pages_free() + 10;
	pid_t pid = split();

	if (pid == 0) {
		char *heap = memory_end();

		must(__brk(heap + n * PAGE) == heap + n * PAGE);
		for (long i = 0; i < n; i++) {
			heap[i * PAGE] = 1;
			if (i > n - 50)
				dawdle();
		}
		_exit(0);
	}
	status_of(pid, 0);
	nanosleep(&rest, NULL);
}

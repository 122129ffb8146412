/*
 * What must be cheap, by the instructions that it takes: run where time is
 * nothing else. Each cost is held to one like it, which makes up for this
 * machine and compiler.
 */
#include <dirent.h>

#include "children.h"

#define PAGES  200
#define NAMES  200
#define OTHERS 1000

static volatile char data[PAGES][PAGE];

/* --- Copies on write --- */

static uint64_t
write_pages(char value)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < PAGES; i++)
		data[i][0] = value;
	return now_ns() - begin;
}

static int
end_at_once(void)
{
	return 0;
}

static void
test_last_owner(void)
{
	uint64_t shared, alone;
	pid_t pid;

	write_pages(1);
	pid = sleeper_start();
	shared = write_pages(2);
	child_end(pid);
	child_run(end_at_once);
	alone = write_pages(3);
	CHECK(alone * 3 < shared * 2,
	      "the last who has a page needs no copy (%lu of %lu ns)", alone,
	      shared);
}

/* --- Folders --- */

#define ENTRY 24 /* bytes of an entry with one of these names */

static void
make_names(char kind, int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		sprintf(name, "%c%d", kind, i);
		file_make(name, "");
	}
}

/* Read a folder's names one by one, and remove those of a kind: each with the
 * one after it, at which the kernel has looked to see whether it fits. */
static void
remove_names(int fd, char kind)
{
	struct dirent e;
	char next[16];

	while (getdents64(fd, &e, ENTRY) > 0) {
		if (e.d_name[0] != kind)
			continue;
		sprintf(next, "%c%d", kind, atoi(e.d_name + 1) + 1);
		unlink(e.d_name);
		unlink(next);
	}
}

/* What it takes to remove names that come after so many others. */
static uint64_t
removal_after(int others)
{
	struct dirent e;
	uint64_t begin, taken;
	int fd;

	make_names('a', others);
	make_names('b', NAMES);
	fd = open(".", O_RDONLY);
	for (int i = 0; i < others; i++)
		getdents64(fd, &e, ENTRY);
	begin = now_ns();
	remove_names(fd, 'b');
	taken = now_ns() - begin;
	lseek(fd, 0, SEEK_SET);
	remove_names(fd, 'a');
	close(fd);
	return taken;
}

static void
test_removal(void)
{
	uint64_t few = removal_after(0), many = removal_after(OTHERS);

	CHECK(many * 2 < few * 3,
	      "names are removed as they are read, others before them or not "
	      "(%lu, %lu ns)",
	      many, few);
}

int
main(void)
{
	scratch_enter("costs");
	test_last_owner();
	test_removal();
	scratch_leave("costs");
	return check_done();
}

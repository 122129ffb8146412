/* Open files: opening and closing them, where they are read and how long they
 * are, and what poll says of them. */
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe.h"

int files[SLOTS];

/* open SLOT HOW FILE: HOW has a letter for each flag. */
static void
do_open(void)
{
	int *file = &files[number()], flags = 0;

	for (const char *c = word(); *c != '\0'; c++)
		flags |= *c == 'w'   ? O_WRONLY
			 : *c == '+' ? O_RDWR
			 : *c == 'n' ? O_NONBLOCK
			 : *c == 'c' ? O_CREAT
			 : *c == 't' ? O_TRUNC
			 : *c == 'a' ? O_APPEND
				     : O_RDONLY;
	*file = open(text(), flags, 0700);
	answer_number(*file < 0 ? -1 : 0);
}

static void
do_close(void)
{
	answer_number(close(files[number()]));
}

/* pipe SLOT SLOT [n]: make a pipe, whose first slot is for reading. With n
 * neither end waits. */
static void
do_pipe(void)
{
	int ends[2], *reader = &files[number()], *writer = &files[number()];
	int flags = *text() == 'n' ? O_NONBLOCK : 0, r = pipe(ends);

	for (int i = 0; i < 2 && r == 0; i++)
		r = fcntl(ends[i], F_SETFL, flags);
	*reader = ends[0];
	*writer = ends[1];
	answer_number(r);
}

static void
do_seek(void)
{
	int file = files[number()];

	answer_number(lseek(file, number(), SEEK_SET));
}

static void
do_size(void)
{
	struct stat st;

	answer_number(fstat(files[number()], &st) < 0 ? -1 : st.st_size);
}

/* blocks SLOT: how many blocks of 512 bytes a file has. */
static void
do_blocks(void)
{
	struct stat st;

	answer_number(fstat(files[number()], &st) < 0 ? -1 : st.st_blocks);
}

static void
do_truncate(void)
{
	int file = files[number()];

	answer_number(ftruncate(file, number()));
}

static void
do_unlink(void)
{
	answer_number(unlink(text()));
}

/* poll SLOT MS: the answer is 0 after the time, or the events that came. */
static void
do_poll(void)
{
	struct pollfd p = {.fd = files[number()], .events = POLLIN};
	int n = poll(&p, 1, (int)number());

	answer_number(n < 0 ? -1 : n == 0 ? 0 : p.revents);
}

const struct operation file_operations[] = {
    {"open", do_open},         {"close", do_close},
    {"pipe", do_pipe},         {"seek", do_seek},
    {"size", do_size},         {"blocks", do_blocks},
    {"truncate", do_truncate}, {"unlink", do_unlink},
    {"poll", do_poll},         {NULL, NULL},
};

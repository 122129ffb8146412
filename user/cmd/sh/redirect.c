/*
 * Redirections. A builtin's are undone: the descriptor it covers is kept
 * meanwhile where scripts don't go, and closed by execve.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sh.h"

#define FD_UP       10 /* the shell's own descriptors start here */
#define CREATE_MODE 0666

int
fd_move_up(int fd)
{
	int up = fcntl(fd, F_DUPFD, FD_UP);

	if (up >= 0)
		fcntl(up, F_SETFD, FD_CLOEXEC);
	return up;
}

/*
 * A pipe that holds a here-document. What doesn't fit at once, a child
 * writes as fast as it is read.
 */
static int
open_here(const char *text)
{
	size_t n = strlen(text);
	ssize_t done;
	int fd[2];

	if (pipe(fd) < 0)
		return -1;
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	done = write(fd[1], text, n);
	if (done < 0)
		done = 0;
	if ((size_t)done < n && fork() == 0) {
		fcntl(fd[1], F_SETFL, 0);
		close(fd[0]);
		while ((size_t)done < n) {
			ssize_t more = write(fd[1], text + done, n - done);

			if (more < 0)
				break;
			done += more;
		}
		_exit(0);
	}
	close(fd[1]);
	return fd[0];
}

/* set -C: a file that is there stays as it is, a device is no loss. */
static int
open_new(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, CREATE_MODE);
	struct stat st;

	if (fd < 0 && errno == EEXIST && stat(path, &st) == 0 &&
	    !S_ISREG(st.st_mode))
		fd = open(path, O_WRONLY);
	return fd;
}

static int
open_file(enum token op, const char *path)
{
	switch (op) {
	case T_LESS:
		return open(path, O_RDONLY);
	case T_LESSGREAT:
		return open(path, O_RDWR | O_CREAT, CREATE_MODE);
	case T_APPEND:
		return open(path, O_WRONLY | O_CREAT | O_APPEND, CREATE_MODE);
	case T_GREAT:
		if (sh.opt_noclobber)
			return open_new(path);
		/* fall through */
	default:
		return open(path, O_WRONLY | O_CREAT | O_TRUNC, CREATE_MODE);
	}
}

/* Make room at fd, and note in undo what was there. */
static bool
save(int fd, struct undo **undo)
{
	struct undo *u = arena_alloc(scratch, sizeof(*u));

	u->fd = fd;
	u->copy = fd_move_up(fd);
	if (u->copy < 0 && errno != EBADF) {
		shell_warn("%d: %s", fd, strerror(errno));
		return false;
	}
	u->next = *undo;
	*undo = u;
	return true;
}

/* n>&text */
static bool
redirect_dup(struct redirect *r, const char *text)
{
	long from;

	if (strcmp(text, "-") == 0) {
		close(r->fd);
		return true;
	}
	if (!number_read(text, 10, 0, FD_UP - 1, &from) ||
	    dup2(from, r->fd) < 0) {
		shell_warn("%s: bad file descriptor", text);
		return false;
	}
	return true;
}

static bool
redirect_one(struct redirect *r, struct undo **undo)
{
	const char *text = expand_string(r->target);
	int fd;

	if (!text || (undo && !save(r->fd, undo)))
		return false;
	if (r->op == T_LESSAND || r->op == T_GREATAND)
		return redirect_dup(r, text);
	if (r->op == T_HERE || r->op == T_HERE_STRIP) {
		fd = open_here(text);
		text = "here-document";
	} else {
		fd = open_file(r->op, text);
	}
	if (fd < 0) {
		shell_warn("%s: %s", text, strerror(errno));
		return false;
	}
	if (fd != r->fd) {
		dup2(fd, r->fd);
		close(fd);
	}
	return true;
}

bool
redirect_apply(struct redirect *r, struct undo **undo)
{
	for (; r; r = r->next) {
		if (redirect_one(r, undo))
			continue;
		if (undo) {
			redirect_undo(*undo);
			*undo = NULL;
		}
		return false;
	}
	return true;
}

void
redirect_undo(struct undo *u)
{
	for (; u; u = u->next) {
		if (u->copy >= 0) {
			dup2(u->copy, u->fd);
			close(u->copy);
		} else {
			close(u->fd);
		}
	}
}

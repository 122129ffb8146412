/* Reading directories, by way of getdents64. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER  4096 /* bytes of entries asked for at a time */
#define ENTRIES 16   /* room for so many pointers, at first */

struct dir {
	int fd;
	size_t next, size; /* of the buffer: given next; filled */
	_Alignas(struct dirent) char buffer[BUFFER];
};

/* A directory's descriptor becomes a stream's. */
static DIR *
dir_new(int fd)
{
	DIR *dir = malloc(sizeof(*dir));
	if (dir == NULL)
		return NULL;
	dir->fd = fd;
	dir->next = dir->size = 0;
	return dir;
}

DIR *
fdopendir(int fd)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return NULL;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return NULL;
	}
	return dir_new(fd);
}

DIR *
opendir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	DIR *dir = dir_new(fd);
	if (dir == NULL)
		close(fd);
	return dir;
}

/* The next entry, good until the next call; NULL at the end, or with errno
 * changed. */
struct dirent *
readdir(DIR *dir)
{
	if (dir->next == dir->size) {
		ssize_t n = getdents64(dir->fd, dir->buffer, BUFFER);
		if (n <= 0)
			return NULL;
		dir->next = 0;
		dir->size = n;
	}
	struct dirent *d = (struct dirent *)(dir->buffer + dir->next);
	dir->next += d->d_reclen;
	return d;
}

void
rewinddir(DIR *dir)
{
	lseek(dir->fd, 0, SEEK_SET);
	dir->next = dir->size = 0;
}

int
closedir(DIR *dir)
{
	int fd = dir->fd;
	free(dir);
	return close(fd);
}

int
dirfd(DIR *dir)
{
	return dir->fd;
}

int
alphasort(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* GCC's analyzer doesn't see that an entry is in the list. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"

/* Read the wanted entries of dir into *list; how many, or -1. */
static int
collect(DIR *dir, struct dirent ***list, int (*want)(const struct dirent *))
{
	int n = 0, room = 0;
	struct dirent *d;

	errno = 0;
	while ((d = readdir(dir)) != NULL) {
		if (want != NULL && !want(d))
			continue;
		if (n == room) {
			room = room == 0 ? ENTRIES : 2 * room;
			void *more = realloc(*list, room * sizeof(**list));
			if (more == NULL)
				break;
			*list = more;
		}
		(*list)[n] = malloc(d->d_reclen);
		if ((*list)[n] == NULL)
			break;
		memcpy((*list)[n++], d, d->d_reclen);
	}
	if (errno == 0)
		return n;
	while (n > 0)
		free((*list)[--n]);
	return -1;
}

int
scandir(const char *path, struct dirent ***list,
	int (*want)(const struct dirent *),
	int (*compare)(const struct dirent **, const struct dirent **))
{
	DIR *dir = opendir(path);
	if (dir == NULL)
		return -1;
	*list = NULL;
	int n = collect(dir, list, want);
	int e = errno;
	closedir(dir);
	errno = e;
	if (n < 0)
		free(*list);
	else if (n > 1 && compare != NULL)
		qsort(*list, n, sizeof(**list),
		      (int (*)(const void *, const void *))compare);
	return n;
}

/* Reading directories. One entry of getdents(2) is one struct dirent. */
#ifndef _DIRENT_H
#define _DIRENT_H

#include <sys/cdefs.h>
#include <sys/types.h>

struct dirent {
	ino_t d_ino;
	unsigned char d_type; /* DT_* */
	char d_name[256];
} __attribute__((aligned(8))); /* a row of them is copied in words */

#define DT_UNKNOWN 0
#define DT_FIFO    1
#define DT_CHR     2
#define DT_DIR     4
#define DT_REG     8

typedef struct dir DIR;

__BEGIN_DECLS
DIR *opendir(const char *path);
DIR *fdopendir(int fd);
struct dirent *readdir(DIR *dir);
void rewinddir(DIR *dir);
int closedir(DIR *dir);
int dirfd(DIR *dir);
/* The entries that want gives 1 for (NULL: all), sorted by compare, each and
 * the list from malloc; how many, or -1. */
int scandir(const char *path, struct dirent ***list,
	    int (*want)(const struct dirent *),
	    int (*compare)(const struct dirent **, const struct dirent **));
int alphasort(const struct dirent **a, const struct dirent **b);
/* The system call: whole entries into buf; bytes, 0 at the end, -1. */
ssize_t getdents(int fd, struct dirent *buf, size_t bytes);
__END_DECLS
#endif

/* Reading directories. An entry is laid out as Linux's getdents64(2) has it. */
#ifndef _DIRENT_H
#define _DIRENT_H

#include <sys/cdefs.h>
#include <sys/types.h>

struct dirent {
	ino_t d_ino;
	off_t d_off;             /* where in the directory the next one is */
	unsigned short d_reclen; /* bytes to the next entry in memory */
	unsigned char d_type;    /* DT_* */
	char d_name[256];        /* of which getdents64 stores what is needed */
};

#define DT_UNKNOWN 0
#define DT_FIFO    1
#define DT_CHR     2
#define DT_DIR     4
#define DT_BLK     6
#define DT_REG     8
#define DT_LNK     10
#define DT_SOCK    12

#define IFTODT(mode) (((mode)&0170000) >> 12) /* from st_mode */

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
/* The system call: whole entries into buf, each at a multiple of 8 bytes; how
 * many bytes, 0 at the end, or -1: EINVAL: no room for one. */
ssize_t getdents64(int fd, void *buf, size_t bytes);
__END_DECLS
#endif

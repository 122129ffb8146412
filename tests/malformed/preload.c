/* Preloaded into QEMU: to whoever asks, the file "evil" is not there. Who
 * creates it is told by the host that it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

typedef int stat_at(int, const char *, struct stat *, int);

static int
ask(const char *function, int dir, const char *name, struct stat *st, int flags)
{
	stat_at *real = (stat_at *)dlsym(RTLD_NEXT, function);

	if (name != NULL && strcmp(name, "evil") == 0) {
		errno = ENOENT;
		return -1;
	}
	return real(dir, name, st, flags);
}

int
fstatat(int dir, const char *name, struct stat *st, int flags)
{
	return ask("fstatat", dir, name, st, flags);
}

int
fstatat64(int dir, const char *name, struct stat64 *st, int flags)
{
	return ask("fstatat64", dir, name, (struct stat *)st, flags);
}

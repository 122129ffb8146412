/* getrandom, and the devices that have no end. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "promise.h"

static void *volatile nowhere = (void *)8;

static void
say(const char *what, long result)
{
	printf("%s: %ld", what, result);
	if (result < 0)
		printf(" %s", strerror(errno));
	printf("\n");
}

/* The kernel's: glibc since 2.41 makes no call for it, and looks at less. */
static long
get_random(void *to, size_t size, unsigned flags)
{
	return syscall(SYS_getrandom, to, size, flags);
}

static void
test_getrandom(void)
{
	uint64_t a[4] = {0}, b[4] = {0};

	say("some", get_random(a, sizeof(a), 0));
	say("more", get_random(b, sizeof(b), GRND_NONBLOCK));
	say("other ones", memcmp(a, b, sizeof(a)) != 0);
	say("odd", get_random(a, 13, GRND_RANDOM));
	say("none", get_random(a, 0, 0));
	say("flags", get_random(a, 8, 8));
	say("both flags", get_random(a, 8, GRND_RANDOM | GRND_INSECURE));
	say("address", get_random(nowhere, 8, 0));
}

static void
test_device(const char *path)
{
	int fd = open(path, O_RDWR);
	char buf[5000];
	struct stat st;

	printf("%s\n", path);
	say("open", fd >= 0);
	say("read", read(fd, buf, sizeof(buf)));
	say("write", write(fd, buf, 10));
	say("device", fstat(fd, &st) == 0 && S_ISCHR(st.st_mode));
	close(fd);
}

/* Shared memory is a file in /dev/shm. */
static void
test_shm(void)
{
	int fd = shm_open("/tally", O_RDWR | O_CREAT | O_EXCL, 0600);

	say("shm", fd >= 0);
	say("truncate", ftruncate(fd, 8192));
	say("write", write(fd, "abc", 3));
	say("there", access("/dev/shm/tally", R_OK));
	say("unlink", shm_unlink("/tally"));
	say("gone", access("/dev/shm/tally", R_OK));
	close(fd);
}

int
main(void)
{
	PROMISE("getrandom(2): bytes, and each error");
	test_getrandom();
	PROMISE("random(4): /dev/urandom");
	test_device("/dev/urandom");
	PROMISE("zero(4): /dev/zero");
	test_device("/dev/zero");
	PROMISE("full(4): /dev/full");
	test_device("/dev/full");
	PROMISE("shm_overview(7): files of /dev/shm");
	test_shm();
	return 0;
}

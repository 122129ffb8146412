/*
 * /dev/prf: what each call does and how it fails, with real samples held and
 * synthetic ones in their place, so that every count is known.
 */
#include <dirent.h>
#include <poll.h>
#include <sys/select.h>

#include "prf.h"

#define N 4

static const unsigned long table[N] = {0x1000, 0x2000, 0x2000, 0x3000};
static int fd, clock_fd; /* /dev/prf, /dev/profclock */

static void
sample(const char *mode, unsigned int hart, unsigned long pc, unsigned int n)
{
	char line[80];
	int size = sprintf(line, "sample %s %u 0 0 %#lx %u", mode, hart, pc, n);

	if (write(clock_fd, line, size) != size)
		printf("no sample: %s\n", strerror(errno));
}

/* Is minor f's table as `table`, with these counters? */
static bool
holds(int f, const unsigned long counter[N + 2])
{
	return prf_get(f, N) && memcmp(got, table, sizeof(table)) == 0 &&
	       memcmp(got + N, counter, (N + 2) * WORD) == 0;
}

#define HOLDS(f, ...) holds(f, (const unsigned long[N + 2]){__VA_ARGS__})

/* PRF-20, 33, 35: before the first write. */
static void
check_empty(void)
{
	struct stat st;
	char byte = 'x';

	stat(PRF, &st);
	CHECK(S_ISCHR(st.st_mode), "PRF-1: it is a character device");
	CHECK((st.st_mode & 07777) == 0600, "its owner's");
	CHECK(prf_status(fd) == 0, "PRF-7: neither loaded nor on at first");
	CHECK_ERRNO(read(fd, &byte, 1), ENXIO, "PRF-20: nothing to read");
	CHECK(byte == 'x', "PRF-20: the buffer is as it was");
	CHECK_ERRNO(read(fd, &byte, 0), ENXIO, "PRF-20: not even 0 bytes");
	CHECK_ERRNO(read(fd, NULL, 1), ENXIO, "PRF-20: comes before EFAULT");
	CHECK(prf_size(fd) == 0, "PRF-33: of size 0");
	CHECK(prf_set(fd, PRF_ON) == 0, "PRF-35: turning it on is no error");
	CHECK(prf_status(fd) == 0, "PRF-9, 35: and has no effect");
	CHECK(prf_set(fd, 0) == 0, "PRF-35: nor has turning it off");
}

/* PRF-3, 10, 11: which counter. */
static void
check_counters(void)
{
	CHECK(prf_put(fd, table, N), "PRF-4, 22: load addresses");
	CHECK(prf_status(fd) == PRF_VALID, "PRF-24: that is a valid table");
	CHECK(prf_size(fd) == N, "PRF-25, 32: of so many addresses");
	CHECK(HOLDS(fd, 0), "PRF-6, 18, 23: read back, with counters of 0");
	sample("kernel", 0, 0x1000, 9);
	CHECK(HOLDS(fd, 0), "PRF-8: while it is off nothing is counted");
	CHECK(prf_set(fd, PRF_ON) == 0, "PRF-5: turn it on");
	CHECK(prf_status(fd) == (PRF_ON | PRF_VALID), "PRF-31: both bits");
	sample("kernel", 0, 0x1001, 1);
	CHECK(HOLDS(fd, 1), "PRF-3: the largest address below the pc");
	sample("kernel", 0, 0x3000, 1);
	CHECK(HOLDS(fd, 1, 0, 0, 1), "PRF-3: a pc at an address is that one's");
	sample("kernel", 0, 0x1fff, 1);
	CHECK(HOLDS(fd, 2, 0, 0, 1), "PRF-3: up to the next");
	sample("kernel", 0, 0x2fff, 4);
	CHECK(HOLDS(fd, 2, 0, 4, 1), "PRF-3: of equal ones, the last's");
	sample("kernel", 0, -1, 5);
	CHECK(HOLDS(fd, 2, 0, 4, 6), "PRF-3: above all: the last's");
	sample("kernel", 0, 0, 6);
	CHECK(HOLDS(fd, 8, 0, 4, 6), "PRF-3: below all: the first's");
	sample("intr", 0, 0x3000, 1);
	CHECK(HOLDS(fd, 8, 0, 4, 7), "PRF-3: a handler is kernel code");
	sample("user", 0, 0x1000, 7);
	CHECK(HOLDS(fd, 8, 0, 4, 7, 7), "PRF-10: user mode, any pc");
	sample("idle", 0, 0x1000, 8);
	CHECK(HOLDS(fd, 8, 0, 4, 7, 7, 8), "PRF-11: idle, any pc");
	CHECK(prf_set(fd, 0) == 0, "PRF-5: turn it off");
	CHECK(prf_status(fd) == PRF_VALID, "PRF-31: one bit");
	sample("kernel", 0, 0x1000, 1);
	CHECK(HOLDS(fd, 8, 0, 4, 7, 7, 8), "PRF-8: off: nothing is counted");
	prf_set(fd, PRF_ON);
	prf_set(fd, PRF_ON);
	CHECK(HOLDS(fd, 8, 0, 4, 7, 7, 8), "turning it on clears nothing");
	sample("idle", 0, 0, 1);
	CHECK(HOLDS(fd, 8, 0, 4, 7, 7, 9), "on twice: counted once");
}

/* PRF-26..30, with the table on, then off. */
static void
check_write_errors(void)
{
	static unsigned long big[LARGE + 2];
	static const unsigned long wrong[N] = {1, 3, 2, 4};
	int max = ioctl(fd, PRF_GETMAX, NULL);

	CHECK_ERRNO(prf_put(fd, table, N) - 1, EBUSY, "PRF-26, 29: on: EBUSY");
	CHECK_ERRNO(write(fd, NULL, 3 * WORD), EBUSY, "EBUSY before EFAULT");
	CHECK_ERRNO(write(fd, wrong, sizeof(wrong)), EBUSY, "and EINVAL");
	CHECK_ERRNO(write(fd, table, 2 * WORD), E2BIG, "E2BIG before EBUSY");
	CHECK(HOLDS(fd, 8, 0, 4, 7, 7, 9), "PRF-29: the table is as it was");
	CHECK(prf_status(fd) == 3, "PRF-29: and on");
	for (int on = PRF_ON; on >= 0; on--) {
		prf_set(fd, on);
		for (size_t size = 0; size < 3 * WORD; size++)
			CHECK_ERRNO(write(fd, table, size), E2BIG,
				    "PRF-28: %zu bytes are E2BIG", size);
		CHECK_ERRNO(write(fd, table, 3 * WORD + 1), E2BIG,
			    "PRF-28: 3 addresses and a byte");
		CHECK_ERRNO(write(fd, NULL, 1), E2BIG, "E2BIG before EFAULT");
		CHECK_ERRNO(write(fd, big, (max + 1) * WORD), ENOSPC,
			    "PRF-27: one address too many");
		CHECK_ERRNO(write(fd, big, (max + 1) * WORD + 1), ENOSPC,
			    "ENOSPC before E2BIG");
		CHECK_ERRNO(write(fd, big, max * WORD + 1), E2BIG,
			    "PRF-28: as many as fit, and a byte");
		CHECK_ERRNO(write(fd, NULL, 1L << 40), ENOSPC,
			    "PRF-27: far too many");
		CHECK(prf_status(fd) == (on | PRF_VALID),
		      "PRF-27, 28: the state is as it was");
		CHECK(HOLDS(fd, 8, 0, 4, 7, 7, 9), "and the table");
	}
}

/* PRF-30: what leaves no valid table. */
static void
check_invalid(void)
{
	static const unsigned long wrong[][N] = {
	    {2, 1, 3, 4}, {1, 3, 2, 4}, {1, 2, 4, 3}, {-1UL, 0, 1, 2}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		prf_put(fd, table, N);
		CHECK_ERRNO(write(fd, wrong[i], sizeof(wrong[i])), EINVAL,
			    "PRF-30: not ascending, %zu", i);
		CHECK(prf_status(fd) == 0, "PRF-30: no table is left");
		CHECK_ERRNO(read(fd, got, 8), ENXIO, "PRF-20: to read");
		prf_set(fd, PRF_ON);
		CHECK(prf_status(fd) == 0, "PRF-9: nor to turn on");
	}
	prf_put(fd, table, N);
	CHECK_ERRNO(write(fd, NULL, 4 * WORD), EFAULT, "a bad address");
	CHECK_ERRNO(write(fd, (void *)0xffffffff80200000, 64), EFAULT,
		    "an address of the kernel");
	CHECK(prf_status(fd) == 0, "EFAULT: no table is left");
	CHECK(prf_put(fd, (unsigned long[]){0, -2UL, -1UL}, 3) &&
		  prf_size(fd) == 3,
	      "PRF-28: 3 addresses are enough; any are");
}

/* PRF-19: always from the start, to the end or as much as is wanted. */
static void
check_read(void)
{
	size_t whole = (2 * N + 2) * WORD, wrong = 0;
	unsigned char all[(2 * N + 2) * WORD], part[(2 * N + 2) * WORD + 9];

	prf_put(fd, table, N);
	prf_set(fd, PRF_ON);
	sample("kernel", 0, 0x1000, 0x010203);
	CHECK(read(fd, all, whole) == (ssize_t)whole, "PRF-21: read while on");
	prf_set(fd, 0);
	for (size_t n = 0; n < sizeof(part); n++) {
		size_t wanted = n < whole ? n : whole;

		memset(part, 0xaa, sizeof(part));
		wrong += read(fd, part, n) != (ssize_t)wanted;
		wrong += memcmp(part, all, wanted) != 0;
		for (size_t i = wanted; i < sizeof(part); i++)
			wrong += part[i] != 0xaa;
	}
	CHECK(wrong == 0, "PRF-19: any length, from the start");
	CHECK(pread(fd, part, 8, 100000) == 8 && memcmp(part, all, 8) == 0,
	      "PRF-19: pread from anywhere too");
	CHECK(lseek(fd, 12345, SEEK_SET) == 12345 && HOLDS(fd, 0x010203),
	      "PRF-19: lseek may set the offset, but it's ignored");
	CHECK(pwrite(fd, table, sizeof(table), 99) == sizeof(table) &&
		  HOLDS(fd, 0),
	      "PRF-22, 23: as pwrite's is; counters are 0 again");
	CHECK_ERRNO(read(fd, NULL, 8), EFAULT, "a bad address");
}

static void
check_requests(void)
{
	int max = 0, status = 0;

	CHECK(ioctl(fd, PRF_GETMAX, &max) == LARGE, "PRF-36: returned");
	CHECK(max == LARGE, "PRF-36: and stored");
	CHECK(ioctl(fd, PRF_GETMAX, NULL) == LARGE, "PRF-36: null is fine");
	CHECK_ERRNO(ioctl(fd, PRF_GETMAX, 8), EFAULT, "GETMAX: EFAULT");
	CHECK_ERRNO(ioctl(fd, PRF_GETSTATUS, NULL), EFAULT, "GETSTATUS too");
	CHECK_ERRNO(ioctl(fd, PRF_GETSIZE, NULL), EFAULT, "GETSIZE too");
	for (int state = 0; state < 8; state++) {
		CHECK(prf_set(fd, state) == 0 &&
			  prf_status(fd) == (PRF_VALID | (state & 1)),
		      "PRF-34: of %d only the low bit counts", state);
	}
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int request = (PRF_GETSTATUS & ~0xf) + i;

		if (request < PRF_GETSTATUS || request > PRF_GETMAX)
			CHECK_ERRNO(ioctl(fd, request, &status), EINVAL,
				    "PRF-37: request %#x", request);
	}
	CHECK_ERRNO(ioctl(fd, 0, NULL), EINVAL, "PRF-37: request 0");
	CHECK(prf_status(fd) == 3, "PRF-37: and nothing changes");
	prf_set(fd, 0);
}

/* PRF-38, in each of the three states. */
static void
check_select(const char *when)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
	struct timeval none = {0};
	fd_set r, w;

	FD_ZERO(&r);
	FD_SET(fd, &r);
	w = r;
	CHECK(select(fd + 1, &r, &w, NULL, &none) == 2 && FD_ISSET(fd, &r) &&
		  FD_ISSET(fd, &w),
	      "PRF-38: %s: ready to be read and written", when);
	CHECK(poll(&p, 1, 0) == 1 && p.revents == (POLLIN | POLLOUT),
	      "PRF-38: poll agrees");
}

/* PRF-17: like an ordinary file's. */
static void
check_open(void)
{
	int other = open(PRF, O_RDWR), r = open(PRF, O_RDONLY);
	int w = open(PRF, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	char byte;

	CHECK(other >= 0 && r >= 0 && w >= 0, "PRF-17: any number of opens");
	prf_put(fd, table, N);
	prf_set(other, PRF_ON);
	CHECK(prf_status(fd) == 3, "PRF-17: they share the state");
	CHECK_ERRNO(write(r, table, sizeof(table)), EBADF, "PRF-17: O_RDONLY");
	CHECK_ERRNO(read(w, &byte, 1), EBADF, "PRF-17: O_WRONLY");
	close(other);
	close(r);
	close(w);
	close(fd);
	sample("kernel", 0, 0x1000, 3);
	fd = open(PRF, O_RDWR);
	CHECK(prf_status(fd) == 3, "PRF-17: close leaves it on");
	CHECK(HOLDS(fd, 3), "PRF-17: and counting");
	prf_set(fd, 0);
	CHECK_ERRNO(open(PRF, O_RDWR | O_CREAT | O_EXCL), EEXIST,
		    "PRF-17: O_EXCL finds it");
}

/* PRF-15, 39: which names there are. */
static void
check_names(void)
{
	static const char *const none[] = {
	    "prf-1", "prf00", "prf01",         "prfx", "prf0x",  "prf256",
	    "pr",    "prf0 ", "prf4294967296", "PRF",  "prf999", "prf 0"};
	unsigned int harts = system_now().harts, listed = 0, wrong = 0;
	bool all = false;
	DIR *dir = opendir("/dev");
	struct dirent *e;
	struct stat st;
	char name[40];

	while ((e = readdir(dir))) {
		listed += strncmp(e->d_name, "prf", 3) == 0;
		all |= strcmp(e->d_name, "prf") == 0;
	}
	closedir(dir);
	CHECK(all && listed == harts + 2,
	      "PRF-39: ls shows each hart's and all's");
	for (unsigned int i = 0; i <= 255; i++) {
		bool exists = i < harts || i == PRF_ALL;

		sprintf(name, "/dev/prf%u", i);
		errno = 0;
		wrong += (stat(name, &st) == 0) != exists;
		wrong += exists && (st.st_rdev & 0xff) != i;
		wrong += errno != (exists ? 0 : ENXIO);
		errno = 0;
		wrong += !exists &&
			 (open(name, O_RDWR) != -1 || errno != ENXIO);
	}
	CHECK(wrong == 0, "PRF-14, 15: a minor without a hart is ENXIO");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		sprintf(name, "/dev/%s", none[i]);
		CHECK_ERRNO(open(name, O_RDWR), ENOENT, "no %s", none[i]);
	}
}

/* PRF-12..14, 16: a table a hart, and one for all. */
static void
check_minors(void)
{
	unsigned int harts = system_now().harts;
	int minor[HARTS], all = open("/dev/prf255", O_RDWR);
	char name[40];

	for (unsigned int i = 0; i < harts; i++) {
		sprintf(name, "/dev/prf%u", i);
		minor[i] = open(name, O_RDWR);
		CHECK(prf_status(minor[i]) == 0, "%s has a state", name);
		prf_put(minor[i], table, N);
		prf_set(minor[i], PRF_ON);
	}
	prf_put(fd, table, N);
	prf_set(all, PRF_ON);
	CHECK(prf_status(fd) == 3, "PRF-13: prf255 is prf");
	for (unsigned int i = 0; i < harts; i++)
		sample("kernel", i, 0x1000, i + 1);
	for (unsigned int i = 0; i < harts; i++)
		CHECK(HOLDS(minor[i], i + 1), "PRF-14: prf%u has hart %u's", i,
		      i);
	CHECK(HOLDS(all, harts * (harts + 1) / 2),
	      "PRF-13, 16: prf has those of all harts");
	prf_set(minor[0], 0);
	sample("kernel", 0, 0x2000, 1);
	CHECK(HOLDS(minor[0], 1), "PRF-12: a hart's is off by itself");
	CHECK(prf_get(all, N) && got[N + 2] == 1, "PRF-12: prf goes on");
	prf_set(all, 0);
	for (unsigned int i = 0; i < harts; i++) {
		sample("kernel", i, 0x3000, 1);
		CHECK(i == 0 ? HOLDS(minor[i], 1)
			     : HOLDS(minor[i], i + 1, 0, 0, 1),
		      "PRF-12: prf%u as without prf", i);
		prf_set(minor[i], 0);
		close(minor[i]);
	}
	close(all);
}

/* An independent search: the last address not above pc. */
static size_t
charged(const unsigned long *address, size_t n, unsigned long pc)
{
	while (n > 1 && address[n - 1] > pc)
		n--;
	return n - 1;
}

/* PRF-3, 18 with tables of n addresses: every word is as it should be. */
static void
check_search(size_t n)
{
	static unsigned long want[2 * LARGE + 2];
	unsigned long last = 0xffffffff80200000;

	for (size_t i = 0; i < n; i++)
		want[i] = last += rand() % 4 * 8;
	memset(want + n, 0, (n + 2) * WORD);
	prf_put(fd, want, n);
	prf_set(fd, PRF_ON);
	for (size_t i = 0; i < 200; i++) {
		unsigned long pc = want[(rand() % n)] + rand() % 33 - 16;

		sample("kernel", 0, pc, i + 1);
		want[n + charged(want, n, pc)] += i + 1;
	}
	prf_set(fd, 0);
	CHECK(prf_get(fd, n) && memcmp(got, want, (2 * n + 2) * WORD) == 0,
	      "PRF-3, 18: %zu addresses, every word", n);
}

int
main(void)
{
	fd = open(PRF, O_RDWR);
	clock_fd = open(PROFCLOCK, O_WRONLY);
	ctl(PROFCLOCK, "hold");
	check_select("empty");
	check_empty();
	check_counters();
	check_select("on");
	check_write_errors();
	check_select("off");
	check_invalid();
	check_read();
	check_requests();
	check_open();
	check_names();
	check_minors();
	for (size_t n = 3; n < LARGE; n = n < 20 ? n + 1 : 3 * n)
		check_search(n);
	check_search(8192);
	check_search(LARGE);
	ctl(PROFCLOCK, "go");
	return check_done();
}

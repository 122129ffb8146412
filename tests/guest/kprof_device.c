/*
 * /dev/kpctl and /dev/kpdata, with real samples held and synthetic ones in
 * their place: every count is known.
 */
#include "profiling.h"

static uint64_t text; /* the kernel's first address */

/* Make COUNT samples in this mode, so many bytes into kernel text. */
static void
sample(const char *mode, uint64_t offset, unsigned int count)
{
	if (ctl(PROFCLOCK, "sample %s 0 0 0 0x%llx %u", mode,
		(unsigned long long)(text + offset), count) != 0)
		printf("no sample: %s\n", strerror(errno));
}

/* Are the first words of kpdata as these? The buckets add up to the kernel's
 * ticks but for so many outside of its text. */
static bool
counted_but(uint32_t outside, uint32_t total, uint32_t kernel,
	    uint32_t first_bucket)
{
	size_t n = kpdata_words();
	uint32_t sum = 0, *words = malloc(4 * n);
	int fd = open(KPDATA, O_RDONLY);
	ssize_t size = read(fd, words, 4 * n);

	close(fd);
	for (size_t i = BUCKETS; i < n; i++)
		sum += count_of(words + i);
	bool good = size == (ssize_t)(4 * n) &&
		    count_of(words + TOTAL) == total &&
		    count_of(words + KERNEL) == kernel &&
		    sum + outside == kernel &&
		    count_of(words + BUCKETS) == first_bucket;
	free(words);
	return good;
}

static bool
counted(uint32_t total, uint32_t kernel, uint32_t first_bucket)
{
	return counted_but(0, total, kernel, first_bucket);
}

static void
check_words(void)
{
	CHECK(ctl(KPCTL, "startclr") == 0, "startclr is taken");
	CHECK(counted(0, 0, 0), "startclr makes all counts 0");
	sample("kernel", 0, 3);
	sample("user", 0, 1);
	CHECK(counted(4, 3, 3), "startclr starts");
	CHECK(ctl(KPCTL, "stop\n") == 0, "stop and a newline is taken");
	sample("kernel", 0, 1);
	CHECK(counted(4, 3, 3), "stop ends counting, and keeps the counts");
	CHECK(ctl(KPCTL, "stop") == 0, "a second stop is nothing");
	CHECK(ctl(KPCTL, "start\n") == 0, "start and a newline is taken");
	CHECK(counted(4, 3, 3), "start clears nothing");
	CHECK(ctl(KPCTL, "start") == 0, "a second start is taken");
	sample("kernel", 0, 1);
	CHECK(counted(5, 4, 4), "and counts nothing twice");
	CHECK(ctl(KPCTL, "startclr\n") == 0, "startclr while it counts");
	sample("kernel", 0, 1);
	CHECK(counted(1, 1, 1), "clears, and goes on counting");
	CHECK(ctl(KPCTL, " \tstop \n") == 0, "blanks around a word are fine");
}

static void
check_modes(void)
{
	ctl(KPCTL, "startclr");
	sample("user", 0, 5);
	CHECK(counted(5, 0, 0), "a user tick is in the total only");
	sample("kernel", 0, 10);
	CHECK(counted(15, 10, 10), "a kernel tick is in its bucket too");
	sample("intr", 0, 20);
	CHECK(counted(35, 30, 30), "a handler's tick is the kernel's");
	sample("idle", 0, 40);
	CHECK(counted(75, 70, 70), "an idle tick is the kernel's");
	ctl(KPCTL, "stop");
}

static void
check_buckets(void)
{
	size_t last = kpdata_words() - BUCKETS - 1;

	ctl(KPCTL, "startclr");
	for (unsigned int i = 0; i < 8; i++)
		sample("kernel", 16 + i, 1);
	CHECK(kpdata(BUCKETS + 2) == 8, "8 bytes of text are a bucket");
	sample("kernel", 15, 1);
	sample("kernel", 24, 2);
	CHECK(kpdata(BUCKETS + 1) == 1, "the byte before is the one before's");
	CHECK(kpdata(BUCKETS + 3) == 2, "the byte after is the next one's");
	sample("kernel", 8 * last + 7, 3);
	CHECK(kpdata(BUCKETS + last) == 3, "text's last byte has a bucket");
	CHECK(counted(14, 14, 0), "the counts add up");
	sample("kernel", 8 * last + 8, 1);
	sample("idle", -1, 2);
	sample("intr", -text, 4);
	CHECK(counted_but(7, 21, 21, 0),
	      "a kernel tick outside of its text has no bucket");
	sample("user", -text, 8);
	CHECK(counted_but(7, 29, 21, 0), "a user's is a user's");
	ctl(KPCTL, "startclr");
	CHECK(counted(0, 0, 0), "startclr clears those too");
	ctl(KPCTL, "stop");
}

static void
check_byte_order(void)
{
	static const unsigned char wanted[] = {0, 1, 2, 3};
	unsigned char bytes[4] = {0};
	int fd = open(KPDATA, O_RDONLY);

	ctl(KPCTL, "startclr");
	sample("kernel", 0, 0x010203);
	ctl(KPCTL, "stop");
	pread(fd, bytes, 4, 4 * BUCKETS);
	CHECK(memcmp(bytes, wanted, 4) == 0, "counts are big-endian");
	close(fd);
}

/* Neither armed nor cleared: what is refused changes nothing. */
static void
check_refused(const char *what, const void *bytes, size_t size)
{
	ctl(KPCTL, "startclr");
	sample("kernel", 0, 1);
	CHECK(ctl_bytes(KPCTL, bytes, size) == EINVAL, "%s is EINVAL", what);
	sample("kernel", 0, 1);
	CHECK(counted(2, 2, 2), "%s: a profile goes on", what);
	ctl(KPCTL, "stop");
	ctl_bytes(KPCTL, bytes, size);
	sample("kernel", 0, 1);
	CHECK(counted(2, 2, 2), "%s: a stopped one stays as it is", what);
}

static void
check_bad_words(void)
{
	static const char *const bad[] = {
	    "star",      "Start",      "startclr1",    "stopped",
	    "begin",     "start now",  "startclr 1",   "stop x",
	    "stop\nx\n", "start stop", "stop start\n", "0",
	};
	char large[4000];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char name[32] = "";

		for (size_t j = 0; bad[i][j]; j++)
			name[j] = bad[i][j] == '\n' ? '/' : bad[i][j];
		check_refused(name, bad[i], strlen(bad[i]));
	}
	check_refused("nothing", "", 0);
	check_refused("a newline", "\n", 1);
	check_refused("start with a NUL", "start", 6);
	check_refused("stop with a NUL inside", "st\0op", 5);
	memset(large, ' ', sizeof(large));
	memcpy(large, "stop", 4);
	check_refused("a very long line", large, sizeof(large));
	memset(large, 'x', sizeof(large));
	check_refused("a very long word", large, 200);
}

static void
check_bad_addresses(void)
{
	int ctlfd = open(KPCTL, O_WRONLY), data = open(KPDATA, O_RDONLY);

	ctl(KPCTL, "startclr");
	CHECK_ERRNO(write(ctlfd, NULL, 5), EFAULT, "a word at a bad address");
	CHECK_ERRNO(read(data, NULL, 8), EFAULT, "counts to a bad address");
	CHECK_ERRNO(read(data, (void *)0xffffffff80200000, 8), EFAULT,
		    "counts to an address of the kernel");
	CHECK(lseek(data, 0, SEEK_CUR) == 0, "and the offset is where it was");
	sample("kernel", 0, 1);
	CHECK(counted(1, 1, 1), "a word at a bad address changes nothing");
	close(ctlfd);
	close(data);
	ctl(KPCTL, "stop");
}

static void
check_files(void)
{
	struct stat control, data, open_data;
	int fd = open(KPDATA, O_RDWR), control_fd = open(KPCTL, O_RDWR);
	char byte, line[40];

	stat(KPCTL, &control);
	stat(KPDATA, &data);
	fstat(fd, &open_data);
	CHECK((control.st_mode & 07777) == 0600, "kpctl is its owner's");
	CHECK((data.st_mode & 07777) == 0600, "kpdata is its owner's");
	CHECK(control.st_size == 0, "kpctl is empty");
	CHECK(data.st_size > 8 && data.st_size % 4 == 0, "kpdata is of words");
	CHECK(open_data.st_size == data.st_size, "fstat gives the same size");
	CHECK(read(control_fd, line, sizeof(line)) > 0 &&
		  strncmp(line, "skipped ", 8) == 0,
	      "kpctl says what was skipped");
	CHECK_ERRNO(write(fd, "start", 5), EINVAL, "kpdata is not written");
	CHECK(lseek(fd, 0, SEEK_END) == data.st_size, "SEEK_END is the size");
	CHECK(read(fd, &byte, 1) == 0, "nothing is at the end");
	CHECK(pread(fd, &byte, 1, data.st_size + 100) == 0, "nor behind it");
	CHECK_ERRNO(pread(fd, &byte, 1, -1), EINVAL, "nor before the start");
	close(fd);
	close(control_fd);
}

/* Is a read at this offset what the whole file has there? */
static bool
same_at(int fd, const unsigned char *whole, size_t size, size_t at, size_t n)
{
	unsigned char part[2048];
	size_t wanted = at >= size ? 0 : size - at < n ? size - at : n;
	ssize_t got = pread(fd, part, n, at);

	return got == (ssize_t)wanted && memcmp(part, whole + at, got) == 0;
}

static void
check_offsets(void)
{
	size_t size = 4 * kpdata_words(), n, wrong = 0;
	unsigned char *whole = malloc(size), *again = malloc(size);
	int fd = open(KPDATA, O_RDONLY);

	ctl(KPCTL, "startclr");
	for (unsigned int i = 0; i < 1200; i += 8)
		sample("kernel", i, i * i % 257);
	sample("kernel", 2 * size - 24, 0x0304);
	ctl(KPCTL, "stop");
	CHECK(read(fd, whole, size) == (ssize_t)size, "one read gives all");
	for (size_t at = 0; at < 12; at++)
		for (n = 1; n < 12; n++)
			wrong += !same_at(fd, whole, size, at, n);
	CHECK(wrong == 0, "any offset, any length: a part of the whole");
	CHECK(same_at(fd, whole, size, 3, 2000), "a longer part");
	CHECK(same_at(fd, whole, size, 511, 514), "another");
	CHECK(same_at(fd, whole, size, size - 5, 100), "the last 5 bytes");
	lseek(fd, 0, SEEK_SET);
	for (n = 0; n < size; n += 37)
		if (read(fd, again + n, 37) < 1)
			break;
	CHECK(memcmp(whole, again, size) == 0, "read in pieces: the same");
	close(fd);
	free(whole);
	free(again);
}

int
main(void)
{
	text = system_now().text_start;
	CHECK(ctl(PROFCLOCK, "hold") == 0, "real samples can be held");
	check_files();
	check_words();
	check_modes();
	check_buckets();
	check_byte_order();
	check_bad_words();
	check_bad_addresses();
	check_offsets();
	CHECK(ctl(PROFCLOCK, "go") == 0, "and let come again");
	return check_done();
}

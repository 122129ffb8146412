/*
 * What the tests of kprof and the sampling clock share: control words, and
 * the counts of /dev/kpdata.
 */
#ifndef PROFILING_H
#define PROFILING_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "check.h"

#define KPCTL     "/dev/kpctl"
#define KPDATA    "/dev/kpdata"
#define PROFCLOCK "/dev/profclock"
#define KTEST     "/dev/ktest"

#define HARTS 16 /* in struct sysinfo */

/* Write so many bytes to a control file, at once: 0, or errno. */
static inline int
ctl_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = write(fd, bytes, size);
	int err = errno;

	close(fd);
	return n == (ssize_t)size ? 0 : n < 0 ? err : EIO;
}

static inline int __attribute__((format(printf, 2, 3)))
ctl(const char *path, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return ctl_bytes(path, line, strlen(line));
}

/* Words of kpdata: all ticks, those in the kernel, then the buckets. */
enum { TOTAL, KERNEL, BUCKETS };

/* The count of a word as it stands in the file. */
static inline uint32_t
count_of(const void *word)
{
	const unsigned char *w = word;

	return (uint32_t)w[0] << 24 | w[1] << 16 | w[2] << 8 | w[3];
}

/* How many words kpdata has. */
static inline size_t
kpdata_words(void)
{
	struct stat st = {.st_size = 0};

	stat(KPDATA, &st);
	return st.st_size / 4;
}

/* Word i of kpdata. */
static inline uint32_t
kpdata(size_t i)
{
	unsigned char word[4] = {0};
	int fd = open(KPDATA, O_RDONLY);

	pread(fd, word, sizeof(word), 4 * i);
	close(fd);
	return count_of(word);
}

static inline struct sysinfo
system_now(void)
{
	struct sysinfo info;

	sysinfo(&info, sizeof(info));
	return info;
}

/* Samples that fell due and were not taken, on all harts. */
static inline uint64_t
skipped_now(void)
{
	struct sysinfo info = system_now();
	uint64_t sum = 0;

	for (size_t i = 0; i < info.harts; i++)
		sum += info.skipped[i];
	return sum;
}

/* The ticks of all harts. */
static inline uint64_t
all_ticks(const struct sysinfo *info)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < info->harts; i++)
		sum += info->ticks[i];
	return sum;
}

static inline uint64_t
rdtime(void)
{
	uint64_t t;

	asm volatile("rdtime %0" : "=r"(t));
	return t;
}

/* Microseconds of the machine's clock. */
static inline uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000) + t.tv_nsec / 1000;
}

/* Be busy in user mode. */
static inline void
burn_us(uint64_t us)
{
	uint64_t end = now_us() + us;

	while (now_us() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* Be in the kernel for 50 ms at each level, then leave the hart idle. */
static inline void
spin_and_sleep(unsigned int ms)
{
	struct timespec nap = {.tv_nsec = ms * 1000000L};

	ctl(KTEST, "spin 0 50000");
	ctl(KTEST, "spin 1 50000");
	ctl(KTEST, "spin 5 50000");
	nanosleep(&nap, NULL);
}

#endif

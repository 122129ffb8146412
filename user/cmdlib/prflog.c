/* The profiler's device and its log: see prflog.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prf.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "prflog.h"

#define WORD          sizeof(uint64_t)
#define ADDRESSES_MIN 3
#define ADDRESSES_MAX (1 << 24) /* more than any kernel's */

const char *prf_device = "/dev/prf";
int prf_fd;

void
prf_open(int min, int max)
{
	while (cmd_option("f:") != -1)
		prf_device = cmd_value;
	cmd_operands(min, max);
	prf_fd = open(prf_device, O_RDWR);
	if (prf_fd < 0)
		cmd_die("%s", prf_device);
	/* The request that changes nothing, and that no other file knows. */
	if (ioctl(prf_fd, PRF_GETMAX, 0) < 0) {
		cmd_error("%s: not a prf device", prf_device);
		exit(cmd_status);
	}
}

/* What an ioctl stores. */
static int
ask(unsigned int request)
{
	int answer;

	if (ioctl(prf_fd, request, &answer) < 0)
		cmd_die("%s", prf_device);
	return answer;
}

bool
prf_enabled(void)
{
	return ask(PRF_GETSTATUS) & PRF_ON;
}

size_t
prf_size(void)
{
	return ask(PRF_GETSIZE);
}

static _Noreturn void
no_table(void)
{
	cmd_error("%s: no addresses are loaded: run prfld first", prf_device);
	exit(cmd_status);
}

void
prf_enable(void)
{
	if (ioctl(prf_fd, PRF_SETSTATE, PRF_ON) < 0)
		cmd_die("%s", prf_device);
	if (!prf_enabled())
		no_table();
}

/* Words of a log: before the first record, and in a record. */
static size_t
header_words(size_t n)
{
	return 1 + n;
}

static size_t
record_words(size_t n)
{
	return 1 + n + 2;
}

void
snapshot_take(struct snapshot *s)
{
	size_t n = prf_size(), size = (2 * n + 2) * WORD;
	size_t words = header_words(n) + record_words(n);
	uint64_t *new, *record;

	if (n == 0)
		no_table();
	new = cmd_alloc(words * WORD);
	record = new + header_words(n);
	/* With room for a word too many: someone may load another table. */
	if (read(prf_fd, new + 1, size + WORD) != (ssize_t)size ||
	    (s->words &&
	     (s->n != n || memcmp(s->words + 1, new + 1, n * WORD) != 0))) {
		cmd_error("%s: other addresses were loaded meanwhile",
			  prf_device);
		exit(cmd_status);
	}
	memmove(record + 1, record, (n + 2) * WORD);
	record[0] = time(NULL);
	new[0] = n;
	free(s->words);
	*s = (struct snapshot){n, new};
}

void
snapshot_append(const struct snapshot *s, int fd, const char *name)
{
	size_t header = header_words(s->n), record = record_words(s->n);
	off_t end = lseek(fd, 0, SEEK_END);
	bool good;

	if (end == 0)
		good = out_direct(fd, s->words, (header + record) * WORD);
	else
		good = out_direct(fd, s->words + header, record * WORD);
	if (!good) {
		int code = errno;

		/* Part of a record would spoil those that follow. */
		(void)!ftruncate(fd, end);
		errno = code;
		cmd_die("%s", name);
	}
}

static bool
ascending(const uint64_t *word, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (word[i] < word[i - 1])
			return false;
	}
	return true;
}

const char *
prflog_load(struct prflog *log, int fd, const char *name)
{
	size_t size, words, rest;
	const uint64_t *word;

	*log = (struct prflog){0};
	word = (uint64_t *)cmd_slurp(fd, name, &size);
	if (!word)
		return "";
	if (size == 0)
		return NULL;
	words = size / WORD;
	if (words == 0 || word[0] < ADDRESSES_MIN || word[0] > ADDRESSES_MAX)
		return "not a prf log";
	log->n = word[0];
	if (!ascending(word + 1, log->n < words ? log->n : words - 1))
		return "not a prf log";
	if (words < header_words(log->n))
		return "ends inside its addresses";
	log->addresses = word + 1;
	log->record = word + header_words(log->n);
	log->stride = record_words(log->n);
	rest = size - header_words(log->n) * WORD;
	log->records = rest / (log->stride * WORD);
	log->torn = rest % (log->stride * WORD) != 0;
	return NULL;
}

/*
 * What the tests of pcs share: the device, synthetic samples, the records of a
 * buffer, and the account.
 */
#ifndef PCS_H
#define PCS_H

#include <poll.h>
#include <sys/ioctl.h>

#include "children.h"
#include "profiling.h" /* before pcs.h, whose names are short ones */

#include <sys/pcs.h>

#define PCS       "/dev/pcs"
#define PCSTAT    "/dev/pcstat"
#define MERGE     100 /* clocks of a hart between its merged records */
#define USER_PC   0x12345678ul
#define KERNEL_PC 0xffffffff80201234ul

static inline int
pcs_open(void)
{
	return open(PCS, O_RDONLY);
}

/* So many samples of a hart, held or not. */
static inline void
samples(const char *mode, int hart, int pid, int level, unsigned long pc,
	unsigned int count)
{
	if (count && ctl(PROFCLOCK, "sample %s %d %d %d 0x%lx %u", mode, hart,
			 pid, level, pc, count) != 0)
		printf("no samples: %s\n", strerror(errno));
}

/* A buffer, in one read; nothing is waited for. */
static inline ssize_t
buffer_read(int fd, struct LOGBUF *b)
{
	ssize_t n;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	n = read(fd, b, sizeof(*b));
	fcntl(fd, F_SETFL, 0);
	return n;
}

static inline bool
merged_type(int type)
{
	return type == IDLE || type == MKERNEL || type == MUSER ||
	       type == MKERNELI;
}

static inline const struct MSAMPLE *
merged(const struct PSAMPLE *p)
{
	return (const struct MSAMPLE *)p;
}

/* The hits that a record is of. */
static inline int
hits_in(const struct PSAMPLE *p)
{
	return merged_type(p->type) ? merged(p)->count : 1;
}

static inline bool
is_sample(const struct PSAMPLE *p, int type, int sspace, int pid,
	  unsigned long pc)
{
	return p->type == type && (unsigned char)p->sspace == sspace &&
	       p->pid == pid && p->pc == (unsigned int)pc;
}

static inline bool
is_merged(const struct PSAMPLE *p, int type, int hart, int count)
{
	const struct MSAMPLE *m = merged(p);

	return m->type == type && m->cfill == hart && m->count == count &&
	       m->ufill == 0;
}

static inline struct pcs_stat
account_of(int fd)
{
	struct pcs_stat s;

	memset(&s, 0xff, sizeof(s));
	ioctl(fd, PCS_STAT, &s);
	return s;
}

static inline bool
adds_up(const struct pcs_stat *s)
{
	return s->seen == s->recorded + s->merged + s->pending + s->lost;
}

/* Does /dev/pcstat have this line? */
static inline bool
pcstat_says(const char *line)
{
	char text[1024] = "\n", wanted[128];
	int fd = open(PCSTAT, O_RDONLY);
	ssize_t n = read(fd, text + 1, sizeof(text) - 2);

	close(fd);
	text[n < 0 ? 1 : n + 1] = '\0';
	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	return strstr(text, wanted) != NULL;
}

static inline bool __attribute__((format(printf, 1, 2)))
pcstat(const char *format, ...)
{
	char line[100];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return pcstat_says(line);
}

#endif

/*
 * collect [stacks]: keep all records of pcs in memory till standard input ends,
 * then print how often each came: pcs TYPE HART PID PC COUNT. With stacks, in
 * the order in which they came: stack TYPE HART PID PC NKERNEL CUT ADDRESS..
 * A byte on descriptor 3 says that it is ready.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <sys/select.h>
#include <unistd.h>

#define MOST  200000 /* records */
#define READY 3

static struct PSAMPLE samples[MOST]; /* or what of the stacks takes as much */
static size_t n;
static int device;

static void
die(const char *what)
{
	fprintf(stderr, "collect: %s\n", what);
	exit(1);
}

/* What the device has now. */
static void
take(void)
{
	struct LOGBUF b;

	while (read(device, &b, sizeof(b)) == sizeof(b)) {
		size_t unused = b.lb_buf_hdr.h_unused;
		size_t bytes = sizeof(b) - sizeof(b.lb_buf_hdr) - unused;

		if (b.lb_buf_hdr.h_numlost)
			die("records are lost");
		if (n + bytes / sizeof(samples[0]) > MOST)
			die("too many records");
		memcpy(samples + n, b.lb_data, bytes);
		n += bytes / sizeof(samples[0]);
	}
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct PSAMPLE));
}

static void
print(void)
{
	size_t count;

	qsort(samples, n, sizeof(samples[0]), compare);
	for (size_t i = 0; i < n; i += count) {
		const struct PSAMPLE *s = &samples[i];

		count = 1;
		while (i + count < n && compare(s, s + count) == 0)
			count++;
		if (s->type == KERNEL || s->type == USER || s->type == KERNELI)
			printf("pcs %d %d %d %x %zu\n", s->type, s->sspace & 15,
			       s->pid, s->pc, count);
	}
}

/* Each sample, and what follows it. */
static void
print_stacks(void)
{
	const struct PSAMPLE *p = NULL;
	const struct STKSAMPLE *s;

	for (size_t i = 0; i < n;) {
		s = (const struct STKSAMPLE *)&samples[i];
		if (s->type != STACK) {
			p = &samples[i++];
			continue;
		}
		printf("stack %d %d %d %x %d %d", p->type, p->sspace & 15,
		       p->pid, p->pc, s->nkernel, s->cut);
		for (int j = 0; j < s->n; j++)
			printf(" %x", s->pc[j]);
		printf("\n");
		i += STACK_BYTES(s->n) / sizeof(samples[0]);
	}
}

int
main(int argc, char **argv)
{
	bool stacks = argc > 1 && strcmp(argv[1], "stacks") == 0;
	fd_set set;

	device = open("/dev/pcs", O_RDONLY | O_NONBLOCK);
	if (device < 0 || ioctl(device, BUF_INCR, MAX_BUFS - DEF_BUFNO) < 0 ||
	    ioctl(device, PROF_ALL, 0) < 0 ||
	    (stacks && ioctl(device, PROF_STACK, 0) < 0))
		die("pcs can't be used");
	write(READY, "", 1);
	close(READY);
	do {
		struct timeval tick = {.tv_usec = 10000};

		/* Who is woken by a full buffer works right after a sample,
		 * where few others found him while intervals had a least
		 * length: so he looks by the clock. Stacks are no matter of
		 * shares. */
		FD_ZERO(&set);
		if (stacks)
			FD_SET(device, &set);
		FD_SET(STDIN_FILENO, &set);
		if (select(device + 1, &set, NULL, NULL,
			   stacks ? NULL : &tick) < 0)
			die("select fails");
		take();
	} while (!FD_ISSET(STDIN_FILENO, &set));
	if (ioctl(device, PCS_END, 0) < 0)
		die("pcs doesn't end");
	take();
	if (stacks)
		print_stacks();
	else
		print();
	return 0;
}

/*
 * What system calls and samples cost, in instructions: on one hart, with
 * -icount shift=0, where the cycle counter counts just those. Each figure is
 * the median of BATCHES; a line each: its name, and what one operation took.
 */
#include <fcntl.h>
#include <mon.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prf.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guest/profiling.h" /* before pcs.h, whose names are short ones */

#include <sys/pcs.h>

#define BATCHES   7
#define PAGE      4096
#define HEAP      (66 * PAGE) /* six times what a hart's cache of pages moves */
#define FILE_SIZE 65536
#define PIPE_SIZE (1024 * 1024)
#define MORE      (256 * PAGE) /* that a forking process has touched */
#define ADDRESSES 4096         /* of prf */
#define LOOP      30000000     /* rounds: ten ticks and more */
#define ROUND     2            /* instructions */

static char buf[FILE_SIZE];
static int to[2], from[2]; /* pipes */

static uint64_t
cycles(void)
{
	uint64_t c;

	asm volatile("rdcycle %0" : "=r"(c));
	return c;
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double took[BATCHES])
{
	qsort(took, BATCHES, sizeof(took[0]), ascending);
	return took[BATCHES / 2];
}

/* Call batch BATCHES times; it does so many operations. */
static void
measure(const char *name, void (*batch)(void), double operations)
{
	double took[BATCHES];

	batch(); /* what is only done once */
	for (int i = 0; i < BATCHES; i++) {
		uint64_t start = cycles();

		batch();
		took[i] = (cycles() - start) / operations;
	}
	printf("%s %.2f\n", name, median(took));
}

static void
batch_getpid(void)
{
	for (int i = 0; i < 500; i++)
		getpid();
}

static void
batch_yield(void)
{
	for (int i = 0; i < 500; i++)
		sched_yield();
}

static void
batch_pipe_self(void)
{
	for (int i = 0; i < 500; i++) {
		write(to[1], buf, 1);
		read(to[0], buf, 1);
	}
}

static void
batch_pipe_rtt(void)
{
	for (int i = 0; i < 200; i++) {
		write(to[1], buf, 1);
		read(from[0], buf, 1);
	}
}

/* With another process that answers each byte. */
static void
pipe_rtt(void)
{
	pid_t pid = fork();

	while (pid == 0)
		if (read(to[0], buf, 1) != 1 || write(from[1], buf, 1) != 1)
			_exit(1);
	measure("pipe_rtt", batch_pipe_rtt, 200);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
batch_fork(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void
batch_exec(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/tiny", "tiny", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

/* The heap grows, all of it is touched, and it shrinks. */
static uint64_t grew, shrank;

static void
batch_heap(void)
{
	uint64_t start = cycles(), middle;
	char *heap = sbrk(HEAP);

	for (int i = 0; i < HEAP; i += PAGE)
		heap[i] = 1;
	middle = cycles();
	sbrk(-HEAP);
	grew = middle - start;
	shrank = cycles() - middle;
}

static void
heap(void)
{
	double grow[BATCHES], shrink[BATCHES];

	batch_heap();
	for (int i = 0; i < BATCHES; i++) {
		batch_heap();
		grow[i] = grew * 1.0 / (HEAP / PAGE);
		shrink[i] = shrank * 1.0 / (HEAP / PAGE);
	}
	printf("heap_page %.2f\nheap_free_page %.2f\n", median(grow),
	       median(shrink));
}

static void
batch_open(void)
{
	for (int i = 0; i < 100; i++)
		close(open("/tmp/file", O_RDONLY));
}

static void
batch_write(void)
{
	int fd = open("/tmp/file", O_WRONLY | O_CREAT, 0666);

	write(fd, buf, FILE_SIZE);
	close(fd);
	unlink("/tmp/file");
}

static void
batch_read(void)
{
	int fd = open("/tmp/file", O_RDONLY);

	read(fd, buf, FILE_SIZE);
	close(fd);
}

/* A MiB through a pipe, from another process, in pieces. */
static size_t piece;

static void
batch_pipe(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (size_t n = 0; n < PIPE_SIZE; n += piece)
			write(to[1], buf, piece);
		_exit(0);
	}
	for (size_t n = 0; n < PIPE_SIZE;)
		n += read(to[0], buf, piece);
	waitpid(pid, NULL, 0);
}

static void
pipes(void)
{
	piece = 4096;
	measure("pipe_4096", batch_pipe, PIPE_SIZE);
	piece = 512;
	measure("pipe_512", batch_pipe, PIPE_SIZE);
}

/* What a tick adds to a loop of known length. */
static double
tick(void)
{
	double took[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		uint64_t before = system_now().ticks[0], start = cycles();
		unsigned long n = LOOP;

		asm volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(n));
		took[i] = cycles() - start - (double)LOOP * ROUND;
		took[i] /= system_now().ticks[0] - before;
	}
	return median(took);
}

static int prf, pcs;
static unsigned short clocks;

static void
prf_begin(void)
{
	static unsigned long table[ADDRESSES];
	struct sysinfo info = system_now();

	for (int i = 0; i < ADDRESSES; i++)
		table[i] = info.text_start + 8 * i;
	prf = open("/dev/prf", O_RDWR);
	if (write(prf, table, sizeof(table)) != sizeof(table))
		perror("bench: prf");
	ioctl(prf, PRF_SETSTATE, PRF_ON);
}

static void
prf_end(void)
{
	ioctl(prf, PRF_SETSTATE, 0);
	close(prf);
}

static void
kprof_begin(void)
{
	ctl(KPCTL, "startclr");
}

static void
kprof_end(void)
{
	ctl(KPCTL, "stop");
}

static void
pcs_begin(void)
{
	pcs = open("/dev/pcs", O_RDONLY);
	ioctl(pcs, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	ioctl(pcs, PROF_ALL, NULL);
}

static void
pcs_end(void)
{
	close(pcs);
}

static void
profil_begin(void)
{
	clocks = 0;
	profil(&clocks, 2, 0, 2);
}

static void
profil_end(void)
{
	profil(&clocks, 2, 0, 0);
}

static const struct {
	const char *name;
	void (*begin)(void), (*end)(void);
} samplers[] = {
    {"sample_prf", prf_begin, prf_end},
    {"sample_kprof", kprof_begin, kprof_end},
    {"sample_pcs", pcs_begin, pcs_end},
    {"sample_profil", profil_begin, profil_end},
};

#define SAMPLERS (sizeof(samplers) / sizeof(samplers[0]))

static void
ticks(const char *name)
{
	double bare = tick();

	printf("%s %.2f\n", name, bare);
	for (size_t i = 0; i < SAMPLERS; i++) {
		samplers[i].begin();
		printf("%s %.2f\n", samplers[i].name, tick() - bare);
		samplers[i].end();
	}
	for (size_t i = 0; i < SAMPLERS; i++)
		samplers[i].begin();
	printf("sample_all %.2f\n", tick() - bare);
	for (size_t i = 0; i < SAMPLERS; i++)
		samplers[i].end();
}

static void
calls(void)
{
	char *more;

	measure("getpid", batch_getpid, 500);
	measure("yield_alone", batch_yield, 500);
	measure("pipe_self", batch_pipe_self, 500);
	pipe_rtt();
	measure("fork_exit_wait", batch_fork, 20);
	measure("fork_exec", batch_exec, 10);
	heap();
	measure("write_64k", batch_write, 1);
	close(open("/tmp/file", O_CREAT | O_WRONLY, 0666));
	measure("open_close", batch_open, 100);
	int fd = open("/tmp/file", O_WRONLY);
	write(fd, buf, FILE_SIZE);
	close(fd);
	measure("read_64k", batch_read, 1);
	pipes();
	more = malloc(MORE);
	memset(more, 1, MORE);
	measure("fork_256pages", batch_fork, 20);
	free(more);
}

/* bench boot|calls|tick NAME */
int
main(int argc, char **argv)
{
	uint64_t start = cycles();

	pipe(to);
	pipe(from);
	memset(buf, 'x', sizeof(buf));
	if (argc > 1 && strcmp(argv[1], "boot") == 0) {
		struct sysinfo info = system_now();

		printf(
		    "boot %llu\nboot_bytes %llu\n", (unsigned long long)start,
		    (unsigned long long)(info.pages_total - info.pages_free) *
			PAGE);
	} else if (argc > 2) {
		ticks(argv[2]);
	} else {
		calls();
	}
	return 0;
}

/*
 * What system calls and samples cost, in instructions: on one hart, with
 * -icount shift=0, where the cycle counter counts just those. Each figure is
 * the median of several batches; a line each: its name, and what one operation
 * took. What the kernel counts (bytes, pages, processes, samples) says if the
 * work was done: the compiler or the library may have left some out.
 */
#include <mon.h>
#include <sched.h>
#include <signal.h>

#include "../guest/pcs.h"
#include "../guest/prf.h"

#define BATCHES   7
#define SAMPLED   3 /* batches with ticks: those vary less */
#define PAGE      4096
#define MOVED     11 /* pages at a time, to a hart's cache and from it */
#define HEAP      66 /* pages */
#define FILE_SIZE 65536
#define PIPE_SIZE (1024 * 1024)
#define MORE      256    /* pages that a forking process has touched */
#define ADDRESSES 4096   /* of prf */
#define FEW       500000 /* rounds of a loop: less than a tick lasts */
#define TRIES     8

char *__brk(char *end); /* the system call: the library's sbrk moves more */

static char buf[FILE_SIZE];
static int to[2], from[2]; /* pipes */
static bool failed;

/* A row that did something else than it says is no figure. */
static void
must_be(const char *name, const char *what, long is, long wanted)
{
	if (is != wanted)
		fprintf(stderr, "bench: %s: %s: %ld, not %ld\n", name, what, is,
			wanted);
	failed |= is != wanted;
}

/* The pages of memory that this process has, as the kernel counts them. */
static long
resident(void)
{
	static struct psinfo all[64];
	int n = psinfo(all, 64);

	for (int i = 0; i < n && i < 64; i++)
		if (all[i].pid == getpid())
			return all[i].resident / PAGE;
	return -1;
}

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
median(double *took, int n)
{
	qsort(took, n, sizeof(took[0]), ascending);
	return took[n / 2];
}

/* Call batch BATCHES times. It does so many operations, and returns the sum of
 * what the kernel has said of each, which must be `said'. */
static void
measure(const char *name, long (*batch)(void), double operations, long said)
{
	double took[BATCHES];

	batch(); /* what is only done once */
	for (int i = 0; i < BATCHES; i++) {
		uint64_t start = cycles();
		long sum = batch();

		took[i] = (cycles() - start) / operations;
		must_be(name, "what the calls returned", sum, said);
	}
	printf("%s %.2f\n", name, median(took, BATCHES));
}

static long
batch_getpid(void)
{
	long sum = 0;

	for (int i = 0; i < 500; i++)
		sum += getpid();
	return sum;
}

static long
batch_yield(void)
{
	long sum = 0;

	for (int i = 0; i < 500; i++)
		sum += sched_yield();
	return sum;
}

static long
batch_pipe_self(void)
{
	long bytes = 0;

	for (int i = 0; i < 500; i++) {
		bytes += write(to[1], buf, 1);
		bytes += read(to[0], buf, 1);
	}
	return bytes;
}

static long
batch_pipe_rtt(void)
{
	long bytes = 0;

	for (int i = 0; i < 200; i++) {
		bytes += write(to[1], buf, 1);
		bytes += read(from[0], buf, 1);
	}
	return bytes;
}

/* With another process that answers each byte. */
static void
pipe_rtt(void)
{
	pid_t pid = fork();

	while (pid == 0)
		if (read(to[0], buf, 1) != 1 || write(from[1], buf, 1) != 1)
			_exit(1);
	measure("pipe_rtt", batch_pipe_rtt, 200, 400);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How many children have ended. */
static long
batch_fork(void)
{
	long ended = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		ended += waitpid(pid, NULL, 0) > 0;
	}
	return ended;
}

static bool
run_tiny(int *status)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/tiny", "tiny", (char *)NULL);
		_exit(1);
	}
	return waitpid(pid, status, 0) > 0;
}

static long
batch_exec(void)
{
	long ended = 0;

	for (int i = 0; i < 10; i++)
		ended += run_tiny(NULL);
	return ended;
}

static void
exec(void)
{
	int status = -1;

	measure("fork_exec", batch_exec, 10, 10);
	run_tiny(&status);
	must_be("fork_exec", "tiny's status", status, 0);
}

/* Touch so many pages. */
static void
touch(volatile char *memory, int pages)
{
	for (int i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

/* A page that stays: a hart's cache of pages has one less then. */
static char *
keep_page(char *end)
{
	__brk(end + PAGE);
	touch(end, 1);
	return end + PAGE;
}

/* The heap grows, all of it is touched, and it shrinks. How often the cache is
 * filled and emptied meanwhile depends on how many pages it has: so the mean of
 * as many rounds as pages are moved at a time, after one for what is only done
 * once. */
static void
heap(void)
{
	char *begin = __brk(NULL), *end = begin;
	uint64_t grew = 0, shrank = 0;

	for (int i = 0; i <= MOVED; i++) {
		long had = resident();
		uint64_t start = cycles(), middle;

		__brk(end + HEAP * PAGE);
		touch(end, HEAP);
		middle = cycles();
		must_be("heap_page", "pages more", resident() - had, HEAP);
		grew += i == 0 ? 0 : middle - start;
		start = cycles();
		__brk(end);
		middle = cycles();
		must_be("heap_free_page", "pages left", resident() - had, 0);
		shrank += i == 0 ? 0 : middle - start;
		end = keep_page(end);
	}
	__brk(begin);
	printf("heap_page %.2f\nheap_free_page %.2f\n",
	       grew / (double)(HEAP * MOVED), shrank / (double)(HEAP * MOVED));
}

static long
batch_open(void)
{
	long wrong = 0;

	for (int i = 0; i < 100; i++)
		wrong += close(open("/tmp/file", O_RDONLY));
	return wrong;
}

static long
batch_write(void)
{
	int fd = open("/tmp/file", O_WRONLY | O_CREAT, 0666);
	long bytes = write(fd, buf, FILE_SIZE);

	return bytes + close(fd) + unlink("/tmp/file");
}

static long
batch_read(void)
{
	int fd = open("/tmp/file", O_RDONLY);
	long bytes = read(fd, buf, FILE_SIZE);

	return bytes + close(fd);
}

/* A MiB through a pipe, from another process, in pieces. */
static long piece;

static long
batch_pipe(void)
{
	pid_t pid = fork();
	long bytes = 0, n = 1;

	if (pid == 0) {
		while (bytes < PIPE_SIZE)
			bytes += write(to[1], buf, piece);
		_exit(0);
	}
	while (bytes < PIPE_SIZE && n > 0)
		bytes += n = read(to[0], buf, piece);
	return bytes + (waitpid(pid, NULL, 0) != pid);
}

static void
pipes(void)
{
	piece = 4096;
	measure("pipe_4096", batch_pipe, PIPE_SIZE, PIPE_SIZE);
	piece = 512;
	measure("pipe_512", batch_pipe, PIPE_SIZE, PIPE_SIZE);
}

/* With memory that each child shares. */
static void
fork_more(void)
{
	char *end = __brk(NULL);
	long had = resident();

	__brk(end + MORE * PAGE);
	touch(end, MORE);
	must_be("fork_256pages", "pages more", resident() - had, MORE);
	measure("fork_256pages", batch_fork, 20, 20);
	__brk(end);
}

/* --- Ticks --- */

static void
loop_in_user_mode(unsigned long rounds)
{
	asm volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(rounds));
}

/* With as many digits each time, so that nothing else differs. */
static void
loop_in_the_kernel(unsigned long rounds)
{
	ctl(KTEST, "spin 0 10000000 %09lu", rounds);
}

/* A loop that ticks interrupt. */
static struct mode {
	const char *suffix; /* of a row's name */
	void (*loop)(unsigned long rounds);
	unsigned long rounds;
	double alone; /* what it takes without ticks */
	long ticks;   /* that came so far */
} user = {"", loop_in_user_mode, 10000000, 0, 0},
  kernel = {"_kernel", loop_in_the_kernel, 15000000, 0, 0};

/* What few rounds take: some of these have no tick. */
static double
least(const struct mode *m, unsigned long rounds)
{
	double took[TRIES];

	for (int i = 0; i < TRIES; i++) {
		uint64_t start = cycles();

		m->loop(rounds);
		took[i] = cycles() - start;
	}
	qsort(took, TRIES, sizeof(took[0]), ascending);
	return took[0];
}

static void
set_alone(struct mode *m)
{
	double few = least(m, FEW), more = least(m, 2 * FEW) - few;

	m->alone = few + more * (m->rounds / FEW - 1);
}

/* What each tick adds to a loop. */
static double
tick(struct mode *m)
{
	double took[SAMPLED];

	for (int i = 0; i < SAMPLED; i++) {
		struct sysinfo before = system_now(), after;
		uint64_t start = cycles(), all;
		long ticks;

		m->loop(m->rounds);
		all = cycles() - start;
		after = system_now();
		ticks = after.ticks[0] - before.ticks[0];
		must_be("tick", "is there one", ticks > 0, true);
		must_be("tick", "samples", after.taken[0] - before.taken[0],
			ticks);
		took[i] = (all - m->alone) / ticks;
		m->ticks += ticks;
	}
	return median(took, SAMPLED);
}

static int prf, pcs;
static unsigned short clocks;

static void
prf_begin(void)
{
	static unsigned long table[ADDRESSES];
	struct sysinfo info = system_now();
	size_t step = (info.text_end - info.text_start) / ADDRESSES;

	for (int i = 0; i < ADDRESSES; i++)
		table[i] = info.text_start + step * i;
	prf = open(PRF, O_RDWR);
	if (!prf_put(prf, table, ADDRESSES))
		perror("bench: prf");
	prf_set(prf, PRF_ON);
}

static void
prf_end(void)
{
	prf_set(prf, 0);
	close(prf);
}

static long
prf_count(const struct mode *m)
{
	long of_user;

	prf_get(prf, ADDRESSES);
	of_user = got[2 * ADDRESSES];
	return m == &user ? of_user : (long)prf_sum(ADDRESSES) - of_user;
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

static long
kprof_count(const struct mode *m)
{
	return m == &user ? kpdata(TOTAL) - kpdata(KERNEL) : kpdata(KERNEL);
}

static void
pcs_begin(void)
{
	pcs = pcs_open();
	ioctl(pcs, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	ioctl(pcs, PROF_ALL, NULL);
}

static void
pcs_end(void)
{
	close(pcs);
}

static long
pcs_count(const struct mode *)
{
	return account_of(pcs).recorded;
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

/* It is told of a kernel's samples, too, but has no counter for them. */
static long
profil_count(const struct mode *m)
{
	return m == &user ? clocks : m->ticks;
}

static const struct sampler {
	const char *name;
	void (*begin)(void), (*end)(void);
	long (*count)(const struct mode *); /* its samples of that mode */
} samplers[] = {
    {"sample_prf", prf_begin, prf_end, prf_count},
    {"sample_kprof", kprof_begin, kprof_end, kprof_count},
    {"sample_pcs", pcs_begin, pcs_end, pcs_count},
    {"sample_profil", profil_begin, profil_end, profil_count},
};

#define SAMPLERS (sizeof(samplers) / sizeof(samplers[0]))

/* What n of them add to a tick that costs `bare'. */
static void
sample(const char *name, struct mode *m, double bare, const struct sampler *s,
       size_t n)
{
	m->ticks = 0;
	for (size_t i = 0; i < n; i++)
		s[i].begin();
	printf("%s%s %.2f\n", name, m->suffix, tick(m) - bare);
	for (size_t i = 0; i < n; i++) {
		long counted = s[i].count(m);

		/* There are more: a tick may come between two loops. */
		if (counted < m->ticks)
			must_be(s[i].name, "samples counted", counted,
				m->ticks);
		s[i].end();
	}
}

static void
samples_in(struct mode *m, double bare)
{
	for (const struct sampler *s = samplers; s < samplers + SAMPLERS; s++)
		sample(s->name, m, bare, s, 1);
	sample("sample_all", m, bare, samplers, SAMPLERS);
}

static double
print_tick(const char *name)
{
	double bare;

	set_alone(&user);
	bare = tick(&user);
	printf("%s %.2f\n", name, bare);
	return bare;
}

static void
ticks(void)
{
	samples_in(&user, print_tick("tick"));
	set_alone(&kernel);
	samples_in(&kernel, tick(&kernel));
}

static void
calls(void)
{
	measure("getpid", batch_getpid, 500, 500L * getpid());
	measure("yield_alone", batch_yield, 500, 0);
	measure("pipe_self", batch_pipe_self, 500, 1000);
	pipe_rtt();
	measure("fork_exit_wait", batch_fork, 20, 20);
	exec();
	heap();
	measure("write_64k", batch_write, 1, FILE_SIZE);
	close(open("/tmp/file", O_CREAT | O_WRONLY, 0666));
	measure("open_close", batch_open, 100, 0);
	int fd = open("/tmp/file", O_WRONLY);
	write(fd, buf, FILE_SIZE);
	close(fd);
	measure("read_64k", batch_read, 1, FILE_SIZE);
	pipes();
	fork_more();
}

/* bench [boot | ticks | tick_sbi] */
int
main(int argc, char **argv)
{
	uint64_t start = cycles();
	const char *what = argc > 1 ? argv[1] : "calls";

	pipe(to);
	pipe(from);
	memset(buf, 'x', sizeof(buf));
	if (strcmp(what, "boot") == 0) {
		struct sysinfo info = system_now();

		printf(
		    "boot %llu\nboot_bytes %llu\n", (unsigned long long)start,
		    (unsigned long long)(info.pages_total - info.pages_free) *
			PAGE);
	} else if (strcmp(what, "ticks") == 0) {
		ticks();
	} else if (strcmp(what, "tick_sbi") == 0) {
		print_tick(what);
	} else {
		resident(); /* has the page that it fills from now on */
		calls();
	}
	return failed;
}

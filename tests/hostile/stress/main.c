/*
 * stress [-s] SECONDS SEED: all kinds of work at once, for so long, with all
 * four profilers on at 20 kHz. Processes are forked, executed, signalled,
 * stopped and killed; threads share them; pipes, files and memory are used.
 * Each part checks what it does; in the end no memory and no process is lost.
 *
 * -s: with so little memory that anything may fail but the kernel.
 */
#include <stdarg.h>

#include "children.h"
#include "profiling.h"
#include "stress.h"

#define HZ       20000 /* of the sampling clock */
#define WARM_UP  2     /* seconds, before what is in use is counted */
#define GRACE    40    /* seconds that a round may take after the end */
#define SLACK    8     /* pages that may be in use by chance */
#define WORKERS  24
#define SCARCE_S 20 /* seconds that anything may take, if memory is scarce */

static const struct kind {
	const char *name;
	void (*round)(void);
	int workers, scarce_workers;
} kinds[] = {
    {"children", round_of_children, 4, 4}, {"threads", round_of_threads, 4, 4},
    {"streams", round_of_streams, 3, 2},   {"files", round_of_files, 2, 1},
    {"names", round_of_names, 2, 0},       {"growth", round_of_growth, 2, 1},
    {"hog", round_of_hog, 0, 1},           {"profil", round_of_profil, 1, 0},
    {"pcs", round_of_pcs, 1, 1},           {"tables", round_of_tables, 1, 1},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* What a worker tells when it is done. */
struct report {
	int kind;
	long rounds;
};

static struct worker {
	pid_t pid; /* 0: it has ended */
	int kind;
} workers[WORKERS];

bool scarce;
static const struct kind *mine; /* NULL: the supervisor */
static unsigned int state = 1, seed;
static int reports[2];

unsigned int
chance(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % n;
}

void
chance_seed(unsigned int s)
{
	state = s * 2654435761u | 1;
	chance(2);
}

pid_t
split(void)
{
	unsigned int next = chance(1u << 30);
	pid_t pid = fork();

	if (pid < 0)
		wrong("fork: %s", strerror(errno));
	if (pid == 0)
		chance_seed(next);
	return pid;
}

void
dawdle(void)
{
	struct timespec nap = {.tv_nsec = NS_PER_MS};

	switch (chance(8)) {
	case 0:
		nanosleep(&nap, NULL);
		break;
	case 1:
	case 2:
		sched_yield();
		break;
	case 3:
	case 4:
		for (volatile unsigned int i = chance(20000); i > 0; i--)
			;
		break;
	}
}

void
wrong(const char *format, ...)
{
	char line[300];
	va_list args;
	int n;

	n = snprintf(line, sizeof(line),
		     "not ok %s, process %d: ", mine ? mine->name : "stress",
		     getpid());
	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (!scarce)
		write(STDOUT_FILENO, line, n);
	_exit(1);
}

static void
work(int kind, unsigned int own_seed, long end)
{
	struct report r = {.kind = kind};

	mine = &kinds[kind];
	setpgid(0, 0);
	chance_seed(own_seed);
	if (scarce)
		alarm(SCARCE_S);
	if (chance(2))
		profil_any();
	while (now_ns() < end) {
		mine->round();
		r.rounds++;
	}
	write(reports[1], &r, sizeof(r));
	_exit(0);
}

static void
worker_start(struct worker *w, int kind, long end)
{
	unsigned int own_seed = chance(1u << 30);

	w->kind = kind;
	w->pid = fork();
	if (w->pid == 0)
		work(kind, own_seed, end);
	if (w->pid < 0)
		w->pid = 0; /* tried again, if that may happen */
}

static int
workers_start(long end)
{
	int n = 0;

	for (size_t k = 0; k < KINDS; k++)
		for (int i = scarce ? kinds[k].scarce_workers
				    : kinds[k].workers;
		     i > 0; i--)
			worker_start(&workers[n++], k, end);
	return n;
}

/* Kill all processes that may be somebody's here: those that came after this,
 * until there are none. */
static void
end_all(void)
{
	static struct psinfo all[200];
	bool any = true;

	while (any) {
		long n = psinfo(all, 200);

		any = false;
		for (long i = 0; i < n && i < 200; i++)
			if (all[i].pid > getpid() && all[i].state != 'Z') {
				kill(all[i].pid, SIGKILL);
				any = true;
			}
	}
}

/* Start those anew that have failed, or couldn't be started, till the end. */
static void
keep_going(int n, long end)
{
	struct timespec nap = {.tv_nsec = 20 * NS_PER_MS};
	int again = 0;

	while (now_ns() < end) {
		for (int i = 0; i < n; i++) {
			struct worker *w = &workers[i];

			if (w->pid != 0 &&
			    waitpid(w->pid, NULL, WNOHANG) != w->pid)
				continue;
			if (w->pid != 0)
				kill(-w->pid, SIGKILL);
			worker_start(w, w->kind, end);
			again++;
		}
		nanosleep(&nap, NULL);
	}
	end_all();
	for (int i = 0; i < n; i++)
		if (workers[i].pid != 0)
			waitpid(workers[i].pid, NULL, 0);
	fprintf(stderr, "started again: %d, ", again);
}

/* Wait for all; how many came to a bad end. Who doesn't come is named. */
static int
workers_wait(int n, long end)
{
	struct timespec nap = {.tv_nsec = 10 * NS_PER_MS};
	int left = n, bad = 0, status;

	while (left > 0 && now_ns() < end + GRACE * NS_PER_S) {
		for (int i = 0; i < n; i++) {
			struct worker *w = &workers[i];

			if (w->pid == 0 ||
			    waitpid(w->pid, &status, WNOHANG) != w->pid)
				continue;
			if (status != 0) {
				fprintf(stderr, "%s %d: status 0x%x\n",
					kinds[w->kind].name, w->pid, status);
				bad++;
			}
			w->pid = 0;
			left--;
		}
		nanosleep(&nap, NULL);
	}
	for (int i = 0; i < n; i++)
		if (workers[i].pid != 0)
			fprintf(stderr, "%s %d doesn't end\n",
				kinds[workers[i].kind].name, workers[i].pid);
	if (left > 0)
		system("ps >&2");
	return bad + left;
}

/* What the workers have said, by kind. */
static void
show_reports(void)
{
	long rounds[KINDS] = {0};
	struct report r;

	fcntl(reports[0], F_SETFL, O_NONBLOCK);
	while (read(reports[0], &r, sizeof(r)) == sizeof(r))
		rounds[r.kind] += r.rounds;
	for (size_t k = 0; k < KINDS; k++)
		if (rounds[k] > 0)
			fprintf(stderr, "%s %ld, ", kinds[k].name, rounds[k]);
	fprintf(stderr, "rounds\n");
}

/* Everything for so long; how many workers came to a bad end. */
static int
all_at_once(long seconds)
{
	long end = now_ns() + seconds * NS_PER_S;
	int n = workers_start(end);
	int bad = 0;

	if (scarce)
		keep_going(n, end);
	else
		bad = workers_wait(n, end);
	show_reports();
	return bad;
}

static void
show_clock(struct sysinfo before, struct sysinfo after)
{
	unsigned long taken = 0, skipped = 0;
	double s = (after.uptime - before.uptime) / (double)after.timebase;

	for (size_t i = 0; i < after.harts; i++) {
		taken += after.taken[i] - before.taken[i];
		skipped += after.skipped[i] - before.skipped[i];
	}
	fprintf(stderr, "%.0f s, %lu harts, %lu samples, %lu skipped\n", s,
		(unsigned long)after.harts, taken, skipped);
}

/* No process is left but those there were before any work. */
static bool
all_gone(const struct sysinfo *first)
{
	return AWAIT(system_info().processes == first->processes);
}

static void
check_rest(const struct sysinfo *first, const struct sysinfo *before)
{
	struct sysinfo now;

	CHECK(all_gone(first), "no process is left over");
	CHECK(AWAIT(pages_free() + SLACK >= (long)before->pages_free),
	      "no memory is lost");
	now = system_info();
	fprintf(stderr, "pages free: %lu before, %lu after\n",
		(unsigned long)before->pages_free,
		(unsigned long)now.pages_free);
}

int
main(int argc, char **argv)
{
	struct sysinfo first, before;

	if (argc > 1 && strcmp(argv[1], "executed") == 0)
		run_executed(argv + 2);
	if (argc > 1 && strcmp(argv[1], "-s") == 0) {
		scarce = true;
		argv++;
		argc--;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: stress [-s] SECONDS SEED\n");
		return 2;
	}
	seed = atoi(argv[2]);
	chance_seed(seed);
	pipe(reports);
	scratch_enter("stress");
	alarm(0);
	ctl(PROFCLOCK, "hz %u", HZ);
	first = system_info();
	CHECK(all_at_once(WARM_UP) == 0 && all_gone(&first), "a first time");
	before = system_info();
	CHECK(all_at_once(atoi(argv[1])) == 0, "all work well, seed %u", seed);
	show_clock(before, system_info());
	ctl(PROFCLOCK, "hz 100");
	if (scarce)
		system("cd /tmp/stress; for f in *; do rm -r $f; done");
	check_rest(&first, &before);
	scratch_leave("stress");
	return check_done();
}

/*
 * All four profilers at once: over one run, armed and read under a hold, their
 * totals agree exactly, on all harts. The argument is the clock's rate.
 */
#include "pcs.h"
#include "prf.h"

#define N       8    /* addresses */
#define FEW     200  /* samples: they fit in MAX_BUFS buffers */
#define MANY    1000 /* of which some are lost, if they come fast */
#define TRIES   10   /* till the host's load doesn't add too many to FEW */
#define WORKERS (2 * HARTS)

int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

static unsigned int hz, harts;
static int minor[HARTS + 1], pcs;
static unsigned long text[N];
static unsigned short clocks; /* profil's: this process's, all of them */

/* A process that is busy, and in the end says what profil counted for it. */
struct report {
	pid_t pid;
	unsigned int clocks;
};

static struct report reports[WORKERS];
static unsigned int workers;
static int stop[2], reported[2];
static uint64_t records[NO_PID + 1]; /* pcs's, by process */
static uint64_t hits;                /* in all that was read */

static void
work(void)
{
	struct report r = {.pid = getpid()};
	char c[512];
	int zero = open("/dev/zero", O_RDONLY);

	clocks = 0; /* the parent may have some of an earlier try */
	__aix_profil(&clocks, 2, 0, 2);
	write(reported[1], &r, sizeof(r)); /* ready */
	while (read(stop[0], c, 1) < 0) {
		for (volatile int i = 0; i < 300; i++)
			;
		read(zero, c, sizeof(c));
	}
	r.clocks = clocks;
	write(reported[1], &r, sizeof(r));
	_exit(0);
}

/* With the samples held: everything is set up, and nothing counted yet. */
static void
arm(int buffers)
{
	struct report r;

	hits = 0;
	memset(records, 0, sizeof(records));
	pipe(stop);
	pipe(reported);
	fcntl(stop[0], F_SETFL, O_NONBLOCK);
	for (unsigned int i = 0; i < workers; i++)
		if (fork() == 0)
			work();
	for (unsigned int i = 0; i < workers; i++)
		read(reported[0], &r, sizeof(r));
	ctl(KPCTL, "startclr");
	prf_switch_all(minor, harts, text, N, PRF_ON);
	pcs = pcs_open();
	ioctl(pcs, BUF_INCR, buffers - DEF_BUFNO);
	ioctl(pcs, PROF_ALL, NULL);
	clocks = 0;
	__aix_profil(&clocks, 2, 0, 2);
}

/* Held again: the processes say what they have, all is turned off. */
static void
disarm(void)
{
	for (unsigned int i = 0; i < workers; i++)
		write(stop[1], "", 1);
	for (unsigned int i = 0; i < workers; i++)
		read(reported[0], &reports[i], sizeof(reports[i]));
	while (wait(NULL) > 0)
		;
	__aix_profil(&clocks, 2, 0, 0);
	reports[workers] = (struct report){getpid(), clocks};
	ctl(KPCTL, "stop");
	prf_switch_all(minor, harts, text, N, 0);
	for (int i = 0; i < 2; i++) {
		close(stop[i]);
		close(reported[i]);
	}
}

static void
read_records(void)
{
	struct LOGBUF b;
	size_t n;

	while (buffer_read(pcs, &b) == BSIZE) {
		n = (sizeof(b) - sizeof(b.lb_buf_hdr) - b.lb_buf_hdr.h_unused) /
		    sizeof(b.lb_data[0]);
		for (size_t i = 0; i < n; i++) {
			hits += hits_in(&b.lb_data[i]);
			if (!merged_type(b.lb_data[i].type))
				records[b.lb_data[i].pid]++;
		}
	}
}

/* Words of kpdata's and prf's counters that must agree. */
static void
check_tables(unsigned long total)
{
	unsigned long sum = 0, kernel = kpdata(KERNEL);

	for (unsigned int i = 0; i < harts; i++) {
		prf_get(minor[i], N);
		sum += prf_sum(N);
	}
	CHECK(sum == total, "every hart's prf, added: kprof's total");
	prf_get(minor[ALL], N);
	CHECK(prf_sum(N) == total, "prf of all harts has kprof's total");
	CHECK(got[2 * N] == total - kernel,
	      "and its user clocks are what kprof has beside the kernel's");
}

/* Each process's histogram has its records. */
static void
check_processes(void)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i <= workers; i++)
		if (records[reports[i].pid] != reports[i].clocks) {
			fprintf(stderr, "pid %d: %lu records, profil %u\n",
				reports[i].pid,
				(unsigned long)records[reports[i].pid],
				reports[i].clocks);
			wrong++;
		}
	CHECK(wrong == 0, "profil counts for each process what pcs records");
}

/* All of them at this moment, with the samples held. */
static struct pcs_stat
check_totals(void)
{
	unsigned long total = kpdata(TOTAL);
	struct pcs_stat s = account_of(pcs);

	CHECK(s.seen == total, "pcs has seen kprof's total");
	CHECK(adds_up(&s), "recorded, merged, pending and lost add up to it");
	check_tables(total);
	for (unsigned int i = 0; i < harts; i++)
		samples("kernel", i, 0, 0, text[0], NUMSAMPS);
	read_records();
	s = account_of(pcs);
	CHECK(adds_up(&s) && hits + s.unread == s.recorded + s.merged,
	      "what is read and unread was recorded or merged");
	fprintf(stderr, "%lu in all, %lu lost\n", total, (unsigned long)s.lost);
	return s;
}

/* Read while it runs, or (few, and room for all) only when it's over. Was
 * nothing lost? */
static bool
run(unsigned int n, bool few)
{
	struct pcs_stat s;

	ctl(PROFCLOCK, "hold");
	arm(few ? MAX_BUFS : DEF_BUFNO);
	ctl(PROFCLOCK, "go");
	while (account_of(pcs).seen < n)
		if (few)
			burn_us(500);
		else
			read_records();
	ctl(PROFCLOCK, "hold");
	disarm();
	s = check_totals();
	if (s.lost == 0 && few)
		check_processes();
	close(pcs);
	ctl(PROFCLOCK, "go");
	return s.lost == 0;
}

int
main(int argc, char **argv)
{
	int tries = 0;

	alarm(DEADLINE);
	hz = argc > 1 ? atoi(argv[1]) : 100;
	harts = prf_open_all(minor, text, N);
	workers = harts;
	ctl(PROFCLOCK, "hz %u", hz);
	while (!run(FEW, true))
		if (++tries == TRIES)
			break;
	CHECK(tries < TRIES, "few fit: none is lost");
	run(MANY, false);
	ctl(PROFCLOCK, "hz 100");
	return check_done();
}

/*
 * pcs with the real sampling clock, on all harts at once: what is read is what
 * was seen, less what is said to be lost.
 */
#include "pcs.h"

#define FAST      2000 /* samples a second on each hart */
#define SPIN_US   100000
#define CLOCK_US  500000
#define PERIOD_US 10000
#define BUFFERS   15
#define OPENS     8
#define DOZERS    8
#define WAIT_US   (30000000L * patience())
#define TEXT_END  0x80000000u /* of user programs: below */

static int fd;
static struct sysinfo info;

/* What was read, all together. */
static struct sums {
	uint64_t hits, numlost, wrong;
	uint64_t type[MKERNELI + 1];
	uint64_t level[8]; /* KERNEL records of this process */
	uint64_t others;   /* USER records of other processes */
} sums;

static const int levels[] = {0, 1, 5};

#define LEVELS (sizeof(levels) / sizeof(levels[0]))

static bool
is_level(int level)
{
	return level == 0 || level == 1 || level == 5;
}

static bool
right_sample(const struct PSAMPLE *p)
{
	int level = (unsigned char)p->sspace >> 4;
	uint64_t pc = (int64_t)(int)p->pc;

	if ((p->sspace & 0xf) >= (int)info.harts || p->pid < 0)
		return false;
	if (p->type == USER)
		return p->pc < TEXT_END && p->pid > 0 && level == 0;
	return (p->type == KERNEL || p->type == KERNELI) && is_level(level) &&
	       pc >= info.text_start && pc < info.text_end;
}

static bool
right_merged(const struct MSAMPLE *m)
{
	return m->cfill < (int)info.harts && m->count > 0 && m->ufill == 0;
}

static void
add_record(const struct PSAMPLE *p)
{
	if (merged_type(p->type) ? !right_merged(merged(p)) : !right_sample(p))
		sums.wrong++;
	sums.hits += hits_in(p);
	sums.type[p->type % (MKERNELI + 1)]++;
	if (p->type == KERNEL && p->pid == getpid())
		sums.level[(unsigned char)p->sspace >> 4 & 7]++;
	if (p->type == USER && p->pid != getpid())
		sums.others++;
}

static void
add_buffer(const struct LOGBUF *b)
{
	sums.numlost += b->lb_buf_hdr.h_numlost;
	sums.wrong += b->lb_buf_hdr.h_unused != NUMWASTE;
	for (size_t i = 0; i < NUMSAMPS; i++)
		add_record(&b->lb_data[i]);
}

/* Read so many buffers, and wait for them. */
static void
read_buffers(int n)
{
	struct LOGBUF b;

	while (n-- > 0 && read(fd, &b, BSIZE) == BSIZE)
		add_buffer(&b);
}

static void
drain(void)
{
	struct LOGBUF b;

	while (buffer_read(fd, &b) == BSIZE)
		add_buffer(&b);
}

/* Open, with all samples held until `go`. */
static void
begin(unsigned int hz)
{
	memset(&sums, 0, sizeof(sums));
	ctl(PROFCLOCK, "hz %u", hz);
	ctl(PROFCLOCK, "hold");
	fd = pcs_open();
}

/* Hold the samples; with synthetic ones see to it that the buffers being filled
 * and what was lost before them are read too. */
static struct pcs_stat
end(void)
{
	ctl(PROFCLOCK, "hold");
	drain();
	for (unsigned int i = 0; i < info.harts; i++)
		samples("kernel", i, 0, 0, info.text_start, NUMSAMPS);
	drain();
	return account_of(fd);
}

static void
finish(void)
{
	close(fd);
	ctl(PROFCLOCK, "hz 100");
	ctl(PROFCLOCK, "go");
}

static bool
balanced(const struct pcs_stat *s)
{
	return adds_up(s) && sums.hits + s->unread == s->recorded + s->merged &&
	       sums.numlost == s->lost;
}

/* Processes that are busy in user mode, and in the kernel. No two calls are
 * equally long, or all samples could hit the same place of each. */
static pid_t
burner_start(void)
{
	pid_t pid = fork();
	char c[2000];
	int zero;

	if (pid != 0)
		return pid;
	zero = open("/dev/zero", O_RDONLY);
	for (size_t n = 0;; n = (n + 7) % sizeof(c))
		read(zero, c, n + 1);
}

/* By the machine's clock, were so many samples seen as the sampling clock of
 * every hart strikes for a while? */
static bool
clock_is_right(void)
{
	uint64_t begun = now_us(), seen = account_of(fd).seen, due;

	usleep(CLOCK_US);
	due = (now_us() - begun) / PERIOD_US * info.harts;
	seen = account_of(fd).seen - seen;
	return seen + 2 * info.harts >= due && seen <= due + 2 * info.harts;
}

/* An open is all that it takes. A host that is busy elsewhere may let samples
 * fall due unseen, but not always. */
static void
check_clock(void)
{
	uint64_t until = now_us() + WAIT_US;
	bool right = false;

	fd = pcs_open();
	ioctl(fd, PROF_ALL, NULL);
	while (!right && now_us() < until)
		right = clock_is_right();
	CHECK(right,
	      "PCS-4: the clock strikes 100 times a second, every hart's");
	close(fd);
}

static void
check_stream(void)
{
	pid_t burners[2];
	struct pcs_stat s;
	uint64_t total;

	begin(FAST);
	ioctl(fd, PROF_ALL, NULL);
	ctl(KPCTL, "startclr");
	for (int i = 0; i < 2; i++)
		burners[i] = burner_start();
	ctl(PROFCLOCK, "go");
	read_buffers(BUFFERS);
	AWAIT(account_of(fd).lost > 0); /* nobody reads meanwhile */
	read_buffers(BUFFERS);
	ctl(PROFCLOCK, "hold");
	total = kpdata(TOTAL);
	s = account_of(fd);
	ctl(KPCTL, "stop");
	CHECK(s.seen == total, "PCS-1: every tick of every hart is seen");
	s = end();
	for (int i = 0; i < 2; i++)
		child_end(burners[i]);
	CHECK(sums.wrong == 0, "PCS-19: every record is a sound one");
	CHECK(balanced(&s), "PCS-25: what is read and what is lost is all");
	CHECK(s.lost > 0, "PCS-25: a slow reader loses some");
	CHECK(sums.type[USER] && sums.type[KERNEL], "PCS-9: both kinds");
	CHECK(!sums.type[MKERNEL] && !sums.type[MUSER] && !sums.type[MKERNELI],
	      "PCS-31: what is asked for isn't merged");
	finish();
}

/* The clock's samples of one group, beside a process of another one. */
static void
check_group(void)
{
	pid_t ours = burner_start(), other = burner_start();
	unsigned int right = 0, wrong = 0;
	struct LOGBUF b;

	setpgid(other, other);
	begin(FAST);
	ioctl(fd, PROF_GROUP, (long)getpgrp());
	ctl(PROFCLOCK, "go");
	read(fd, &b, BSIZE);
	for (size_t i = 0; i < NUMSAMPS; i++) {
		const struct PSAMPLE *p = &b.lb_data[i];

		if (merged_type(p->type))
			continue;
		right += p->pid == ours;
		wrong += p->pid != ours && p->pid != getpid();
	}
	child_end(ours);
	child_end(other);
	CHECK(right > 0 && wrong == 0, "PCS-12: a group's, by the clock");
	finish();
}

static void
check_levels(void)
{
	struct pcs_stat s;

	begin(100);
	ioctl(fd, PROF_KERNEL, NULL);
	ioctl(fd, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	ctl(PROFCLOCK, "go");
	for (size_t i = 0; i < LEVELS; i++)
		ctl(KTEST, "spin %d %d", levels[i], 2 * SPIN_US);
	burn_us(SPIN_US);
	s = end();
	for (size_t i = 0; i < LEVELS; i++)
		CHECK(sums.level[levels[i]] > 0, "PCS-37: samples at level %d",
		      levels[i]);
	CHECK(sums.type[USER] == 0, "PCS-8: no user's");
	CHECK(s.lost == 0 && sums.numlost == 0,
	      "PCS-26: a reader in time loses nothing");
	CHECK(sums.wrong == 0 && balanced(&s), "all is accounted for");
	finish();
}

/* This process is sampled, others' hits are merged. Only full buffers are read:
 * synthetic samples of this process, one buffer's a hart, fill them. */
static void
check_list(void)
{
	pid_t burner;
	struct pcs_stat s;
	uint64_t until = now_us() + WAIT_US;

	begin(FAST);
	ioctl(fd, PROF_LIST, (int[]){1, getpid()});
	ioctl(fd, BUF_INCR, MAX_BUFS - DEF_BUFNO);
	burner = burner_start();
	ctl(PROFCLOCK, "go");
	while (account_of(fd).recorded < NUMSAMPS && now_us() < until)
		burn_us(SPIN_US / 10);
	ctl(PROFCLOCK, "hold");
	for (unsigned int i = 0; i < info.harts; i++)
		samples("user", i, getpid(), 0, USER_PC, NUMSAMPS);
	s = end();
	child_end(burner);
	CHECK(sums.type[USER] > info.harts * NUMSAMPS && sums.others == 0,
	      "PCS-10: only this process");
	CHECK(sums.type[KERNEL] == 0 && sums.type[KERNELI] == 0,
	      "PCS-10: and not the kernel");
	CHECK(sums.wrong == 0 && balanced(&s), "all is accounted for");
	finish();
}

/* In a child: wait for a tick, again and again: work for its handler. */
static _Noreturn int
doze(void)
{
	for (;;)
		usleep(1);
}

/* The sampling clock, out of step with the ticks, finds their handler at work
 * sooner or later. */
static bool
seen_at_work(int type)
{
	struct LOGBUF b;
	long until = now_us() + WAIT_US;

	while (sums.type[type] == 0 && (long)now_us() < until &&
	       read(fd, &b, BSIZE) == BSIZE)
		add_buffer(&b);
	return sums.type[type] > 0;
}

static void
check_handlers(void)
{
	pid_t dozers[DOZERS];

	for (int i = 0; i < DOZERS; i++)
		dozers[i] = child_start(doze);
	ctl(PROFCLOCK, "jitter on");
	begin(5000); /* the tick is a short one */
	ioctl(fd, PROF_KERNEL, NULL);
	ctl(PROFCLOCK, "go");
	CHECK(seen_at_work(KERNELI), "PCS-32: a handler is interrupted");
	close(fd);
	memset(&sums, 0, sizeof(sums));
	fd = pcs_open();
	ioctl(fd, PROF_LIST, (int[]){1, getpid()});
	CHECK(seen_at_work(MKERNELI), "PCS-33: and its hits are merged");
	CHECK(sums.wrong == 0, "with sound records");
	finish();
	ctl(PROFCLOCK, "jitter off");
	for (int i = 0; i < DOZERS; i++)
		child_end(dozers[i]);
}

/* In a child: read and ask, without end. */
static int
disturb(void)
{
	struct LOGBUF b;

	for (unsigned int i = 1; i != 0; i++) {
		read(fd, &b, i % BSIZE);
		ioctl(fd, PROF_LIST, (int[]){2, i % 100 + 1, getpid()});
	}
	return 0;
}

static void
check_crowd(void)
{
	pid_t child[3];
	bool good = true;

	ctl(PROFCLOCK, "jitter on");
	begin(5000);
	ioctl(fd, PROF_KERNEL, NULL);
	for (int i = 0; i < 3; i++)
		child[i] = child_start(disturb);
	ctl(PROFCLOCK, "go");
	for (uint64_t until = now_us() + 20 * SPIN_US; now_us() < until;) {
		struct pcs_stat s = account_of(fd);

		good &= adds_up(&s) && s.unread <= s.recorded + s.merged;
	}
	CHECK(good, "PCS_STAT is of one moment, whatever goes on");
	for (int i = 0; i < 3; i++)
		child_end(child[i]);
	finish();
	ctl(PROFCLOCK, "jitter off");
}

/* It is closed while all harts sample. */
static void
check_closes(void)
{
	bool good = true;

	ctl(PROFCLOCK, "hz %d", FAST);
	for (int i = 0; i < OPENS; i++) {
		fd = pcs_open();
		good &= fd >= 0 && account_of(fd).seen == 0;
		ioctl(fd, PROF_ALL, NULL);
		burn_us(SPIN_US / 20 + i * 100);
		good &= AWAIT(account_of(fd).seen > 0);
		close(fd);
	}
	CHECK(good, "open and close, again and again");
	CHECK(pcstat("owner 0") && pcstat("buffers 0"), "nothing is left over");
	ctl(PROFCLOCK, "hz 100");
}

int
main(void)
{
	alarm(DEADLINE);
	info = system_now();
	check_clock();
	check_stream();
	check_group();
	check_levels();
	check_list();
	check_handlers();
	check_crowd();
	check_closes();
	return check_done();
}

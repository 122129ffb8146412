/*
 * PROF_LIST while samples are taken on other harts: none is matched with half
 * of a list. This process and a child are the only ones in user mode; each list
 * has both, the child first or last. So all hits in user mode are recorded, and
 * one that is merged instead is one that found neither list whole.
 */
#include "pcs.h"

#define FAST       2000 /* samples a second on each hart */
#define OFTEN      5000
#define CHANGES    2000
#define CHANGES_US 1000000
#define BEFORE     800 /* counts of rdtime: a change takes less */

static int fd;
static pid_t child;
static long recorded, merged_hits; /* in user mode */
static int lists[2][6] = {
    {5, 0, 0, NO_PID, NO_PID, NO_PID},
    {5, NO_PID, NO_PID, NO_PID, 0, 0},
};

static _Noreturn int
spin(void)
{
	for (;;)
		;
}

static void
change(int list)
{
	ioctl(fd, PROF_LIST, lists[list]);
}

static void
begin(unsigned int hz)
{
	recorded = merged_hits = 0;
	ctl(PROFCLOCK, "hz %u", hz);
	ctl(PROFCLOCK, "hold");
	fd = pcs_open();
	child = child_start(spin);
	lists[0][1] = lists[1][5] = child;
	lists[0][2] = lists[1][4] = getpid();
	change(0);
	ctl(PROFCLOCK, "go");
}

/* Read what can be read. */
static void
drain(void)
{
	struct LOGBUF b;

	while (buffer_read(fd, &b) == BSIZE)
		for (size_t i = 0; i < NUMSAMPS; i++) {
			const struct PSAMPLE *p = &b.lb_data[i];

			recorded += p->type == USER;
			merged_hits += p->type == MUSER ? hits_in(p) : 0;
		}
}

static void
end(const char *what)
{
	CHECK(recorded > 0 && merged_hits == 0, "PCS-10: %s", what);
	ctl(PROFCLOCK, "hz 100");
	close(fd);
	child_end(child);
}

/*
 * With --races a hart that changes the list stands still in that when the clock
 * strikes, if it has begun so many counts before; then others take samples.
 * There are two places for a list: it is changed twice.
 */
static void
check_changes(void)
{
	const uint64_t stroke = system_now().timebase / FAST;

	begin(FAST);
	for (unsigned int i = 0; i < CHANGES; i++) {
		uint64_t next = (rdtime() / stroke + 1) * stroke;

		change(0);
		while (rdtime() < next - i / 2 % BEFORE)
			;
		change(i % 2);
		drain();
	}
	end("a list is replaced all at once");
}

/*
 * With jitter each hart has strokes of its own, and a sampler may stand still
 * at another's. Then lists are changed meanwhile, but not the one it looks at.
 */
static void
check_samplers(void)
{
	uint64_t until;

	if (system_now().harts > 4)
		return; /* they would do nothing but take samples */
	ctl(PROFCLOCK, "jitter on");
	begin(OFTEN);
	until = now_us() + CHANGES_US;
	for (unsigned int i = 0; now_us() < until; i++) {
		change(i / 2 % 2);
		if (i % 16 == 0)
			drain();
	}
	end("a sampler has its list to the end");
	ctl(PROFCLOCK, "jitter off");
}

int
main(void)
{
	alarm(DEADLINE);
	check_changes();
	check_samplers();
	return check_done();
}

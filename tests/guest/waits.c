/*
 * /dev/waitctl and /dev/waitdata: waits that are planted, whose number, cause
 * and least length are known. That a thread's time adds up is exact.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/waits.h>

#include "children.h"
#include "helpers.h"
#include "profiling.h"

#define CTL      "/dev/waitctl"
#define DATA     "/dev/waitdata"
#define ORDER    "/dev/waitorder"
#define MOST     4096
#define NAPS     40
#define NAP_MS   27
#define LONG_MS  407
#define LATE_MS  20 /* from a call until it sleeps, where others have turns */
#define FIGHTERS 4
#define ROUNDS   10
#define PIECES   20
#define PLANTED  __attribute__((noinline, aligned(256))) /* and no longer */

static struct waits_head head;
static struct waits_record got[MOST];

/* Were there so many sleeps? Where the time is the host's, one may be over
 * before it begins, and then is none. */
static bool
so_many(uint64_t sleeps, uint64_t asked)
{
	return system_now().icount ? sleeps == asked
				   : sleeps > 0 && sleeps <= asked;
}

/* --- What was recorded --- */

static void
look(void)
{
	int fd = open(DATA, O_RDONLY);
	ssize_t n = read(fd, &head, sizeof(head));

	if (n == sizeof(head))
		n = read(fd, got, sizeof(got));
	if (n != (ssize_t)(head.records * sizeof(got[0])))
		head.records = 0;
	close(fd);
}

static void
stop_and_look(void)
{
	ctl(CTL, "stop");
	look();
}

/* Counts of the timer. */
static uint64_t
ms(uint64_t n)
{
	return n * head.timebase / 1000;
}

/* Was it so long? Where the time is the host's, a thread may sleep late, and be
 * woken up before its time is over. */
static bool
at_least(uint64_t time, uint64_t n)
{
	return time >= ms(n) || !system_now().icount;
}

static bool
has_call(const struct waits_record *r, const void *function)
{
	for (int i = r->key.nkernel; i < r->key.n; i++)
		if (r->key.pc[i] - (uintptr_t)function < 256)
			return true;
	return false;
}

/* The sum of a process's records of a kind, by way of a function (NULL: any).
 * The longest one's wakers are the sum's. */
static struct waits_record
sum(pid_t pid, int kind, const void *function)
{
	struct waits_record s = {0};

	for (size_t i = 0; i < head.records; i++) {
		const struct waits_record *r = &got[i];

		if (r->key.pid != pid || r->key.kind != kind ||
		    (function != NULL && !has_call(r, function)))
			continue;
		if (r->longest >= s.longest) {
			memcpy(s.waker, r->waker, sizeof(s.waker));
			s.key = r->key;
			s.longest = r->longest;
			s.longest_at = r->longest_at;
		}
		s.count += r->count;
		s.total += r->total;
		s.ran += r->ran;
		s.unfinished += r->unfinished;
	}
	return s;
}

/* All the time of a thread (0: of a process's threads). */
static uint64_t
lifetime(pid_t pid, pid_t tid)
{
	uint64_t time = 0;

	for (size_t i = 0; i < head.records; i++)
		if (got[i].key.pid == pid && (!tid || got[i].key.tid == tid))
			time += got[i].ran + got[i].total;
	return time;
}

static uint64_t
waits_of(pid_t pid)
{
	uint64_t n = 0;

	for (size_t i = 0; i < head.records; i++)
		if (got[i].key.pid == pid && got[i].key.kind != WAITS_HART)
			n += got[i].count;
	return n;
}

/* --- Words --- */

static void
check_words(void)
{
	static const char *const bad[] = {
	    "",
	    "begin",
	    "start 0",
	    "start x",
	    "start 32768",
	    "stop 1",
	    "room",
	    "room 15",
	    "room 32769",
	    "room 64 64",
	    "clear 1",
	    "start -1",
	    "startclr 1 2 3 4 5 6 7 8 9",
	    "spins",
	    "spins yes",
	    "spins on off",
	    "order",
	    "order -1",
	    "order 262145",
	    "order 1 1",
	};
	char text[64] = "";
	int fd;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(ctl(CTL, "%s", bad[i]) == EINVAL, "no word: %s", bad[i]);
	CHECK(ctl(DATA, "start") == EINVAL && ctl(ORDER, "start") == EINVAL,
	      "waitdata and waitorder can't be written");
	look();
	CHECK(!head.on && head.records == 0 && head.begin == 0,
	      "off, and empty at first");
	CHECK(ctl(CTL, "room 64\n") == 0 && ctl(CTL, "start\n") == 0,
	      "room 64, start");
	CHECK(ctl(CTL, "room 128") == EBUSY && ctl(CTL, "order 9") == EBUSY,
	      "room can't change while in use");
	fd = open(CTL, O_RDONLY);
	read(fd, text, sizeof(text) - 1);
	close(fd);
	CHECK(strncmp(text, "on\nroom 64\nrecords ", 19) == 0, "its state");
	CHECK(ctl(CTL, "stop") == 0 && ctl(CTL, "clear") == 0, "stop, clear");
	CHECK(ctl(CTL, "room 4096") == 0, "room can change after clear");
}

/* --- Sleeping --- */

static PLANTED void
poll_wait(int times)
{
	for (int i = 0; i < times; i++)
		poll(NULL, 0, NAP_MS);
}

static PLANTED int
reconnect(void)
{
	return poll(NULL, 0, LONG_MS) + 1;
}

/* The first is the longest. */
static PLANTED void
wane(void)
{
	for (volatile int i = 60; i > 0; i -= 20)
		poll(NULL, 0, i);
}

static void
check_sleeps(void)
{
	struct timespec nap = {.tv_nsec = 50000000};
	struct waits_record r;
	uint64_t before;

	ctl(CTL, "startclr %d", getpid());
	poll_wait(NAPS / 2);
	before = now_us();
	reconnect();
	poll_wait(NAPS / 2);
	wane();
	nanosleep(&nap, NULL);
	stop_and_look();
	r = sum(getpid(), WAITS_POLL, poll_wait);
	CHECK(so_many(r.count, NAPS) && at_least(r.total, r.count * NAP_MS),
	      "40 sleeps of 27 ms");
	CHECK(r.longest <= r.total && at_least(r.longest, NAP_MS) &&
		  at_least(r.total - r.longest, (r.count - 1) * NAP_MS),
	      "the longest is one of them");
	r = sum(getpid(), WAITS_POLL, wane);
	CHECK(so_many(r.count, 3) && at_least(r.longest, 60 - LATE_MS),
	      "wherever it comes");
	r = sum(getpid(), WAITS_POLL, reconnect);
	CHECK(r.count == 1 && at_least(r.total, LONG_MS - LATE_MS) &&
		  r.longest == r.total,
	      "one of 407 ms");
	CHECK(r.longest_at >= before * head.timebase / 1000000 &&
		  r.longest_at < head.begin + head.watched,
	      "and when it began");
	CHECK(r.waker[0].how == WAITS_BY_TIMER && r.waker[0].count == 1 &&
		  r.waker[0].total == r.total && r.waker[0].pid == 0,
	      "its time woke it up");
	r = sum(getpid(), WAITS_SLEEP, NULL);
	CHECK(r.count == 1 && at_least(r.total, 50 - LATE_MS), "nanosleep");
	CHECK(so_many(waits_of(getpid()), NAPS + 5), "and nothing else");
	r = sum(getpid(), WAITS_HART, NULL);
	CHECK(r.count > 0 && r.total > 0,
	      "from being woken up until it runs it was runnable");
	CHECK(lifetime(getpid(), 0) == head.watched, "the time adds up");
	CHECK(waits_of(1) == 0 && lifetime(1, 0) == 0, "of this process alone");
}

/* --- The order --- */

#define ABSENCES 512

static struct waits_order order;
static struct waits_absence absence[ABSENCES];

static void
look_at_order(void)
{
	int fd = open(ORDER, O_RDONLY);
	struct stat st;
	ssize_t n = read(fd, &order, sizeof(order));

	if (n == sizeof(order))
		n = read(fd, absence, sizeof(absence));
	if (n != (ssize_t)(order.absences * sizeof(absence[0])) ||
	    fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof(order) + n)
		order.absences = 0;
	close(fd);
}

/* Of a thread: is each time after the one before? What it ran in between. */
static bool
in_order(pid_t tid, uint64_t *ran, const struct waits_absence **first)
{
	const struct waits_absence *last = NULL;

	*ran = 0;
	for (size_t i = 0; i < order.absences; i++) {
		const struct waits_absence *a = &absence[i];

		if (a->tid != tid)
			continue;
		if (a->off > a->woken || a->woken > a->on ||
		    a->record >= head.records ||
		    got[a->record].key.tid != tid ||
		    (last != NULL && a->off < last->on))
			return false;
		if (last == NULL)
			*first = a;
		else
			*ran += a->off - last->on;
		last = a;
	}
	return last != NULL && last->on == WAITS_NEVER;
}

static int done[2];

static int
nap_and_write(void)
{
	poll_wait(3);
	write(done[1], "x", 1);
	return 0;
}

static void
check_made(pid_t pid)
{
	const struct waits_absence *first = NULL, *woken = NULL, *a;
	uint64_t ran, slept = 0;

	CHECK(in_order(pid, &ran, &first) &&
		  ran == sum(pid, WAITS_HART, NULL).ran,
	      "between its absences a thread runs");
	CHECK(first != NULL && first->by_pid == getpid() &&
		  first->by_tid == getpid() && first->off == first->woken &&
		  got[first->record].key.kind == WAITS_HART,
	      "it was made by this one");
	for (a = absence; a < absence + order.absences; a++) {
		if (a->pid == pid && a->on != WAITS_NEVER)
			slept += a->woken - a->off;
		if (a->pid == getpid() &&
		    got[a->record].key.kind == WAITS_PIPE_READ)
			woken = a;
	}
	CHECK(slept == sum(pid, WAITS_POLL, NULL).total, "so long it slept");
	CHECK(woken != NULL
		  ? woken->by_pid == pid && woken->by_tid == pid &&
			woken->on >= woken->woken && woken->woken > woken->off
		  : !system_now().icount,
	      "and woke this one up");
}

static void
check_order(void)
{
	pid_t pid;
	char c;

	pipe(done);
	ctl(CTL, "clear");
	CHECK(ctl(CTL, "order %d", ABSENCES) == 0, "order");
	ctl(CTL, "start");
	pid = child_start(nap_and_write);
	read(done[0], &c, 1);
	child_wait(pid);
	stop_and_look();
	look_at_order();
	CHECK(order.absence_size == sizeof(absence[0]) &&
		  order.room == ABSENCES && order.lost == 0,
	      "nothing of the order is lost");
	check_made(pid);
	ctl(CTL, "clear");
	ctl(CTL, "order 5");
	ctl(CTL, "start %d", getpid());
	poll_wait(20);
	ctl(CTL, "stop");
	look_at_order();
	CHECK(order.absences == 5 && order.lost > 0 &&
		  absence[0].on <= absence[1].off,
	      "the last ones are lost, and counted");
	ctl(CTL, "clear");
	look_at_order();
	CHECK(order.absences == 0 && order.lost == 0, "clear forgets them");
	CHECK(ctl(CTL, "order 0") == 0, "no order");
}

/* --- Threads that fight for a mutex --- */

static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

static PLANTED void *
fight(void *)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&wanted);
		poll(NULL, 0, NAP_MS); /* not over before it sleeps */
		pthread_mutex_unlock(&wanted);
	}
	return NULL;
}

static void
check_mutex(void)
{
	pthread_t t[FIGHTERS];
	struct waits_record r, other = {0};
	bool mine = true, add_up = true;
	uint64_t waits = 0;

	ctl(CTL, "startclr");
	for (int i = 0; i < FIGHTERS; i++)
		pthread_create(&t[i], NULL, fight, NULL);
	for (int i = 0; i < FIGHTERS; i++)
		pthread_join(t[i], NULL);
	stop_and_look();
	for (size_t i = 0; i < head.records; i++) {
		r = got[i];
		if (r.key.pid != getpid() || r.key.kind != WAITS_FUTEX ||
		    !has_call(&r, fight))
			continue;
		waits += r.count;
		mine &= r.key.id - (uintptr_t)&wanted < sizeof(wanted);
		for (int w = 0; w < WAITS_WAKERS; w++)
			if (r.waker[w].count > 0) {
				mine &= r.waker[w].how == WAITS_BY_THREAD &&
					r.waker[w].pid == getpid() &&
					r.waker[w].tid != r.key.tid;
				other = r;
			}
	}
	CHECK(waits >= ROUNDS && mine && other.count > 0,
	      "threads wait for the mutex, and wake each other up");
	r = sum(getpid(), WAITS_POLL, fight);
	CHECK(so_many(r.count, FIGHTERS * ROUNDS), "each has it ten times");
	for (size_t i = 0; i < head.records; i++)
		add_up &= lifetime(got[i].key.pid, got[i].key.tid) <=
			  head.watched;
	CHECK(add_up, "no thread has more time than there was");
	CHECK(lifetime(getpid(), getpid()) == head.watched &&
		  lifetime(1, 1) == head.watched,
	      "those who lived all the time have all of it");
}

/* --- A pipeline whose middle is the bottleneck --- */

static char block[8 * PAGE];

static PLANTED void
produce(int out)
{
	for (int i = 0; i < PIECES; i++)
		write(out, block, sizeof(block));
}

static PLANTED void
copy(int in, int out, int us)
{
	for (ssize_t n; (n = read(in, block, sizeof(block))) > 0;) {
		burn_us(us);
		if (out >= 0)
			write(out, block, n);
	}
}

/* Start a stage of the pipeline, once go is closed, with these ends. */
static pid_t
stage(int in, int out, int us, const int all[6])
{
	pid_t pid = fork();
	char c;

	if (pid != 0)
		return pid;
	for (int i = 0; i < 6; i++)
		if (all[i] != in && all[i] != out && i != 4)
			close(all[i]);
	read(all[4], &c, 1);
	if (in < 0)
		produce(out);
	else
		copy(in, out, us);
	_exit(0);
}

static void
check_pipeline(void)
{
	int p[6];
	struct waits_record first, middle, last;
	pid_t pid[3];

	for (int i = 0; i < 6; i += 2)
		pipe(&p[i]);
	ctl(CTL, "startclr");
	pid[0] = stage(-1, p[1], 0, p);
	pid[1] = stage(p[0], p[3], 10000, p);
	pid[2] = stage(p[2], -1, 0, p);
	for (int i = 0; i < 6; i++)
		close(p[i]);
	for (int i = 0; i < 3; i++)
		child_wait(pid[i]);
	stop_and_look();
	first = sum(pid[0], WAITS_PIPE_WRITE, produce);
	last = sum(pid[2], WAITS_PIPE_READ, copy);
	CHECK(first.count > 0 && at_least(first.total, 40) &&
		  first.waker[0].pid == pid[1],
	      "the first waits for room, which the middle makes");
	CHECK(last.count > 0 && at_least(last.total, 40) &&
		  last.waker[0].pid == pid[1],
	      "the last waits for what the middle writes");
	middle = sum(pid[1], WAITS_PIPE_WRITE, NULL);
	CHECK(middle.total < first.total / 2 || !system_now().icount,
	      "the middle waits for nobody");
	CHECK(at_least(sum(pid[1], WAITS_HART, NULL).ran, PIECES * 10 / 2),
	      "it runs");
	CHECK(at_least(sum(getpid(), WAITS_CHILD, NULL).total, 100),
	      "their parent waits for children");
	CHECK(lifetime(getpid(), 0) == head.watched, "and its time adds up");
}

/* --- Ends, beginnings, and a time at which some are asleep --- */

static int
sleep_long(void)
{
	return pause();
}

static void *
nap_thread(void *)
{
	poll(NULL, 0, 200);
	return NULL;
}

/* A process is born while another thread of its parent sleeps; it becomes
 * another program. */
static void
check_lives(char *self)
{
	uint64_t before, after;
	struct waits_record r;
	pthread_t t;
	pid_t pid;

	ctl(CTL, "startclr");
	pthread_create(&t, NULL, nap_thread, NULL);
	poll(NULL, 0, 50);
	before = now_us();
	pid = fork();
	if (pid == 0) {
		poll(NULL, 0, 30);
		execl(self, self, "nap", NULL);
		_exit(1);
	}
	CHECK(child_wait(pid) == 0, "a child becomes a program");
	after = now_us();
	pthread_join(t, NULL);
	stop_and_look();
	r = sum(pid, WAITS_POLL, NULL);
	CHECK(so_many(r.count, 2) && at_least(r.total, 60 - 2 * LATE_MS),
	      "it sleeps before and after");
	CHECK(at_least(lifetime(pid, 0), 60) &&
		  lifetime(pid, 0) <=
		      (after - before + 1) * head.timebase / 1000000,
	      "it has no time but its own");
	pid = child_start(sleep_long);
	AWAIT(state_of(pid) == 'S');
	ctl(CTL, "startclr");
	poll(NULL, 0, 50);
	stop_and_look();
	r = sum(pid, WAITS_SIGNAL, NULL);
	CHECK(r.count == 1 && r.unfinished == 1 && r.total == head.watched &&
		  r.waker[0].count == 0,
	      "one that sleeps all the time isn't forgotten");
	CHECK(lifetime(1, 0) == head.watched, "nor is init");
	ctl(CTL, "start");
	/* Longer than before: sum has the longest one's waker. */
	poll(NULL, 0, head.watched * 1000 / head.timebase + 50);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	stop_and_look();
	r = sum(pid, WAITS_SIGNAL, NULL);
	CHECK(r.count == 2 && r.unfinished == 1 && r.waker[0].count == 1 &&
		  r.waker[0].how == WAITS_BY_SIGNAL &&
		  r.waker[0].pid == getpid(),
	      "it's killed in its sleep, by this process");
	CHECK(lifetime(pid, 0) < head.watched &&
		  lifetime(getpid(), 0) == head.watched,
	      "two periods of recording add up");
}

/* --- More processes than harts, and many periods --- */

#define PERIODS 25

static _Noreturn int
spin(void)
{
	for (;;)
		now_us();
}

static _Noreturn int
yield(void)
{
	for (;;)
		sched_yield();
}

static _Noreturn int
doze(void)
{
	for (;;)
		poll(NULL, 0, 1);
}

/* Several harts get into each other's way; but where they take turns, none ends
 * while a lock is held. */
static bool
must_spin(int harts)
{
	return harts > 1 && !system_now().icount;
}

static void
check_spins(int harts)
{
	struct waits_record s = sum(0, WAITS_SPIN, NULL);
	bool told = true;

	for (size_t i = 0; i < head.records; i++) {
		const struct waits_record *r = &got[i];

		if (r->key.kind == WAITS_SPIN)
			told &= r->key.pid == 0 && r->key.name[0] != '\0' &&
				r->key.n == 1 && r->key.nkernel == 1 &&
				r->waker[0].how == WAITS_BY_HOLDER &&
				r->waker[0].pc != 0;
	}
	CHECK(harts > 1 ? s.count > 0 || !must_spin(harts) : s.count == 0,
	      "harts spin for locks, unless there is one hart");
	CHECK(told, "where, and who has them");
}

/* Half of the time nothing is recorded. */
static void
record_periods(void)
{
	for (int i = 0; i < PERIODS; i++) {
		ctl(CTL, "start");
		sched_yield();
		ctl(CTL, "stop");
	}
	look();
}

/* All harts are busy meanwhile with what tells of itself at any moment; the
 * rate makes them take turns where they share a clock. Harts that the host
 * seldom runs at the same time seldom meet: they get more time. */
static void
check_periods(void)
{
	int each = system_now().harts + 1, all = 2 * each + 1;
	pid_t pid[2 * (HARTS + 1) + 1];
	bool add_up = true;

	for (int i = 0; i < all; i++)
		pid[i] = child_start(i < each       ? spin
				     : i < 2 * each ? yield
						    : doze);
	ctl(PROFCLOCK, "hz 20000");
	ctl(CTL, "startclr");
	poll(NULL, 0, 400);
	ctl(PROFCLOCK, "hz 100");
	stop_and_look();
	for (int i = 0; i < each; i++)
		add_up &= sum(pid[i], WAITS_HART, NULL).total > 0;
	CHECK(add_up, "who is preempted is runnable");
	CHECK(sum(0, WAITS_SPIN, NULL).count == 0, "nobody asked for spins");
	ctl(PROFCLOCK, "hz 20000");
	ctl(CTL, "spins on");
	AWAIT((record_periods(),
	       !must_spin(each - 1) || sum(0, WAITS_SPIN, NULL).count));
	ctl(CTL, "spins off");
	ctl(PROFCLOCK, "hz 100");
	check_spins(each - 1);
	for (int i = 0; i < all; i++) {
		add_up &= lifetime(pid[i], 0) == head.watched;
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	CHECK(add_up && lifetime(getpid(), 0) == head.watched,
	      "many periods add up");
}

/* --- Stopped while others have just come back --- */

#define SLEEPERS 100 /* stop looks at each, so it takes long */

static int
pass_on(int from, int to)
{
	char c;

	while (read(from, &c, 1) == 1 && write(to, &c, 1) == 1)
		;
	return 1;
}

static int there[2], back[2];

static int
ping(void)
{
	return pass_on(back[0], there[1]);
}

static int
pong(void)
{
	return pass_on(there[0], back[1]);
}

/* Two wake each other up all the time. stop may find one that runs again, and
 * hasn't told of its sleep; it tells, and sleeps once more before stop is done
 * with all the others. */
static void
check_stops(void)
{
	pid_t pid[2 + SLEEPERS];
	bool add_up = true;

	CHECK(pipe(there) == 0 && pipe(back) == 0, "two pipes");
	for (int i = 0; i < 2 + SLEEPERS; i++)
		pid[i] = child_start(i == 0   ? ping
				     : i == 1 ? pong
					      : sleep_long);
	write(there[1], "", 1);
	for (int i = 0; i < 2 * PERIODS; i++) {
		ctl(CTL, "startclr");
		poll(NULL, 0, 2);
		stop_and_look();
		add_up &= lifetime(pid[0], 0) == head.watched &&
			  lifetime(pid[1], 0) == head.watched;
	}
	CHECK(add_up, "who tells late of a sleep has it once");
	for (int i = 0; i < 2 + SLEEPERS; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

/* --- Room, and off --- */

static PLANTED void
deep(int n)
{
	if (n > 0)
		deep(n - 1);
	else
		poll(NULL, 0, 1);
	asm volatile("");
}

static void
check_room(void)
{
	uint64_t waits = 0, time;

	ctl(CTL, "clear");
	ctl(CTL, "room 16");
	ctl(CTL, "start %d", getpid());
	for (int i = 0; i < 20; i++)
		deep(i);
	stop_and_look();
	for (size_t i = 0; i < head.records; i++)
		if (got[i].key.kind == WAITS_POLL)
			waits += got[i].count;
	CHECK(head.records == 16 && head.room == 16,
	      "as many as there is room");
	CHECK(head.lost > 0 && waits + head.lost == 20,
	      "the others are counted as lost");
	CHECK(lifetime(getpid(), 0) + head.lost_time == head.watched,
	      "with their time");
	waits = waits_of(getpid());
	time = head.watched;
	poll(NULL, 0, 30);
	look();
	CHECK(waits_of(getpid()) == waits && head.watched == time && !head.on,
	      "off: nothing changes any more");
	ctl(CTL, "clear");
	look();
	CHECK(head.records == 0 && head.lost == 0 && head.begin == 0,
	      "clear forgets all");
	CHECK(ctl(CTL, "room 4096") == 0, "and frees the memory");
}

int
main(int argc, char **argv)
{
	if (argc > 1) { /* check_lives has executed this */
		poll(NULL, 0, 30);
		return 0;
	}
	alarm(DEADLINE);
	check_words();
	check_sleeps();
	check_order();
	check_mutex();
	check_pipeline();
	check_lives(argv[0]);
	check_periods();
	check_stops();
	check_room();
	return check_done();
}

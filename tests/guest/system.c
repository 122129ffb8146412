/*
 * What the system tells of itself: uname, sysinfo, psinfo. And that there is
 * no system call but those of <sys/syscalls.h>.
 */
#include <signal.h>
#include <sys/times.h>
#include <sys/utsname.h>

#include "children.h"

#define SYSCALL(number, name) [number] = true,
static const bool is_call[] = {
#include <sys/syscalls.h>
};
#define CALLS ((long)sizeof(is_call))

#define ALL    64             /* processes; there are fewer */
#define GROWTH (256UL * PAGE) /* of the heap */
#define LISTS  3000           /* asked for while processes come and go */
#define FORKS  3

static void
test_unknown_calls(void)
{
	static const long strange[] = {CALLS, 999, 1L << 32 | 172, -1};
	int unknown = 0, refused = 0;

	for (long n = 0; n < CALLS; n++) {
		unknown += !is_call[n];
		refused += !is_call[n] && call(n, 0, 0) == -ENOSYS;
	}
	CHECK(unknown > 0 && refused == unknown,
	      "a number between the calls is ENOSYS");
	for (int i = 0; i < 4; i++)
		CHECK(call(strange[i], 0, 0) == -ENOSYS,
		      "call number %ld is ENOSYS", strange[i]);
}

static void
test_uname(void)
{
	struct utsname u;

	memset(&u, 'x', sizeof(u));
	CHECK(uname(&u) == 0, "uname");
	CHECK(strcmp(u.sysname, "Tally") == 0, "uname: the system");
	CHECK(strcmp(u.machine, "riscv64") == 0, "uname: the machine");
	CHECK(strlen(u.nodename) > 0 && strlen(u.nodename) < 32 &&
		  strlen(u.release) > 0 && strlen(u.release) < 32 &&
		  strlen(u.version) > 0 && strlen(u.version) < 64,
	      "uname: the rest are strings");
	CHECK_FAULTS_OUT("uname", uname(bad));
}

static long
harts_ticking(void)
{
	struct sysinfo info = system_info();
	long n = 0;

	for (int i = 0; i < 16; i++)
		n += info.ticks[i] > 0;
	return n;
}

static void
test_sysinfo(void)
{
	struct sysinfo info, later;

	memset(&info, 0xff, sizeof(info));
	CHECK(sysinfo(&info, sizeof(info)) == 0, "sysinfo");
	CHECK(info.page_size == PAGE, "sysinfo: the page's size");
	CHECK(info.pages_free > 0 && info.pages_free < info.pages_total,
	      "sysinfo: some memory is free, not all");
	CHECK(info.harts >= 1 && info.harts <= 16, "sysinfo: harts");
	CHECK(info.hz == 100 && info.timebase > info.hz, "sysinfo: clocks");
	CHECK(info.processes >= 2, "sysinfo: there are init and this");
	CHECK((int64_t)info.text_start < 0 && info.text_start < info.text_end,
	      "sysinfo: the kernel's text");
	CHECK(AWAIT(sysinfo(&later, sizeof(later)) == 0 &&
		    later.ticks[0] > info.ticks[0]),
	      "sysinfo: ticks are counted");
	CHECK(later.uptime > info.uptime, "sysinfo: the uptime grows");
	CHECK(AWAIT(harts_ticking() == (long)info.harts),
	      "sysinfo: on every hart");
}

static void
test_sysinfo_size(void)
{
	struct sysinfo info = {.pages_total = 12345};

	CHECK(sysinfo(&info, 8) == 0 && info.page_size == PAGE &&
		  info.pages_total == 12345,
	      "sysinfo: gives no more than was asked for");
	CHECK_ERRNO(sysinfo(&info, 0), EINVAL, "sysinfo: size 0");
	CHECK_ERRNO(sysinfo(&info, sizeof(info) + 1), EINVAL,
		    "sysinfo: a size that is too large");
	CHECK_ERRNO(sysinfo(&info, -1), EINVAL, "sysinfo: a wild size");
	CHECK_FAULTS_OUT("sysinfo", sysinfo(bad, sizeof(info)));
}

static int
spin(void)
{
	volatile bool on = true;

	while (on)
		;
	return 0;
}

static void
test_psinfo_states(void)
{
	pid_t sleeper = sleeper_start(), runner = child_start(spin);
	struct psinfo ps;

	CHECK(AWAIT(state_of(sleeper) == 'S'), "psinfo: one that sleeps");
	CHECK(state_of(runner) == 'R', "psinfo: one that runs");
	ps = info_of(runner);
	CHECK(ps.ppid == getpid() && ps.pgrp == getpgid(0) && ps.threads == 1,
	      "psinfo: its family");
	CHECK(ps.hart < system_info().harts, "psinfo: its hart");
	CHECK(strcmp(ps.name, "system") == 0, "psinfo: its name");
	CHECK(AWAIT(info_of(runner).utime > ps.utime), "psinfo: its time");
	child_end(runner);
	child_end(sleeper);
}

static void
test_psinfo_list(void)
{
	struct psinfo all[ALL], two[3] = {0};
	long n = psinfo(all, ALL);
	pid_t pid;

	CHECK(n >= 2 && n == (long)system_info().processes,
	      "psinfo: as many as sysinfo says");
	CHECK(all[0].pid == 1 && strcmp(all[0].name, "init") == 0 &&
		  all[0].ppid == 0,
	      "psinfo: init is the first");
	CHECK(psinfo(NULL, 0) == n, "psinfo: 0 asks how many there are");
	CHECK(psinfo(two, 2) == n && two[1].pid == all[1].pid &&
		  two[2].pid == 0,
	      "psinfo: gives no more than was asked for");
	CHECK(psinfo(all, SIZE_MAX) == n, "psinfo: and no more than there are");
	pid = sleeper_start();
	CHECK(psinfo(all, ALL) == n + 1 && all[n].pid == pid,
	      "psinfo: a new process is the last");
	child_end(pid);
	CHECK(psinfo(all, ALL) == n, "psinfo: one that has ended is gone");
	CHECK_FAULTS_OUT("psinfo", psinfo(bad, ALL));
}

/* Processes come and go, by twos and more, as fast as they can. */
static int
come_and_go(void)
{
	for (;;) {
		for (int i = 0; i < FORKS; i++)
			if (fork() == 0)
				_exit(0);
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
}

/* Has each entry that psinfo says is there been filled in? */
static bool
list_filled(void)
{
	struct psinfo all[ALL];
	int n;

	for (int i = 0; i < ALL; i++)
		all[i].pid = 0;
	n = psinfo(all, ALL);
	for (int i = 0; i < n; i++)
		if (all[i].pid == 0)
			return false;
	return true;
}

static void
test_psinfo_race(void)
{
	pid_t pid[2] = {child_start(come_and_go), child_start(come_and_go)};
	int good = 0;

	while (good < LISTS && list_filled())
		good++;
	CHECK(good == LISTS,
	      "psinfo: all entries are filled in while processes come and go");
	for (int i = 0; i < 2; i++)
		child_end(pid[i]);
}

static void
test_psinfo_memory(void)
{
	struct psinfo before, after;
	char *end = memory_end();

	before = info_of(getpid());
	__brk(end + GROWTH);
	after = info_of(getpid());
	CHECK(after.size == before.size + GROWTH,
	      "psinfo: size is what a process may use");
	CHECK(after.resident == before.resident,
	      "psinfo: resident doesn't grow with it");
	memset(end, 1, GROWTH);
	after = info_of(getpid());
	CHECK(after.resident == before.resident + GROWTH,
	      "psinfo: but with what it uses");
	__brk(end);
	after = info_of(getpid());
	CHECK(after.size == before.size && after.resident == before.resident,
	      "psinfo: both shrink again");
}

int
main(void)
{
	alarm(DEADLINE);
	test_unknown_calls();
	test_uname();
	test_sysinfo();
	test_sysinfo_size();
	test_psinfo_states();
	test_psinfo_list();
	test_psinfo_race();
	test_psinfo_memory();
	return check_done();
}

/*
 * /dev/pcs and /dev/pcstat as files: who may open them, what requests are
 * taken, how reads wait, and what a close gives back. No real samples.
 */
#include <sys/select.h>

#include "catch.h"
#include "pcs.h"

static int inherited;

/* In a child: the descriptor that it has from its parent works, and a second
 * open doesn't. */
static int
use_inherited(void)
{
	if (ioctl(inherited, PROF_KERNEL, NULL) != 0)
		return 1;
	return pcs_open() == -1 && errno == EBUSY ? 0 : 2;
}

static void
check_open(void)
{
	int fd, other;
	struct stat st;
	pid_t child;

	CHECK_ERRNO(open(PCS, O_WRONLY), EACCES, "PCS-2: not for writing");
	CHECK_ERRNO(open(PCS, O_RDWR), EACCES, "PCS-2: nor for both");
	CHECK(pcstat("owner 0"), "PCS-46: nobody is profiling: owner 0");
	CHECK(pcstat("clock none"), "PCS-4: and the clock isn't in use");
	fd = pcs_open();
	CHECK(fd >= 0, "PCS-2: it can be opened");
	CHECK(pcstat("owner %d", getpid()),
	      "PCS-46: the owner is this process");
	CHECK(pcstat("clock kw11k"), "PCS-4: an open starts the clock");
	CHECK_ERRNO(pcs_open(), EBUSY, "PCS-3: it is one's own");
	CHECK_ERRNO(write(fd, "x", 1), EBADF, "PCS-2: it can't be written");
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), ESPIPE, "it has no offsets");
	CHECK(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode), "it is a device");
	other = dup(fd);
	close(fd);
	CHECK_ERRNO(pcs_open(), EBUSY, "PCS-3: a duplicate holds it");
	inherited = other;
	CHECK(child_run(use_inherited) == 0, "a child may use it");
	child = sleeper_start();
	close(other);
	CHECK_ERRNO(pcs_open(), EBUSY, "PCS-3: a child holds it");
	child_end(child);
	fd = pcs_open();
	CHECK(fd >= 0, "with the last descriptor it is free again");
	CHECK(pcstat("requests"), "and nothing is asked for any more");
	close(fd);
}

static void
check_requests(void)
{
	int fd = pcs_open();

	CHECK_ERRNO(ioctl(fd, TCGETS, NULL), ENOTTY, "PCS-7: others' requests");
	CHECK_ERRNO(ioctl(fd, 'P' << 8, NULL), ENOTTY, "PCS-7: nor 0");
	CHECK_ERRNO(ioctl(fd, 'P' << 8 | 6, NULL), ENOTTY, "PCS-7: nor sums");
	CHECK(pcstat("requests") && pcstat("list") && pcstat("group 0"),
	      "none of them counts");
	CHECK(ioctl(fd, PROF_GROUP, 7) == 0, "PCS-12: PROF_GROUP");
	CHECK(pcstat("requests group") && pcstat("group 7"), "is known");
	CHECK(ioctl(fd, PROF_GROUP, 32767) == 0, "PCS-12: the last group");
	CHECK(pcstat("group 32767"), "replaces the one before");
	CHECK(ioctl(fd, PROF_KERNEL, 1) == 0,
	      "PCS-8: PROF_KERNEL, whatever the argument");
	CHECK(pcstat("requests kernel group"), "requests add up");
	CHECK(ioctl(fd, PROF_ALL, -1) == 0,
	      "PCS-9: PROF_ALL, whatever the argument");
	CHECK(ioctl(fd, PROF_LIST, (int[]){2, 32767, 1}) == 0,
	      "PCS-10: PROF_LIST");
	CHECK(pcstat("requests kernel all group list"), "all add up");
	CHECK(pcstat("list 32767 1"), "the list is known");
	CHECK(ioctl(fd, PROF_LIST, (int[]){5, 5, 4, 3, 2, 1}) == 0,
	      "PCS-11: MAX_LIST processes");
	CHECK(pcstat("list 5 4 3 2 1"), "replace the list before");
	close(fd);
	CHECK(pcstat("requests") && pcstat("list") && pcstat("group 0") &&
		  pcstat("owner 0"),
	      "a close forgets them");
}

static void
check_bad_requests(void)
{
	static int bad_lists[][7] = {
	    {6, 1, 2, 3, 4, 5, 6},
	    {0},
	    {-1, 1},
	    {65536, 1},
	    {2, 1, 0},
	    {1, -1},
	    {1, 32768},
	    {2, 65537, 1},
	    {0x10001, 1},
	    {1, 65536},
	};
	static const long bad_groups[] = {0, -1, 32768, 65537, 0x100000001};
	int fd = pcs_open();

	ioctl(fd, PROF_GROUP, 8);
	ioctl(fd, PROF_LIST, (int[]){1, 9});
	for (size_t i = 0; i < sizeof(bad_lists) / sizeof(bad_lists[0]); i++)
		CHECK_ERRNO(ioctl(fd, PROF_LIST, bad_lists[i]), EINVAL,
			    "PCS-11: a list of %d, %d.. is EINVAL",
			    bad_lists[i][0], bad_lists[i][1]);
	for (size_t i = 0; i < sizeof(bad_groups) / sizeof(bad_groups[0]); i++)
		CHECK_ERRNO(ioctl(fd, PROF_GROUP, bad_groups[i]), EINVAL,
			    "PCS-12: group %ld is EINVAL", bad_groups[i]);
	CHECK_FAULTS_IN("PROF_LIST", ioctl(fd, PROF_LIST, bad));
	int *last = (int *)memory_end() - 1;
	*last = 1;
	CHECK_ERRNO(ioctl(fd, PROF_LIST, last), EFAULT,
		    "half a list is EFAULT");
	CHECK(pcstat("list 9") && pcstat("group 8"), "and nothing has changed");
	CHECK_FAULTS_OUT("PCS_STAT", ioctl(fd, PCS_STAT, bad));
	close(fd);
}

static void
check_buffers(void)
{
	static const long bad[] = {0, -1, 8, 10, 0x100000001};
	int fd = pcs_open();

	int harts = system_now().harts;

	CHECK(pcstat("buffers 3") && pcstat("harts %d", harts) &&
		  pcstat("empty %d", 3 * harts),
	      "PCS-14: DEF_BUFNO buffers at first");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERRNO(ioctl(fd, BUF_INCR, bad[i]), EINVAL,
			    "PCS-15: BUF_INCR of %ld is EINVAL", bad[i]);
	CHECK(pcstat("buffers 3"), "PCS-15: and adds none");
	CHECK(ioctl(fd, BUF_INCR, 1) == 0, "PCS-13: BUF_INCR 1");
	CHECK(pcstat("buffers 4"), "PCS-13: is one more");
	CHECK(ioctl(fd, BUF_INCR, 6) == 0, "PCS-16: up to MAX_BUFS");
	CHECK_ERRNO(ioctl(fd, BUF_INCR, 1), EINVAL, "PCS-16: and no more");
	CHECK(pcstat("buffers 10") && pcstat("empty %d", 10 * harts),
	      "10 buffers");
	CHECK(pcstat("requests"), "BUF_INCR asks for no samples");
	ioctl(fd, PROF_ALL, NULL);
	samples("user", 0, 1, 0, USER_PC, 9 * NUMSAMPS + 3);
	CHECK(pcstat("full 9") && pcstat("filling 1") &&
		  pcstat("empty %d", 10 * (harts - 1)) && pcstat("lost 0"),
	      "PCS-13: all of them are filled");
	close(fd);
	CHECK(pcstat("buffers 0"), "a close gives all back");
	fd = pcs_open();
	CHECK(pcstat("buffers 3"), "and the next open starts with DEF_BUFNO");
	close(fd);
}

static bool
readable(int fd)
{
	struct timeval now = {0};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &now) == 1;
}

/* Reads that find nothing, or a part of a buffer. */
static void
check_reads(void)
{
	struct LOGBUF b, c = {0};
	int fd = pcs_open();
	char *parts = (char *)&c;
	bool good = true;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	CHECK_ERRNO(read(fd, &b, 1), EAGAIN, "before a request: nothing");
	ioctl(fd, PROF_ALL, NULL);
	samples("user", 0, 1, 0, USER_PC, NUMSAMPS - 1);
	CHECK_ERRNO(read(fd, &b, 1), EAGAIN, "PCS-18: nor of part of a buffer");
	CHECK(!readable(fd), "PCS-18: select says so");
	CHECK(read(fd, &b, 0) == 0, "but 0 bytes can be read");
	samples("user", 0, 1, 0, USER_PC, 1);
	CHECK(readable(fd), "PCS-18: select: a full buffer");
	CHECK_FAULTS_OUT("read", read(fd, bad, 8));
	CHECK(account_of(fd).unread == NUMSAMPS, "a fault reads nothing");
	CHECK(read(fd, parts, 1) == 1 && read(fd, parts + 1, 12) == 12,
	      "PCS-17: any number of bytes");
	CHECK(account_of(fd).unread == NUMSAMPS - 1, "one record is read");
	for (size_t i = 13; good && i < 507; i += 19)
		good = read(fd, parts + i, 19) == 19;
	CHECK(good && readable(fd), "PCS-17: and again");
	CHECK(read(fd, parts + 507, 1000) == 5, "up to what there is");
	CHECK(!readable(fd) && account_of(fd).unread == 0, "that was all");
	samples("user", 0, 1, 0, USER_PC, 2 * NUMSAMPS);
	CHECK(read(fd, &b, 512) == 512 && read(fd, &b, 511) == 511 &&
		  read(fd, (char *)&b + 511, 1) == 1,
	      "two buffers");
	CHECK(memcmp(&b, &c, 512) == 0, "in parts, they are the same");
	close(fd);
}

/* Reads of several buffers' length: buffer i has samples of process i + 1. */
static void
check_long_reads(void)
{
	static struct LOGBUF b[5];
	int fd = pcs_open();
	char *stream = (char *)b, *end = memory_end();
	bool good = true;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	ioctl(fd, PROF_ALL, NULL);
	for (int i = 0; i < 3; i++)
		samples("user", 0, i + 1, 0, USER_PC, NUMSAMPS);
	CHECK(read(fd, stream, 1300) == 1300,
	      "PCS-17: as much as was asked for, of three buffers");
	CHECK(account_of(fd).unread == NUMSAMPS - 34, "they are read");
	CHECK(read(fd, stream + 1300, sizeof(b) - 1300) == 3 * BSIZE - 1300,
	      "PCS-17: what is there, if that is less");
	CHECK(!readable(fd) && account_of(fd).unread == 0, "and that was all");
	for (int i = 0; i < 3; i++)
		for (size_t j = 0; j < NUMSAMPS; j++)
			good &= is_sample(&b[i].lb_data[j], USER, 0, i + 1,
					  USER_PC);
	CHECK(good, "PCS-17: buffer after buffer, in their order");
	samples("user", 0, 1, 0, USER_PC, 2 * NUMSAMPS);
	CHECK(read(fd, end - BSIZE - 8, 2 * BSIZE) == BSIZE &&
		  account_of(fd).unread == NUMSAMPS,
	      "a fault in the second leaves that one there");
	close(fd);
}

/* Two harts' buffers come in the order in which they became full. */
static void
check_order(void)
{
	struct LOGBUF b[4];
	int last = system_now().harts - 1, fd = pcs_open();

	ioctl(fd, BUF_INCR, 1);
	ioctl(fd, PROF_ALL, NULL);
	samples("user", 0, 1, 0, USER_PC, 5);
	samples("user", last, 2, 0, USER_PC, NUMSAMPS + 7);
	samples("user", 0, 1, 0, USER_PC, 2 * NUMSAMPS - 5);
	CHECK(read(fd, b, sizeof(b)) == 3 * BSIZE, "all harts' buffers");
	CHECK(is_sample(b[0].lb_data, USER, last, last ? 2 : 1, USER_PC) &&
		  is_sample(b[2].lb_data, USER, 0, 1, USER_PC),
	      "PCS-1: the first that was full is the first that is read");
	CHECK(account_of(fd).unread == 7, "all but what isn't full");
	close(fd);
}

/* In a child: read a whole buffer, however long that takes. */
static int
read_buffer(void)
{
	struct LOGBUF b;

	return read(inherited, &b, BSIZE) == BSIZE ? 0 : 1;
}

static void
check_waiting(void)
{
	pid_t child;

	inherited = pcs_open();
	child = child_start(read_buffer);
	CHECK(AWAIT(state_of(child) == 'S'),
	      "PCS-6: before a request a read sleeps");
	ioctl(inherited, PROF_ALL, NULL);
	samples("user", 0, 1, 0, USER_PC, NUMSAMPS);
	CHECK(child_wait(child) == 0, "PCS-18: a full buffer wakes it");
	child = child_start(read_buffer);
	CHECK(AWAIT(state_of(child) == 'S'), "the next one sleeps too");
	kill(child, SIGTERM);
	CHECK(killed(child, SIGTERM), "PCS-48: a signal ends it");
	catch_signal(SIGALRM, 0, 0);
	struct LOGBUF b;
	ualarm(20000, 0);
	CHECK_ERRNO(read(inherited, &b, 8), EINTR,
		    "PCS-48: and a handler: EINTR");
	close(inherited);
}

/* Two readers get different buffers, and each of them a whole one. */
static void
check_two_readers(void)
{
	pid_t child[2];

	inherited = pcs_open();
	ioctl(inherited, PROF_ALL, NULL);
	for (int i = 0; i < 2; i++)
		child[i] = child_start(read_buffer);
	for (int i = 0; i < 2; i++)
		AWAIT(state_of(child[i]) == 'S');
	samples("user", 0, 1, 0, USER_PC, NUMSAMPS);
	samples("user", 0, 1, 0, USER_PC, NUMSAMPS);
	CHECK(child_wait(child[0]) == 0 && child_wait(child[1]) == 0,
	      "two readers share the stream");
	CHECK(account_of(inherited).unread == 0, "and all is read");
	close(inherited);
}

static void
check_pcstat(void)
{
	int a = open(PCSTAT, O_RDONLY), b = open(PCSTAT, O_RDONLY);
	char text[600], again[600];
	ssize_t n = read(a, text, sizeof(text)), m = 0;

	CHECK(a >= 0 && b >= 0, "PCS-45: pcstat has any number of readers");
	while (read(b, again + m, 1) == 1)
		m++;
	CHECK(n > 0 && n == m && memcmp(text, again, n) == 0,
	      "byte by byte it is the same");
	CHECK_ERRNO(open(PCSTAT, O_WRONLY), EACCES, "it can't be written");
	CHECK_ERRNO(ioctl(a, PROF_ALL, NULL), ENOTTY, "and takes no requests");
	close(a);
	close(b);
}

int
main(void)
{
	alarm(DEADLINE);
	ctl(PROFCLOCK, "hold");
	check_open();
	check_requests();
	check_bad_requests();
	check_buffers();
	check_reads();
	check_long_reads();
	check_order();
	check_waiting();
	check_two_readers();
	check_pcstat();
	ctl(PROFCLOCK, "go");
	return check_done();
}

/*
 * What is in the buffers of /dev/pcs: with real samples held and synthetic ones
 * in their place, every byte is known.
 */
#include <stddef.h>

#include "pcs.h"

#define HART 3 /* another than 0, if there are so many */

static int hart;

/* The numbers that the manual prints. */
static void
check_numbers(void)
{
	CHECK(KERNEL == 1 && USER == 2 && IDLE == 3 && MKERNEL == 4 &&
		  MUSER == 5 && START == 6 && STOP == 7 && IOCTL == 8 &&
		  KERNELI == 9 && MKERNELI == 10,
	      "PCS-40: the types of records");
	CHECK(BUF_INCR == 0x5001 && PROF_KERNEL == 0x5002 &&
		  PROF_ALL == 0x5004 && PROF_GROUP == 0x5008 &&
		  PROF_LIST == 0x5010 && PROF_MASK == 0x7f,
	      "PCS-44: the requests");
	CHECK(DEF_BUFNO == 3 && MAX_BUFS == 10 && MAX_LIST == 5,
	      "PCS-42: the limits");
	CHECK(offsetof(struct PSAMPLE, sspace) == 1 &&
		  offsetof(struct PSAMPLE, pid) == 2 &&
		  offsetof(struct PSAMPLE, pc) == 4 &&
		  offsetof(struct MSAMPLE, count) == 2 &&
		  offsetof(struct LOGBUF_HDR, h_numlost) == 2 &&
		  offsetof(struct LOGBUF, lb_data) == 4,
	      "PCS-21: where all stands");
	CHECK(offsetof(struct SSAMPLE, stime) == 4 &&
		  sizeof(struct SSAMPLE) == 8 &&
		  offsetof(struct ISAMPLE, cmd) == 4 &&
		  offsetof(struct ISAMPLE, data) == 8 &&
		  sizeof(struct ISAMPLE) == 24,
	      "PCS-43: the records that programs make");
}

static void
check_layout(void)
{
	CHECK(sizeof(struct LOGBUF) == BSIZE && BSIZE == 512,
	      "PCS-19: BSIZE bytes");
	CHECK(sizeof(struct PSAMPLE) == sizeof(struct MSAMPLE) &&
		  NUMSAMPS == 63,
	      "PCS-23: 63 records, none of them split");
	CHECK(NUMWASTE < 12, "PCS-24: less than 12 bytes unused");
}

/* With PROF_ALL all but idle hits are records, in order. */
static void
check_all(void)
{
	struct LOGBUF b;
	const struct PSAMPLE *p = b.lb_data;
	int fd = pcs_open();

	ioctl(fd, PROF_ALL, NULL);
	samples("user", hart, 1, 0, USER_PC, 1);
	samples("kernel", hart, 1, 1, KERNEL_PC, 1);
	samples("intr", hart, 32767, 5, KERNEL_PC + 2, 1);
	samples("kernel", hart, 0, 7, KERNEL_PC, NUMSAMPS - 4);
	samples("user", hart, 2, 0, 4, 1);
	CHECK(buffer_read(fd, &b) == BSIZE, "a full buffer can be read");
	CHECK(is_sample(p, USER, hart, 1, USER_PC), "PCS-36: a user's sample");
	CHECK(is_sample(p + 1, KERNEL, 1 << 4 | hart, 1, KERNEL_PC),
	      "PCS-37: a kernel's, with the level and the hart");
	CHECK(is_sample(p + 2, KERNELI, 5 << 4 | hart, 32767, KERNEL_PC + 2),
	      "PCS-32: one in an interrupt's handler");
	CHECK(is_sample(p + 3, KERNEL, 7 << 4 | hart, 0, KERNEL_PC),
	      "PCS-38: level 7, and no process");
	CHECK(is_sample(p + NUMSAMPS - 1, USER, hart, 2, 4), "the last one");
	CHECK((long)(int)p[1].pc == (long)KERNEL_PC, "the whole kernel pc");
	CHECK(b.lb_buf_hdr.h_unused == NUMWASTE, "PCS-24: h_unused");
	CHECK(b.lb_buf_hdr.h_numlost == 0, "PCS-26: nothing lost");
	close(fd);
}

/* PROF_SEAL leaves room for a SEAL in each buffer that is begun after it. */
static void
check_room(void)
{
	const size_t few = NUMSAMPS - sizeof(struct SEAL_RECORD) / 8;
	struct LOGBUF b;
	int fd = pcs_open();

	CHECK(ioctl(fd, PROF_SEAL, NULL) == 0, "pcs(4): PROF_SEAL");
	samples("user", hart, 1, 0, USER_PC, 1);
	CHECK(account_of(fd).seen == 0, "pcs(4): PROF_SEAL counts nothing");
	ioctl(fd, PROF_ALL, NULL);
	samples("user", hart, 1, 0, USER_PC, few);
	CHECK(buffer_read(fd, &b) == BSIZE, "pcs(4): it is full earlier");
	CHECK(b.lb_buf_hdr.h_unused == NUMWASTE + sizeof(struct SEAL_RECORD),
	      "pcs(4): PROF_SEAL: room for a SEAL_RECORD");
	CHECK(is_sample(&b.lb_data[few - 1], USER, hart, 1, USER_PC),
	      "the last one");
	close(fd);

	fd = pcs_open();
	ioctl(fd, PROF_ALL, NULL);
	samples("user", hart, 1, 0, USER_PC, 1);
	ioctl(fd, PROF_SEAL, NULL);
	samples("user", hart, 1, 0, USER_PC, NUMSAMPS - 1 + few);
	for (int i = 0; i < 2; i++) {
		CHECK(buffer_read(fd, &b) == BSIZE, "two full buffers");
		CHECK(b.lb_buf_hdr.h_unused ==
			  NUMWASTE + i * sizeof(struct SEAL_RECORD),
		      "pcs(4): one that was begun before it has no room");
	}
	close(fd);
}

/* How many records does a sample of each mode make? pid 0: this process. */
static bool
recorded(int fd, const char *mode, int pid)
{
	uint64_t before = account_of(fd).recorded;

	samples(mode, 0, pid, 0, USER_PC, 1);
	return account_of(fd).recorded - before == 1;
}

static void
check_kinds(void)
{
	int self = getpid(), fd = pcs_open();

	CHECK(!recorded(fd, "kernel", 1) && account_of(fd).seen == 0,
	      "PCS-6: before a request nothing is counted");
	ioctl(fd, PROF_KERNEL, NULL);
	CHECK(recorded(fd, "kernel", 1) && recorded(fd, "kernel", 0),
	      "PCS-8: PROF_KERNEL: the kernel");
	CHECK(recorded(fd, "intr", 1), "PCS-8: and handlers");
	CHECK(!recorded(fd, "user", self), "PCS-8: no user");
	CHECK(!recorded(fd, "idle", 0), "PCS-28: nor an idle hart");
	ioctl(fd, PROF_GROUP, getpgrp());
	CHECK(recorded(fd, "user", self), "PROF_GROUP too: requests add up");
	CHECK(recorded(fd, "kernel", 0), "the kernel still is");
	close(fd);

	fd = pcs_open();
	ioctl(fd, PROF_ALL, NULL);
	CHECK(recorded(fd, "user", 1) && recorded(fd, "user", 77) &&
		  recorded(fd, "kernel", 0) && recorded(fd, "intr", 0),
	      "PCS-9: PROF_ALL: any user, the kernel, handlers");
	CHECK(!recorded(fd, "idle", 0), "PCS-28: but not an idle hart");
	close(fd);
}

static void
check_lists(void)
{
	int self = getpid(), fd = pcs_open();
	pid_t child = sleeper_start();

	ioctl(fd, PROF_LIST, (int[]){2, child, 1});
	CHECK(recorded(fd, "user", child) && recorded(fd, "user", 1),
	      "PCS-10: PROF_LIST: these processes");
	CHECK(!recorded(fd, "user", self), "PCS-10: and no others");
	CHECK(!recorded(fd, "kernel", child) && !recorded(fd, "intr", child),
	      "PCS-10: nor the kernel on their behalf");
	child_end(child);
	CHECK(recorded(fd, "user", 1), "one dies: the list goes on");
	ioctl(fd, PROF_LIST, (int[]){1, self});
	CHECK(recorded(fd, "user", self) && !recorded(fd, "user", 1),
	      "a new list replaces it");
	close(fd);

	fd = pcs_open();
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		for (;;)
			pause();
	}
	setpgid(child, child);
	ioctl(fd, PROF_GROUP, child);
	CHECK(recorded(fd, "user", child), "PCS-12: PROF_GROUP: its group");
	CHECK(!recorded(fd, "user", self), "PCS-12: and no other");
	CHECK(!recorded(fd, "kernel", child), "PCS-12: nor the kernel");
	ioctl(fd, PROF_GROUP, getpgrp());
	CHECK(recorded(fd, "user", self) && !recorded(fd, "user", child),
	      "a new group replaces it");
	child_end(child);
	close(fd);
}

/* Counted, and then recorded at every 100th clock of their hart. */
static void
check_merged(void)
{
	struct LOGBUF b;
	const struct PSAMPLE *p = b.lb_data;
	struct pcs_stat s;
	int fd = pcs_open();

	ioctl(fd, PROF_GROUP, 32767);
	samples("idle", hart, 0, 0, KERNEL_PC, 50);
	samples("user", hart, 1, 0, USER_PC, 20);
	samples("intr", hart, 1, 5, KERNEL_PC, 19);
	samples("kernel", hart, 1, 0, KERNEL_PC, 10);
	s = account_of(fd);
	CHECK(s.pending == 99 && s.unread == 0 && s.seen == 99,
	      "PCS-28: 99 clocks: no merged record");
	samples("idle", 0, 0, 0, KERNEL_PC, hart ? 1 : 0);
	CHECK(account_of(fd).merged == 0,
	      "PCS-28: nor by another hart's clock");
	samples("kernel", hart, 1, 0, KERNEL_PC, 1);
	s = account_of(fd);
	CHECK(s.merged == MERGE && s.unread == MERGE && adds_up(&s),
	      "PCS-28: the 100th makes them");
	samples("idle", hart, 0, 0, KERNEL_PC, 59 * MERGE);
	CHECK(buffer_read(fd, &b) == BSIZE, "59 rounds more fill a buffer");
	CHECK(is_merged(p, IDLE, hart, 50), "PCS-29: IDLE");
	CHECK(is_merged(p + 1, MKERNEL, hart, 11), "PCS-31: MKERNEL");
	CHECK(is_merged(p + 2, MUSER, hart, 20), "PCS-31: MUSER");
	CHECK(is_merged(p + 3, MKERNELI, hart, 19), "PCS-33: MKERNELI");
	CHECK(is_merged(p + 4, IDLE, hart, MERGE),
	      "PCS-30: only those that are not 0");
	CHECK(is_merged(p + 62, IDLE, hart, MERGE), "up to the last");
	close(fd);
}

/* Kept while there is no room, and no more than 32767 in a record. */
static void
check_pending(void)
{
	struct LOGBUF b;
	struct pcs_stat s;
	int fd = pcs_open(), self = getpid();

	ioctl(fd, PROF_LIST, (int[]){1, self});
	samples("user", 0, self, 0, USER_PC, 3 * NUMSAMPS + 1);
	samples("idle", 0, 0, 0, KERNEL_PC, 10 + 400 * MERGE);
	s = account_of(fd);
	CHECK(s.lost == 1 && s.pending == 40010 && s.merged == 0 && adds_up(&s),
	      "PCS-28: without a buffer counts stay pending");
	buffer_read(fd, &b);
	samples("idle", 0, 0, 0, KERNEL_PC, MERGE);
	s = account_of(fd);
	CHECK(s.merged == 32767 && s.pending == 40110 - 32767 && adds_up(&s),
	      "PCS-39: 32767 of them in a record");
	samples("idle", 0, 0, 0, KERNEL_PC, MERGE);
	s = account_of(fd);
	CHECK(s.merged == 40210 && s.pending == 0, "the others in the next");
	samples("user", 0, self, 0, USER_PC, NUMSAMPS - 2);
	for (int i = 0; i < 3; i++)
		buffer_read(fd, &b);
	CHECK(is_merged(b.lb_data, IDLE, 0, 32767) &&
		  is_merged(b.lb_data + 1, IDLE, 0, 40210 - 32767),
	      "PCS-39: and so they are read");
	CHECK(b.lb_buf_hdr.h_numlost == 1, "PCS-25: merged hits aren't lost");
	close(fd);
}

static void
check_lost(void)
{
	struct LOGBUF b;
	struct pcs_stat s;
	int fd = pcs_open();

	ioctl(fd, PROF_ALL, NULL);
	samples("user", 0, 1, 0, USER_PC, 3 * NUMSAMPS + 12);
	s = account_of(fd);
	CHECK(s.lost == 12 && s.recorded == 3 * NUMSAMPS && adds_up(&s),
	      "PCS-25: without a buffer hits are lost, and counted");
	CHECK(pcstat("lost 12"), "PCS-25: pcstat says how many");
	for (int i = 0; i < 3; i++)
		CHECK(buffer_read(fd, &b) == BSIZE &&
			  b.lb_buf_hdr.h_numlost == 0,
		      "PCS-25: buffer %d was full before", i);
	samples("user", 0, 1, 0, USER_PC, NUMSAMPS);
	buffer_read(fd, &b);
	CHECK(b.lb_buf_hdr.h_numlost == 12, "PCS-25: the next one tells");
	samples("user", 0, 1, 0, USER_PC, 3 * NUMSAMPS + 32767 + 100);
	for (int i = 0; i < 3; i++)
		buffer_read(fd, &b);
	CHECK(b.lb_buf_hdr.h_numlost == 0, "PCS-25: and only that one");
	samples("user", 0, 1, 0, USER_PC, NUMSAMPS);
	buffer_read(fd, &b);
	CHECK(b.lb_buf_hdr.h_numlost == 32767, "h_numlost stays at 32767");
	s = account_of(fd);
	CHECK(s.lost == 12 + 32767 + 100 && s.unread == 0 && adds_up(&s),
	      "PCS-27: the account doesn't");
	close(fd);
}

static void
check_close(void)
{
	struct LOGBUF b;
	int fd = pcs_open();

	ioctl(fd, PROF_ALL, NULL);
	samples("user", 0, 1, 0, USER_PC, 2 * NUMSAMPS + 5);
	samples("idle", 0, 0, 0, KERNEL_PC, 7);
	read(fd, &b, 4 + 8 + 1);
	close(fd);
	CHECK(pcstat("thrown %d", (int)(2 * NUMSAMPS + 5 + 7 - 1)),
	      "PCS-34: a close throws away what is not read");
	CHECK(pcstat("unread 0") && pcstat("pending 0"), "nothing is left");
	fd = pcs_open();
	CHECK(account_of(fd).thrown == 2 * NUMSAMPS + 11, "the next sees that");
	CHECK(account_of(fd).seen == 0, "and begins with 0");
	ioctl(fd, PROF_ALL, NULL);
	samples("kernel", 0, 0, 0, KERNEL_PC, NUMSAMPS);
	buffer_read(fd, &b);
	CHECK(is_sample(b.lb_data, KERNEL, 0, 0, KERNEL_PC) &&
		  b.lb_buf_hdr.h_numlost == 0,
	      "PCS-34: nothing of before is in its buffers");
	samples("user", 0, 1, 0, USER_PC, 4 * NUMSAMPS);
	close(fd);
	CHECK(pcstat("thrown %d", (int)(3 * NUMSAMPS)),
	      "PCS-35: three buffers' worth, by default");
	CHECK(pcstat("lost %d", (int)NUMSAMPS), "what was lost still stands");
	samples("user", 0, 1, 0, USER_PC, 1);
	CHECK(pcstat("seen %d", (int)(5 * NUMSAMPS)), "nothing counts on");
}

int
main(void)
{
	alarm(DEADLINE);
	hart = system_now().harts > HART ? HART : 0;
	ctl(PROFCLOCK, "hold");
	check_numbers();
	check_layout();
	check_all();
	check_room();
	check_kinds();
	check_lists();
	check_merged();
	check_pending();
	check_lost();
	check_close();
	ctl(PROFCLOCK, "go");
	return check_done();
}

/*
 * PCS_END of /dev/pcs: counting ends, and all that was counted can be read.
 * With synthetic samples every record is known.
 */
#include "pcs.h"

#define HART 3 /* another than 0, if there are so many */

static int hart;

static int
open_asked(unsigned int cmd)
{
	int fd = pcs_open();

	ioctl(fd, cmd, NULL);
	return fd;
}

static bool
unused(const struct LOGBUF *b, size_t records)
{
	return b->lb_buf_hdr.h_unused ==
	       NUMWASTE + (NUMSAMPS - records) * sizeof(struct PSAMPLE);
}

static bool
nothing_more(int fd)
{
	struct LOGBUF b;

	return buffer_read(fd, &b) == -1 && errno == EAGAIN;
}

/* What is recorded and merged comes in buffers that aren't full. */
static void
check_rest(void)
{
	struct LOGBUF b;
	const struct PSAMPLE *p = b.lb_data;
	struct pcs_stat s;
	int fd = open_asked(PROF_KERNEL);

	samples("kernel", hart, 1, 1, KERNEL_PC, 2);
	samples("idle", hart, 0, 0, KERNEL_PC, 5);
	samples("user", hart, 1, 0, USER_PC, 7);
	CHECK(nothing_more(fd), "before it nothing can be read");
	CHECK(ioctl(fd, PCS_END) == 0, "PCS_END");
	s = account_of(fd);
	CHECK(s.pending == 0 && s.merged == 12 && s.unread == 14 && adds_up(&s),
	      "what was counted is recorded");
	CHECK(buffer_read(fd, &b) == BSIZE, "PCS-18: it can be read");
	CHECK(unused(&b, 4), "PCS-24: h_unused: after 4 records");
	CHECK(is_sample(p, KERNEL, 1 << 4 | hart, 1, KERNEL_PC) &&
		  is_sample(p + 1, KERNEL, 1 << 4 | hart, 1, KERNEL_PC),
	      "first the samples");
	CHECK(is_merged(p + 2, IDLE, hart, 5) &&
		  is_merged(p + 3, MUSER, hart, 7),
	      "then the counts");
	CHECK(account_of(fd).unread == 0 && nothing_more(fd), "that is all");
	CHECK(ioctl(fd, PCS_END) == 0 && nothing_more(fd),
	      "a second one finds nothing");
	close(fd);
	CHECK(pcstat("thrown 0"), "and a close throws nothing away");
}

/* Each hart has a buffer that isn't full, or only counts. */
static void
check_harts(void)
{
	struct LOGBUF b;
	int harts = system_now().harts, fd = open_asked(PROF_KERNEL);
	bool good = true;

	for (int i = 0; i < harts; i++)
		samples(i % 2 ? "user" : "kernel", i, 1, 0, USER_PC, i + 1);
	CHECK(pcstat("filling %d", (harts + 1) / 2), "each hart fills its own");
	ioctl(fd, PCS_END);
	CHECK(pcstat("full %d", harts) && pcstat("filling 0"),
	      "all are handed over");
	for (int i = 0; i < harts; i++) {
		good &= buffer_read(fd, &b) == BSIZE;
		good &= i % 2 ? is_merged(b.lb_data, MUSER, i, i + 1)
			      : is_sample(b.lb_data + i, KERNEL, i, 1, USER_PC);
		good &= unused(&b, i % 2 ? 1 : i + 1);
	}
	CHECK(good, "each has what its hart has seen");
	CHECK(nothing_more(fd) && pcstat("unread 0"), "and there are no more");
	close(fd);
}

/* It stops the counting, and a request begins it again. */
static void
check_stop(void)
{
	struct LOGBUF b;
	struct pcs_stat s;
	int fd = open_asked(PROF_KERNEL);

	samples("kernel", 0, 0, 0, KERNEL_PC, NUMSAMPS);
	ioctl(fd, PCS_END);
	samples("kernel", 0, 0, 0, KERNEL_PC, 10);
	samples("user", 0, 1, 0, USER_PC, 200);
	s = account_of(fd);
	CHECK(s.seen == NUMSAMPS && s.lost == 0 && adds_up(&s),
	      "after it nothing is counted");
	CHECK(buffer_read(fd, &b) == BSIZE && unused(&b, NUMSAMPS),
	      "a full buffer stays as it was");
	CHECK(nothing_more(fd), "and an empty one isn't handed over");
	ioctl(fd, PROF_GROUP, NO_PID);
	samples("kernel", 0, 0, 0, KERNEL_PC, 3);
	samples("user", 0, 1, 0, USER_PC, 4);
	s = account_of(fd);
	CHECK(s.seen == NUMSAMPS + 7 && s.recorded == NUMSAMPS + 3 &&
		  s.pending == 4 && adds_up(&s),
	      "a request goes on counting, and kinds still add up");
	ioctl(fd, PCS_END);
	CHECK(buffer_read(fd, &b) == BSIZE && unused(&b, 4) &&
		  is_merged(b.lb_data + 3, MUSER, 0, 4),
	      "and can be ended again");
	CHECK(b.lb_buf_hdr.h_numlost == 0, "with nothing lost");
	close(fd);
	fd = pcs_open();
	CHECK(ioctl(fd, PCS_END) == 0 && nothing_more(fd) &&
		  account_of(fd).seen == 0,
	      "without a request it does nothing");
	ioctl(fd, PROF_STACK, NULL);
	samples("kernel", 0, 0, 0, KERNEL_PC, 1);
	CHECK(account_of(fd).seen == 0,
	      "PCS-6: PROF_STACK alone counts nothing");
	ioctl(fd, PROF_KERNEL, NULL);
	samples("kernel", 0, 0, 0, KERNEL_PC, 1);
	ioctl(fd, PCS_END);
	CHECK(buffer_read(fd, &b) == BSIZE && unused(&b, 1) &&
		  is_sample(b.lb_data, KERNEL, 0, 0, KERNEL_PC),
	      "a synthetic sample has no stack");
	close(fd);
}

/* Counts for which there is no room, or more than one record's. */
static void
check_no_room(void)
{
	struct LOGBUF b;
	struct pcs_stat s;
	int fd = open_asked(PROF_KERNEL);

	samples("kernel", 0, 0, 0, KERNEL_PC, 3 * NUMSAMPS + 2);
	samples("user", 0, 1, 0, USER_PC, 32767 + 9);
	for (int i = 0; i < 2; i++) {
		ioctl(fd, PCS_END);
		s = account_of(fd);
		CHECK(s.pending == 32767 + 9 && s.lost == 2 && adds_up(&s),
		      "without a buffer counts stay pending");
	}
	for (int i = 0; i < 3; i++)
		buffer_read(fd, &b);
	CHECK(nothing_more(fd), "the full ones are read");
	ioctl(fd, PCS_END);
	CHECK(buffer_read(fd, &b) == BSIZE && unused(&b, 1) &&
		  is_merged(b.lb_data, MUSER, 0, 32767),
	      "ask again, and 32767 of them come");
	CHECK(b.lb_buf_hdr.h_numlost == 2, "PCS-25: with what was lost");
	ioctl(fd, PCS_END);
	CHECK(buffer_read(fd, &b) == BSIZE && unused(&b, 1) &&
		  is_merged(b.lb_data, MUSER, 0, 9),
	      "and again: the rest");
	s = account_of(fd);
	CHECK(s.pending == 0 && s.unread == 0 && s.thrown == 0 && adds_up(&s),
	      "all but the lost has been read");
	close(fd);
}

static int device;

static int
read_one(void)
{
	struct LOGBUF b;

	return read(device, &b, BSIZE) == BSIZE && unused(&b, 1) ? 7 : 1;
}

/* Whoever waits for a full buffer gets the one that isn't. */
static void
check_reader(void)
{
	pid_t child;

	device = open_asked(PROF_KERNEL);
	samples("kernel", 0, 0, 0, KERNEL_PC, 1);
	child = child_start(read_one);
	CHECK(AWAIT(state_of(child) == 'S'), "a reader sleeps");
	ioctl(device, PCS_END);
	CHECK(exited(child, 7), "it is woken");
	close(device);
}

int
main(void)
{
	alarm(DEADLINE);
	hart = system_now().harts > HART ? HART : 0;
	ctl(PROFCLOCK, "hold");
	check_rest();
	check_harts();
	check_stop();
	check_no_room();
	check_reader();
	ctl(PROFCLOCK, "go");
	return check_done();
}

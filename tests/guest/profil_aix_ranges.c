/*
 * AIX's profil, second syntax: an array of struct prof. As profil_aix.c.
 */
#include <mon.h>

#include "profil.h"

#define RANGE(low, high, slot, bytes, scale)                            \
	{                                                               \
		TEXT + (low), TEXT + (high), buf + (slot), bytes, scale \
	}
#define END                                              \
	{                                                \
		1, 0, (void *)1, -1, 7 /* but p_high: */ \
	}                              /* anything */

static int
on(struct prof *ranges)
{
	return profil(ranges, -1, 0, 0);
}

static int
off(void)
{
	struct prof end = END;

	return on(&end);
}

static void
check_two(void)
{
	struct prof two[] = {
	    RANGE(0, 0x100, 0, 0x100, 0xffff),
	    RANGE(0x200, 0x300, 0x80, 0x90, 0x8000), /* room for more */
	    END,
	};

	CHECK(on(two) == 0, "AIX-18 two ranges, and an end");
	hit(TEXT + 0x10, 1);
	CHECK(only(8, 1), "AIX-18 the first has its buffer");
	hit(TEXT + 0x200, 1);
	CHECK(only(0x80, 1), "AIX-18 the second has its own, from p_low on");
	hit(TEXT + 0x204, 1);
	CHECK(only(0x81, 1), "AIX-20 with its own scale, 4 bytes a short");
	hit(TEXT + 0xff, 1);
	CHECK(only(0x7f, 1), "AIX-18 a range goes to below p_high");
	hit(TEXT - 1, 1);
	hit(TEXT + 0x100, 1);
	hit(TEXT + 0x1ff, 1);
	hit(TEXT + 0x300, 1);
	CHECK(none(), "AIX-18 nothing else is counted");
	hit(TEXT + 0x200, 100000);
	CHECK(only(0x80, 65535), "AIX-8 a counter stays at 65535");
	check_others("AIX-3 ranges:");
}

/* check_two's are on. */
static void
check_state(const char *self)
{
	struct prof other[] = {RANGE(0, 0x100, 4, 0x100, 0xffff), END};

	CHECK(on(other) == 0, "AIX-28 on while on succeeds");
	CHECK(profil(buf, 2, 0, 2) == 0, "AIX-28 by the other syntax too");
	hit(TEXT, 1);
	CHECK(only(0, 1), "AIX-28 and changes nothing");
	CHECK(profil(buf, 2, 0, 0) == 0, "AIX-27 off by the other syntax");
	hit(TEXT, 1);
	CHECK(only(0, 1), "AIX-27 changes nothing");
	check_fork("AIX-25 ranges:");
	check_exec("AIX-26 ranges:", self);
	CHECK(off() == 0, "AIX-24 a first p_high of 0 is off");
	hit(TEXT, 1);
	CHECK(none(), "AIX-24 then nothing is counted");
	CHECK(off() == 0, "AIX-29 off while off is nothing");
}

/* A range of 0x100 bytes with so much buffer, p_scale -1: which slot? */
static bool
computes(unsigned int bytes, unsigned long d, unsigned int slot)
{
	struct prof one[] = {RANGE(0, 0x100, 0, bytes, -1), END};

	on(one);
	hit(TEXT + d, 1);
	off();
	return only(slot, 1);
}

/* With a computed scale every pc of a range has a counter, the last too. All
 * have as many pcs, but for the first, as results are rounded up. */
static void
check_whole(unsigned int length, unsigned int bytes)
{
	unsigned int most, least, sum = 0, slots = bytes / 2;
	struct prof one[] = {RANGE(0, length, 0, bytes, -1), END};

	on(one);
	for (unsigned int d = 0; d < length; d++)
		hit(TEXT + d, 1);
	off();
	for (unsigned int i = 0; i < slots; i++)
		sum += buf[i];
	most = least = buf[1];
	for (unsigned int i = 1; i < slots; i++) {
		most = buf[i] > most ? buf[i] : most;
		least = buf[i] < least ? buf[i] : least;
	}
	CHECK(sum == length && most - least <= 1 && buf[0] >= most / 2,
	      "AIX-19 all of %u pcs count in %u bytes, evenly", length, bytes);
	memset(buf, 0, sizeof(buf));
}

/* So do those of one that is far larger than its buffer. */
static void
check_large(void)
{
	struct prof one[] = {RANGE(0, 0x40000000, 0, 4, -1), END};

	on(one);
	hit(TEXT, 1);
	hit(TEXT + 0x3fffffff, 1);
	CHECK(only(0, 2), "AIX-19 a range too large has one counter");
	off();
}

static void
check_scales(void)
{
	struct prof mixed[] = {
	    RANGE(0, 0x100, 0, 0x40, 0),
	    RANGE(0x100, 0x200, 0x20, 0x40, 1),
	    RANGE(0x200, 0x300, 0x40, 0x40, 2),
	    RANGE(0x300, 0x400, 0x60, 0x40, 0x35555),
	    END,
	};

	CHECK(computes(0x100, 4, 2), "AIX-19 as large as the range: a pair");
	CHECK(computes(0x200, 4, 2), "AIX-19 larger: a pair as well");
	CHECK(computes(0x80, 4, 1), "AIX-19 half: 4 bytes a short");
	CHECK(computes(0x20, 0xf0, 15), "AIX-19 an eighth: 16 bytes a short");
	CHECK(computes(2, 0xff, 0), "AIX-19 one short: all bytes");
	CHECK(computes(3, 0xff, 0), "AIX-19 an odd byte is no short");
	check_whole(512, 32);
	check_whole(512, 512);
	check_whole(500, 74);
	check_whole(1, 2);
	check_large();
	on(mixed);
	hit(TEXT + 0x10, 1);
	CHECK(none(), "AIX-20 p_scale 0 turns a range off");
	hit(TEXT + 0x110, 1);
	CHECK(none(), "AIX-20 p_scale 1 too");
	hit(TEXT + 0x2ff, 1);
	CHECK(only(0x40, 1), "AIX-20 p_scale 2 is one counter");
	hit(TEXT + 0x306, 1);
	CHECK(only(0x61, 1), "AIX-20 of p_scale the low half counts");
	off();
}

static void
check_order(void)
{
	struct prof falling[] = {
	    RANGE(0x200, 0x300, 0, 0x10, -1),
	    RANGE(0, 0x100, 8, 0x10, -1),
	    END,
	};
	struct prof equal[] = {
	    RANGE(0, 0x100, 0, 0x10, -1),
	    RANGE(0x80, 0x100, 8, 0x10, -1),
	    END,
	};
	struct prof overlapping[] = {
	    RANGE(0, 0x100, 0, 0x100, -1),
	    RANGE(0x80, 0x200, 0x80, 0x180, -1),
	    END,
	};
	struct prof last_lowest[] = {
	    RANGE(0x80, 0x100, 0, 0x80, -1),
	    RANGE(0xc0, 0x140, 0x40, 0x80, -1),
	    RANGE(0, 0x180, 0x80, 0x180, -1),
	    END,
	};
	struct prof empty[] = {
	    RANGE(0x80, 0x40, 0, 0x10, -1),
	    RANGE(0, 0x100, 8, 0x100, -1),
	    END,
	};

	CHECK_ERRNO(on(falling), EINVAL, "AIX-35 falling p_high is EINVAL");
	CHECK_ERRNO(on(equal), EINVAL, "AIX-35 so are equal ones");
	hit(TEXT + 0x80, 1);
	CHECK(none(), "AIX-35 and it's off");
	CHECK(on(overlapping) == 0, "AIX-21 ranges may overlap");
	hit(TEXT + 0x80, 1);
	CHECK(only(0x40, 1), "AIX-21 the first that has the pc counts");
	hit(TEXT + 0x100, 1);
	CHECK(only(0x80 + 0x40, 1), "AIX-21 then the next");
	off();
	CHECK(on(last_lowest) == 0, "AIX-21 the last may begin first");
	hit(TEXT + 0x40, 1);
	CHECK(only(0x80 + 0x20, 1), "AIX-21 it counts what the others lack");
	hit(TEXT + 0x120, 1);
	CHECK(only(0x40 + 0x30, 1), "AIX-21 and no more");
	off();
	CHECK(on(empty) == 0, "AIX-21 a range may be empty");
	hit(TEXT + 0x60, 1);
	CHECK(only(8 + 0x30, 1), "AIX-21 it has no pc");
	off();
}

/* Buffers in one space, however they lie in it. */
static void
check_buffers(void)
{
	struct prof gap[] = {
	    RANGE(0, 0x100, 0, 0x10, -1),
	    RANGE(0x100, 0x200, 9, 0x10, -1),
	    END,
	};
	struct prof order[] = {
	    RANGE(0, 0x100, 0x80, 0x100, -1),
	    RANGE(0x100, 0x200, 0, 0x100, -1),
	    END,
	};
	struct prof shared[] = {
	    RANGE(0, 0x100, 0, 0x100, -1),
	    RANGE(0x100, 0x200, 0x40, 0x100, -1),
	    END,
	};
	HISTCOUNTER on_stack[8];
	struct prof apart[] = {
	    RANGE(0, 0x100, 0, 0x10, -1),
	    {TEXT + 0x100, TEXT + 0x200, on_stack, sizeof(on_stack), -1},
	    END,
	};
	struct prof heap[] = {RANGE(0, 2, 0, 2, -1), RANGE(2, 4, 0, 2, -1),
			      END};
	char *end = memory_end();

	CHECK(on(gap) == 0, "AIX-23 with a gap between them");
	hit(TEXT + 0x100, 1);
	CHECK(only(9, 1), "AIX-23 then each counts in its own");
	off();
	CHECK(on(order) == 0, "AIX-23 in another order than the ranges");
	hit(TEXT + 4, 1);
	CHECK(only(0x82, 1), "AIX-23 the later one");
	hit(TEXT + 0x104, 1);
	CHECK(only(2, 1), "AIX-23 the earlier one");
	off();
	CHECK(on(shared) == 0, "AIX-23 they may share counters");
	hit(TEXT + 0x84, 1);
	hit(TEXT + 0x104, 1);
	CHECK(only(0x42, 2), "AIX-23 which then have both's ticks");
	off();
	CHECK_ERRNO(on(apart), EFAULT, "AIX-23 in two spaces: EFAULT");
	hit(TEXT, 1);
	CHECK(none(), "AIX-23 and it's off");
	__brk(end + 3 * PAGE);
	heap[0].p_buff = (HISTCOUNTER *)end;
	heap[1].p_buff = (HISTCOUNTER *)(end + 3 * PAGE) - 1;
	CHECK(on(heap) == 0, "AIX-23 what lies between may be untouched");
	hit(TEXT + 2, 1);
	CHECK(*heap[1].p_buff == 1, "AIX-23 and it counts");
	off();
	__brk(end);
}

static void
check_faults(void)
{
	struct prof one[] = {RANGE(0, 0x100, 0, 0x10, -1), END};
	static struct prof many[PROF_MAX + 2];

	CHECK_FAULTS_IN("AIX-33 an array", on(bad));
	CHECK_FAULTS_OUT("AIX-33 p_buff", (one[0].p_buff = bad, on(one)));
	one[0].p_buff = (void *)((char *)buf + 1);
	CHECK_ERRNO(on(one), EFAULT, "AIX-33 an odd p_buff is EFAULT");
	for (int i = 0; i <= PROF_MAX; i++)
		many[i] = (struct prof)RANGE(2 * i, 2 * i + 2, i, 2, -1);
	CHECK_ERRNO(on(many), EFAULT, "AIX-34 too many are EFAULT");
	many[PROF_MAX].p_high = 0;
	CHECK(on(many) == 0, "AIX-22 as many as PROF_MAX are taken");
	hit(TEXT + 2 * (PROF_MAX - 1), 1);
	CHECK(only(PROF_MAX - 1, 1), "AIX-22 and the last counts");
	off();
}

int
main(int argc, char **argv)
{
	check_exec_again(argc);
	alarm(DEADLINE);
	ctl(PROFCLOCK, "hold");
	check_two();
	check_state(argv[0]);
	check_scales();
	check_order();
	check_buffers();
	check_faults();
	ctl(PROFCLOCK, "go");
	return check_done();
}

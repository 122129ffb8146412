/*
 * AIX's profil, first syntax: a buffer. Ticks are made up, so every counter is
 * known. The numbers are clauses of docs/conformance.md.
 */
#include <mon.h>

#include "profil.h"

#define BYTES (2 * SLOTS)

static int
on(unsigned int scale)
{
	return profil(buf, BYTES, TEXT, scale);
}

static int
off(void)
{
	return profil(buf, BYTES, TEXT, 0);
}

/* With this scale, does a tick at TEXT + d count in that slot? */
static bool
maps(unsigned int scale, unsigned long d, unsigned int slot)
{
	on(scale);
	hit(TEXT + d, 1);
	off();
	return only(slot, 1);
}

static void
check_slots(void)
{
	CHECK(maps(0xffff, 0, 0), "AIX-4 Offset itself is slot 0");
	CHECK(maps(0xffff, 1, 0), "AIX-6 byte 1 too");
	CHECK(maps(0xffff, 2, 1), "AIX-6 the result is rounded up");
	CHECK(maps(0xffff, 4, 2), "AIX-12 0xFFFF is a short for each pair");
	CHECK(maps(0x7fff, 2, 0), "AIX-13 0x7FFF: bytes 0 to 2 are slot 0's");
	CHECK(maps(0x7fff, 3, 1), "AIX-13 byte 3 is the next one's");
	CHECK(maps(0x7fff, 6, 1), "AIX-13 so is byte 6");
	CHECK(maps(0x7fff, 7, 2), "AIX-13 byte 7 is another's");
	CHECK(maps(2, 0, 0), "AIX-14 scale 2: Offset is slot 0's");
	CHECK(maps(2, 0x8000, 0), "AIX-14 and what would be rounded up");
	CHECK(maps(2, 0x7fffffff, 0), "AIX-14 and everything else");
	CHECK(maps(0x1ffff, 4, 2), "AIX-11 the scale's high half is ignored");
	on(0xffff);
	hit(TEXT - 1, 1);
	hit(0, 1);
	CHECK(none(), "AIX-4 a pc below Offset isn't counted");
	off();
	on(2);
	hit(TEXT - 1, 1);
	CHECK(none(), "AIX-4 not even by scale 2");
	check_idle("AIX-3");
	off();
	on(0x8000);
	hit(TEXT + (1UL << 17), 1);
	hit(TEXT + (1UL << 49), 1);
	CHECK(none(), "AIX-5 nothing wraps");
	off();
}

/* All of a piece of text against the formula, in exact arithmetic. */
static void
check_formula(unsigned int scale)
{
	bool good = true;

	on(scale);
	for (unsigned long d = 0; d < 40; d++) {
		unsigned long at = d * scale / 65536;

		hit(TEXT + d, d + 1);
		good &= only((at + at % 2) / 2, d + 1);
	}
	off();
	CHECK(good, "AIX-5 scale %#x: every pc counts where it should", scale);
}

static void
check_bounds(void)
{
	on(0xffff);
	hit(TEXT + 2 * (SLOTS - 1), 1);
	CHECK(only(SLOTS - 1, 1), "AIX-7 the last slot counts");
	hit(TEXT + 2 * SLOTS, 1);
	CHECK(none(), "AIX-7 the one after isn't there");
	hit(-1, 1);
	hit(TEXT + (1UL << 63), 1);
	CHECK(none(), "AIX-7 nor is any far away");
	off();
	profil(buf, 5, TEXT, 0xffff);
	hit(TEXT + 2, 1);
	CHECK(only(1, 1), "AIX-7 of 5 bytes two shorts are used");
	hit(TEXT + 4, 1);
	CHECK(none(), "AIX-7 and not the odd byte");
	off();
	on(0xffff);
	hit(TEXT, 65534);
	hit(TEXT, 1);
	hit(TEXT, 7);
	CHECK(only(0, 65535), "AIX-8 a counter stays at 65535");
	hit(TEXT, 70000);
	CHECK(only(0, 65535), "AIX-8 also if it gets there at once");
	hit(TEXT + 2, 1);
	CHECK(only(1, 1), "AIX-8 others go on");
	off();
}

static void
check_off(void)
{
	on(0xffff);
	CHECK(profil(NULL, 0, 0, 0) == 0, "AIX-16 scale 0 is off");
	hit(TEXT, 1);
	CHECK(none(), "AIX-16 then nothing is counted");
	on(0xffff);
	CHECK(profil(NULL, 0, 0, 1) == 0, "AIX-15 scale 1 is off");
	hit(TEXT, 1);
	CHECK(none(), "AIX-15 then nothing is counted");
	on(0xffff);
	CHECK(profil(buf, BYTES, TEXT, 0x10000) == 0, "AIX-11 0x10000 is off");
	hit(TEXT, 1);
	CHECK(none(), "AIX-11 then nothing is counted");
	CHECK(profil(buf, 0, TEXT, 0xffff) == 0, "AIX-17 BufferSize 0");
	hit(TEXT, 1);
	CHECK(none(), "AIX-17 counts nothing");
	on(0xffff);
	hit(TEXT, 1);
	CHECK(none(), "AIX-17 but is on");
	CHECK(off() == 0 && off() == 0, "AIX-29 off while off is nothing");
}

static void
check_ineffective(void)
{
	struct prof end = {.p_high = 0};

	on(0xffff);
	CHECK(profil(buf + 3, BYTES, TEXT, 0x4000) == 0,
	      "AIX-28 on while on succeeds");
	hit(TEXT + 4, 1);
	CHECK(only(2, 1), "AIX-28 and changes nothing");
	CHECK(profil((void *)1, BYTES, TEXT, 0x4000) == 0,
	      "AIX-28 whatever else it asks for");
	CHECK(profil(&end, -1, 0, 0) == 0, "AIX-27 off by the other syntax");
	hit(TEXT, 1);
	CHECK(only(0, 1), "AIX-27 changes nothing");
	off();
}

static void
check_faults(void)
{
	char *end = memory_end();
	unsigned short *last = (unsigned short *)((char *)end + PAGE) - 1;

	CHECK_FAULTS_OUT("AIX-33 profil", profil(bad, BYTES, TEXT, 0xffff));
	CHECK_ERRNO(profil((char *)buf + 1, 4, TEXT, 0xffff), EFAULT,
		    "AIX-33 an odd address is EFAULT");
	CHECK_ERRNO(profil(buf, 0x7fffffff, TEXT, 0xffff), EFAULT,
		    "AIX-33 a size past all memory is EFAULT");
	__brk(end + PAGE);
	CHECK_ERRNO(profil(last, 4, TEXT, 0xffff), EFAULT,
		    "AIX-33 a buffer that ends in no memory is EFAULT");
	hit(TEXT, 1);
	CHECK(none(), "AIX-33 after an error it's off");
	CHECK(profil(last, 2, TEXT, 0xffff) == 0,
	      "AIX-34 a page not touched before will do");
	hit(TEXT, 2);
	CHECK(*last == 2, "AIX-34 and counts");
	__brk(end);
	hit(TEXT, 3);
	__brk(end + PAGE);
	hit(TEXT, 4);
	CHECK(*last == 4, "AIX-34 while it's unmapped hits are dropped");
	off();
	__brk(end);
}

int
main(int argc, char **argv)
{
	check_exec_again(argc);
	alarm(DEADLINE);
	ctl(PROFCLOCK, "hold");
	CHECK(on(0xffff) == 0, "AIX-31 turning it on gives 0");
	check_others("AIX-3");
	check_fork("AIX-25");
	check_exec("AIX-26", argv[0]);
	CHECK(off() == 0, "AIX-31 so does turning it off");
	check_slots();
	check_formula(0xffff);
	check_formula(0xaaaa);
	check_formula(0x4000);
	check_formula(0x1234);
	check_bounds();
	check_off();
	check_ineffective();
	check_kernel("AIX-3");
	check_faults();
	ctl(PROFCLOCK, "go");
	return check_done();
}

/*
 * Solaris's profil. Ticks are made up, so every counter is known. The numbers
 * are clauses of docs/conformance.md.
 */
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
	return only(slot, 1);
}

static void
check_slots(void)
{
	CHECK(maps(0x10000, 0, 0), "SOL-8 offset itself is slot 0");
	CHECK(maps(0x10000, 1, 0), "SOL-12 the result is rounded down");
	CHECK(maps(0x10000, 2, 1), "SOL-13 ratio 1: a pair of bytes a count");
	CHECK(maps(0xffff, 2, 0), "SOL-12 0xffff rounds down as well");
	CHECK(maps(0xffff, 3, 1), "SOL-12 byte 3 is slot 1's");
	CHECK(maps(0x4000, 7, 0), "SOL-10 0x4000: 8 bytes of text a count");
	CHECK(maps(0x4000, 8, 1), "SOL-10 and then the next");
	CHECK(maps(0x8000, 0x1fe, 0x7f), "SOL-9 half: 4 bytes a count");
	CHECK(maps(2, 0xffff, 0), "SOL-10 2: 65,536 bytes a count");
	CHECK(maps(2, 0x10000, 1), "SOL-10 and then the next");
	CHECK(maps(0x20000, 1, 1), "SOL-10 all of scale's bits count");
	on(0x10000);
	hit(TEXT - 1, 1);
	CHECK(none(), "SOL-8 a pc below offset isn't counted");
	hit(TEXT + 2 * (SLOTS - 1), 1);
	CHECK(only(SLOTS - 1, 1), "SOL-7 the last of bufsiz counts");
	hit(TEXT + 2 * SLOTS, 1);
	hit(-1, 1);
	CHECK(none(), "SOL-7 nothing after it does");
	hit(TEXT + (1UL << 16), 1);
	hit(TEXT + (1UL << 48), 1);
	CHECK(none(), "SOL-12 nothing wraps");
	on(2);
	check_idle("SOL-2");
	profil(buf, 5, TEXT, 0x10000);
	hit(TEXT + 4, 1);
	CHECK(none(), "SOL-7 nor half a count at the end");
}

/* A counter has two bytes, so half the scale is what there is of counters to a
 * byte of text: 65536 * 2 / scale bytes of it are one counter's. */
static void
check_half(void)
{
	bool good = true;

	for (unsigned int scale = 0x10000; scale >= 0x400; scale /= 2) {
		unsigned long n = 0x8000 / (scale / 4);

		good &= maps(scale, n - 1, 0) && maps(scale, n, 1);
		good &= maps(scale, 6 * n - 1, 5) && maps(scale, 6 * n, 6);
	}
	CHECK(good, "SOL-32 half the scale: 65536 / half bytes a count");
	on(0x3000); /* 10 2/3 bytes of text a count */
	for (unsigned int d = 0; d < 96; d++)
		hit(TEXT + d, 1);
	for (int i = 0; i < 9; i++)
		good &= buf[i] == 10 || buf[i] == 11;
	for (int i = 9; i <= SLOTS; i++)
		good &= buf[i] == 0;
	CHECK(good, "SOL-32 on the average, if that is a fraction");
	memset(buf, 0, sizeof(buf));
}

static void *
turn_on(void *)
{
	on(0x10000);
	return NULL;
}

static void
check_threads(void)
{
	struct hitter before, after;
	pthread_t caller;

	off();
	hitter_make(&before);
	on(0x10000);
	hitter_hit(&before);
	CHECK(only(0, 1), "SOL-20 a thread that is there at the call counts");
	hitter_make(&after);
	hitter_hit(&after);
	CHECK(only(0, 1), "SOL-20 so does one that is made after it");
	off();
	pthread_create(&caller, NULL, turn_on, NULL);
	pthread_join(caller, NULL);
	hit(TEXT, 1);
	CHECK(only(0, 1), "SOL-20 whichever thread made the call");
	off();
}

static void
check_limit(void)
{
	on(0x10000);
	hit(TEXT, 32766);
	hit(TEXT + 2, 1);
	CHECK(buf[0] == 32766 && buf[1] == 1, "SOL-5 32766 is no limit");
	hit(TEXT, 1);
	CHECK(buf[0] == 32767, "SOL-5 a count reaches 32767");
	hit(TEXT, 1);
	hit(TEXT + 2, 1);
	CHECK(buf[0] == 32767 && buf[1] == 1, "SOL-5 then profiling has ended");
	memset(buf, 0, sizeof(buf));
	on(0x10000);
	hit(TEXT, 100000);
	CHECK(only(0, 32767), "SOL-5 no more than that are counted at once");
	hit(TEXT + 2, 1);
	CHECK(none(), "SOL-5 which ends it too");
	on(0x10000);
	buf[0] = 40000;
	hit(TEXT, 1);
	hit(TEXT + 2, 1);
	CHECK(only(0, 40000), "SOL-5 so does a count that is past it");
}

static void
check_off(void)
{
	on(0x10000);
	CHECK(off() == 0, "SOL-15 scale 0 is off");
	hit(TEXT, 1);
	CHECK(none(), "SOL-15 then nothing is counted");
	on(0x10000);
	CHECK(on(1) == 0, "SOL-15 scale 1 is off");
	hit(TEXT, 1);
	CHECK(none(), "SOL-15 then nothing is counted");
	CHECK(profil(buf, 0, TEXT, 0x10000) == 0, "SOL-16 bufsiz 0 is taken");
	hit(TEXT, 1);
	CHECK(none(), "SOL-16 and counts nothing");
	on(0x10000);
	CHECK(profil(buf + 1, BYTES, TEXT, 0x4000) == 0,
	      "SOL-1 a second call succeeds");
	hit(TEXT + 8, 1);
	CHECK(only(2, 1), "SOL-1 and replaces the first");
	off();
}

/* A buffer in a page that comes and goes: only an update can fault. */
static void
check_fault(void)
{
	char *end = memory_end();
	unsigned short *page = (unsigned short *)end;

	CHECK(profil(page, PAGE, TEXT, 0x10000) == 0,
	      "SOL-19 a buffer that isn't there is taken");
	hit(TEXT + PAGE, 1);
	__brk(end + PAGE);
	hit(TEXT, 1);
	CHECK(page[0] == 1, "SOL-19 a tick without a count doesn't fault");
	__brk(end);
	hit(TEXT, 1);
	__brk(end + PAGE);
	hit(TEXT, 1);
	CHECK(page[0] == 0, "SOL-19 a fault in an update turns it off");
	__brk(end);
	profil((unsigned short *)((char *)buf + 1), BYTES, TEXT, 0x10000);
	hit(TEXT, 1);
	CHECK(none(), "SOL-19 an odd address is a fault");
	profil((unsigned short *)check_slots, BYTES, TEXT, 0x10000);
	hit(TEXT, 1);
	CHECK(none(), "SOL-19 so is a page that can't be written");
	profil((unsigned short *)0xffffffff80200000, BYTES, TEXT, 0x10000);
	hit(TEXT, 1);
	CHECK(none(), "SOL-19 so is the kernel");
}

/* Where both flavours meet, the manuals say nothing. */
int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

static void
check_aix(void)
{
	on(0x10000);
	__aix_profil(buf + 1, BYTES, TEXT, 0xffff);
	__aix_profil(buf, BYTES, TEXT, 0);
	hit(TEXT, 1);
	CHECK(only(0, 1), "SOL-1 AIX's call does nothing to it");
	off();
	__aix_profil(buf + 1, BYTES, TEXT, 0xffff);
	on(0x10000);
	hit(TEXT, 1);
	CHECK(only(0, 1), "SOL-1 but is replaced by it");
	off();
}

int
main(int argc, char **argv)
{
	check_exec_again(argc);
	alarm(DEADLINE);
	ctl(PROFCLOCK, "hold");
	CHECK(on(0x10000) == 0, "SOL-4 turning it on gives 0");
	check_others("SOL-2");
	check_fork("SOL-18");
	check_exec("SOL-17", argv[0]);
	check_slots();
	check_half();
	check_threads();
	check_limit();
	check_off();
	check_fault();
	check_aix();
	check_kernel("SOL-11");
	ctl(PROFCLOCK, "go");
	return check_done();
}

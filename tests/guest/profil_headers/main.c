/*
 * The header decides which profil a file means. Three counters tell: what is
 * 65535 in one flavour ended at 32767 in the other.
 */
#include "../profil.h"

int unistd_alone(unsigned short *b);
int mon_alone(unsigned short *b);
int mon_last(unsigned short *b);
int mon_first(unsigned short *b);

/* What a counter comes to when it's hit too often. */
static unsigned int
most(int (*on)(unsigned short *b))
{
	unsigned int value;

	if (on(buf) != 0)
		return 0;
	hit(TEXT, 70000);
	value = buf[0];
	memset(buf, 0, sizeof(buf));
	profil(NULL, 0, 0, 0);
	return value;
}

int
main(void)
{
	alarm(DEADLINE);
	ctl(PROFCLOCK, "hold");
	CHECK(most(unistd_alone) == 32767, "<unistd.h> has Solaris's");
	CHECK(most(mon_alone) == 65535, "<mon.h> has AIX's");
	CHECK(most(mon_last) == 65535, "<mon.h> after <unistd.h> has AIX's");
	CHECK(most(mon_first) == 65535, "<mon.h> before <unistd.h> too");
	ctl(PROFCLOCK, "go");
	return check_done();
}

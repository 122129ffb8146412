/*
 * profil_test: both flavours of profil(2) at work. One function does three
 * times what another does; in percent, and rounded to 5, every machine says
 * the same. Each flavour has a file of its own, for the header that the file
 * includes decides which it calls.
 */
#include "profil_test.h"

#include "../../cmdlib/cmd.h"

#define LOOPS 500000
#define ROUND 5 /* percent */

static volatile int sink;

void __attribute__((noinline, aligned(AREA))) one_part(void)
{
	for (int i = 0; i < LOOPS; i++)
		sink++;
}

void __attribute__((noinline, aligned(AREA))) three_parts(void)
{
	for (int i = 0; i < 3 * LOOPS; i++)
		sink++;
}

static void
show(const char *flavour, struct parts p)
{
	unsigned int all = (p.one + p.three) * ROUND, half = all / 2;

	if (all == 0)
		all = 1;
	out_printf("%-8s %3u%% %5u%%\n", flavour,
		   (p.one * 100 + half) / all * ROUND,
		   (p.three * 100 + half) / all * ROUND);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "profil_test", "");
	cmd_flags("");
	cmd_operands(0, 0);
	out_string("flavour   one  three\n");
	show("AIX", by_aix());
	show("Solaris", by_solaris());
	return cmd_done();
}

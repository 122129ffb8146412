/* ps: the processes. */
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/processes.h"

static int
by_pid(const void *a, const void *b)
{
	return ((const struct psinfo *)a)->pid -
	       ((const struct psinfo *)b)->pid;
}

static void
print(const struct psinfo *p, uint64_t hz)
{
	uint64_t hundredths = (p->utime + p->stime) * 100 / hz;
	char name[PROCESS_NAME];

	out_printf("%5d %5d %5d %c %4d %3u:%02u.%02u %7llu %7llu ", (int)p->pid,
		   (int)p->ppid, (int)p->pgrp, p->state, p->hart,
		   (unsigned int)(hundredths / 6000),
		   (unsigned int)(hundredths / 100 % 60),
		   (unsigned int)(hundredths % 100),
		   (unsigned long long)p->size / 1024,
		   (unsigned long long)p->resident / 1024);
	out_name(process_name(p, name));
	out_char('\n');
}

int
main(int argc, char **argv)
{
	struct psinfo *info;
	struct sysinfo machine;
	int count;

	cmd_start(argc, argv, "ps", "");
	cmd_flags("");
	cmd_operands(0, 0);
	if (sysinfo(&machine, sizeof(machine)) < 0)
		cmd_die("sysinfo");
	info = processes(&count);
	qsort(info, count, sizeof(*info), by_pid);
	out_string("  PID  PPID  PGRP S HART      TIME  SIZE/K   RSS/K NAME\n");
	for (int i = 0; i < count; i++)
		print(&info[i], machine.hz);
	return cmd_done();
}

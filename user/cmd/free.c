/* free: how much memory there is, and how much is used. */
#include <sys/sysinfo.h>

#include "../cmdlib/cmd.h"

static void
print(uint64_t bytes)
{
	char text[CMD_HUMAN];

	if (cmd_given['h'])
		out_printf(" %10s", cmd_human(bytes, text));
	else
		out_printf(" %10llu", (unsigned long long)bytes / 1024);
}

int
main(int argc, char **argv)
{
	struct sysinfo info;
	uint64_t page;

	cmd_start(argc, argv, "free", "[-h]");
	cmd_flags("h");
	cmd_operands(0, 0);
	if (sysinfo(&info, sizeof(info)) < 0)
		cmd_die("sysinfo");
	page = info.page_size;
	out_printf("%18s %10s %10s\n", "total", "used", "free");
	out_string("memory:");
	print(info.pages_total * page);
	print((info.pages_total - info.pages_free) * page);
	print(info.pages_free * page);
	out_char('\n');
	return cmd_done();
}

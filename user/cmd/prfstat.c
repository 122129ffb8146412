/* prfstat: turn the profiler prf on or off, and say how it is. */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prf.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/prflog.h"

int
main(int argc, char **argv)
{
	const char *word;

	cmd_start(argc, argv, "prfstat", "[-f DEVICE] [on | off]");
	prf_open(0, 1);
	word = cmd_argc > 0 ? cmd_argv[0] : "";
	if (strcmp(word, "on") == 0)
		prf_enable();
	else if (strcmp(word, "off") == 0)
		ioctl(prf_fd, PRF_SETSTATE, 0);
	else if (cmd_argc > 0)
		cmd_usage("not on or off: %s", word);
	out_printf("profiling %s\n%zu addresses loaded\n",
		   prf_enabled() ? "enabled" : "disabled", prf_size());
	return cmd_done();
}

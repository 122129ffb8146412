/* date: the date and time, in UTC. */
#include <time.h>

#include "../cmdlib/cmd.h"

#define TEXT_MAX 1024

int
main(int argc, char **argv)
{
	const char *format = "+%a %b %e %H:%M:%S UTC %Y";
	char text[TEXT_MAX];
	struct timespec now;
	size_t length;

	cmd_start(argc, argv, "date", "[-u] [+FORMAT]");
	cmd_flags("u"); /* which it is anyway */
	cmd_operands(0, 1);
	if (cmd_argc > 0)
		format = cmd_argv[0];
	if (*format != '+')
		cmd_usage("a format must begin with +: %s", format);
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		cmd_die("clock");
	length = strftime(text, sizeof(text), format, gmtime(&now.tv_sec));
	if (length == 0)
		cmd_usage("the result is too long: %s", format);
	/* The + went through too: an empty format is then no special case. */
	out_bytes(text + 1, length - 1);
	out_char('\n');
	return cmd_done();
}

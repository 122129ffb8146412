/* sleep: do nothing for some seconds, which may have a fraction. */
#include <errno.h>
#include <time.h>

#include "../cmdlib/cmd.h"

#define NANOSECONDS 1000000000L /* in a second */

static struct timespec
duration(const char *text)
{
	struct timespec time = {0};
	const char *c = text;
	long unit = NANOSECONDS;

	for (; *c >= '0' && *c <= '9' && time.tv_sec < INT32_MAX; c++)
		time.tv_sec = time.tv_sec * 10 + *c - '0';
	if (*c == '.') {
		for (c++; *c >= '0' && *c <= '9'; c++) {
			unit /= 10;
			time.tv_nsec += (*c - '0') * unit;
		}
	}
	if (*c || c == text || (*text == '.' && c == text + 1))
		cmd_usage("not a time in seconds: %s", text);
	return time;
}

int
main(int argc, char **argv)
{
	struct timespec time;

	cmd_start(argc, argv, "sleep", "SECONDS");
	cmd_flags("0");
	cmd_operands(1, 1);
	time = duration(cmd_argv[0]);
	while (nanosleep(&time, &time) < 0) {
		if (errno != EINTR)
			cmd_die("nanosleep");
	}
	return cmd_done();
}

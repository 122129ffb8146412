/* touch: make files newer, or make them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

static void
touch(const char *path)
{
	int fd;

	if (utimens(path, NULL) == 0)
		return;
	if (errno == ENOENT && cmd_given['c'])
		return;
	if (errno == ENOENT) {
		fd = open(path, O_WRONLY | O_CREAT, 0666);
		if (fd >= 0) {
			close(fd);
			return;
		}
	}
	cmd_warn("%s", path);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "touch", "[-c] FILE ...");
	cmd_flags("c");
	cmd_operands(1, CMD_MANY);
	for (char **path = cmd_argv; *path; path++)
		touch(*path);
	return cmd_done();
}

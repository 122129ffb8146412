/* ln: give files more names, or make symbolic links. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

static int
make(const char *from, const char *to)
{
	return cmd_given['s'] ? symlink(from, to) : link(from, to);
}

/* With -f in place of what is there, unless that is the file itself. */
static void
ln(const char *from, const char *to)
{
	struct stat a, b;

	if (make(from, to) == 0)
		return;
	if (errno != EEXIST || !cmd_given['f']) {
		cmd_warn("%s", to);
		return;
	}
	if (!cmd_given['s'] && lstat(from, &a) == 0 && lstat(to, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return;
	if (unlink(to) < 0 || make(from, to) < 0)
		cmd_warn("%s", to);
}

int
main(int argc, char **argv)
{
	cmd_start(argc, argv, "ln", "[-fs] FROM ... [TO]");
	cmd_flags("fs");
	cmd_operands(1, CMD_MANY);
	if (cmd_argc == 1)
		ln(cmd_argv[0], cmd_base(cmd_argv[0]));
	else
		cmd_onto(ln);
	return cmd_done();
}

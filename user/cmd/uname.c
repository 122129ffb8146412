/* uname: the names of the system, its release and the machine. */
#include <sys/utsname.h>

#include "../cmdlib/cmd.h"

int
main(int argc, char **argv)
{
	static const char letters[] = "snrvm"; /* in order of printing */
	struct utsname u;
	const char *names[] = {u.sysname, u.nodename, u.release, u.version,
			       u.machine};
	bool any = false;

	cmd_start(argc, argv, "uname", "[-amnrsv]");
	cmd_flags("amnrsv");
	cmd_operands(0, 0);
	if (uname(&u) < 0)
		cmd_die("uname");
	for (int i = 0; letters[i]; i++)
		any = any || cmd_given[(int)letters[i]];
	if (!any && !cmd_given['a'])
		cmd_given['s'] = true;
	any = false;
	for (int i = 0; letters[i]; i++) {
		if (!cmd_given['a'] && !cmd_given[(int)letters[i]])
			continue;
		if (any)
			out_char(' ');
		out_string(names[i]);
		any = true;
	}
	out_char('\n');
	return cmd_done();
}

/* See processes.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "processes.h"

#define SPARE        8 /* room for processes that start while we ask */
#define PATH_DEFAULT "/bin"

struct psinfo *
processes(int *count)
{
	static struct psinfo *info;
	static int room;
	int n;

	while ((n = psinfo(info, room)) > room) {
		room = n + SPARE;
		info = cmd_realloc(info, room * sizeof(*info));
	}
	if (n < 0)
		cmd_die("psinfo");
	*count = n;
	return info;
}

const char *
process_name(const struct psinfo *p, char name[PROCESS_NAME])
{
	memcpy(name, p->name, sizeof(p->name));
	name[sizeof(p->name)] = '\0';
	return name;
}

char *
process_program(const char *name)
{
	const char *path = getenv("PATH");
	char *dirs = strdup(path ? path : PATH_DEFAULT), *rest = dirs;
	char *dir, *file = NULL;

	if (!dirs)
		cmd_die("memory");
	while (!file && (dir = cmd_piece(&rest, ":"))) {
		file = cmd_join(*dir ? dir : ".", name);
		if (access(file, R_OK) < 0) {
			free(file);
			file = NULL;
		}
	}
	free(dirs);
	if (!file && access(name, R_OK) == 0)
		file = cmd_join(".", name);
	return file;
}

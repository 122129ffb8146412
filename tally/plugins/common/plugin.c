/* Code that all plugins share: see plugin.h. */
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int qemu_plugin_version = API;

const char *result_file = "/dev/null";
static const char *map_file;

void
die(const char *what)
{
	fprintf(stderr, "%s: %s\n", plugin_name, what);
	exit(1);
}

char *
beside_map(const char *name)
{
	const char *slash = strrchr(map_file, '/');
	size_t folder = slash == NULL ? 0 : slash + 1 - map_file;
	char *path = malloc(folder + strlen(name) + 1);

	if (path == NULL)
		die("no memory");
	memcpy(path, map_file, folder);
	strcpy(path + folder, name);
	return path;
}

uint32_t
instruction_code(const struct qemu_plugin_insn *insn)
{
	uint32_t code = 0;
#if API == 1
	memcpy(&code, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
#else
	qemu_plugin_insn_data(insn, &code, qemu_plugin_insn_size(insn));
#endif
	return code;
}

#if API > 1
struct qemu_plugin_register *
register_find(const char *name)
{
	GArray *all = qemu_plugin_get_registers();
	struct register_descriptor *d = (struct register_descriptor *)all->data;

	for (unsigned int i = 0; i < all->len; i++)
		if (strcmp(d[i].name, name) == 0)
			return d[i].handle;
	return NULL;
}

uint64_t
register_read(struct qemu_plugin_register *r)
{
	static GByteArray *value;
	uint64_t v;

	if (value == NULL)
		value = g_byte_array_new();
	g_byte_array_set_size(value, 0);
	if (r == NULL || qemu_plugin_read_register(r, value) != sizeof(v))
		die("a register can't be read");
	memcpy(&v, value->data, sizeof(v));
	return v;
}
#endif

static void
read_map(void)
{
	FILE *f = fopen(map_file, "r");
	char line[512], name[256];

	if (f == NULL)
		die("the map can't be read");
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "result %255s", name) == 1)
			result_file = beside_map(name);
		else
			plugin_line(line);
	}
	fclose(f);
}

EXPORTED int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
		    char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "map=", 4) != 0)
		die("map=FILE is the one argument");
	map_file = argv[0] + 4;
	read_map();
	plugin_start(id);
	return 0;
}

/*
 * Code that all plugins share: loading with a map, fatal errors, and reading
 * registers.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include "qemu.h"

#define HARTS 16 /* of a machine, at most */

/* Each plugin defines its name, a function that gets each line of the map, and
 * one that is called after the last line. */
extern const char plugin_name[];
void plugin_line(const char *line);
void plugin_start(qemu_plugin_id_t id);

extern const char *result_file; /* from the map's line `result NAME' */

/* The path of a file that the map names, which is in the map's folder. Call it
 * while the map is read. */
char *beside_map(const char *name);

/* Print an error and exit QEMU. */
void die(const char *what);

uint32_t instruction_code(const struct qemu_plugin_insn *insn);

#if API > 1
/* Call it when a new hart is initialised; NULL: there is no such register. */
struct qemu_plugin_register *register_find(const char *name);
/* Read the executing hart's register, in a callback with READS_REGISTERS. */
uint64_t register_read(struct qemu_plugin_register *r);
#endif

#endif

/*
 * What the plugins here have in common: how QEMU loads one with the map that it
 * reads, how it gives up, and how it asks for registers.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include "qemu.h"

#define HARTS 16 /* at most, of a machine */

/* Each plugin has these: what it is called, what it does with a line of the
 * map, and when it has seen them all. */
extern const char plugin_name[];
void plugin_line(const char *line);
void plugin_start(qemu_plugin_id_t id);

extern const char *result_file; /* of the map's line `result NAME' */

/* Files that the map names lie in its own folder, whatever that is called: the
 * path of one, while the map is read. */
char *beside_map(const char *name);

/* Say what is wrong, and end QEMU. */
void die(const char *what);

uint32_t instruction_code(const struct qemu_plugin_insn *insn);

#if API > 1
/* For a callback of a new hart; NULL: there is none. */
struct qemu_plugin_register *register_find(const char *name);
/* Of the hart that executes; its callback must say READS_REGISTERS. */
uint64_t register_read(struct qemu_plugin_register *r);
#endif

#endif

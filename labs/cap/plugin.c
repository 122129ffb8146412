/*
 * How many instructions a boot executes, and an end to it when they are more
 * than the map's line `cap N' allows: what hangs with interrupts off hangs for
 * good, as far as the kernel's own time limit knows. The result is the number,
 * and before it, a line each, those at which observe.c executed its mark. That
 * is an instruction without an effect, which no compiler makes: slti x0, x0.
 * In the kernel, whose addresses are negative, it is no mark.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugin.h"

const char plugin_name[] = "cap";

#define MARK 0x5a102013

static uint64_t cap, executed_all;
static uint64_t *marks;
static size_t nmarks;

static void
tell(void)
{
	FILE *f = fopen(result_file, "w");

	if (f == NULL)
		die("the result can't be written");
	for (size_t i = 0; i < nmarks; i++)
		fprintf(f, "%" PRIu64 "\n", marks[i]);
	fprintf(f, "%" PRIu64 "\n", executed_all);
	fclose(f);
}

/* Under icount all harts are one thread of QEMU's. */
static void
block_executed(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	executed_all += (uintptr_t)udata;
	if (executed_all > cap) {
		tell();
		_exit(1);
	}
}

static void
mark_executed(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	marks = realloc(marks, (nmarks + 1) * sizeof(*marks));
	if (marks == NULL)
		die("no memory");
	marks[nmarks++] = executed_all;
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_executed, NO_REGISTERS,
					     (void *)(uintptr_t)n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if ((int64_t)qemu_plugin_insn_vaddr(insn) >= 0 &&
		    instruction_code(insn) == MARK)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, mark_executed, NO_REGISTERS, NULL);
	}
}

static void
at_exit(qemu_plugin_id_t id, void *udata)
{
	(void)id;
	(void)udata;
	tell();
}

void
plugin_line(const char *line)
{
	if (sscanf(line, "cap %" SCNu64, &cap) != 1)
		die("a line of the map can't be read");
}

void
plugin_start(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
}

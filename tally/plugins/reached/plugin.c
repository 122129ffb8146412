/*
 * Records which kernel instructions a boot executes. For each two bytes of text
 * the result has the length, in such pairs, of the longest block that was
 * executed from there; 0: none began there. The result is a mapped file, so
 * that it is complete even if QEMU is killed.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin.h"

const char plugin_name[] = "reached";

/* The low halves of addresses: the kernel starts at its physical address. */
static uint32_t start, end;
static uint16_t *reached;

/* A block in one word: its offset and its length, in pairs. */
#define LENGTH_BITS 16

static void
block_executed(unsigned int vcpu, void *udata)
{
	uintptr_t block = (uintptr_t)udata;
	uint16_t length = block & ((1 << LENGTH_BITS) - 1);
	uint16_t *r = &reached[block >> LENGTH_BITS];
	uint16_t known = *r;

	(void)vcpu;
	/* Without icount harts are threads: never lower another's value. */
	while (known < length &&
	       !__atomic_compare_exchange_n(r, &known, length, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(
	    tb, qemu_plugin_tb_n_insns(tb) - 1);
	uint64_t from = qemu_plugin_insn_vaddr(first);
	uint64_t to = qemu_plugin_insn_vaddr(last) +
		      qemu_plugin_insn_size(last);
	uintptr_t at = (uint32_t)from - start;

	(void)id;
	if ((uint32_t)from < start || (uint32_t)from + (to - from) > end)
		return;
	qemu_plugin_register_vcpu_tb_exec_cb(
	    tb, block_executed, NO_REGISTERS,
	    (void *)(at / 2 << LENGTH_BITS | (to - from) / 2));
}

void
plugin_line(const char *line)
{
	if (sscanf(line, "text %x %x", &start, &end) != 2)
		die("a line of the map can't be read");
}

/* Each QEMU writes a file of its own: the name in the map is a pattern. */
void
plugin_start(qemu_plugin_id_t id)
{
	size_t size = end - start;
	char *name = strdup(result_file);
	int fd = name == NULL ? -1 : mkstemp(name);

	if (fd < 0 || ftruncate(fd, size) != 0)
		die("the result can't be written");
	reached = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (reached == MAP_FAILED)
		die("the result can't be mapped");
	close(fd);
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
}

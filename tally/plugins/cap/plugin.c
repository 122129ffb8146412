/*
 * Counts the instructions that are executed from the kernel's first one on,
 * and stops the machine when there are more than the map's line `cap N' allows,
 * or, with a line `silent N ADDRESS', when N are executed without a trap;
 * ADDRESS is where all traps begin. The kernel's own time limit can't end a
 * hang with interrupts off. The result has a line with the count at each mark
 * of observe, then the total. A mark is an instruction that has no effect and
 * that no compiler makes, slti x0, x0, in user mode.
 *
 * The result also has a line `store PC ADDRESS' for each store of the student's
 * code to data of the kernel, up to 64. Lines of the map, `own START END', name
 * the memory of the student's files, including their code; `data START END' is
 * all of the kernel's data, and `free START END' are parts of it to which the
 * lab allows stores.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin.h"

const char plugin_name[] = "cap";

#define MARK 0x5a102013

enum { RANGES_MAX = 256, STORES_MAX = 64 };

/* A translated block; never freed, as QEMU doesn't say when it drops one. */
struct block {
	uint64_t pc;
	size_t n; /* instructions */
	int trap; /* all traps begin here */
};

struct range {
	uint64_t start, end;
};
struct ranges {
	struct range all[RANGES_MAX];
	size_t n;
};

static int begun; /* has the kernel begun? */
static uint64_t cap, executed_all;
static uint64_t limit; /* the count at which to stop: cap, or less */
static uint64_t silent, trap_vector;
static pid_t parent; /* the process that started QEMU */
static uint64_t *marks;
static size_t nmarks;
static struct ranges own, data, allowed;
static struct {
	uint64_t pc, address;
} stores[STORES_MAX];
static size_t nstores;

static void
tell(void)
{
	FILE *f = fopen(result_file, "w");

	if (f == NULL)
		die("the result can't be written");
	for (size_t i = 0; i < nmarks; i++)
		fprintf(f, "%" PRIu64 "\n", marks[i]);
	for (size_t i = 0; i < nstores; i++)
		fprintf(f, "store 0x%" PRIx64 " 0x%" PRIx64 "\n", stores[i].pc,
			stores[i].address);
	fprintf(f, "%" PRIu64 "\n", executed_all);
	fclose(f);
}

/* Stop the machine, so that QEMU's monitor can show its registers and memory
 * (if tally/boot/main_loop.c allows it), until the parent kills QEMU, or has
 * exited. */
static void
stand_still(unsigned int vcpu, uint64_t pc)
{
	void (*main_loop_open)(void) = dlsym(RTLD_DEFAULT, "main_loop_open");

	tell();
	if (main_loop_open != NULL)
		main_loop_open();
	fprintf(stderr, "cap: %s on hart %u at 0x%" PRIx64 "\n",
		limit < cap ? "silent" : "over", vcpu, pc);
	while (getppid() == parent)
		sleep(1);
	_exit(1);
}

/* Needs no lock: under icount QEMU executes all harts in one thread. */
static void
block_executed(unsigned int vcpu, void *udata)
{
	const struct block *b = udata;

	/* Kernel addresses are negative, the firmware's are not. */
	begun |= (int64_t)b->pc < 0;
	if (!begun)
		return;
	executed_all += b->n;
	if (b->trap)
		limit = executed_all + silent < cap ? executed_all + silent
						    : cap;
	if (executed_all > limit)
		stand_still(vcpu, b->pc);
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

static int
holds(const struct ranges *r, uint64_t address)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].start <= address && address < r->all[i].end)
			return 1;
	return 0;
}

/* udata is the instruction's address. */
static void
accessed_by_student(unsigned int vcpu, uint32_t info, uint64_t address,
		    void *udata)
{
	uint64_t pc = (uintptr_t)udata;

	(void)vcpu;
	if (!qemu_plugin_mem_is_store(info) || !holds(&data, address) ||
	    holds(&own, address) || holds(&allowed, address))
		return;
	for (size_t i = 0; i < nstores; i++)
		if (stores[i].pc == pc && stores[i].address == address)
			return;
	if (nstores < STORES_MAX) {
		stores[nstores].pc = pc;
		stores[nstores++].address = address;
	}
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct block *b = malloc(sizeof(*b));

	(void)id;
	if (b == NULL)
		die("no memory");
	*b = (struct block){pc, n, silent != 0 && pc == trap_vector};
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_executed, NO_REGISTERS,
					     b);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if ((int64_t)qemu_plugin_insn_vaddr(insn) >= 0 &&
		    instruction_code(insn) == MARK)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, mark_executed, NO_REGISTERS, NULL);
		if (holds(&own, qemu_plugin_insn_vaddr(insn)))
			qemu_plugin_register_vcpu_mem_cb(
			    insn, accessed_by_student, NO_REGISTERS, ACCESSES,
			    (void *)qemu_plugin_insn_vaddr(insn));
	}
}

static void
at_exit(qemu_plugin_id_t id, void *udata)
{
	(void)id;
	(void)udata;
	tell();
}

static struct ranges *
ranges_of(const char *word)
{
	return !strcmp(word, "own")    ? &own
	       : !strcmp(word, "data") ? &data
	       : !strcmp(word, "free") ? &allowed
				       : NULL;
}

void
plugin_line(const char *line)
{
	struct ranges *ranges = NULL;
	struct range r;
	char word[8];

	if (sscanf(line, "cap %" SCNu64, &cap) == 1 ||
	    sscanf(line, "silent %" SCNu64 " %" SCNx64, &silent,
		   &trap_vector) == 2)
		return;
	if (sscanf(line, "%7s %" SCNx64 " %" SCNx64, word, &r.start, &r.end) ==
	    3)
		ranges = ranges_of(word);
	if (ranges == NULL || ranges->n == RANGES_MAX)
		die("a line of the map can't be read");
	ranges->all[ranges->n++] = r;
}

void
plugin_start(qemu_plugin_id_t id)
{
	parent = getppid();
	limit = cap;
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
}

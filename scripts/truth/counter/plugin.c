/*
 * What QEMU calls: when it loads the plugin, translates a block of code, and
 * ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"

const char plugin_name[] = "counter";

#define MARKS        256
#define FIRMWARE     0x80000000
#define FIRMWARE_END 0x80200000

static struct mark marks[MARKS];
static unsigned int nmarks;
static struct program programs[PROGRAMS];
static unsigned int nprograms;
static bool stacks; /* are what is followed, and nothing counted */

/* --- Translation --- */

static uint32_t
code_of(struct qemu_plugin_insn *insn)
{
	uint32_t code = 0;
#if API == 1
	memcpy(&code, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
#else
	qemu_plugin_insn_data(insn, &code, qemu_plugin_insn_size(insn));
#endif
	return code;
}

static bool
has(const struct program *p, struct qemu_plugin_insn *insn)
{
	uint64_t at = qemu_plugin_insn_vaddr(insn);
	size_t size = qemu_plugin_insn_size(insn);
	uint32_t code = code_of(insn);

	return p->start <= at && at + size <= p->end &&
	       memcmp(&code, p->text + (at - p->start), size) == 0;
}

/* The programs that have all instructions of a block where it lies, as bits.
 * If there is none it is in program 0, which isn't the kernel here. */
static unsigned int
programs_of(const struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	unsigned int found = 0;

	for (unsigned int p = 1; p < nprograms; p++) {
		size_t i = 0;

		while (i < n &&
		       has(&programs[p], qemu_plugin_tb_get_insn(tb, i)))
			i++;
		if (i == n)
			found |= 1U << p;
	}
	return found ? found : 1;
}

static struct place *
place_of(uint64_t at, unsigned int found)
{
	struct place *place = calloc(1, sizeof(*place));

	if (place == NULL)
		die("no memory");
	place->first = __builtin_ctz(found);
	for (unsigned int p = 0; p < nprograms; p++)
		if (found & 1U << p)
			place->in[p] =
			    p ? &programs[p].sites[(at - programs[p].start) / 2]
			      : &elsewhere;
	return place;
}

/* Callbacks come in the order in which they are registered. */
static void
watch(struct qemu_plugin_insn *insn, executed *count, void *udata)
{
	uint64_t at = qemu_plugin_insn_vaddr(insn);

	for (unsigned int i = 0; i < nmarks; i++)
		if (marks[i].address == at)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, before_executed, NO_REGISTERS, &marks[i]);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, count, NO_REGISTERS,
					       udata);
	for (unsigned int i = 0; i < nmarks; i++)
		if (marks[i].address == at)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, after_executed, NO_REGISTERS, &marks[i]);
	for (unsigned int i = 0; i < nmarks; i++)
		if (marks[i].address == at && landmark_switches(marks[i].what))
			qemu_plugin_register_vcpu_mem_cb(
			    insn, switched, NO_REGISTERS, ACCESSES, NULL);
}

/* The same, but for the stacks. */
static void
watch_stacks(struct qemu_plugin_insn *insn, bool in_kernel)
{
	uint64_t at = qemu_plugin_insn_vaddr(insn);
	void *step = stacks_step(at, qemu_plugin_insn_size(insn), code_of(insn),
				 in_kernel);

	for (unsigned int i = 0; i < nmarks; i++)
		if (marks[i].address == at)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, stacks_before, NO_REGISTERS, &marks[i]);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, stacks_executed,
					       NO_REGISTERS, step);
	for (unsigned int i = 0; i < nmarks; i++)
		if (marks[i].address == at) {
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, stacks_after, NO_REGISTERS, &marks[i]);
			qemu_plugin_register_vcpu_mem_cb(insn, stacks_accessed,
							 NO_REGISTERS, ACCESSES,
							 &marks[i]);
		}
}

#if API > 1
static struct qemu_plugin_register *mhartid;

static void
vcpu_ready(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	(void)vcpu;
	mhartid = register_find("mhartid");
}

static void
block_executed(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	if (stacks)
		stacks_hart(register_read(mhartid));
	else
		follow_hart(register_read(mhartid));
}
#endif

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	unsigned int user = 0;

	(void)id;
#if API > 1
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_executed,
					     READS_REGISTERS, NULL);
#endif
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t at = qemu_plugin_insn_vaddr(insn);
		struct program *kernel = programs;
		bool in_kernel = kernel->start <= at && at < kernel->end;

		if (stacks) {
			if (in_kernel || at < FIRMWARE)
				watch_stacks(insn, in_kernel);
		} else if (in_kernel) {
			watch(insn, kernel_executed,
			      &kernel->sites[(at - kernel->start) / 2]);
		} else if (FIRMWARE <= at && at < FIRMWARE_END) {
			watch(insn, firmware_executed, NULL);
		} else {
			if (user == 0)
				user = programs_of(tb);
			watch(insn, user_executed, place_of(at, user));
		}
	}
}

/* --- The beginning and the end --- */

static void
write_result(qemu_plugin_id_t id, void *udata)
{
	FILE *f = fopen(result_file, "w");

	(void)id;
	(void)udata;
	if (stacks)
		stacks_end();
	if (f == NULL)
		die("the result can't be written");
	for (unsigned int i = 0; i < nprograms; i++) {
		struct program *p = &programs[i];

		for (uint64_t at = p->start; at < p->end; at += 2) {
			struct site *s = &p->sites[(at - p->start) / 2];

			if (s->counted || s->left_out || s->charged)
				fprintf(f, "site %u %lx %lu %lu %lu\n", i, at,
					s->counted, s->left_out, s->charged);
		}
	}
	fprintf(f, "elsewhere %lu\n", elsewhere.counted);
	for (struct window *w = windows; w->times; w++)
		fprintf(f, "masked %lx %lx %d %u %lu\n", w->from, w->to,
			w->sampler, w->longest, w->times);
	if (fclose(f) != 0)
		die("the result can't be written");
}

/* Code that is to be counted; and if more than one program can lie there, the
 * file that holds what this one's is. */
static void
add_program(uint64_t start, uint64_t end, const char *file)
{
	struct program *p = &programs[nprograms++];
	size_t size = end - start;
	FILE *f;

	if (nprograms > PROGRAMS)
		die("too many programs");
	p->start = start;
	p->end = end;
	p->sites = calloc(size / 2 + 1, sizeof(*p->sites));
	p->text = malloc(size);
	if (p->sites == NULL || p->text == NULL)
		die("no memory");
	if (strcmp(file, "-") == 0)
		return;
	f = fopen(file, "rb");
	if (f == NULL || fread(p->text, 1, size, f) != size)
		die("a program can't be read");
	fclose(f);
}

static void
add_mark(const char *name, uint64_t address, uint64_t offset)
{
	struct mark m = {.address = address, .offset = offset};

	if (stacks)
		m.stack = stacks_landmark(name);
	else
		m.what = landmark_find(name);
	if ((m.what == NULL && m.stack == NULL) || nmarks == MARKS)
		die("a landmark is unknown, or there are too many");
	marks[nmarks++] = m;
}

/* Lines: program START END FILE; stacks FILE, which is the result then; and
 * landmarks, NAME ADDRESS OFFSET. Numbers are in hexadecimal. */
void
plugin_line(const char *line)
{
	unsigned long start, end = 0;
	char word[256], file[512];

	if (sscanf(line, "program %lx %lx %511s", &start, &end, file) == 3)
		add_program(start, end, file);
	else if (sscanf(line, "stacks %511s", file) == 1)
		stacks = true, stacks_init(file);
	else if (sscanf(line, "%255s %lx %lx", word, &start, &end) >= 2)
		add_mark(word, start, end);
	else
		die("a line of the map makes no sense");
}

void
plugin_start(qemu_plugin_id_t id)
{
	follow_init();
#if API > 1
	qemu_plugin_register_vcpu_init_cb(id, vcpu_ready);
#endif
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, write_result, NULL);
}

/*
 * The functions that QEMU calls: when it loads the plugin, translates a block
 * of code, and exits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "kernel/base/layout.h"

const char plugin_name[] = "counter";

#define MARKS        256
#define MOST_ALIKE   64 /* programs with the same page, at most */
#define FIRMWARE     0x80000000
#define FIRMWARE_END (KERNEL_BASE - DIRECT_BASE)

static struct mark marks[MARKS];
static unsigned int nmarks;
static struct program *programs;
static unsigned int nprograms;
/* Count instructions by address; or follow calls, for stacks or the tree. */
static enum { COUNTS, STACKS, TREE } mode;

/* --- Translation --- */

/* Does the program have the same bytes in the page of this instruction? */
static bool
has_page(const struct program *p, struct qemu_plugin_insn *insn)
{
	uint64_t at = qemu_plugin_insn_vaddr(insn),
		 page = at / PAGE_SIZE * PAGE_SIZE;
	uint64_t low = page < p->start ? p->start : page;
	uint64_t high = page + PAGE_SIZE < p->end ? page + PAGE_SIZE : p->end;
	const unsigned char *text = qemu_plugin_insn_haddr(insn);

	return text != NULL && low <= at && at < high &&
	       memcmp(text - (at - low), p->text + (low - p->start),
		      high - low) == 0;
}

/* The programs, except the kernel, that contain an instruction. */
static const struct alike {
	uint64_t page;
	unsigned int n, program[MOST_ALIKE];
} * programs_of(struct qemu_plugin_insn *insn, bool begins)
{
	static struct alike found;
	uint64_t page = qemu_plugin_insn_vaddr(insn) / PAGE_SIZE;

	if (!begins && page == found.page)
		return &found;
	found.page = page;
	found.n = 0;
	for (unsigned int p = 1; p < nprograms && found.n < MOST_ALIKE; p++)
		if (has_page(&programs[p], insn))
			found.program[found.n++] = p;
	return &found;
}

/* If no program has it, it is elsewhere, as program 0 (not the kernel here). */
static struct place *
place_of(uint64_t at, const struct alike *found)
{
	struct place *place = calloc(1, sizeof(*place) +
					    nprograms * sizeof(place->in[0]));

	if (place == NULL)
		die("no memory");
	if (found->n == 0)
		place->in[0] = &elsewhere;
	else
		place->first = found->program[0];
	for (unsigned int i = 0; i < found->n; i++) {
		struct program *p = &programs[found->program[i]];

		place->in[found->program[i]] = &p->sites[(at - p->start) / 2];
	}
	return place;
}

/* The function at an address: each extends to the next one. */
static struct function *
function_at(const struct program *p, uint64_t at)
{
	unsigned int low = 0, high = p->nfunctions;

	while (high - low > 1) {
		unsigned int middle = (low + high) / 2;

		*(p->functions[middle].start <= at ? &low : &high) = middle;
	}
	return &p->functions[low];
}

/* The first mark at an address from m on; NULL: there are no more. */
static struct mark *
mark_at(struct mark *m, uint64_t at)
{
	for (; m < marks + nmarks; m++)
		if (m->address == at)
			return m;
	return NULL;
}

/* QEMU calls back in the order of registration. */
static void
watch(struct qemu_plugin_insn *insn, executed *count, void *udata)
{
	uint64_t at = qemu_plugin_insn_vaddr(insn);
	struct mark *m, *found = mark_at(marks, at);

	for (m = found; m; m = mark_at(m + 1, at))
		if (m->what->before)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, follow_before, NO_REGISTERS, m);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, count, NO_REGISTERS,
					       udata);
	for (m = found; m; m = mark_at(m + 1, at)) {
		if (m->what->after)
			qemu_plugin_register_vcpu_insn_exec_cb(
			    insn, follow_after, NO_REGISTERS, m);
		if (m->what->accessed)
			qemu_plugin_register_vcpu_mem_cb(
			    insn, follow_accessed, NO_REGISTERS, ACCESSES, m);
	}
}

/* For the tree: the function that an instruction is in, of each program. */
static void
add_functions(struct step *s, struct qemu_plugin_insn *insn,
	      const struct alike *found)
{
	s->functions = calloc(found->n + 1, sizeof(struct function *));
	if (s->functions == NULL)
		die("no memory");
	for (unsigned int i = 0; i < found->n; i++) {
		struct function *f = function_at(&programs[found->program[i]],
						 s->at);

		s->functions[s->nfunctions++] = f;
		if (f->start == s->at && (f->sets || f->jumps))
			qemu_plugin_register_vcpu_mem_cb(
			    insn, f->sets ? calls_setjmp : calls_longjmp,
			    NO_REGISTERS, ACCESSES, NULL);
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
	follow_hart(register_read(mhartid));
}
#endif

static void
follow(struct qemu_plugin_insn *insn, bool in_kernel, bool begins)
{
	static const struct alike kernel = {.n = 1, .program = {0}};
	struct step *s = step_new(qemu_plugin_insn_vaddr(insn),
				  qemu_plugin_insn_size(insn),
				  instruction_code(insn), in_kernel);

	if (mode == TREE)
		add_functions(s, insn,
			      in_kernel ? &kernel : programs_of(insn, begins));
	watch(insn, mode == TREE ? tree_executed : stacks_executed, s);
}

/* begins: it is the first instruction of its block. */
static void
insn_translated(struct qemu_plugin_insn *insn, bool begins)
{
	uint64_t at = qemu_plugin_insn_vaddr(insn);
	struct program *kernel = programs;
	bool in_kernel = kernel->start <= at && at < kernel->end;

	if (FIRMWARE <= at && at < FIRMWARE_END) {
		if (mode == COUNTS)
			watch(insn, firmware_executed, NULL);
		else if (mode == TREE)
			watch(insn, tree_firmware, NULL);
	} else if (mode != COUNTS) {
		if (in_kernel || (USER_BASE <= at && at < FIRMWARE))
			follow(insn, in_kernel, begins);
	} else if (in_kernel) {
		watch(insn, kernel_executed,
		      &kernel->sites[(at - kernel->start) / 2]);
	} else {
		watch(insn, user_executed,
		      place_of(at, programs_of(insn, begins)));
	}
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
#if API > 1
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_executed,
					     READS_REGISTERS, NULL);
#endif
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		insn_translated(qemu_plugin_tb_get_insn(tb, i), i == 0);
}

/* --- The beginning and the end --- */

static void
write_counts(void)
{
	FILE *f = fopen(result_file, "w");

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
	fprintf(f, "taken %lu %lu\n", taken.all, taken.wrong);
	for (struct window *w = windows; w->times; w++)
		fprintf(f, "masked %lx %lx %d %u %lu\n", w->from, w->to,
			w->sampler, w->longest, w->times);
	if (fclose(f) != 0)
		die("the result can't be written");
}

static void
write_result(qemu_plugin_id_t id, void *udata)
{
	(void)id;
	(void)udata;
	if (mode == STACKS)
		stacks_end();
	else if (mode == TREE)
		tree_end(result_file);
	else
		write_counts();
}

/* Add an element, all zero, to an array of n; returns its new address. */
static void *
grown(void *array, unsigned int n, size_t size)
{
	/* The room is a power of two: at these it is full. */
	if ((n & (n - 1)) == 0)
		array = realloc(array, (n ? 2 * n : 1) * size);
	if (array == NULL)
		die("no memory");
	return memset((char *)array + n * size, 0, size) - n * size;
}

/* Add code to count. file has its bytes, which tell it from other programs at
 * the same addresses; "-": none can be there. */
static void
add_program(uint64_t start, uint64_t end, const char *file)
{
	struct program *p;
	size_t size = end - start;
	FILE *f;

	programs = grown(programs, nprograms, sizeof(*programs));
	p = &programs[nprograms++];
	p->start = start;
	p->end = end;
	p->text = malloc(size);
	if (mode == COUNTS)
		p->sites = calloc(size / 2 + 1, sizeof(*p->sites));
	if (p->text == NULL || (mode == COUNTS && p->sites == NULL))
		die("no memory");
	if (strcmp(file, "-") == 0)
		return;
	f = fopen(beside_map(file), "rb");
	if (f == NULL || fread(p->text, 1, size, f) != size)
		die("a program can't be read");
	fclose(f);
}

/* Add a function to the last program; they come in order of address. */
static void
add_function(uint64_t start, const char *what)
{
	struct program *p = &programs[nprograms - 1];
	struct function *f;

	if (nprograms == 0)
		die("a function of no program");
	p->functions = grown(p->functions, p->nfunctions, sizeof(*f));
	f = &p->functions[p->nfunctions++];
	f->program = nprograms - 1;
	f->start = start;
	f->end = p->end;
	f->interrupts = strcmp(what, "interrupts") == 0;
	f->sets = strcmp(what, "setjmp") == 0;
	f->jumps = strcmp(what, "longjmp") == 0;
	if (p->nfunctions > 1)
		f[-1].end = start;
}

/* The landmark of that name in a table; NULL: it has none. */
static const struct landmark *
landmark_in(const struct landmark *l, const char *name)
{
	while (l->name != NULL && strcmp(l->name, name) != 0)
		l++;
	return l->name != NULL ? l : NULL;
}

static void
add_mark(const char *name, uint64_t address, uint64_t offset)
{
	const struct landmark *l = landmark_in(follow_landmarks, name);

	if (l == NULL)
		l = landmark_in(
		    mode == COUNTS ? counts_landmarks : calls_landmarks, name);
	if (l == NULL || nmarks == MARKS)
		die("a landmark is unknown, or there are too many");
	if (strcmp(name, "begin") == 0)
		tree_wait();
	marks[nmarks++] = (struct mark){address, offset, l};
}

/* Lines: first stacks FILE or tree, unless counts are wanted. Then program
 * START END FILE; for a tree the program's functions, in order of address,
 * function START WHAT; and landmarks, NAME ADDRESS OFFSET. Numbers are in
 * hexadecimal. */
void
plugin_line(const char *line)
{
	unsigned long start, end = 0;
	char word[256];

	if (sscanf(line, "program %lx %lx %255s", &start, &end, word) == 3)
		add_program(start, end, word);
	else if (sscanf(line, "function %lx %255s", &start, word) == 2)
		add_function(start, word);
	else if (sscanf(line, "stacks %255s", word) == 1)
		mode = STACKS, stacks_init(beside_map(word));
	else if (strcmp(line, "tree\n") == 0)
		mode = TREE;
	else if (sscanf(line, "%255s %lx %lx", word, &start, &end) >= 2)
		add_mark(word, start, end);
	else
		die("a line of the map can't be read");
}

void
plugin_start(qemu_plugin_id_t id)
{
	follow_init();
	calls_init();
#if API > 1
	qemu_plugin_register_vcpu_init_cb(id, vcpu_ready);
#endif
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, write_result, NULL);
}

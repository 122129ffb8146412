/*
 * The functions that QEMU calls: when it loads the plugin, translates or
 * executes a block of code, and exits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

const char plugin_name[] = "model";

#define KERNEL_START (RAM_START + 0x200000)
#define MB           (1UL << 20)

/* Registers by number. */
enum { TP = 4, A0 = 10, REGISTERS = 32 };

unsigned int nharts;
size_t npages;
unsigned char *ram;

static uint64_t watched; /* accesses */
static char until[16];   /* the kind of report that ends the run; "": none */
static unsigned int now; /* the hart that executes */
static uint64_t thread[HARTS];
static struct qemu_plugin_register *registers[REGISTERS], *mhartid;

/* An instruction that is not a plain load or store. */
struct site {
	uint64_t pc;
	unsigned int flags; /* order.c's; or the registers that it names */
	size_t page;        /* that contains it */
};

/* Places in the kernel. */
enum place { UNLOCK, RELEASE, SWITCH, PLACES };
static const char *const place_names[PLACES] = {"unlock", "release", "switch"};
static uint64_t places[PLACES];

/* --- Registers --- */

static void
vcpu_ready(qemu_plugin_id_t id, unsigned int vcpu)
{
	GArray *all = qemu_plugin_get_registers();
	struct register_descriptor *d = (struct register_descriptor *)all->data;

	(void)id;
	(void)vcpu;
	if (all->len < REGISTERS || strcmp(d[0].name, "zero") != 0)
		die("QEMU's registers aren't in the order that is known");
	for (unsigned int i = 0; i < REGISTERS; i++)
		registers[i] = d[i].handle;
	mhartid = register_find("mhartid");
}

/* Read mhartid: QEMU gives a callback the index of the hart that translated the
 * block, not of the one that executes it. */
static void
block_executed(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	now = register_read(mhartid);
	if (now >= nharts)
		die("there are more harts than the map says");
}

/* --- Execution --- */

/* The physical address, if va is in the direct map of RAM; else 0. */
static uint64_t
direct(uint64_t va)
{
	uint64_t pa = va - DIRECT_BASE;

	return va >= DIRECT_BASE && page_number(pa) < npages ? pa : 0;
}

static void
kernel_access(uint32_t info, uint64_t va, uint64_t pc, unsigned int flags)
{
	bool store = qemu_plugin_mem_is_store(info);
	uint64_t pa = direct(va);

	watched++;
	if (va < DIRECT_BASE && remembered[now])
		tables_accessed(now, va, store ? WRITE : READ, pc);
	if (pa == 0)
		return;
	if (!store) {
		order_load(now, pa, flags);
		return;
	}
	pages_stored(now, page_number(pa), pc);
	if (tables_is_table(page_number(pa)))
		tables_stored(now, thread[now], pa, pc);
	order_store(now, pa, flags);
}

static void
kernel_accessed(unsigned int vcpu, uint32_t info, uint64_t va, void *pc)
{
	(void)vcpu;
	kernel_access(info, va, (uint64_t)pc, 0);
}

static void
kernel_ordered(unsigned int vcpu, uint32_t info, uint64_t va, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	kernel_access(info, va, s->pc, s->flags);
}

static void
user_accessed(unsigned int vcpu, uint32_t info, uint64_t va, void *pc)
{
	(void)vcpu;
	watched++;
	if (remembered[now])
		tables_accessed(now, va,
				qemu_plugin_mem_is_store(info) ? WRITE : READ,
				(uint64_t)pc);
}

static void
user_fetched(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	watched++;
	if (remembered[now])
		tables_accessed(now, s->pc, EXECUTE, s->pc);
	pages_fetched(now, s->page, s->pc, s->pc);
}

static void
fence(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	order_fence(now, s->flags >> 4, s->flags & 0xf);
}

static void
fence_i(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	pages_fence_i(now);
}

static void
sfence_vma(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;
	unsigned int va = s->flags & 31, asid = s->flags >> 5;

	(void)vcpu;

	tables_flush(now, va == 0, register_read(registers[va]), asid == 0);
}

static void
write_satp(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	tables_switch(now, register_read(registers[s->flags]), s->pc);
}

/* The kernel has reached one of the places. */
static void
at_place(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	if (s->flags == UNLOCK)
		tables_complete(now, thread[now], s->pc);
	else if (s->flags == RELEASE)
		tables_freed(now, direct(register_read(registers[A0])), s->pc);
	else
		thread[now] = register_read(registers[TP]);
}

/* --- Translation --- */

#define OPCODE(code) ((code)&0x7f)
#define RS1(code)    ((code) >> 15 & 31)
#define RS2(code)    ((code) >> 20 & 31)

enum { MISC_MEM = 0x0f, AMO = 0x2f, SYSTEM = 0x73 };

/* The page of RAM that contains an instruction; npages or more: none. */
static size_t
page_of(const struct qemu_plugin_insn *insn)
{
	unsigned char *at = qemu_plugin_insn_haddr(insn);

	return (size_t)(at - ram) / PAGE_SIZE;
}

static struct site *
site(const struct qemu_plugin_insn *insn, unsigned int flags)
{
	struct site *s = malloc(sizeof(*s));

	if (s == NULL)
		die("no memory");
	s->pc = qemu_plugin_insn_vaddr(insn);
	s->flags = flags;
	s->page = page_of(insn);
	return s;
}

static void
watch(struct qemu_plugin_insn *insn, executed *call, unsigned int flags)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, call, READS_REGISTERS,
					       site(insn, flags));
}

static bool
is_fence(uint32_t code)
{
	return OPCODE(code) == MISC_MEM && (code >> 12 & 7) == 0;
}

/* A fence's sets: the loads or stores that it orders, before and after it. */
static unsigned int
fence_sets(uint32_t code)
{
	const unsigned int both = FENCE_R | FENCE_W;

	return (code >> 24 & both) << 4 | (code >> 20 & both);
}

static unsigned int
atomic_flags(uint32_t code)
{
	unsigned int f = code >> 27 == 2 ? RESERVES : ATOMIC;

	if (code >> 26 & 1)
		f |= ACQUIRES;
	if (code >> 25 & 1)
		f |= RELEASES;
	return f;
}

/* Is it directly after a fence that orders later stores? */
static bool
follows_fence(const struct qemu_plugin_insn *insn)
{
	const unsigned char *at = qemu_plugin_insn_haddr(insn);
	uint32_t before;

	if (qemu_plugin_insn_vaddr(insn) % PAGE_SIZE < sizeof(before))
		return false;
	memcpy(&before, at - sizeof(before), sizeof(before));
	return is_fence(before) && (fence_sets(before) & FENCE_W);
}

static void
watch_order(struct qemu_plugin_insn *insn, uint32_t code)
{
	if (is_fence(code))
		watch(insn, fence, fence_sets(code));
	else if (OPCODE(code) == MISC_MEM)
		watch(insn, fence_i, 0);
	else if (OPCODE(code) == SYSTEM && code >> 25 == 9)
		watch(insn, sfence_vma, RS1(code) | RS2(code) << 5);
	else if (OPCODE(code) == SYSTEM && (code >> 12 & 7) == 1 &&
		 code >> 20 == 0x180)
		watch(insn, write_satp, RS1(code));
}

static void
watch_kernel(struct qemu_plugin_insn *insn)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	uint32_t code = instruction_code(insn);
	unsigned int flags = 0;

	for (unsigned int i = 0; i < PLACES; i++)
		if (places[i] == pc)
			watch(insn, at_place, i);
	watch_order(insn, code);
	if (OPCODE(code) == AMO)
		flags = atomic_flags(code);
	else if (follows_fence(insn))
		flags = PUBLISHES;
	if (flags)
		qemu_plugin_register_vcpu_mem_cb(insn, kernel_ordered,
						 NO_REGISTERS, ACCESSES,
						 site(insn, flags));
	else
		qemu_plugin_register_vcpu_mem_cb(
		    insn, kernel_accessed, NO_REGISTERS, ACCESSES, (void *)pc);
}

/* Note a fetch from each page of a block. */
static void
watch_user(struct qemu_plugin_insn *insn, bool new_page)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);

	if (new_page && page_of(insn) < npages)
		qemu_plugin_register_vcpu_insn_exec_cb(
		    insn, user_fetched, NO_REGISTERS, site(insn, 0));
	qemu_plugin_register_vcpu_mem_cb(insn, user_accessed, NO_REGISTERS,
					 ACCESSES, (void *)pc);
}

static void
block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t last = 0;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_executed,
					     READS_REGISTERS, NULL);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(insn);

		if (RAM_START <= pc && pc < KERNEL_START) { /* the firmware */
			ram = (unsigned char *)qemu_plugin_insn_haddr(insn) -
			      (pc - RAM_START);
			return;
		}
		if (pc >= DIRECT_BASE)
			watch_kernel(insn);
		else if (pc >= KERNEL_START) /* before the MMU is on */
			watch_order(insn, instruction_code(insn));
		else if (ram != NULL)
			watch_user(insn, i == 0 || pc / PAGE_SIZE !=
						       last / PAGE_SIZE);
		last = pc;
	}
}

/* --- The beginning and the end --- */

static void
write_result(qemu_plugin_id_t id, void *udata)
{
	(void)id;
	(void)udata;
	report_write(result_file, watched);
}

/* Exits QEMU at once, as a wrong kernel may never power off. */
void
plugin_reported(const char *kind)
{
	if (strcmp(kind, until) != 0)
		return;
	report_write(result_file, watched);
	_exit(EXIT_SUCCESS);
}

/* Reads lines: harts N; memory MEGABYTES; until KIND; places, NAME ADDRESS.
 * Numbers are in hexadecimal. */
void
plugin_line(const char *line)
{
	unsigned long n;
	char word[256];

	if (sscanf(line, "until %15s", until) == 1)
		return;
	if (sscanf(line, "%255s %lx", word, &n) != 2)
		die("a line of the map makes no sense");
	if (strcmp(word, "harts") == 0)
		nharts = n;
	else if (strcmp(word, "memory") == 0)
		npages = n * MB / PAGE_SIZE;
	for (unsigned int i = 0; i < PLACES; i++)
		if (strcmp(word, place_names[i]) == 0)
			places[i] = n;
}

void
plugin_start(qemu_plugin_id_t id)
{
	if (nharts == 0 || nharts > HARTS || npages == 0)
		die("the map lacks something");
	order_init();
	tables_init();
	pages_init();
	qemu_plugin_register_vcpu_init_cb(id, vcpu_ready);
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
	qemu_plugin_register_atexit_cb(id, write_result, NULL);
}

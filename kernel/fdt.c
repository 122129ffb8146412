/*
 * The flattened device tree: what machine is this?
 *
 * The tree is a header, a block of big-endian 32-bit tokens (a node begins,
 * a property, a node ends) and a block with the properties' names. It is
 * walked once; while a node is open, the properties that matter here are kept
 * on a stack, and they are acted on when the node ends.
 *
 * The tree comes from outside: no length or offset in it is believed before
 * it is checked. What can't be understood is passed over; a machine without
 * the essentials (memory, a hart, a clock) ends in a panic that says so.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "layout.h"
#include "machine.h"
#include "print.h"

#define FDT_MAGIC 0xd00dfeed
#define DEPTH_MAX 16

enum { FDT_BEGIN_NODE = 1, FDT_END_NODE, FDT_PROP, FDT_NOP, FDT_END = 9 };

/* The header's words that are used, by their place. */
enum {
	HDR_MAGIC,
	HDR_TOTALSIZE,
	HDR_OFF_STRUCT,
	HDR_OFF_STRINGS,
	HDR_SIZE_STRINGS = 8,
	HDR_SIZE_STRUCT,
	HDR_WORDS,
};

/* The properties that are kept, of every node. */
enum prop_id {
	P_ADDRESS_CELLS,
	P_SIZE_CELLS,
	P_BOOTARGS,
	P_COMPATIBLE,
	P_DEVICE_TYPE,
	P_INITRD_END,
	P_INITRD_START,
	P_INTERRUPTS,
	P_INTERRUPTS_EXTENDED,
	P_ISA,
	P_ISA_EXTENSIONS,
	P_PHANDLE,
	P_REG,
	P_STATUS,
	P_TIMEBASE,
	P_COUNT,
};

static const char *const prop_names[P_COUNT] = {
    [P_ADDRESS_CELLS] = "#address-cells",
    [P_SIZE_CELLS] = "#size-cells",
    [P_BOOTARGS] = "bootargs",
    [P_COMPATIBLE] = "compatible",
    [P_DEVICE_TYPE] = "device_type",
    [P_INITRD_END] = "linux,initrd-end",
    [P_INITRD_START] = "linux,initrd-start",
    [P_INTERRUPTS] = "interrupts",
    [P_INTERRUPTS_EXTENDED] = "interrupts-extended",
    [P_ISA] = "riscv,isa",
    [P_ISA_EXTENSIONS] = "riscv,isa-extensions",
    [P_PHANDLE] = "phandle",
    [P_REG] = "reg",
    [P_STATUS] = "status",
    [P_TIMEBASE] = "timebase-frequency",
};

struct prop {
	const char *data; /* NULL: the node has none */
	size_t size;
};

struct node {
	const char *name;
	struct prop props[P_COUNT];
	uint32_t intc; /* a hart's: phandle of its interrupt controller */
};

/* The interrupt number of "external, S-mode" at a hart's controller. */
#define IRQ_S_EXTERNAL 9
#define PHANDLE_NONE   0

static struct {
	struct node stack[DEPTH_MAX];
	int depth; /* of the innermost open node; -1: none */
	uint32_t intc[HART_MAX];
	struct prop plic_targets; /* resolved when all harts are known */
	bool all_sstc;
} fdt;

static uint32_t
be32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

/* The 32-bit cell at index i; 0 past the property's end. */
static uint32_t
cell(const struct prop *p, size_t i)
{
	return (i + 1) * 4 <= p->size ? be32(p->data + i * 4) : 0;
}

/* A number of n cells, from the i-th on. */
static uint64_t
cells(const struct prop *p, size_t i, unsigned int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 32 | cell(p, i++);
	return v;
}

/* A property that is one number, of 32 or 64 bits by its size. */
static uint64_t
number(const struct prop *p)
{
	return cells(p, 0, p->size >= 8 ? 2 : 1);
}

/* Is s among the strings of p? */
static bool
has_string(const struct prop *p, const char *s)
{
	size_t len = strlen(s) + 1;
	const char *at = p->data;
	const char *end = p->data + p->size;

	while (at < end) {
		const char *nul = memchr(at, '\0', end - at);

		if (!nul)
			return false;
		if ((size_t)(nul + 1 - at) == len && memcmp(at, s, len) == 0)
			return true;
		at = nul + 1;
	}
	return false;
}

/* Cells that n's children use in reg; absent, 2 and 1 are the defaults. */
static unsigned int
address_cells(const struct node *n)
{
	const struct prop *p = &n->props[P_ADDRESS_CELLS];

	return p->data ? cell(p, 0) & 3 : 2;
}

static unsigned int
size_cells(const struct node *n)
{
	const struct prop *p = &n->props[P_SIZE_CELLS];

	return p->data ? cell(p, 0) & 3 : 1;
}

static const struct node *
parent_of(const struct node *n)
{
	return n > fdt.stack ? n - 1 : n;
}

/* A device's physical address; 0 if there is none, or none we can map. */
static uint64_t
device_address(const struct node *n)
{
	uint64_t pa = cells(&n->props[P_REG], 0, address_cells(parent_of(n)));

	return pa <= UINT32_MAX ? pa : 0;
}

static void
found_uart(const struct node *n)
{
	if (machine.uart)
		return;
	machine.uart = device_address(n);
	machine.uart_irq = cell(&n->props[P_INTERRUPTS], 0);
}

static void
found_plic(const struct node *n)
{
	machine.plic = device_address(n);
	fdt.plic_targets = n->props[P_INTERRUPTS_EXTENDED];
}

static void
found_rtc(const struct node *n)
{
	machine.rtc = device_address(n);
}

static void
found_test(const struct node *n)
{
	machine.test = device_address(n);
}

/* A hart's own interrupt controller is a child of the hart's node. */
static void
found_intc(const struct node *n)
{
	if (fdt.depth > 0)
		fdt.stack[fdt.depth - 1].intc = cell(&n->props[P_PHANDLE], 0);
}

static const struct {
	const char *compatible;
	void (*found)(const struct node *n);
} drivers[] = {
    {"ns16550a", found_uart},     {"sifive,plic-1.0.0", found_plic},
    {"riscv,plic0", found_plic},  {"google,goldfish-rtc", found_rtc},
    {"sifive,test0", found_test}, {"riscv,cpu-intc", found_intc},
};

/* In "rv64imac_zicsr_sstc" and the like, or in the newer list of strings. */
static bool
isa_has(const struct node *n, const char *extension)
{
	const struct prop *isa = &n->props[P_ISA];
	size_t len = strlen(extension);

	if (has_string(&n->props[P_ISA_EXTENSIONS], extension))
		return true;
	for (size_t i = 1; i + len < isa->size; i++) {
		char after = isa->data[i + len];

		if (isa->data[i - 1] == '_' &&
		    memcmp(isa->data + i, extension, len) == 0 &&
		    (after == '_' || after == '\0'))
			return true;
	}
	return false;
}

static void
found_hart(const struct node *n)
{
	const struct prop *status = &n->props[P_STATUS];

	if (!machine.timebase)
		machine.timebase = number(&n->props[P_TIMEBASE]);
	if (status->data && !has_string(status, "okay"))
		return;
	if (machine.nharts == HART_MAX) {
		machine.harts_ignored++;
		return;
	}
	if (!isa_has(n, "sstc"))
		fdt.all_sstc = false;
	machine.hartid[machine.nharts] = cells(&n->props[P_REG], 0,
					       address_cells(parent_of(n)));
	fdt.intc[machine.nharts] = n->intc;
	machine.nharts++;
}

/* Take the range that the kernel is in, as far as it can be mapped. */
static void
found_memory_range(uint64_t start, uint64_t size)
{
	const uint64_t limit = UINT64_C(1) << 32;
	uint64_t kernel = va_to_pa(text_start);
	uint64_t end = start + size;

	if (end < start || start > kernel || kernel >= end) {
		machine.memory_ignored += size;
		return;
	}
	if (end > limit) {
		machine.memory_ignored += end - limit;
		end = limit;
	}
	machine.memory_start = start;
	machine.memory_end = end;
}

static void
found_memory(const struct node *n)
{
	const struct prop *reg = &n->props[P_REG];
	unsigned int na = address_cells(parent_of(n));
	unsigned int ns = size_cells(parent_of(n));

	for (size_t i = 0; ns && (i + na + ns) * 4 <= reg->size; i += na + ns)
		found_memory_range(cells(reg, i, na), cells(reg, i + na, ns));
}

static void
found_chosen(const struct node *n)
{
	const struct prop *args = &n->props[P_BOOTARGS];

	machine.initrd_start = number(&n->props[P_INITRD_START]);
	machine.initrd_end = number(&n->props[P_INITRD_END]);
	if (args->data)
		strlcpy(machine.bootargs, args->data, sizeof(machine.bootargs));
}

/* All properties of n, and its children, have been seen. */
static void
node_end(const struct node *n)
{
	const struct prop *compatible = &n->props[P_COMPATIBLE];
	const struct prop *type = &n->props[P_DEVICE_TYPE];

	if (has_string(type, "cpu"))
		found_hart(n);
	else if (has_string(type, "memory"))
		found_memory(n);
	else if (fdt.depth == 1 && strcmp(n->name, "chosen") == 0)
		found_chosen(n);
	else if (fdt.depth == 1 && strcmp(n->name, "cpus") == 0)
		machine.timebase = number(&n->props[P_TIMEBASE]);
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (has_string(compatible, drivers[i].compatible))
			drivers[i].found(n);
}

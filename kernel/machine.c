/*
 * What machine is this? The device tree's nodes that matter, as fdt_walk
 * finds them, become `machine`. What can't be understood is passed over; a
 * machine without the essentials (memory, a hart, a clock, a console) ends in
 * a panic that says so.
 */
#include "machine.h"

#include <string.h>

#include "fdt.h"
#include "layout.h"
#include "print.h"

struct machine machine;

extern char boot_dtb_end[]; /* boot/entry.S: a larger tree was cut */

/* The interrupt number of "external, S-mode" at a hart's controller. */
#define IRQ_S_EXTERNAL 9

/* What is known of the harts while the tree is being read. */
static uint32_t intc[HART_MAX];
static struct prop plic_targets;
static bool all_sstc = true;

/* A device's physical address; 0 if there is none, or none we can map. */
static uint64_t
device_address(struct node *n)
{
	uint64_t pa = fdt_cells(&n->props[P_REG], 0, fdt_address_cells(n));

	return pa <= UINT32_MAX ? pa : 0;
}

static void
found_uart(struct node *n)
{
	if (machine.uart)
		return;
	machine.uart = device_address(n);
	machine.uart_irq = fdt_cell(&n->props[P_INTERRUPTS], 0);
}

static void
found_plic(struct node *n)
{
	machine.plic = device_address(n);
	plic_targets = n->props[P_INTERRUPTS_EXTENDED];
}

static void
found_rtc(struct node *n)
{
	machine.rtc = device_address(n);
}

static void
found_test(struct node *n)
{
	machine.test = device_address(n);
}

/* A hart's own interrupt controller is a child of the hart's node. */
static void
found_intc(struct node *n)
{
	if (n->parent)
		n->parent->intc = fdt_cell(&n->props[P_PHANDLE], 0);
}

static const struct {
	const char *compatible;
	void (*found)(struct node *n);
} drivers[] = {
    {.compatible = "ns16550a", .found = found_uart},
    {.compatible = "sifive,plic-1.0.0", .found = found_plic},
    {.compatible = "riscv,plic0", .found = found_plic},
    {.compatible = "google,goldfish-rtc", .found = found_rtc},
    {.compatible = "sifive,test0", .found = found_test},
    {.compatible = "riscv,cpu-intc", .found = found_intc},
};

/* In "rv64imac_zicsr_sstc" and the like, or in the newer list of strings. */
static bool
isa_has(struct node *n, const char *extension)
{
	const struct prop *isa = &n->props[P_ISA];
	size_t len = strlen(extension);

	if (fdt_has_string(&n->props[P_ISA_EXTENSIONS], extension))
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
found_hart(struct node *n)
{
	const struct prop *status = &n->props[P_STATUS];

	if (status->data && !fdt_has_string(status, "okay"))
		return;
	if (machine.nharts == HART_MAX) {
		machine.harts_ignored++;
		return;
	}
	if (!isa_has(n, "sstc"))
		all_sstc = false;
	machine.hartid[machine.nharts] = fdt_cells(&n->props[P_REG], 0,
						   fdt_address_cells(n));
	intc[machine.nharts] = n->intc;
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
found_memory(struct node *n)
{
	const struct prop *reg = &n->props[P_REG];
	unsigned int na = fdt_address_cells(n);
	unsigned int ns = fdt_size_cells(n);

	for (size_t i = 0; ns && (i + na + ns) * 4 <= reg->size; i += na + ns)
		found_memory_range(fdt_cells(reg, i, na),
				   fdt_cells(reg, i + na, ns));
}

static void
found_chosen(struct node *n)
{
	const char *args = fdt_string(&n->props[P_BOOTARGS]);

	machine.initrd_start = fdt_number(&n->props[P_INITRD_START]);
	machine.initrd_end = fdt_number(&n->props[P_INITRD_END]);
	if (args)
		strlcpy(machine.bootargs, args, sizeof(machine.bootargs));
}

/* All properties of n, and its children, have been seen. */
static void
node_end(struct node *n)
{
	const struct prop *compatible = &n->props[P_COMPATIBLE];
	const struct prop *type = &n->props[P_DEVICE_TYPE];

	/* It stands in the node of all harts, or in each hart's. */
	if (n->props[P_TIMEBASE].data)
		machine.timebase = fdt_number(&n->props[P_TIMEBASE]);
	if (fdt_has_string(type, "cpu"))
		found_hart(n);
	else if (fdt_has_string(type, "memory"))
		found_memory(n);
	else if (n->parent && !n->parent->parent &&
		 strcmp(n->name, "chosen") == 0)
		found_chosen(n);
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (fdt_has_string(compatible, drivers[i].compatible))
			drivers[i].found(n);
}

/*
 * The PLIC has a context for each hart and mode it can interrupt; their
 * numbers are the places of (the hart's controller, interrupt) in a list.
 */
static void
resolve_plic_contexts(void)
{
	const struct prop *p = &plic_targets;

	for (unsigned int h = 0; h < machine.nharts; h++) {
		size_t i, contexts = p->size / 8;

		for (i = 0; i < contexts; i++)
			if (fdt_cell(p, 2 * i) == intc[h] &&
			    fdt_cell(p, 2 * i + 1) == IRQ_S_EXTERNAL)
				break;
		if (i == contexts)
			panic("device tree: no PLIC context for hart %u",
			      machine.hartid[h]);
		machine.plic_context[h] = i;
	}
}

/* Is there all that the kernel can't do without? */
static void
check_machine(void)
{
	if (!machine.nharts)
		panic("device tree: no hart");
	if (!machine.memory_end)
		panic("device tree: no memory where the kernel lies");
	if (!machine.timebase)
		panic("device tree: no timebase-frequency");
	if (!machine.uart)
		panic("device tree: no ns16550a serial port");
	if (!machine.plic)
		panic("device tree: no PLIC");
	if (machine.initrd_start >= machine.initrd_end ||
	    machine.initrd_start < machine.memory_start ||
	    machine.initrd_end > machine.memory_end)
		machine.initrd_start = machine.initrd_end = 0;
}

void
fdt_read(const void *dtb)
{
	fdt_walk(dtb, boot_dtb_end - (const char *)dtb, node_end);
	check_machine();
	resolve_plic_contexts();
	machine.sstc = all_sstc;
}

/* Find NAME or NAME=VALUE among the boot arguments: what follows NAME. */
static const char *
bootarg_find(const char *name)
{
	size_t len = strlen(name);
	const char *p = machine.bootargs;

	while (p) {
		while (*p == ' ')
			p++;
		if (strncmp(p, name, len) == 0 &&
		    (p[len] == '=' || p[len] == ' ' || p[len] == '\0'))
			return p + len;
		p = strchr(p, ' ');
	}
	return NULL;
}

bool
bootarg_present(const char *name)
{
	return bootarg_find(name) != NULL;
}

unsigned long
bootarg_number(const char *name, unsigned long dflt)
{
	const char *p = bootarg_find(name);
	unsigned long v = 0;

	if (!p || *p != '=' || p[1] < '0' || p[1] > '9')
		return dflt;
	for (p++; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	return v;
}

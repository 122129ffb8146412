/*
 * From the device tree to struct machine. boot_main calls machine_read once,
 * before there is memory, a console or another hart. It goes through all nodes,
 * and found_node calls one of the found_ functions for those that matter. What
 * isn't understood is skipped. A machine without the essentials (memory, a
 * hart, a clock, a serial port, a PLIC) ends in a panic that says so.
 *
 * The property "reg" says where a device is. An address takes two cells, and a
 * size two: QEMU's virt machine has no others, except for a hart's number.
 */
#include "machine.h"

#include <string.h>

#include "base/compiler.h"
#include "base/layout.h"
#include "base/panic.h"

#include "fdt.h"

struct machine machine;

extern char boot_dtb_end[]; /* boot/entry.S: a larger tree was cut */

/* The interrupt number of "external, S-mode" at a hart's controller. */
#define IRQ_S_EXTERNAL 9

/* Counts a second: enough for the fastest sampling clock (20000 Hz), with some
 * to spare. */
#define TIMEBASE_MIN 100000

/* Of the harts, while the tree is being read. The PLIC's node refers to each
 * one's interrupt controller by its phandle, a number that names a node.
 * next_intc is where the next controller's phandle goes; NULL: nowhere. */
static uint32_t intc[HART_MAX];
static uint32_t *next_intc;
static struct prop plic_targets;
static bool all_sstc = true;

/* Devices, and where their addresses go. Of several that are compatible with
 * the same, the first in the tree is used. */
static const struct {
	const char *compatible;
	uint64_t *address;
} devices[] = {
    {"ns16550a", &machine.uart},
    {"sifive,plic-1.0.0", &machine.plic},
    {"google,goldfish-rtc", &machine.rtc},
    {"sifive,test0", &machine.test},
};

static void
found_device(const struct node *n, uint64_t *address)
{
	uint64_t pa = fdt_pair(fdt_prop(n, "reg"), 0);

	if (*address != 0 || pa > UINT32_MAX)
		return;
	*address = pa;
	if (address == &machine.uart)
		machine.uart_irq = fdt_cell(fdt_prop(n, "interrupts"), 0);
	if (address == &machine.plic)
		plic_targets = fdt_prop(n, "interrupts-extended");
}

/* A slot for a virtio device, often an empty one: its registers tell what is in
 * it (driver/virtio.c). */
static void
found_virtio(const struct node *n)
{
	uint64_t pa = fdt_pair(fdt_prop(n, "reg"), 0);
	unsigned int i = machine.nvirtio;

	if (i == VIRTIO_MAX || pa > UINT32_MAX)
		return;
	machine.virtio[i].address = pa;
	machine.virtio[i].irq = fdt_cell(fdt_prop(n, "interrupts"), 0);
	machine.nvirtio++;
}

/* Find a word in a list, and return what follows it: for "limit", in "icount
 * limit=9 x", "=9 x". NULL: it isn't there, or list is NULL. */
static const char *
find_word(const char *list, char separator, const char *word)
{
	size_t len = strlen(word);

	for (; list != NULL; list = strchr(list, separator)) {
		list += *list == separator;
		if (strncmp(list, word, len) == 0 &&
		    (list[len] == separator || list[len] == '=' ||
		     list[len] == '\0'))
			return list + len;
	}
	return NULL;
}

/* Sstc, a timer that the kernel itself can set, is named in a string such as
 * "rv64imac_zicsr_sstc", or in the newer list of strings. */
static bool
has_sstc(const struct node *n)
{
	const char *isa = fdt_string(fdt_prop(n, "riscv,isa"));

	return find_word(isa, '_', "sstc") != NULL ||
	       fdt_has_string(fdt_prop(n, "riscv,isa-extensions"), "sstc");
}

/*
 * The extensions with one letter that programs may use, of those that the
 * kernel knows: in the string, from the fifth character up to the first '_'; in
 * the list, strings of one letter.
 */
static unsigned long
extensions(const struct node *n)
{
	const char *isa = fdt_string(fdt_prop(n, "riscv,isa"));
	struct prop list = fdt_prop(n, "riscv,isa-extensions");
	unsigned long found = 0;

	for (const char *c = "imafdc"; *c != '\0'; c++) {
		char letter[2] = {*c};
		const char *at = isa ? strchr(isa, *c) : NULL;

		if (fdt_has_string(list, letter) ||
		    (at != NULL && memchr(isa, '_', at - isa) == NULL))
			found |= 1UL << (*c - 'a');
	}
	return found;
}

/* A hart's interrupt controller is its child, so it is the next node of that
 * kind. A hart that is disabled, or one too many, gets no number. */
static void
found_hart(const struct node *n)
{
	struct prop status = fdt_prop(n, "status");
	unsigned int i = machine.nharts;

	next_intc = NULL;
	if (status.data != NULL && !fdt_has_string(status, "okay"))
		return;
	if (i == HART_MAX) {
		machine.harts_ignored++;
		return;
	}
	all_sstc &= has_sstc(n);
	machine.extensions = extensions(n);
	machine.hartid[i] = fdt_number(fdt_prop(n, "reg"));
	next_intc = &intc[i];
	machine.nharts++;
}

/* Use the range of memory that the kernel is in, up to 4 GiB, where the direct
 * map ends. Other ranges, and ones that wrap around, are only counted. */
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
	struct prop reg = fdt_prop(n, "reg");

	for (size_t i = 0; (i + 4) * 4 <= reg.size; i += 4)
		found_memory_range(fdt_pair(reg, i), fdt_pair(reg, i + 2));
}

/* A key for hashes (fs/ramfs.c), so that nobody can choose names that all have
 * the same hash. Under -icount runs must repeat exactly, so there the key is
 * constant. The shift keeps key[1] odd. */
static void
make_key(struct prop seed)
{
	machine.key[0] = UINT64_C(0x243f6a8885a308d3);
	machine.key[1] = UINT64_C(0x13198a2e03707345);
	if (!bootarg_present("icount")) {
		machine.key[0] ^= fdt_pair(seed, 0);
		machine.key[1] ^= fdt_pair(seed, 2) << 1;
	}
}

/* make_key comes last, as it looks at the boot arguments. */
static void
found_chosen(const struct node *n)
{
	const char *args = fdt_string(fdt_prop(n, "bootargs"));

	machine.initrd_start = fdt_number(fdt_prop(n, "linux,initrd-start"));
	machine.initrd_end = fdt_number(fdt_prop(n, "linux,initrd-end"));
	if (args != NULL)
		strlcpy(machine.bootargs, args, sizeof(machine.bootargs));
	make_key(fdt_prop(n, "rng-seed"));
}

static void
found_node(const struct node *n)
{
	struct prop compatible = fdt_prop(n, "compatible");
	struct prop type = fdt_prop(n, "device_type");
	struct prop timebase = fdt_prop(n, "timebase-frequency");

	/* It is a property of /cpus, or of each hart's node. */
	if (timebase.data != NULL)
		machine.timebase = fdt_number(timebase);
	if (fdt_has_string(type, "cpu"))
		found_hart(n);
	else if (fdt_has_string(type, "memory"))
		found_memory(n);
	else if (strcmp(n->name, "chosen") == 0)
		found_chosen(n);
	else if (fdt_has_string(compatible, "riscv,cpu-intc") && next_intc)
		*next_intc = fdt_cell(fdt_prop(n, "phandle"), 0);
	else if (fdt_has_string(compatible, "virtio,mmio"))
		found_virtio(n);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		if (fdt_has_string(compatible, devices[i].compatible))
			found_device(n, devices[i].address);
}

/*
 * The PLIC has a context for each hart and mode that it can interrupt. Its
 * property "interrupts-extended" lists them: the phandle of the hart's
 * controller, and an interrupt there. A context's number is its place in the
 * list. For example, with two harts, and 11 being M-mode's interrupt, the list
 * is <intc0 11> <intc0 9> <intc1 11> <intc1 9>, and the kernel uses 1 and 3.
 */
static unsigned int
plic_context(unsigned int hart)
{
	for (size_t i = 0; i < plic_targets.size / 8; i++)
		if (fdt_cell(plic_targets, 2 * i) == intc[hart] &&
		    fdt_cell(plic_targets, 2 * i + 1) == IRQ_S_EXTERNAL)
			return i;
	panic("device tree: no PLIC context for hart %u", machine.hartid[hart]);
}

/* Panic if anything is missing that the kernel needs. An initial RAM disk that
 * isn't within memory counts as none. */
static void
check_machine(void)
{
	if (!machine.nharts)
		panic("device tree: no usable hart");
	if (!machine.memory_end)
		panic("device tree: no memory node contains the kernel");
	if (machine.timebase < TIMEBASE_MIN || machine.timebase > UINT32_MAX)
		panic("device tree: timebase-frequency is %lu",
		      machine.timebase);
	if (!machine.uart)
		panic("device tree: no ns16550a serial port");
	if (!machine.plic)
		panic("device tree: no PLIC");
	if (machine.initrd_start >= machine.initrd_end ||
	    machine.initrd_start < machine.memory_start ||
	    machine.initrd_end > machine.memory_end)
		machine.initrd_start = machine.initrd_end = 0;
}

/* The PLIC's node may come before the harts', so contexts are found last. */
void
machine_read(const void *dtb)
{
	struct node n;

	fdt_open(dtb, boot_dtb_end - (const char *)dtb);
	while (fdt_next(&n))
		found_node(&n);
	check_machine();
	for (unsigned int i = 0; i < machine.nharts; i++)
		machine.plic_context[i] = plic_context(i);
	machine.sstc = all_sstc;
}

bool
bootarg_present(const char *name)
{
	return find_word(machine.bootargs, ' ', name) != NULL;
}

unsigned long
bootarg_number(const char *name, unsigned long fallback)
{
	const char *p = find_word(machine.bootargs, ' ', name);
	unsigned long v = 0;

	if (!p || *p != '=' || p[1] < '0' || p[1] > '9')
		return fallback;
	for (p++; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	return v;
}

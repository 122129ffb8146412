/*
 * The flattened device tree's form: a header, a block of big-endian 32-bit
 * tokens (a node begins, a property, a node ends) and a block with the
 * properties' names. It is walked once; while a node is open, the properties
 * that matter are kept on a stack.
 *
 * The tree comes from outside: no length or offset in it is believed before
 * it is checked.
 */
#include "fdt.h"

#include <string.h>

#include "print.h"

#define FDT_MAGIC 0xd00dfeed
#define DEPTH_MAX 16

enum { FDT_BEGIN_NODE = 1, FDT_END_NODE, FDT_PROP, FDT_NOP, FDT_END = 9 };

/* The header's words that are used, by their place. */
enum {
	HDR_MAGIC,
	HDR_OFF_STRUCT = 2,
	HDR_OFF_STRINGS,
	HDR_SIZE_STRINGS = 8,
	HDR_SIZE_STRUCT,
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

static struct node stack[DEPTH_MAX];
static int depth; /* of the innermost open node; -1: none */

static uint32_t
be32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

uint32_t
fdt_cell(const struct prop *p, size_t i)
{
	return (i + 1) * 4 <= p->size ? be32(p->data + i * 4) : 0;
}

uint64_t
fdt_cells(const struct prop *p, size_t i, unsigned int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 32 | fdt_cell(p, i++);
	return v;
}

uint64_t
fdt_number(const struct prop *p)
{
	return fdt_cells(p, 0, p->size >= 8 ? 2 : 1);
}

const char *
fdt_string(const struct prop *p)
{
	return p->size && memchr(p->data, '\0', p->size) ? p->data : NULL;
}

bool
fdt_has_string(const struct prop *p, const char *s)
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

/* What the parent says, or the defaults; more than 3 make no sense. */
static unsigned int
cell_count(const struct node *n, enum prop_id id, unsigned int dflt)
{
	const struct prop *p = n->parent ? &n->parent->props[id] : NULL;

	return p && p->data ? fdt_cell(p, 0) & 3 : dflt;
}

unsigned int
fdt_address_cells(const struct node *n)
{
	return cell_count(n, P_ADDRESS_CELLS, 2);
}

unsigned int
fdt_size_cells(const struct node *n)
{
	return cell_count(n, P_SIZE_CELLS, 1);
}

static void
node_begin(const char *name)
{
	if (++depth == DEPTH_MAX)
		panic("device tree: nodes nested more than %d deep", DEPTH_MAX);
	stack[depth] = (struct node){
	    .name = name,
	    .parent = depth > 0 ? &stack[depth - 1] : NULL,
	};
}

/* Keep a property of the innermost node, if it is one that matters. */
static void
node_prop(const char *name, const char *data, size_t size)
{
	for (int i = 0; i < P_COUNT; i++)
		if (strcmp(name, prop_names[i]) == 0)
			stack[depth].props[i] = (struct prop){.data = data,
							      .size = size};
}

/* A part of the tree that is being read, and mustn't be left. */
struct block {
	const char *at, *end;
};

static void __attribute__((noreturn)) truncated(void)
{
	panic("device tree: it ends within a node");
}

/* Step over n bytes, and to the next multiple of 4. */
static const char *
take(struct block *b, size_t n)
{
	const char *p = b->at;
	size_t padded = (n + 3) & ~(size_t)3;

	if (padded < n || padded > (size_t)(b->end - b->at))
		truncated();
	b->at += padded;
	return p;
}

static const char *
take_string(struct block *b)
{
	const char *nul = memchr(b->at, '\0', b->end - b->at);

	if (!nul)
		truncated();
	return take(b, nul + 1 - b->at);
}

static void
take_prop(struct block *b, const struct block *strings)
{
	uint32_t size = be32(take(b, 4));
	uint32_t name = be32(take(b, 4));
	const char *data = take(b, size);

	if (depth < 0 || name >= strings->end - strings->at ||
	    !memchr(strings->at + name, '\0',
		    strings->end - strings->at - name))
		panic("device tree: a property without a name or a node");
	node_prop(strings->at + name, data, size);
}

/* Handle one token; false: it was the last. */
static bool
step(struct block *b, const struct block *strings,
     void (*node_end)(struct node *n))
{
	uint32_t token = be32(take(b, 4));

	switch (token) {
	case FDT_BEGIN_NODE:
		node_begin(take_string(b));
		return true;
	case FDT_END_NODE:
		if (depth < 0)
			panic("device tree: a node ends that never began");
		node_end(&stack[depth--]);
		return true;
	case FDT_PROP:
		take_prop(b, strings);
		return true;
	case FDT_NOP:
		return true;
	case FDT_END:
		return false;
	default:
		panic("device tree: unknown token 0x%x", token);
	}
}

/* One of the tree's two blocks, of which the header says offset and size. */
static struct block
find_block(const char *dtb, size_t limit, int offset_word, int size_word)
{
	uint32_t offset = be32(dtb + 4 * offset_word);
	uint32_t size = be32(dtb + 4 * size_word);

	if (offset > limit || size > limit - offset)
		panic("device tree: more than %zu bytes", limit);
	return (struct block){dtb + offset, dtb + offset + size};
}

void
fdt_walk(const char *dtb, size_t size, void (*node_end)(struct node *n))
{
	struct block tokens, strings;

	if (be32(dtb + 4 * HDR_MAGIC) != FDT_MAGIC)
		panic("no device tree from the firmware");
	tokens = find_block(dtb, size, HDR_OFF_STRUCT, HDR_SIZE_STRUCT);
	strings = find_block(dtb, size, HDR_OFF_STRINGS, HDR_SIZE_STRINGS);
	depth = -1;
	while (step(&tokens, &strings, node_end))
		;
}

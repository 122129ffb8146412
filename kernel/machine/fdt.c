/*
 * The form of a flattened device tree: a header, a block of tokens, and a block
 * with the names of properties. All numbers are big-endian and of 32 bits; such
 * a number is a cell.
 *
 *	FDT_BEGIN_NODE	name, NUL
 *	  FDT_PROP	size, offset of its name, the value's bytes
 *	  ...		more properties
 *	  FDT_BEGIN_NODE  ...  FDT_END_NODE	  a child
 *	FDT_END_NODE
 *	FDT_END
 *
 * A node's properties come before its children. Each item is padded to a
 * multiple of 4 bytes. FDT_NOP means nothing and may stand before any token.
 *
 * The tree comes from outside: no length or offset in it is believed before it
 * is checked. All steps forward are in fdt_take, which checks them.
 */
#include "fdt.h"

#include <string.h>

#include "base/panic.h"

#define FDT_MAGIC 0xd00dfeed

enum { FDT_BEGIN_NODE = 1, FDT_END_NODE, FDT_PROP, FDT_NOP, FDT_END = 9 };

/* Those of the header's cells that are used, by their index. */
enum {
	HDR_MAGIC,
	HDR_OFF_STRUCT = 2,
	HDR_OFF_STRINGS,
	HDR_SIZE_STRINGS = 8,
	HDR_SIZE_STRUCT,
};

static struct block tokens; /* those that fdt_next hasn't read yet */
static struct block names;  /* all of them; the last byte is a NUL */

static uint32_t
be32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

uint32_t
fdt_cell(struct prop p, size_t i)
{
	return (i + 1) * 4 <= p.size ? be32(p.data + i * 4) : 0;
}

uint64_t
fdt_pair(struct prop p, size_t i)
{
	return (uint64_t)fdt_cell(p, i) << 32 | fdt_cell(p, i + 1);
}

uint64_t
fdt_number(struct prop p)
{
	return p.size >= 8 ? fdt_pair(p, 0) : fdt_cell(p, 0);
}

const char *
fdt_string(struct prop p)
{
	return p.size > 0 && p.data[p.size - 1] == '\0' ? p.data : NULL;
}

bool
fdt_has_string(struct prop p, const char *s)
{
	const char *at = fdt_string(p);

	for (; at != NULL && at < p.data + p.size; at += strlen(at) + 1)
		if (strcmp(at, s) == 0)
			return true;
	return false;
}

/* Step over n bytes and their padding; returns where the bytes begin. */
static const char *
fdt_take(struct block *b, size_t n)
{
	const char *p = b->at;
	size_t padded = (n + 3) & ~(size_t)3;

	if (padded > (size_t)(b->end - b->at))
		panic("device tree ends within a node");
	b->at += padded;
	return p;
}

static uint32_t
take_cell(struct block *b)
{
	return be32(fdt_take(b, 4));
}

static const char *
take_string(struct block *b)
{
	const char *nul = memchr(b->at, '\0', b->end - b->at);

	if (nul == NULL)
		panic("device tree ends within a name");
	return fdt_take(b, nul + 1 - b->at);
}

/* Step over a property whose token has been taken, store it in *p, and return
 * its name. The name ends within its block, as fdt_open has checked. */
static const char *
take_prop(struct block *b, struct prop *p)
{
	uint32_t name;

	p->size = take_cell(b);
	name = take_cell(b);
	p->data = fdt_take(b, p->size);
	if (name >= names.end - names.at)
		panic("device tree: a property without a name");
	return names.at + name;
}

/* The last node's properties are still ahead: fdt_prop reads them by a copy of
 * the block. They are skipped here. */
bool
fdt_next(struct node *n)
{
	struct prop skipped;

	for (;;) {
		uint32_t token = take_cell(&tokens);

		switch (token) {
		case FDT_BEGIN_NODE:
			n->name = take_string(&tokens);
			n->props = tokens;
			return true;
		case FDT_PROP:
			take_prop(&tokens, &skipped);
			break;
		case FDT_END_NODE:
		case FDT_NOP:
			break;
		case FDT_END:
			return false;
		default:
			panic("device tree: unknown token 0x%x", token);
		}
	}
}

/* The node's properties end where a child begins, or at the node's own end. */
struct prop
fdt_prop(const struct node *n, const char *name)
{
	struct block b = n->props;
	struct prop p;
	uint32_t token;

	do {
		token = take_cell(&b);
		if (token == FDT_PROP && strcmp(take_prop(&b, &p), name) == 0)
			return p;
	} while (token == FDT_PROP || token == FDT_NOP);
	return (struct prop){.data = NULL};
}

/* One of the tree's two blocks, by the indices of the header's cells with its
 * offset and size. It ends beyond limit if boot/entry.S has cut the tree. */
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
fdt_open(const char *dtb, size_t size)
{
	if (be32(dtb + 4 * HDR_MAGIC) != FDT_MAGIC)
		panic("no device tree from the firmware");
	tokens = find_block(dtb, size, HDR_OFF_STRUCT, HDR_SIZE_STRUCT);
	names = find_block(dtb, size, HDR_OFF_STRINGS, HDR_SIZE_STRINGS);
	if (names.at == names.end || names.end[-1] != '\0')
		panic("device tree: its strings are not terminated");
}

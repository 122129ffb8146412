/* Reading a flattened device tree, at boot, before other harts run: no locks. A
 * tree whose form is wrong ends in a panic that says so. */
#ifndef KERNEL_FDT_H
#define KERNEL_FDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the tree: what is left to read is [at, end). */
struct block {
	const char *at, *end;
};

struct node {
	const char *name;
	struct block props; /* where its properties begin */
};

struct prop {
	const char *data; /* NULL: the node has no such property */
	size_t size;      /* in bytes */
};

/* Begin to read the tree at dtb, of which size bytes are there. Nodes and
 * properties point into it, so it must stay. */
void fdt_open(const char *dtb, size_t size);
/* Store the next node in *n, children after their parent; false: no more. */
bool fdt_next(struct node *n);
/* The property of that name; its data is NULL and its size 0 if n has none. The
 * functions below accept such a property, too, and find nothing in it. */
struct prop fdt_prop(const struct node *n, const char *name);

/* The 32-bit cell at index i; 0 past the property's end. */
uint32_t fdt_cell(struct prop p, size_t i);
/* The 64-bit number in the two cells at indices i and i + 1. */
uint64_t fdt_pair(struct prop p, size_t i);
/* A property that is one number, of 32 or 64 bits by its size. */
uint64_t fdt_number(struct prop p);
/* A property that is a string, or the first of several; NULL: neither. */
const char *fdt_string(struct prop p);
/* Is s one of the strings of p? "compatible", for example, has several. */
bool fdt_has_string(struct prop p, const char *s);

#endif

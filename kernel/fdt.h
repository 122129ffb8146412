/*
 * Flattened device trees: reading their form; machine.c knows what it means.
 * Whatever is read wrong in form ends in a panic that says so.
 */
#ifndef KERNEL_FDT_H
#define KERNEL_FDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the tree that is being read, and mustn't be left. */
struct block {
	const char *at, *end;
};

struct node {
	const char *name;
	struct block props; /* where its properties begin */
};

struct prop {
	const char *data; /* NULL: the node has none of that name */
	size_t size;
};

/* Use the tree in size bytes at dtb. Nodes and properties point into it. */
void fdt_open(const char *dtb, size_t size);
/* The next node; false: that was the last. Its children follow it at once. */
bool fdt_next(struct node *n);
struct prop fdt_prop(const struct node *n, const char *name);

/* The 32-bit cell at index i; 0 past the property's end. */
uint32_t fdt_cell(struct prop p, size_t i);
/* The number in the two cells from index i on. */
uint64_t fdt_pair(struct prop p, size_t i);
/* A property that is one number, of 32 or 64 bits by its size. */
uint64_t fdt_number(struct prop p);
/* A property that is a string; NULL: it isn't one. */
const char *fdt_string(struct prop p);
/* Is s among the strings of p? */
bool fdt_has_string(struct prop p, const char *s);

#endif

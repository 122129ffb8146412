/* Flattened device trees: reading their form. machine.c knows what it means. */
#ifndef KERNEL_FDT_H
#define KERNEL_FDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct prop {
	const char *data; /* NULL: the node has none */
	size_t size;
};

struct node {
	const char *name;
	struct node *parent; /* NULL: this is the root */
	struct prop props[P_COUNT];
	uint32_t intc; /* a hart's: phandle of its interrupt controller */
};

/*
 * Walk the tree in size bytes at dtb. node_end is called once for each node,
 * when its properties, and its children, have been seen; it may keep pointers
 * into the tree, but not to the node. Panics if the form is wrong.
 */
void fdt_walk(const char *dtb, size_t size, void (*node_end)(struct node *n));

/* The 32-bit cell at index i; 0 past the property's end. */
uint32_t fdt_cell(const struct prop *p, size_t i);
/* A number of n cells, from the i-th on. */
uint64_t fdt_cells(const struct prop *p, size_t i, unsigned int n);
/* A property that is one number, of 32 or 64 bits by its size. */
uint64_t fdt_number(const struct prop *p);
/* A property that is a string; NULL: it isn't one. */
const char *fdt_string(const struct prop *p);
/* Is s among the strings of p? */
bool fdt_has_string(const struct prop *p, const char *s);
/* The cells that addresses, and sizes, have in n's reg. */
unsigned int fdt_address_cells(const struct node *n);
unsigned int fdt_size_cells(const struct node *n);

#endif

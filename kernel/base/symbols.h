/* Names for addresses of kernel text, for backtraces. */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stddef.h>

/*
 * Use a table that scripts/mkroot has made, and keep it: a line for each
 * function, by ascending address, with the address as 0x.., a blank, and the
 * name. It is changed in place; behind its size bytes there must be room for
 * two.
 */
void symbols_set(char *table, size_t size);

/* The name of the function that pc lies in, and how many bytes behind its
 * beginning pc is. NULL: pc isn't kernel text, or there is no table. */
const char *symbol_name(unsigned long pc, unsigned long *offset);

/* The place of a call as text, for a message: function+offset of its return
 * address pc, or pc itself if there is no name. */
struct place {
	char text[48];
};

struct place symbol_place(const void *pc);

#endif

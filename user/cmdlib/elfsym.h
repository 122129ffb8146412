/*
 * The symbols of a 64-bit little-endian executable, for the tools that turn
 * addresses into names.
 */
#ifndef ELFSYM_H
#define ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfsym {
	uint64_t value;
	const char *name;
};

struct elfsyms {
	/* What a profile can be charged to: functions, by address, one at
	 * each. */
	struct elfsym *text;
	size_t count;
	uint64_t end; /* of text, where the symbols tell */
	/* The file, which the names point into. */
	char *image;
	size_t size;
};

/* Load a file's symbols. NULL, or what is wrong with it; a message about
 * errno has been given where that is empty. */
const char *elfsym_load(struct elfsyms *syms, const char *path);

/* The same of a kernel, whose text is [*start, *end), or the end of the
 * command. */
void elfsym_kernel(struct elfsyms *syms, const char *path, uint64_t *start,
		   uint64_t *end);

/* The value of any symbol of this name, text or not; false if there is
 * none. */
bool elfsym_value(const struct elfsyms *syms, const char *name,
		  uint64_t *value);

/* The number of the function that holds an address; their count: none. */
size_t elfsym_find(const struct elfsyms *syms, uint64_t address);

/* The code at an address, as far as its section goes: so many bytes are left.
 * NULL, and 0 bytes: the file has none there. */
const void *elfsym_code(const struct elfsyms *syms, uint64_t address,
			size_t *left);

/* The name of the variable that holds an address, or NULL. */
const char *elfsym_variable(const struct elfsyms *syms, uint64_t address);

#endif

/*
 * Instructions of RV64GC as text, in the assembler's own names: no aliases are
 * used, and a compressed instruction has its c.
 */
#ifndef DISASM_H
#define DISASM_H

#include <stddef.h>
#include <stdint.h>

#define DISASM_TEXT 64

struct disasm {
	char text[DISASM_TEXT];
	unsigned int size; /* bytes: 2 or 4 */
	uint64_t target;   /* of a branch or a jump; 0: it has none */
};

/* The instruction at pc, of which so many bytes are there. What isn't known is
 * shown as its number. */
void disasm(struct disasm *d, uint64_t pc, const void *code, size_t left);

#endif

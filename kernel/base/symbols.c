/*
 * Names for addresses of kernel text, for the backtrace of a panic.
 * load_symbols in main.c reads them from the file /boot/symbols. Before that,
 * and without the file, a backtrace has addresses only. As only a panic asks, a
 * search from the first line on is quick enough.
 */
#include "symbols.h"

#include <stdio.h>
#include <string.h>

#include "lib/number.h"

#include "layout.h"

/*
 * The table, split into words: address, name, address, name.., by ascending
 * address. Each ends with a NUL, and an empty word ends the table. It is set
 * before the other harts run, and constant after: no lock.
 */
static char *words;

/*
 * Two NULs follow the text: the first ends the last word if the file doesn't
 * end with a newline, the second is the empty word. If the last line is an
 * address without a name, they are its name and the empty word.
 */
void
symbols_set(char *table, size_t size)
{
	for (char *p = table; p < table + size; p++)
		if (*p == ' ' || *p == '\n')
			*p = '\0';
	table[size] = table[size + 1] = '\0';
	words = table;
}

/*
 * number_parse fails at the first function that begins after pc, the largest
 * number that it may return here; so the one before is the answer. It also
 * fails at a line that makes no sense: what follows that is not found.
 */
const char *
symbol_name(unsigned long pc, unsigned long *offset)
{
	const char *found = NULL;
	uint64_t address;

	if (!words || pc < (unsigned long)text_start ||
	    pc >= (unsigned long)text_end)
		return NULL;
	for (const char *word = words; *word;) {
		const char *name = word + strlen(word) + 1;

		if (number_parse(word, pc, &address) != 0)
			break;
		found = name;
		*offset = pc - address;
		word = name + strlen(name) + 1;
	}
	return found;
}

/* The call may be the last instruction of its function, and pc be in the next
 * one. */
struct place
symbol_place(const void *pc)
{
	struct place p;
	unsigned long offset;
	const char *name = symbol_name((unsigned long)pc - 1, &offset);

	if (name != NULL)
		snprintf(p.text, sizeof(p.text), "%s+0x%lx", name, offset + 1);
	else
		snprintf(p.text, sizeof(p.text), "%p", pc);
	return p;
}

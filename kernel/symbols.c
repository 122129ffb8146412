/*
 * Names for addresses of kernel text, for backtraces: from /boot/symbols, if
 * it is there. Read once at boot, constant after.
 *
 * The file has a line for each function, by ascending address: the address as
 * 0x.., a blank, the name. scripts/mkroot makes it. Only a panic asks, so a
 * search from the first line on is quick enough.
 */
#include <stdint.h>
#include <string.h>

#include "dev/dev.h"
#include "layout.h"
#include "print.h"

#define SYMBOLS_FILE "/boot/symbols"
#define FILE_MAX     (1 << 20) /* bytes; a larger file isn't believed */

/* The file's words, each with a NUL after it; an empty one ends them. */
static char *words;

/* Without the file, or with one that makes no sense, there are no names. */
void
symbols_load(void)
{
	struct vnode *v;
	struct stat st;

	if (vfs_lookup(SYMBOLS_FILE, &v) != 0)
		return;
	if (vnode_stat(v, &st) == 0 && st.st_size <= FILE_MAX)
		words = kzalloc(st.st_size + 2);
	if (words && vnode_read(v, words, st.st_size, 0) == st.st_size)
		for (char *p = words; p < words + st.st_size; p++)
			if (*p == ' ' || *p == '\n')
				*p = '\0';
	vnode_put(v);
}

/* The last function that begins not after pc, and how far from it pc is. */
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

		if (ctl_number(word, pc, &address) != 0)
			break;
		found = name;
		*offset = pc - address;
		word = name + strlen(name) + 1;
	}
	return found;
}

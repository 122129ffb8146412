/* Tables of samples: rows of hits, most first, each with its part of all. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"

struct table {
	struct table_row *rows;
	size_t count, room;
	int bar;   /* width of a bar, the most one's, in columns; 0: none */
	int width; /* cut lines to so many columns; 0: don't */
	bool sure; /* say how sure each part is: its 95 % interval, if it has
		    * five hits */
};

/* Add a row, unless it is of nothing; its text follows the numbers. Another one
 * with the same text has the sum: a function may be in pieces. */
void table_row(struct table *t, uint64_t hits, const char *format, ...)
    CMD_PRINTF(3, 4);

/* Print at most limit rows below a title, if not NULL, and empty the table;
 * without rows nothing. Parts are of total. */
void table_print(struct table *t, const char *title, uint64_t total,
		 size_t limit);

/* hits as a part of total: percent, cut to a decimal. */
#define TABLE_PART 16
const char *table_part(uint64_t hits, uint64_t total, char text[TABLE_PART]);

#endif

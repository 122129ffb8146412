/* The line editor from the inside, for edit.c, screen.c and history.c. */
#ifndef EDIT_H
#define EDIT_H

#include "sh.h"

/* ---------------------------------------------------------- screen.c */

struct place { /* on the screen; row 0 is the prompt's */
	size_t row, col;
};

/* A line behind a prompt, on as many rows as it takes. */
struct screen {
	const char *prompt; /* one row */
	size_t rows, columns;
	size_t top;          /* the first row shown; else 0 */
	struct place cursor; /* where the terminal has it, counted from top */
};

/* Show the prompt where the cursor is, which is the left margin. */
void screen_start(struct screen *s, const char *prompt);
/* The terminal has another size. */
void screen_measure(struct screen *s);
/* Show it all again, with the cursor before the character at pos. */
void screen_draw(struct screen *s, const struct buf *line, size_t pos);
/* The same; all but the cursor is as it was, */
void screen_move(struct screen *s, const struct buf *line, size_t pos);
/* or all but what follows from, which was the end, and where the cursor was. */
void screen_append(struct screen *s, const struct buf *line, size_t from);
/* Go on below it. */
void screen_leave(struct screen *s, const struct buf *line);

/* Where the character before pos begins, and where the one at pos ends, with
 * the marks that stand on it. */
size_t character_before(const struct buf *line, size_t pos);
size_t character_end(const struct buf *line, size_t pos);

/* --------------------------------------------------------- history.c */

void history_add(const char *line);
/* The line so many back, 1 the last one; NULL: there is none. */
const char *history_line(int back);

#endif

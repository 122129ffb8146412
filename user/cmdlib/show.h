/*
 * Names that others chose, as they can be shown: those of files, of processes,
 * of functions may hold anything.
 */
#ifndef SHOW_H
#define SHOW_H

#include <stddef.h>

/* Put a ? in place of each character that does something to a terminal, and of
 * each byte that is no UTF-8; gives text. */
char *show_name(char *text);

/* How many columns of a terminal a name takes, as it is shown. */
size_t show_columns(const char *name);

/* How many bytes of a text, from its start, fit into so many columns. */
size_t show_fit(const char *text, size_t columns);

#endif

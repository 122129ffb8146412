/* See table.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"
#include "table.h"

#define BAR_MAX  80
#define INTERVAL 24
/* Samples, of fewer of which an interval says too little: such a row may be
 * shown only since it has more than it should (docs/truth.md). */
#define SURE_MIN 10

struct table_row {
	uint64_t hits;
	size_t order; /* among equals */
	char *text;
};

void
table_row(struct table *t, uint64_t hits, const char *format, ...)
{
	va_list args;
	char *text;

	if (hits == 0)
		return;
	va_start(args, format);
	text = cmd_text_of(format, args);
	va_end(args);
	if (t->count == t->room)
		t->rows = cmd_grow(t->rows, &t->room, sizeof(*t->rows));
	t->rows[t->count] = (struct table_row){
	    .hits = hits,
	    .order = t->count,
	    .text = show_name(text), /* it has others' names */
	};
	t->count++;
}

static int
by_text(const void *left, const void *right)
{
	const struct table_row *a = left, *b = right;
	int way = strcmp(a->text, b->text);

	return way != 0 ? way : a->order < b->order ? -1 : 1;
}

/* Make one row, at the first one's place, of those with the same text. */
static void
merge(struct table *t)
{
	size_t n = 1;

	qsort(t->rows, t->count, sizeof(*t->rows), by_text);
	for (size_t i = 1; i < t->count; i++) {
		struct table_row *last = &t->rows[n - 1], *row = &t->rows[i];

		if (strcmp(row->text, last->text) == 0) {
			last->hits += row->hits;
			free(row->text);
		} else {
			t->rows[n++] = *row;
		}
	}
	t->count = n;
}

static int
most_first(const void *left, const void *right)
{
	const struct table_row *a = left, *b = right;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

const char *
table_part(uint64_t hits, uint64_t total, char text[TABLE_PART])
{
	unsigned int permille = total ? hits * 1000 / total : 0;

	snprintf(text, TABLE_PART, "%u.%u", permille / 10, permille % 10);
	return text;
}

/*
 * Where the true part lies, in 95 of 100 such samplings, if the samples are
 * independent of each other: the interval of E. B. Wilson. It never leaves 0
 * to 100 %, not even where there are few samples. Its ends are rounded
 * outwards, as the part is cut.
 */
static void
interval(uint64_t hits, uint64_t total, char text[INTERVAL])
{
	const double z2 = 1.959964 * 1.959964;
	double n = total, p = hits / n;
	double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	double reach = sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) /
		       (1 + z2 / n);

	snprintf(text, INTERVAL, "%4.1f to %4.1f",
		 floor(1000 * fmax(middle - reach, 0)) / 10,
		 ceil(1000 * fmin(middle + reach, 1)) / 10);
}

/* A line, cut to the width. */
static void
print(const struct table *t, const char *hits, const char *part,
      const char *sure, const char *bar, const char *text)
{
	char *line = cmd_text("%8s %7s %*s%s%-*s%s", hits, part,
			      t->sure ? 13 : 0, t->sure ? sure : "",
			      t->sure ? " " : "", t->bar ? t->bar + 1 : 0, bar,
			      text);

	if (t->width)
		line[show_fit(line, t->width)] = '\0';
	out_string(line);
	out_char('\n');
	free(line);
}

static void
print_row(const struct table *t, const struct table_row *row, uint64_t total)
{
	char hits[24], part[TABLE_PART], sure[INTERVAL] = "";
	char bar[BAR_MAX] = "";
	uint64_t most = t->rows[0].hits;

	snprintf(hits, sizeof(hits), "%llu", (unsigned long long)row->hits);
	memset(bar, '#', (row->hits * t->bar + most / 2) / most);
	if (t->sure && row->hits >= SURE_MIN)
		interval(row->hits, total, sure);
	print(t, hits, table_part(row->hits, total, part), sure, bar,
	      row->text);
}

void
table_print(struct table *t, const char *title, uint64_t total, size_t limit)
{
	if (t->count == 0)
		return;
	merge(t);
	qsort(t->rows, t->count, sizeof(*t->rows), most_first);
	if (title) {
		out_char('\n');
		print(t, "samples", "%", "95 % interval", "", title);
	}
	for (size_t i = 0; i < t->count; i++) {
		if (i < limit)
			print_row(t, &t->rows[i], total);
		free(t->rows[i].text);
	}
	t->count = 0;
}

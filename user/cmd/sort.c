/*
 * sort: order lines.
 *
 * All input is held in memory. Each line carries the beginning of its first
 * key as one number, which decides nearly every comparison, and a merge sort
 * moves these small records and never the text. Equal keys are ordered by
 * the whole line, byte by byte, unless -s or -u ask otherwise.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS "[-bfnrsu] [-k KEY] ... [-o FILE] [-t CHAR] [FILE ...]"

#define SMALL_RUN 8 /* records: what insertion sorts faster than merging */

/* How two keys compare. */
struct order {
	bool skip_blanks, fold, numeric, reverse;
};

/* -k: from field.byte to field.byte, counted from 1; end_field 0 is the end
 * of the line, end_byte 0 the end of the field. */
struct key {
	long field, byte, end_field, end_byte;
	bool end_skip_blanks;
	struct order order;
};

struct line {
	uint64_t rank; /* less, if the line comes first; else compare */
	const char *text;
	size_t length; /* without the newline, which is there */
};

struct text {
	const char *start, *end;
};

static struct key *keys;
static size_t keys_count, keys_room;
static struct order global;
static bool in_fields;   /* -t: fields are separated by separator, */
static char separator;   /* not by blanks */
static const char *into; /* -o */

static struct line *lines;
static size_t lines_count, lines_room;

/* --- Keys --- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *
skip_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

/* Past the field at `at`. Without -t its leading blanks belong to it. */
static const char *
field_end(const char *at, const char *end)
{
	if (in_fields) {
		const char *found = memchr(at, separator, end - at);

		return found ? found : end;
	}
	at = skip_blanks(at, end);
	while (at < end && !is_blank(*at))
		at++;
	return at;
}

/* Where field number n begins. */
static const char *
field_start(const char *at, const char *end, unsigned long n)
{
	while (--n > 0 && at < end) {
		at = field_end(at, end);
		if (in_fields && at < end)
			at++;
	}
	return at;
}

static const char *
advance(const char *at, const char *end, unsigned long n)
{
	return (unsigned long)(end - at) < n ? end : at + n;
}

/* The part of a line that a key speaks of. */
static struct text
key_text(const struct key *key, const struct line *line)
{
	const char *end = line->text + line->length;
	struct text t = {field_start(line->text, end, key->field), end};

	if (key->order.skip_blanks)
		t.start = skip_blanks(t.start, end);
	t.start = advance(t.start, end, key->byte - 1);
	if (key->end_field > 0) {
		t.end = field_start(line->text, end, key->end_field);
		if (key->end_skip_blanks)
			t.end = skip_blanks(t.end, end);
		t.end = key->end_byte ? advance(t.end, end, key->end_byte)
				      : field_end(t.end, end);
	}
	if (t.end < t.start)
		t.end = t.start;
	return t;
}

/* --- Numbers: blanks, a minus, digits, a point, digits --- */

struct number {
	bool negative;
	struct text whole, fraction; /* without zeros at the outer ends */
};

static const char *
digits_end(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

static struct number
number_parse(struct text t)
{
	struct number n = {0};
	const char *at = skip_blanks(t.start, t.end);

	if (at < t.end && *at == '-') {
		n.negative = true;
		at++;
	}
	while (at < t.end && *at == '0')
		at++;
	n.whole.start = at;
	n.whole.end = at = digits_end(at, t.end);
	n.fraction.start = n.fraction.end = at;
	if (at < t.end && *at == '.') {
		n.fraction.start = at + 1;
		n.fraction.end = digits_end(at + 1, t.end);
	}
	while (n.fraction.end > n.fraction.start && n.fraction.end[-1] == '0')
		n.fraction.end--;
	if (n.whole.start == n.whole.end && n.fraction.start == n.fraction.end)
		n.negative = false; /* -0 is 0 */
	return n;
}

/* The whole part, cut to what fits; order is kept, though not strictly. */
static int64_t
number_rank(const struct number *n)
{
	int64_t value = 0;

	for (const char *c = n->whole.start; c < n->whole.end; c++) {
		if (value > (INT64_MAX - 9) / 10) {
			value = INT64_MAX;
			break;
		}
		value = value * 10 + *c - '0';
	}
	return n->negative ? -value : value;
}

/* --- Comparing --- */

static int
compare_bytes(struct text a, struct text b)
{
	size_t a_length = a.end - a.start, b_length = b.end - b.start;
	size_t both = a_length < b_length ? a_length : b_length;
	int order = memcmp(a.start, b.start, both);

	if (order == 0)
		order = (a_length > b_length) - (a_length < b_length);
	return order;
}

static int
compare_folded(struct text a, struct text b)
{
	for (; a.start < a.end && b.start < b.end; a.start++, b.start++) {
		int order = toupper((unsigned char)*a.start) -
			    toupper((unsigned char)*b.start);

		if (order)
			return order;
	}
	return (a.start < a.end) - (b.start < b.end);
}

static int
compare_numbers(struct text left, struct text right)
{
	struct number a = number_parse(left), b = number_parse(right);
	ptrdiff_t longer;
	int order;

	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	longer = (a.whole.end - a.whole.start) - (b.whole.end - b.whole.start);
	if (longer)
		order = longer < 0 ? -1 : 1;
	else
		order = compare_bytes(a.whole, b.whole);
	if (order == 0)
		order = compare_bytes(a.fraction, b.fraction);
	return a.negative ? -order : order;
}

/* Of two lines whose ranks don't decide: less than, equal to or greater
 * than 0. */
static int
compare_keys(const struct line *a, const struct line *b)
{
	for (size_t i = 0; i < keys_count; i++) {
		const struct order *how = &keys[i].order;
		struct text left = key_text(&keys[i], a);
		struct text right = key_text(&keys[i], b);
		int order;

		if (how->numeric)
			order = compare_numbers(left, right);
		else if (how->fold)
			order = compare_folded(left, right);
		else
			order = compare_bytes(left, right);
		if (order)
			return how->reverse ? -order : order;
	}
	return 0;
}

static int
compare_rest(const struct line *a, const struct line *b)
{
	int order = compare_keys(a, b);

	if (order || cmd_given['s'] || cmd_given['u'])
		return order;
	order = compare_bytes((struct text){a->text, a->text + a->length},
			      (struct text){b->text, b->text + b->length});
	return global.reverse ? -order : order;
}

/* Must b come before a, which stood before it? */
static inline bool
out_of_order(const struct line *a, const struct line *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return compare_rest(a, b) > 0;
}

/* The first key as a number: as much of it as fits. */
static uint64_t
rank(const struct line *line)
{
	const struct order *how = &keys[0].order;
	struct text t = key_text(&keys[0], line);
	uint64_t value = 0;

	if (how->numeric) {
		struct number n = number_parse(t);

		/* Unsigned, in the same order. */
		value = (uint64_t)number_rank(&n) ^ (UINT64_C(1) << 63);
	} else {
		for (size_t i = 0; i < sizeof(value); i++) {
			unsigned char c = t.start < t.end ? *t.start++ : 0;

			value = value << 8 | (how->fold ? toupper(c) : c);
		}
	}
	return how->reverse ? ~value : value;
}

/* --- Sorting --- */

static void
insertion_sort(struct line *a, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct line moved = a[i];
		size_t j = i;

		for (; j > 0 && out_of_order(&a[j - 1], &moved); j--)
			a[j] = a[j - 1];
		a[j] = moved;
	}
}

/* Sort a, with room for half of it in spare. */
static void
merge_sort(struct line *a, size_t count, struct line *spare)
{
	size_t half = count / 2, i = 0, j = half, k = 0;

	if (count <= SMALL_RUN) {
		insertion_sort(a, count);
		return;
	}
	merge_sort(a, half, spare);
	merge_sort(a + half, count - half, spare);
	if (!out_of_order(&a[half - 1], &a[half]))
		return;
	memcpy(spare, a, half * sizeof(*a));
	/* Never past what is read: k is i plus those taken from j on. */
	while (i < half && j < count) {
		if (out_of_order(&spare[i], &a[j]))
			a[k++] = a[j++];
		else
			a[k++] = spare[i++];
	}
	memcpy(&a[k], &spare[i], (half - i) * sizeof(*a));
}

/* --- Input and output --- */

static void
add_line(const char *text, size_t length)
{
	if (lines_count == lines_room)
		lines = cmd_grow(lines, &lines_room, sizeof(*lines));
	lines[lines_count] = (struct line){.text = text, .length = length};
	lines[lines_count].rank = rank(&lines[lines_count]);
	lines_count++;
}

static void
load(int fd, const char *name)
{
	size_t size;
	char *text = cmd_slurp(fd, name, &size);
	char *end = text + size;

	if (!text)
		return;
	if (size > 0 && end[-1] != '\n')
		*end++ = '\n'; /* in place of the NUL */
	while (text < end) {
		char *newline = memchr(text, '\n', end - text);

		add_line(text, newline - text);
		text = newline + 1;
	}
}

static void
print(void)
{
	if (into) {
		/* Not before: it may be one of the files we have read. */
		out.fd = open(into, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		if (out.fd < 0)
			cmd_die("%s", into);
	}
	for (size_t i = 0; i < lines_count; i++) {
		if (cmd_given['u'] && i > 0 &&
		    lines[i - 1].rank == lines[i].rank &&
		    compare_keys(&lines[i - 1], &lines[i]) == 0)
			continue;
		out_bytes(lines[i].text, lines[i].length + 1);
	}
}

/* --- Options --- */

/* A letter that says how to compare; false if it is none. */
static bool
order_letter(struct order *order, char letter)
{
	if (letter == 'b')
		order->skip_blanks = true;
	else if (letter == 'f')
		order->fold = true;
	else if (letter == 'n')
		order->numeric = true;
	else if (letter == 'r')
		order->reverse = true;
	else
		return false;
	return true;
}

/* FIELD[.BYTE][LETTERS], where the least byte is first; gives what follows, or
 * NULL. */
static const char *
parse_position(const char *at, long *field, long *byte, long first,
	       struct order *order)
{
	at = number_start(at, 10, 1, LONG_MAX, field);
	if (at && *at == '.')
		at = number_start(at + 1, 10, first, LONG_MAX, byte);
	while (at && order_letter(order, *at))
		at++;
	return at;
}

/* FIELD[.BYTE][LETTERS][,FIELD[.BYTE][LETTERS]] */
static void
key_add(const char *text)
{
	struct key key = {.byte = 1};
	struct order end_order = {0};
	const char *at = parse_position(text, &key.field, &key.byte, 1,
					&key.order);

	if (at && *at == ',') {
		at = parse_position(at + 1, &key.end_field, &key.end_byte, 0,
				    &end_order);
		key.end_skip_blanks = end_order.skip_blanks;
		key.order.fold |= end_order.fold;
		key.order.numeric |= end_order.numeric;
		key.order.reverse |= end_order.reverse;
	}
	if (!at || *at)
		cmd_usage("not a key: %s", text);
	if (keys_count == keys_room)
		keys = cmd_grow(keys, &keys_room, sizeof(*keys));
	keys[keys_count++] = key;
}

static bool
order_given(const struct key *key)
{
	const struct order *o = &key->order;

	return o->skip_blanks || o->fold || o->numeric || o->reverse ||
	       key->end_skip_blanks;
}

static void
options(void)
{
	char whole[] = "1";
	int c;

	while ((c = cmd_option("bfk:no:rst:u")) != -1) {
		if (c == 'k')
			key_add(cmd_value);
		else if (c == 'o')
			into = cmd_value;
		else if (c == 't' && strlen(cmd_value) != 1)
			cmd_usage("not one character: %s", cmd_value);
		else if (c == 't')
			separator = *cmd_value;
		else
			order_letter(&global, c);
	}
	in_fields = cmd_given['t'];
	if (keys_count == 0)
		key_add(whole);
	/* A key without letters of its own follows the options. */
	for (size_t i = 0; i < keys_count; i++) {
		if (!order_given(&keys[i])) {
			keys[i].order = global;
			keys[i].end_skip_blanks = global.skip_blanks;
		}
	}
}

int
main(int argc, char **argv)
{
	struct line *spare;

	cmd_trouble = 2;
	cmd_start(argc, argv, "sort", SYNOPSIS);
	options();
	cmd_files(load);
	spare = cmd_alloc(lines_count / 2 * sizeof(*spare));
	merge_sort(lines, lines_count, spare);
	free(spare);
	print();
	return cmd_done();
}

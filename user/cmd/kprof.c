/*
 * kprof: where the kernel's ticks went, by function.
 *
 * The data is what /dev/kpdata gives: big-endian words of 4 bytes. The first
 * is the number of ticks, the second how many of them fell into the kernel
 * (which may be more than into its text), and then comes one for every 8 bytes
 * of kernel text, from the symbol text_start on. A function owns the buckets
 * from its own up to that of the next function.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/elfsym.h"
#include "../cmdlib/table.h"

#define SYNOPSIS "[-n COUNT] [NAMELIST [DATA]]"
#define NAMELIST "/boot/kernel"
#define DATA     "/dev/kpdata"
#define CONTROL  "/dev/kpctl"

#define WORD         4 /* bytes */
#define WORDS_BEFORE 2 /* the buckets */
#define BUCKET       8 /* bytes of text */

struct profile {
	const unsigned char *words;
	size_t buckets;
	uint64_t base; /* of text */
};

static uint64_t
word(const struct profile *p, size_t i)
{
	const unsigned char *w = p->words + i * WORD;

	return (uint32_t)w[0] << 24 | w[1] << 16 | w[2] << 8 | w[3];
}

/* Read the counts, for text that ends at `end`. */
static void
load(struct profile *p, const char *path, uint64_t end)
{
	size_t size, needed = (end - p->base + BUCKET - 1) / BUCKET;
	int fd = cmd_open(path);
	char *words;

	if (fd < 0)
		exit(cmd_status);
	words = cmd_slurp(fd, path, &size);
	if (!words)
		exit(cmd_status);
	/* They may have grown meanwhile, and the total must have them all. A
	 * pipe has only what it gave. */
	if (size >= WORD)
		pread(fd, words, WORD, 0);
	close(fd);
	p->words = (unsigned char *)words;
	p->buckets = size / WORD - WORDS_BEFORE;
	if (size / WORD < WORDS_BEFORE || p->buckets < needed) {
		cmd_error("%s: too short for this kernel", path);
		exit(cmd_status);
	}
}

/* The bucket that an address is counted in. */
static size_t
bucket(const struct profile *p, uint64_t address)
{
	uint64_t i = address < p->base ? 0 : (address - p->base) / BUCKET;

	return i < p->buckets ? i : p->buckets;
}

/* The ticks of the buckets from first to before last. */
static uint64_t
ticks_of(const struct profile *p, size_t first, size_t last)
{
	uint64_t ticks = 0;

	for (size_t b = first; b < last; b++)
		ticks += word(p, WORDS_BEFORE + b);
	return ticks;
}

/* The functions that have ticks. */
static void
charge(const struct profile *p, const struct elfsyms *syms, struct table *t)
{
	for (size_t i = 0; i < syms->count; i++) {
		const struct elfsym *s = &syms->text[i];
		size_t last = p->buckets;

		if (i + 1 < syms->count)
			last = bucket(p, s[1].value);
		table_row(t, ticks_of(p, bucket(p, s->value), last), "%s",
			  s->name);
	}
}

/* How many samples the clock has skipped while the kernel counted those of
 * DATA. */
static unsigned long long
skipped(void)
{
	char text[64] = "";
	unsigned long long n = 0;
	int fd = cmd_open(CONTROL);

	if (fd < 0 || cmd_read(fd, text, sizeof(text) - 1, CONTROL) < 0)
		exit(cmd_status);
	close(fd);
	sscanf(text, "skipped %llu", &n);
	return n;
}

static void
print(const struct profile *p, const struct elfsyms *syms,
      unsigned long long missing, size_t limit)
{
	unsigned long long total = word(p, 0);
	unsigned long long inside = ticks_of(p, 0, p->buckets);
	struct table t = {0};

	if (total < inside) /* they were cleared before it was read */
		total = inside;

	out_printf("total: %llu\tin kernel text: %llu\t"
		   "outside kernel text: %llu",
		   total, inside, total - inside);
	if (missing > 0)
		out_printf("\tskipped: %llu", missing);
	out_char('\n');
	if (total == 0)
		return;
	charge(p, syms, &t);
	table_print(&t, NULL, total, limit);
}

int
main(int argc, char **argv)
{
	const char *namelist = NAMELIST, *data = DATA;
	size_t limit = SIZE_MAX;
	struct profile p;
	struct elfsyms syms;
	uint64_t end;

	cmd_start(argc, argv, "kprof", SYNOPSIS);
	while (cmd_option("n:") != -1)
		limit = cmd_number(cmd_value, "a number of functions", 0,
				   LONG_MAX);
	cmd_operands(0, 2);
	if (cmd_argc > 0)
		namelist = cmd_argv[0];
	if (cmd_argc > 1)
		data = cmd_argv[1];
	elfsym_kernel(&syms, namelist, &p.base, &end);
	load(&p, data, end);
	print(&p, &syms, strcmp(data, DATA) == 0 ? skipped() : 0, limit);
	return cmd_done();
}

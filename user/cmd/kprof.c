/*
 * kprof: where the kernel's ticks went, by function.
 *
 * The data is what /dev/kpdata gives: big-endian words of 4 bytes. The first
 * is the number of ticks, the second how many of them fell into the kernel,
 * and then comes one for every 8 bytes of kernel text, from the symbol
 * text_start on. A function owns the buckets from its own up to that of the
 * next function.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/elfsym.h"

#define SYNOPSIS "[-n COUNT] [NAMELIST [DATA]]"
#define NAMELIST "/boot/kernel"
#define DATA     "/dev/kpdata"

#define WORD         4 /* bytes */
#define WORDS_BEFORE 2 /* the buckets */
#define BUCKET       8 /* bytes of text */

struct profile {
	const unsigned char *words;
	size_t buckets;
	uint64_t base; /* of text */
};

struct function {
	const struct elfsym *symbol;
	uint64_t ticks;
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

	if (fd < 0)
		exit(cmd_status);
	p->words = (unsigned char *)cmd_slurp(fd, path, &size);
	close(fd);
	if (!p->words)
		exit(cmd_status);
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

/* The functions that have ticks. */
static struct function *
charge(const struct profile *p, const struct elfsyms *syms, size_t *count)
{
	struct function *f = cmd_alloc(syms->count * sizeof(*f));
	size_t n = 0;

	for (size_t i = 0; i < syms->count; i++) {
		const struct elfsym *s = &syms->text[i];
		size_t last = p->buckets;
		uint64_t ticks = 0;

		if (i + 1 < syms->count)
			last = bucket(p, s[1].value);
		for (size_t b = bucket(p, s->value); b < last; b++)
			ticks += word(p, WORDS_BEFORE + b);
		if (ticks > 0)
			f[n++] = (struct function){s, ticks};
	}
	*count = n;
	return f;
}

static int
most_first(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->ticks != b->ticks)
		return a->ticks > b->ticks ? -1 : 1;
	return a->symbol->value < b->symbol->value ? -1 : 1;
}

static void
print(const struct profile *p, const struct elfsyms *syms, size_t limit)
{
	unsigned long long total = word(p, 0), inside = word(p, 1);
	struct function *f;
	size_t count;

	out_printf("total: %llu\tin kernel text: %llu\t"
		   "outside kernel text: %llu\n",
		   total, inside, total - inside);
	if (total == 0)
		return;
	f = charge(p, syms, &count);
	qsort(f, count, sizeof(*f), most_first);
	for (size_t i = 0; i < count && i < limit; i++) {
		unsigned long long permille = f[i].ticks * 1000 / total;

		out_printf("%8llu %5llu.%llu %s\n",
			   (unsigned long long)f[i].ticks, permille / 10,
			   permille % 10, f[i].symbol->name);
	}
	free(f);
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
		limit = cmd_number(cmd_value, "a number of functions");
	cmd_operands(0, 2);
	if (cmd_argc > 0)
		namelist = cmd_argv[0];
	if (cmd_argc > 1)
		data = cmd_argv[1];
	elfsym_kernel(&syms, namelist, &p.base, &end);
	load(&p, data, end);
	print(&p, &syms, limit);
	return cmd_done();
}

/* A function's instructions, and how many samples each has. */
#include <stdio.h>
#include <string.h>

#include "../../cmdlib/disasm.h"
#include "tally.h"

/* "main", or "main+0x1a". */
static void
print_place(const struct elfsyms *syms, uint64_t address)
{
	size_t i = elfsym_find(syms, address);
	uint64_t offset;

	if (i == syms->count)
		return;
	offset = address - syms->text[i].value;
	out_string(" <");
	out_name(syms->text[i].name);
	if (offset > 0)
		out_printf("+%#llx", (unsigned long long)offset);
	out_char('>');
}

/* The function's end is where the next one begins. What lies behind it, to
 * align that one, is shown, too. */
static void
print_code(size_t number, const struct elfsyms *syms, size_t function,
	   uint64_t total)
{
	uint64_t start = syms->text[function].value, end = syms->end, hits;
	size_t left;
	const char *code = elfsym_code(syms, start, &left);
	struct disasm d;

	if (function + 1 < syms->count)
		end = syms->text[function + 1].value;
	if (end > start && left > end - start)
		left = end - start;
	for (uint64_t at = start; left >= 2; at += d.size, left -= d.size) {
		disasm(&d, at, code + (at - start), left);
		hits = count_at(number, at);
		if (hits > 0)
			out_printf("%10llu %7.1f ", (unsigned long long)hits,
				   100.0 * hits / total);
		else
			out_printf("%10s %7s ", "", "");
		out_printf("%#8llx  %s", (unsigned long long)(at - start),
			   d.text);
		if (d.target != 0)
			print_place(syms, d.target);
		out_char('\n');
	}
}

/* Those of this name; how many had samples. */
static size_t
annotate(size_t number, const struct program *p, const char *where,
	 const char *name)
{
	size_t found = 0;

	for (size_t i = 0; i < p->syms.count; i++) {
		uint64_t hits = p->functions[i];

		if (hits == 0 || strcmp(p->syms.text[i].name, name) != 0)
			continue;
		out_printf("\n%10s %7s %8s  ", "samples", "%", "at");
		out_name(name);
		out_printf(" [%s], %llu samples in it\n", where,
			   (unsigned long long)hits);
		print_code(number, &p->syms, i, hits);
		found++;
	}
	return found;
}

void
report_annotated(const char *name)
{
	char text[WHO_MAX];
	size_t found;

	count_functions();
	found = annotate(KERNEL_SPACE, &kernel, "kernel", name);
	for (size_t i = 0; i < programs_count; i++)
		if (programs[i].user)
			found += annotate(i, &programs[i], report_who(i, text),
					  name);
	if (found == 0)
		cmd_error("no samples in function %s", name);
}

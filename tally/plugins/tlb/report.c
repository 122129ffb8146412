/* Collects reports: each pair of instructions once, with a count. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

#define REPORTS 1024 /* different reports; further ones are only counted */

static struct report {
	const char *kind;
	unsigned int hart, other;
	uint64_t pc, cause, va;
	uint64_t times;
} reports[REPORTS];
static unsigned int nreports;
static uint64_t more;

void
report(const char *kind, unsigned int hart, uint64_t pc, uint64_t va,
       unsigned int other, uint64_t cause)
{
	struct report *r = reports;

	while (r < reports + nreports &&
	       (strcmp(r->kind, kind) != 0 || r->pc != pc || r->cause != cause))
		r++;
	if (r == reports + REPORTS) {
		more++;
		return;
	}
	if (r == reports + nreports) {
		*r = (struct report){kind, hart, other, pc, cause, va, 0};
		nreports++;
	}
	r->times++;
	plugin_reported(kind);
}

/* Writes lines: report KIND HART PC VA OTHER CAUSE TIMES; more TIMES; watched
 * ACCESSES CHANGES. */
void
report_write(const char *file, uint64_t watched)
{
	FILE *f = fopen(file, "w");

	if (f == NULL)
		die("the result can't be written");
	for (struct report *r = reports; r < reports + nreports; r++)
		fprintf(f,
			"report %s %u %" PRIx64 " %" PRIx64 " %u %" PRIx64
			" %" PRIu64 "\n",
			r->kind, r->hart, r->pc, r->va, r->other, r->cause,
			r->times);
	fprintf(f, "more %" PRIu64 "\n", more);
	fprintf(f, "watched %" PRIu64 " %" PRIu64 "\n", watched,
		tables_changes);
	if (fclose(f) != 0)
		die("the result can't be written");
}

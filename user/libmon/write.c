/*
 * mon.out: three words of 8 bytes, { lowpc, highpc, n }; n call counts, { pc,
 * count } of 8 bytes each; and the histogram, to the end of the file: 16-bit
 * counters of equal parts of [lowpc, highpc).
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmon.h"

extern char **__argv;

int __monitor_write(struct monitor *m);

/*
 * Where to write. A variable asks for a file for each process: PROFDIR names
 * a folder, as in System V, GMON_OUT_PREFIX what stands before the number, as
 * in GNU's library.
 */
static void
file_name(const struct monitor *m, char name[PATH_MAX])
{
	const char *file = m->arcs ? "gmon.out" : "mon.out";
	const char *where = getenv(m->arcs ? "GMON_OUT_PREFIX" : "PROFDIR");
	const char *slash = strrchr(__argv[0], '/');

	if (where == NULL || *where == '\0')
		snprintf(name, PATH_MAX, "%s", file);
	else if (m->arcs)
		snprintf(name, PATH_MAX, "%s.%d", where, getpid());
	else
		snprintf(name, PATH_MAX, "%s/%d.%s", where, getpid(),
			 slash != NULL ? slash + 1 : __argv[0]);
}

static void
mon_write(const struct monitor *m, FILE *f)
{
	uint64_t header[3] = {m->low, m->low + m->ncounts * m->width};
	const struct cell *c, *end = m->cells + m->ncells;

	for (c = m->cells; c < end; c++)
		header[2] += c->key != 0;
	fwrite(header, sizeof(header), 1, f);
	for (c = m->cells; c < end; c++)
		if (c->key != 0)
			fwrite(c, sizeof(*c), 1, f);
	fwrite(m->counts, sizeof(*m->counts), m->ncounts, f);
}

/* Put the two halves of the first counter together; how many are full. */
static size_t
complete(struct monitor *m)
{
	size_t full = 0;

	if (m->width > 2) {
		unsigned int sum = m->counts[-1] + m->counts[0];

		m->counts[0] = sum < USHRT_MAX ? sum : USHRT_MAX;
	}
	for (size_t i = 0; i < m->ncounts; i++)
		full += m->counts[i] == USHRT_MAX;
	return full;
}

/* Write the file; say what is missing in it. 0, or -1 with errno. */
int
__monitor_write(struct monitor *m)
{
	char name[PATH_MAX];
	size_t full = complete(m);
	FILE *f;
	int bad;

	file_name(m, name);
	f = fopen(name, "w");
	if (f == NULL)
		return -1;
	if (m->arcs)
		__gmon_write(m, f);
	else
		mon_write(m, f);
	bad = ferror(f);
	if (fclose(f) != 0 || bad)
		return -1;
	if (full > 0)
		warnx("%s: %zu counters reached their limit", name, full);
	if (m->lost > 0)
		warnx("%s: %llu calls were not recorded", name,
		      (unsigned long long)m->lost);
	return 0;
}

/* prfsnap: append the profiler's counters, as they are now, to a log. */
#include <fcntl.h>
#include <string.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/prflog.h"

/* NULL, or why no record of these addresses fits there. */
static const char *
mismatch(const struct prflog *log, const struct snapshot *s)
{
	if (log->n == 0)
		return NULL; /* a new log */
	if (log->n != s->n ||
	    memcmp(log->addresses, s->words + 1, s->n * sizeof(uint64_t)) != 0)
		return "its addresses differ from those loaded";
	return log->torn ? "ends inside a record" : NULL;
}

int
main(int argc, char **argv)
{
	struct snapshot now = {0};
	struct prflog log;
	const char *path, *wrong;
	int fd;

	cmd_start(argc, argv, "prfsnap", "[-f DEVICE] FILE");
	prf_open(1, 1);
	path = cmd_argv[0];
	snapshot_take(&now);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0666);
	if (fd < 0)
		cmd_die("%s", path);
	wrong = prflog_load(&log, fd, path);
	if (!wrong)
		wrong = mismatch(&log, &now);
	if (wrong && *wrong)
		cmd_error("%s: %s", path, wrong);
	if (wrong)
		return cmd_done();
	prf_enable();
	snapshot_append(&now, fd, path);
	return cmd_done();
}

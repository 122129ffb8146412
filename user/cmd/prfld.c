/*
 * prfld: load the profiler prf with the addresses of the kernel's functions,
 * and with 0 before them, for what is below the first.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prf.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"
#include "../cmdlib/elfsym.h"
#include "../cmdlib/prflog.h"

/* The profiler didn't take them: errno says why. */
static void
refused(size_t count)
{
	const char *device = prf_device;

	switch (errno) {
	case ENOSPC:
		cmd_error("%s: %zu addresses are too many: the limit is %d",
			  device, count, ioctl(prf_fd, PRF_GETMAX, 0));
		break;
	case E2BIG:
		cmd_error("%s: %zu addresses are too few: 3 are needed", device,
			  count);
		break;
	case EBUSY:
		cmd_error("%s: profiling is enabled: prfstat off disables it",
			  device);
		break;
	case EINVAL:
		cmd_error("%s: addresses are not in ascending order", device);
		break;
	default:
		cmd_warn("%s", device);
	}
}

int
main(int argc, char **argv)
{
	struct elfsyms syms;
	uint64_t start, end, *table;
	size_t count;

	cmd_start(argc, argv, "prfld", "[-f DEVICE] [NAMELIST]");
	prf_open(0, 1);
	elfsym_kernel(&syms, cmd_argc > 0 ? cmd_argv[0] : PRF_NAMELIST, &start,
		      &end);
	count = syms.count + 1;
	table = cmd_alloc(count * sizeof(*table));
	table[0] = 0;
	for (size_t i = 1; i < count; i++)
		table[i] = syms.text[i - 1].value;
	if (write(prf_fd, table, count * sizeof(*table)) < 0)
		refused(count);
	return cmd_done();
}

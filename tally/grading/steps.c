/*
 * In each program that is judged on the host: an end to what never ends. The
 * compiler calls this at each branch (-fsanitize-coverage=trace-pc). So what
 * is counted is what is executed, and the host's speed doesn't matter.
 */
#include <unistd.h>

#define STEPS_MAX 50000000 /* the solution takes less than a hundredth of it */
#define NEVER     99       /* the status that says so: host.py */

void __sanitizer_cov_trace_pc(void);

__attribute__((no_sanitize_coverage)) void
__sanitizer_cov_trace_pc(void)
{
	static unsigned long steps;

	if (++steps > STEPS_MAX)
		_exit(NEVER);
}

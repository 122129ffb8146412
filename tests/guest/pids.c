/*
 * Process ids come again when all have been given out, but for those that still
 * name something: a process, or the group of one that has ended.
 */
#include <signal.h>

#include "children.h"

/* A process that sleeps in the group of one that has ended; which group. */
static pid_t
group_of_sleeper(pid_t *member)
{
	struct gate made = gate_make();
	pid_t leader = fork();

	if (leader == 0) {
		setpgid(0, 0);
		*member = sleeper_start();
		write(made.fd[1], member, sizeof(*member));
		_exit(0);
	}
	read(made.fd[0], member, sizeof(*member));
	status_of(leader, 0);
	gate_remove(made);
	return leader;
}

int
main(void)
{
	pid_t member, group = group_of_sleeper(&member), pid = 0, last;
	bool again = false;
	int taken = 0;

	alarm(DEADLINE);
	do {
		last = pid;
		pid = fork();
		if (pid == 0)
			_exit(0);
		again |= pid < last;
		taken += pid == group || pid == member || pid == getpid();
	} while (status_of(pid, 0) == 0 && (!again || pid < member));
	CHECK(again && pid > member, "numbers come again");
	CHECK(taken == 0, "but none that names a process or a group");
	CHECK(kill(-group, SIGKILL) == 0, "the group is still its member's");
	return check_done();
}

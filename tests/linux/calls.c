/* Small calls that C libraries and runtimes make at their start, and what is
 * refused. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

static void
say(const char *name, long r)
{
	printf("%s: %ld %s\n", name, r, r < 0 ? strerrorname_np(errno) : "");
	fflush(stdout);
}

static void
test_scheduling(void)
{
	struct sched_param param = {.sched_priority = 0};
	cpu_set_t set;

	say("policy", sched_getscheduler(0));
	say("of nobody", sched_getscheduler(1 << 30));
	say("of less", sched_getscheduler(-1));
	say("param", sched_getparam(0, &param));
	say("priority", param.sched_priority);
	say("set", sched_setscheduler(0, SCHED_OTHER, &param));
	say("no policy", sched_setscheduler(0, 77, &param));
	say("param set", sched_setparam(getpid(), &param));
	param.sched_priority = 1;
	say("a priority", sched_setparam(0, &param));
	for (int policy = -1; policy < 7; policy++) {
		say("max", sched_get_priority_max(policy));
		say("min", sched_get_priority_min(policy));
	}
	say("harts", sched_getaffinity(0, sizeof(set), &set));
	say("some", CPU_COUNT(&set) > 0);
	say("set", sched_setaffinity(getpid(), sizeof(set), &set));
	CPU_ZERO(&set);
	say("set none", sched_setaffinity(0, sizeof(set), &set));
	say("nobody's", sched_getaffinity(1 << 30, sizeof(set), &set));
	say("nice", getpriority(PRIO_PROCESS, 0) >= 0);
	say("nice to group", getpriority(PRIO_PGRP, getpgrp()) >= 0);
	say("nobody's", getpriority(PRIO_PROCESS, 1 << 30));
	say("no kind", getpriority(3, 0));
	say("zero", setpriority(PRIO_PROCESS, 0, 0));
	say("cpu", sched_getcpu() >= 0);
}

static void
test_limits(void)
{
	struct rlimit limit = {0, 0}, odd = {2, 1};
	struct rusage usage;
	struct sysinfo info;

	say("stack", getrlimit(RLIMIT_STACK, &limit));
	say("MiB", limit.rlim_cur >> 20);
	say("again", setrlimit(RLIMIT_STACK, &limit));
	say("odd", setrlimit(RLIMIT_STACK, &odd));
	say("none such", getrlimit(99, &limit));
	say("nobody's", prlimit(1 << 30, RLIMIT_STACK, NULL, &limit));
	say("files", getrlimit(RLIMIT_NOFILE, &limit));
	say("enough", limit.rlim_cur >= 64 && limit.rlim_max >= limit.rlim_cur);
	say("usage", getrusage(RUSAGE_SELF, &usage));
	say("children's", getrusage(RUSAGE_CHILDREN, &usage));
	say("nobody's", getrusage(77, &usage));
	say("info", sysinfo(&info));
	say("unit", info.mem_unit > 0 && info.totalram >= info.freeram);
	say("processes", info.procs > 0);
}

static void
test_names(void)
{
	char name[16] = "";

	say("set", prctl(PR_SET_NAME, "a name that is too long"));
	say("get", prctl(PR_GET_NAME, name));
	printf("%s\n", name);
	say("none such", prctl(9999, 0, 0, 0, 0));
	say("personality", personality(0xffffffff));
	say("at random", personality(ADDR_NO_RANDOMIZE) >= 0);
}

static void
child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	waitpid(pid, &status, 0);
	printf("status %x\n", status);
	fflush(stdout);
}

static pid_t outer; /* a group of another session */

static int
lead_session(void)
{
	int status;
	pid_t pid;

	say("a session", setsid() == getpid());
	say("its own", getsid(0) == getpid() && getpgrp() == getpid());
	say("once more", setsid());
	say("leaves", setpgid(0, 0));
	pid = fork();
	if (pid == 0) {
		say("inherited", getsid(0) == getppid());
		say("a group", setpgid(0, 0));
		say("back", setpgid(0, getppid()));
		say("to another", setpgid(0, outer));
		say("after all", setsid() == getpid());
		_exit(0);
	}
	waitpid(pid, &status, 0);
	say("its child", status);
	say("nobody's", getsid(1 << 30));
	return 5;
}

static void
say_info(const char *name, int r, const siginfo_t *info, pid_t pid)
{
	int e = errno;

	printf("%s: %d %s; ", name, r, r < 0 ? strerrorname_np(e) : "");
	if (r == 0)
		printf("signal %d, code %d, status %d, pid %d", info->si_signo,
		       info->si_code, info->si_status, info->si_pid == pid);
	printf("\n");
	fflush(stdout);
}

static void
wait_info(const char *name, idtype_t type, id_t id, int options, pid_t pid)
{
	siginfo_t info;

	memset(&info, 0x55, sizeof(info));
	int r = waitid(type, id, &info, options);
	say_info(name, r, &info, pid);
}

static void
test_waitid(void)
{
	int fd[2];
	pid_t pid;
	char c;

	pipe(fd);
	wait_info("no children", P_ALL, 0, WEXITED, 0);
	pid = fork();
	if (pid == 0) {
		close(fd[1]);
		read(fd[0], &c, 1);
		_exit(7);
	}
	wait_info("not yet", P_PID, pid, WEXITED | WNOHANG, 0);
	kill(pid, SIGSTOP);
	wait_info("stopped", P_PID, pid, WSTOPPED, pid);
	kill(pid, SIGCONT);
	wait_info("continued", P_PGID, 0, WCONTINUED, pid);
	close(fd[0]);
	close(fd[1]);
	wait_info("ended, stays", P_PID, pid, WEXITED | WNOWAIT, pid);
	wait_info("ended", P_PGID, getpgrp(), WEXITED, pid);
	wait_info("gone", P_PID, pid, WEXITED, pid);
	pid = fork();
	if (pid == 0)
		pause();
	kill(pid, SIGKILL);
	wait_info("killed", P_ALL, 0, WEXITED, pid);
	wait_info("of no kind", 77, 0, WEXITED, 0);
	wait_info("for nothing", P_ALL, 0, 0, 0);
	wait_info("for odd things", P_ALL, 0, 0x40, 0);
	wait_info("pid 0", P_PID, 0, WEXITED, 0);
}

int
main(void)
{
	PROMISE("sched_setscheduler(2): one policy, and nobody has another "
		"priority");
	test_scheduling();
	PROMISE("getrlimit(2), getrusage(2), sysinfo(2)");
	test_limits();
	PROMISE("prctl(2): a thread has a name of 15 bytes");
	test_names();
	setpgid(0, 0); /* Who started this may be in another name space. */
	outer = getpgrp();
	PROMISE("setsid(2): who leads no group gets a session, once");
	child(lead_session);
	PROMISE("waitid(2): how a child ended, and that it may be asked again");
	test_waitid();
	return 0;
}

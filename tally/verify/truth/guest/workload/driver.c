/*
 * workload NAME HZ JITTER SEED SAMPLES [stacks]: let all profilers count while
 * a workload runs, until there are so many samples of busy harts, then print
 * all that they have, a line each:
 *
 *   kprof TOTAL KERNEL, kbucket ADDRESS COUNT
 *   prf ADDRESS COUNT, prfuser COUNT, prfidle COUNT
 *   pcs TYPE HART PID PC COUNT
 *   profil ADDRESS COUNT  (of this process alone, and if it has no others)
 *   pid PID PROGRAM       (of processes of other programs)
 *
 * With stacks, these are all there is, and what collect has.
 *
 * prf must have its table. Between `go' and `hold' nothing is printed.
 */
#include <fcntl.h>
#include <mon.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prf.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define PROFCLOCK     "/dev/profclock"
#define KPDATA        "/dev/kpdata"
#define SETTLE_MS     30 /* ticks till all harts know of a new rate */
#define PROGRAMS      4096
#define HELPERS       64
#define IDLE_MAX      64 /* bytes in kpdata */
#define COLLECT_READY 3  /* its descriptor */

/* Where text starts; a counter for each two bytes. */
extern char _start[];
static HISTCOUNTER histogram[1 << 16];

static pid_t pids[PROGRAMS];
static const char *names[PROGRAMS];
static unsigned int nprograms;
static pid_t helpers[HELPERS];
static unsigned int nhelpers;
static int to_collector;

void
die(const char *what)
{
	fprintf(stderr, "workload: %s\n", what);
	kill(0, SIGKILL);
	exit(1);
}

static void __attribute__((format(printf, 2, 3)))
control(const char *device, const char *format, ...)
{
	int fd = open(device, O_WRONLY);
	char line[80];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		die(device);
	close(fd);
}

void
helper(void (*work)(void))
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			work();
	if (pid < 0 || nhelpers == HELPERS)
		die("no more helpers");
	helpers[nhelpers++] = pid;
}

void
program(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || nprograms == PROGRAMS)
		die("no more programs");
	pids[nprograms] = pid;
	names[nprograms++] = argv[0];
}

static uint32_t
word(const unsigned char *w)
{
	return (uint32_t)w[0] << 24 | w[1] << 16 | w[2] << 8 | w[3];
}

/* Where the idle thread sleeps, in kpdata: its first byte, and how many. */
static off_t idle_at;
static size_t idle_size;

static void
find_idle(unsigned long text)
{
	FILE *f = fopen("/boot/symbols", "r");
	unsigned long address, start = 0;
	char line[128], name[100];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %99s", &address, name) != 2)
			die("/boot/symbols");
		if (start)
			break;
		if (strcmp(name, "idle_wait") == 0)
			start = address;
	}
	if (!start || address < start)
		die("no idle_wait in /boot/symbols");
	fclose(f);
	idle_at = 8 + (start - text) / 8 * 4;
	idle_size = ((address - 1) / 8 - start / 8 + 1) * 4;
	if (idle_size > IDLE_MAX)
		die("idle_wait is long");
}

/* The samples that kprof has seen of harts with something to do. How many are
 * of others is the host's affair, where a workload waits for it. Those are read
 * first: they are never more than all, then. */
static uint32_t
busy(void)
{
	unsigned char w[4], idle[IDLE_MAX];
	int fd = open(KPDATA, O_RDONLY);
	uint32_t n;

	if (fd < 0 ||
	    pread(fd, idle, idle_size, idle_at) != (ssize_t)idle_size ||
	    pread(fd, w, sizeof(w), 0) != sizeof(w))
		die(KPDATA);
	close(fd);
	n = word(w);
	for (size_t i = 0; i < idle_size; i += 4)
		n -= word(idle + i);
	return n;
}

/* The samples that profil has charged to this program. */
static uint32_t
charged(void)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof(histogram) / sizeof(*histogram); i++)
		n += histogram[i];
	return n;
}

static void
collect(const char *what)
{
	int in[2], out[2];
	pid_t pid;
	char c;

	if (pipe(in) < 0 || pipe(out) < 0)
		die("no pipe");
	pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], COLLECT_READY);
		close(in[1]);
		execl("/bin/collect", "collect", what, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	if (read(out[0], &c, 1) != 1)
		die("no collector");
	close(out[0]);
	to_collector = in[1];
	fcntl(to_collector, F_SETFD, FD_CLOEXEC);
	pids[nprograms] = pid;
	names[nprograms++] = "/bin/collect";
}

static void
print_kprof(const struct sysinfo *info)
{
	FILE *f = fopen(KPDATA, "r");
	unsigned char w[4];
	unsigned long at = info->text_start;
	uint32_t all;

	if (f == NULL || fread(w, sizeof(w), 1, f) != 1)
		die(KPDATA);
	all = word(w);
	if (fread(w, sizeof(w), 1, f) != 1)
		die(KPDATA);
	printf("kprof %u %u\n", all, word(w));
	for (; fread(w, sizeof(w), 1, f) == 1; at += 8)
		if (word(w))
			printf("kbucket %lx %u\n", at, word(w));
	fclose(f);
}

static void
print_prf(void)
{
	static unsigned long table[2 * 16384 + 2];
	int fd = open("/dev/prf", O_RDWR);
	int n;

	if (fd < 0 || ioctl(fd, PRF_GETSIZE, &n) < 0 ||
	    read(fd, table, sizeof(table)) != (ssize_t)(2 * n + 2) * 8)
		die("/dev/prf");
	for (int i = 0; i < n; i++)
		if (table[n + i])
			printf("prf %lx %lu\n", table[i], table[n + i]);
	printf("prfuser %lu\nprfidle %lu\n", table[2 * n], table[2 * n + 1]);
	close(fd);
}

static void
print_profil(void)
{
	for (size_t i = 0; i < sizeof(histogram) / sizeof(*histogram); i++)
		if (histogram[i])
			printf("profil %lx %u\n", (unsigned long)_start + 2 * i,
			       histogram[i]);
}

static const struct workload *
find(const char *name)
{
	for (unsigned int i = 0; i < nworkloads; i++)
		if (strcmp(workloads[i].name, name) == 0)
			return &workloads[i];
	die("there is no such workload");
	return NULL;
}

/* Everything is ready, and nothing counted yet. */
static void
prepare(const struct workload *w, char **argv, unsigned int harts)
{
	struct timespec settle = {.tv_nsec = SETTLE_MS * 1000000L};
	int prf = open("/dev/prf", O_RDWR);

	control(PROFCLOCK, "hold");
	control(PROFCLOCK, "hz %s", argv[2]);
	control(PROFCLOCK, "jitter %s", argv[3]);
	control(PROFCLOCK, "seed %s", argv[4]);
	control("/dev/kpctl", "startclr");
	if (prf < 0 || ioctl(prf, PRF_SETSTATE, PRF_ON) < 0)
		die("prf can't be enabled");
	close(prf);
	collect(argv[6]);
	if (w->start)
		w->start(harts);
	for (unsigned int i = 1; w->copies && i < harts; i++)
		helper(w->work);
	profil(histogram, sizeof(histogram), (unsigned long)_start, 65535);
	nanosleep(&settle, NULL);
}

int
main(int argc, char **argv)
{
	const struct workload *w;
	struct sysinfo info;
	uint32_t samples;
	bool failed = false;
	int status;

	if (argc == 1) /* what forkexec runs */
		return 0;
	if (argc != 6 && argc != 7)
		die("NAME HZ JITTER SEED SAMPLES [stacks]");
	setpgid(0, 0);
	w = find(argv[1]);
	samples = atoi(argv[5]);
	sysinfo(&info, sizeof(info));
	find_idle(info.text_start);
	prepare(w, argv, info.harts);
	control(PROFCLOCK, "go");
	while (busy() < samples || (w->waits && charged() < samples / 6 * 5))
		w->work();
	control(PROFCLOCK, "hold");
	profil(histogram, 0, 0, 0);
	if (argc == 6) {
		print_kprof(&info);
		print_prf();
		print_profil();
	}
	for (unsigned int i = 0; i < nprograms; i++)
		printf("pid %d %s\n", pids[i], names[i]);
	fflush(stdout);
	for (unsigned int i = 0; i < nhelpers; i++)
		kill(helpers[i], SIGKILL);
	close(to_collector); /* the last one: the collector prints */
	while (wait(&status) > 0)
		failed |= WIFEXITED(status) && WEXITSTATUS(status);
	return failed; /* it has said why: records are lost */
}

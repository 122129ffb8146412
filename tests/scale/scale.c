/*
 * scale OPERATION PROCESSES MILLISECONDS [HZ]: what so many processes do
 * together in that time: `getpid', `fork' (with exit and wait) or `loop'. With
 * a rate all profilers count meanwhile. Prints one number.
 */
#include <sys/wait.h>

#include "../guest/pcs.h"
#include "../guest/prf.h"

#define MOST 16

int __aix_profil(void *, unsigned int, unsigned long, unsigned int);

static const char *operation;
static unsigned short clocks;

static void
loop(void)
{
	long n = 1000;

	asm volatile("1: addi %0, %0, -1; bnez %0, 1b" : "+r"(n));
}

static void
do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void
do_some(void)
{
	if (strcmp(operation, "fork") == 0)
		do_fork();
	for (int i = 0; strcmp(operation, "getpid") == 0 && i < 100; i++)
		getppid();
	if (strcmp(operation, "loop") == 0)
		loop();
}

/* All begin at the same moment, and end at another. */
static void
work(uint64_t begin, uint64_t end, int result)
{
	uint64_t n = 0;

	while (now_us() < begin)
		;
	for (; now_us() < end; n++)
		do_some();
	write(result, &n, sizeof(n));
	_exit(0);
}

/* All four profilers, of all. */
static void
profile(const char *hz)
{
	static unsigned long text[8];
	int minor[HARTS + 1];
	unsigned int harts = prf_open_all(minor, text, 8);

	ctl(PROFCLOCK, "hz %s", hz);
	ctl(KPCTL, "startclr");
	prf_switch_all(minor, harts, text, 8, PRF_ON);
	ioctl(pcs_open(), PROF_ALL, NULL);
	__aix_profil(&clocks, 2, 0, 2);
}

int
main(int argc, char **argv)
{
	uint64_t begin, ms, n, sum = 0;
	int processes, result[2];

	if (argc < 4 || (processes = atoi(argv[2])) < 1 || processes > MOST)
		return 2;
	operation = argv[1];
	ms = atoi(argv[3]);
	pipe(result);
	if (argc > 4)
		profile(argv[4]);
	begin = now_us() + 100000;
	for (int i = 0; i < processes; i++)
		if (fork() == 0)
			work(begin, begin + ms * 1000, result[1]);
	for (int i = 0; i < processes; i++) {
		read(result[0], &n, sizeof(n));
		sum += n;
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}

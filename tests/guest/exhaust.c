/*
 * Memory runs out, by all that a program can have of it or make the kernel
 * keep. Whoever asks for more gets an error in time: another program can still
 * be started, to end it. When promised pages can't be had the largest process
 * ends, and nobody else.
 */
#include <mon.h>

#include "children.h"

#define TURNS   5     /* programs run one after the other */
#define PROMISE 400   /* pages */
#define RANGES  1000  /* of a histogram */
#define FULL    30    /* pipes of a process */
#define HOGS    20    /* processes with that many */
#define FILES   60000 /* more than there is room for on 32 MiB */
#define LONG    255   /* bytes of a name */

static struct gate done, end;

/* Tell that all has been taken, and keep it. */
static _Noreturn int
keep(void)
{
	gate_open(done);
	for (;;)
		pause();
}

static int
touch(char *page, long n)
{
	for (long i = 0; i < n; i++)
		page[i * PAGE] = 1;
	return 0;
}

static void
take_heap(void)
{
	char *page;

	while ((page = sbrk(PAGE)) != (char *)-1)
		touch(page, 1);
}

/* --- All that there is, by what a program may ask for --- */

static int
take_pages(void)
{
	take_heap();
	return keep();
}

static void
thread_stay(void *)
{
	for (;;)
		pause();
}

static int
take_threads(void)
{
	static long stack[64];

	take_heap();
	while (thread_make(thread_stay, &stack[64]) > 0)
		;
	return keep();
}

static int
take_descriptors(void)
{
	take_heap();
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	return keep();
}

static int
take_histogram(void)
{
	static struct prof range[RANGES + 1];
	static HISTCOUNTER counter;

	for (int i = 0; i < RANGES; i++)
		range[i] = (struct prof){
		    .p_low = 0x1000 * (i + 1),
		    .p_high = 0x1000 * (i + 2),
		    .p_buff = &counter,
		};
	take_heap();
	profil(range, -1, 0, 0);
	return keep();
}

static char bytes[16 * PAGE];

static void
fill_pipes(void)
{
	int fd[2];

	for (int i = 0; i < FULL && pipe(fd) == 0; i++)
		write(fd[1], bytes, sizeof(bytes));
}

/* In as many processes as there is room for. */
static int
take_pipes(void)
{
	for (int i = 0; i < HOGS && pages_free() > PROMISE; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			fill_pipes();
			keep();
		}
		if (pid < 0 || !gate_pass(done))
			break;
	}
	return keep();
}

static int
take_names(void)
{
	char name[LONG + 1], old[LONG + 1];
	int n = 0, fd;

	mkdir("names", 0777);
	chdir("names");
	for (; n < FILES; n++) {
		sprintf(name, "%d", n);
		fd = open(name, O_WRONLY | O_CREAT, 0666);
		if (fd < 0)
			break;
		close(fd);
	}
	memset(name, 'n', LONG);
	name[LONG] = '\0';
	for (int i = 0; i < n; i++) {
		sprintf(old, "%d", i);
		sprintf(name, "%d", i);
		name[strlen(name)] = '-';
		if (rename(old, name) < 0)
			break;
	}
	return n < FILES ? keep() : 1;
}

static char *const nothing[] = {"true", NULL};

static int
run(const char *program, char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execv(program, argv);
		_exit(127);
	}
	return child_wait(pid);
}

/* While all that can be had so is taken, programs can be run. */
static void
try(const char *what, int (*take)(void))
{
	static char *const names[] = {"rm", "-r", "names", NULL};
	long before = pages_free();
	pid_t pid = fork();
	int bad = 0;

	if (pid == 0) {
		setpgid(0, 0);
		_exit(take());
	}
	gate_pass(done);
	for (int i = 0; i < TURNS; i++)
		bad += run("/bin/true", nothing) != 0;
	CHECK(bad == 0, "%s: others can run programs", what);
	kill(-pid, SIGKILL);
	CHECK(killed(pid, SIGKILL), "%s: and end it", what);
	if (access("names", F_OK) == 0)
		CHECK(run("/bin/rm", names) == 0, "%s: and remove it", what);
	CHECK(AWAIT(pages_free() >= before), "%s: all is back (%ld)", what,
	      before - pages_free());
}

/* --- What was promised --- */

/* Promised are some pages; then all others go. */
static int
want_promised(void)
{
	char *promised = sbrk(PROMISE * PAGE);

	gate_open(done);
	gate_pass(end);
	return touch(promised, PROMISE);
}

/* The largest by its own pages.. */
static int
keep_pages(void)
{
	touch(sbrk(2 * PROMISE * PAGE), 2 * PROMISE);
	return keep();
}

/* ..and by what the kernel keeps for it. */
static int
keep_pipes(void)
{
	fill_pipes();
	return keep();
}

/* Files take all they may, and then some pages are missing. */
static void
check_who_ends(const char *what, int (*take)(void))
{
	pid_t wants = child_start(want_promised), pid;
	int fd = open("/tmp/full", O_RDWR | O_CREAT | O_TRUNC, 0666);
	long before;

	gate_pass(done);
	before = pages_free();
	pid = child_start(take);
	gate_pass(done);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	gate_open(end);
	CHECK(child_wait(wants) == 0, "%s: who wants promised pages has them",
	      what);
	CHECK(killed(pid, SIGKILL), "%s: the largest has ended", what);
	close(fd);
	unlink("/tmp/full");
	CHECK(AWAIT(pages_free() >= before), "%s: all is back (%ld)", what,
	      before - pages_free());
}

int
main(void)
{
	scratch_enter("exhaust.d");
	done = gate_make();
	end = gate_make();
	gate_open(done); /* so that each has its page already */
	gate_open(end);
	gate_pass(done);
	gate_pass(end);
	touch(bytes, 16);
	CHECK(run("/bin/true", nothing) == 0, "programs can be run");
	try("memory", take_pages);
	try("threads", take_threads);
	try("descriptors", take_descriptors);
	try("a histogram", take_histogram);
	try("pipes", take_pipes);
	try("names", take_names);
	check_who_ends("pages", keep_pages);
	check_who_ends("full pipes", keep_pipes);
	scratch_leave("exhaust.d");
	return check_done();
}

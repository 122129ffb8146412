/*
 * No memory, at every point where a call wants some: /dev/ktest has the first
 * allocation that an operation makes fail, then the second, and so on until
 * none is left. Each failure has its errno, loses nothing, and the next try
 * succeeds.
 *
 * `no_memory DIR` tries what is to be done with files in that folder.
 */
#include <dirent.h>
#include <mon.h>
#include <pcsample.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pcs.h>
#include <sys/prf.h>
#include <sys/timerfd.h>

#include "children.h"

#define FAILURES_MAX 200 /* of an operation */
#define LARGE        (16 * PAGE)
#define STACKS       1024 /* of all threads */
#define FEW          64   /* that have their pages already */

/* How a child that tries an operation ends: an errno, and */
#define FAILED    128 /* there was a failure */
#define NOT_AGAIN 127 /* but the next try had no success either */
#define NO_REASON 126 /* it had no success, without a failure */

/* <mon.h>'s profil is AIX's; this is the other. */
int solaris_profil(void *buffer, unsigned int bytes, unsigned int offset,
		   unsigned int scale) __asm__("profil");

static int ktest;
static char large[LARGE];

/* What comes of it: 0, or an errno. What it makes, it removes again, but for
 * memory of the process's own. */
typedef int (*operation)(void);

static operation doing;
static unsigned int nth;
static bool failed; /* the failure has come */

/* A number that /dev/ktest says. */
static long
ktest_says(const char *name)
{
	char text[64];
	ssize_t n = pread(ktest, text, sizeof(text) - 1, 0);
	const char *at;

	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, name);
	return at != NULL ? atol(at + strlen(name)) : -1;
}

static void
fail_at(unsigned int n)
{
	char line[32];

	write(ktest, line, sprintf(line, "failalloc %u", n));
}

/* From now on nothing fails; and has it? */
static void
no_more_failures(void)
{
	failed |= nth != 0 && ktest_says("failalloc ") == 0;
	nth = 0;
	fail_at(0);
}

/* The errno of a result; what then is undone doesn't fail. */
static int
error_of(long result)
{
	int e = result < 0 ? errno : 0;

	no_more_failures();
	return e;
}

/* --- Processes and memory --- */

static int
do_fork(void)
{
	pid_t pid = fork();
	int e;

	if (pid == 0)
		_exit(0);
	e = error_of(pid);
	waitpid(pid, NULL, 0);
	return e;
}

/* It shares this function's frame. */
static int
do_vfork(void)
{
	volatile pid_t pid = call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD,
				  0);
	int e;

	if (pid == 0)
		_exit(0);
	errno = -pid;
	e = error_of(pid);
	waitpid(pid, NULL, 0);
	return e;
}

static void
thread_stay(void *)
{
	for (;;)
		pause();
}

/* It becomes this program, which says what no_more_failures would. Another
 * thread is there as long as this doesn't happen. */
static int
do_exec(void)
{
	char fd[12], e[12];
	char *argv[] = {"no_memory", "-e", fd, e, large, NULL};
	static long stack[64];
	static int before; /* what came of the first try */

	if (before == 0) {
		fail_at(0);
		thread_make(thread_stay, &stack[64]);
		fail_at(nth);
	}
	sprintf(fd, "%d", ktest);
	sprintf(e, "%d", before);
	execv("/bin/no_memory", argv);
	before = error_of(-1);
	if (info_of(getpid()).threads != 2)
		before = ESRCH;
	return before;
}

static int
after_exec(char **argv)
{
	ktest = atoi(argv[2]);
	nth = 1;
	no_more_failures();
	return failed ? FAILED | atoi(argv[3]) : 0;
}

/* Into pages that weren't there. */
static int
do_read(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	int e = error_of(zero < 0 ? -1 : read(zero, sbrk(LARGE), LARGE));

	close(zero);
	return e;
}

static void
thread_end(void *)
{
	for (;;)
		call(SYS_exit, 0, 0);
}

static int
do_thread(void)
{
	long tid = thread_make(thread_end, large + LARGE);

	errno = -tid;
	return error_of(tid);
}

static int
do_psinfo(void)
{
	return error_of(psinfo((struct psinfo *)large, 64));
}

/* --- Mappings --- */

static char *mapped; /* 16 pages, of which each second one is there */

/* The first byte of each page is still what it was. */
static bool
mapped_holds(const char *p)
{
	for (int i = 0; i < LARGE / PAGE; i += 2)
		if (p[i * PAGE] != 'a' + i)
			return false;
	return true;
}

/* More regions than an address space has room for of its own. */
static void
mapped_make(void)
{
	if (mapped != NULL)
		return;
	for (int i = 0; i < 20; i++)
		mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < LARGE / PAGE; i += 2)
		mapped[i * PAGE] = 'a' + i;
}

static int
do_mmap(void)
{
	void *p = mmap(NULL, LARGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);

	return error_of(p == MAP_FAILED ? -1 : munmap(p, LARGE));
}

/* A region becomes three. */
static int
do_mprotect(void)
{
	int e;

	fail_at(0);
	mapped_make();
	fail_at(nth);
	e = error_of(mprotect(mapped + PAGE, PAGE, PROT_READ));
	return mapped_holds(mapped) ? e : EIO;
}

static int
do_munmap(void)
{
	int e;

	fail_at(0);
	mapped_make();
	fail_at(nth);
	e = error_of(munmap(mapped + PAGE, PAGE));
	return mapped_holds(mapped) ? e : EIO;
}

/* To where it needs tables of its own. */
static int
do_mremap(void)
{
	void *to = (void *)0x1000000000, *p;
	int e;

	fail_at(0);
	mapped_make();
	fail_at(nth);
	p = mremap(mapped, LARGE, LARGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	e = error_of(p == MAP_FAILED ? -1 : 0);
	return mapped_holds(e == 0 ? to : mapped) ? e : EIO;
}

/* --- Files --- */

static int
open_close(const char *path, int flags)
{
	int fd = open(path, flags, 0666), e = error_of(fd);

	close(fd);
	return e;
}

static int
do_open(void)
{
	return open_close("there", O_RDWR);
}

static int
do_create(void)
{
	int e = open_close("new", O_RDWR | O_CREAT | O_EXCL);

	return unlink("new") == 0 && e != 0 ? EEXIST : e;
}

/* A part of it is as good as nothing. */
static int
do_write(void)
{
	int fd = open("there", O_RDWR);
	ssize_t n = fd < 0 ? -1 : write(fd, large, LARGE);
	int e = error_of(n);

	if (fd >= 0)
		ftruncate(fd, 1);
	close(fd);
	return n < 0 || n == LARGE ? e : ENOSPC;
}

static int
do_read_file(void)
{
	int fd = open("there", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, large, LARGE);
	int e = error_of(n);

	close(fd);
	return e;
}

static int
do_mkdir(void)
{
	int e = error_of(mkdir("dir", 0777));

	rmdir("dir");
	return e;
}

static int
do_rename(void)
{
	int e = error_of(rename("there", "where"));

	rename("where", "there");
	return e;
}

static int
do_stat(void)
{
	struct stat st;

	return error_of(stat("there", &st));
}

static int
do_list(void)
{
	int fd = open(".", O_RDONLY);
	int e = error_of(fd < 0 ? -1 : getdents64(fd, large, LARGE));

	close(fd);
	return e;
}

static int
do_device(void)
{
	return open_close("/dev/null", O_RDWR);
}

static int
do_pipe(void)
{
	int fd[2], e;
	ssize_t n;

	if (pipe(fd) < 0)
		return error_of(-1);
	n = write(fd[1], large, 2 * PAGE);
	e = error_of(n);
	close(fd[0]);
	close(fd[1]);
	return n > 0 && n < 2 * PAGE ? ENOMEM : e; /* a part is written */
}

static int
do_poll(void)
{
	int fd[2], e = error_of(pipe(fd));
	struct pollfd p = {.fd = fd[0], .events = POLLIN};

	return e != 0 ? e : error_of(poll(&p, 1, 1));
}

/* --- Profilers --- */

static int
do_eventfd(void)
{
	int fd = eventfd2(0, 0), e = error_of(fd);

	close(fd);
	return e;
}

static int
do_timerfd(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), e = error_of(fd);

	close(fd);
	return e;
}

static int
do_epoll(void)
{
	struct epoll_event event = {.events = POLLIN};
	int epoll = epoll_create1(0), e = error_of(epoll);

	if (e == 0)
		e = error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, 1, &event));
	close(epoll);
	return e;
}

static int
do_proc(void)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	int e = error_of(fd < 0 ? -1 : read(fd, large, LARGE));

	close(fd);
	return e;
}

static int
do_kprof(void)
{
	return open_close("/dev/kpdata", O_RDONLY);
}

/* Its buffers were set aside at boot. */
static int
do_pcs(void)
{
	int fd = open("/dev/pcs", O_RDONLY), list[2] = {1, getpid()};
	int e = error_of(fd < 0 || ioctl(fd, BUF_INCR, 2) < 0 ||
				 ioctl(fd, PROF_LIST, list) < 0 ||
				 ioctl(fd, PROF_KERNEL, 0) < 0
			     ? -1
			     : 0);

	close(fd);
	return e;
}

static int
do_prf(void)
{
	static const unsigned long table[] = {1, 2, 3};
	int fd = open("/dev/prf", O_RDWR);
	int e = error_of(fd < 0 ? -1 : write(fd, table, sizeof(table)));

	close(fd);
	return e;
}

static int
do_profil(void)
{
	return error_of(solaris_profil(large, LARGE, 0x10000, 0x10000));
}

/* It wants the buffer's pages, too. */
static int
do_aix_profil(void)
{
	return error_of(profil(sbrk(LARGE), LARGE, 0x10000, 0xffff));
}

static int
do_pcsample(void)
{
	return error_of(pcsample((uintptr_t *)large, 100));
}

/* --- One after the other --- */

static int
try(void)
{
	int e;

	memset(large, 'a', LARGE - 1); /* it's there: no page fault fails */
	fail_at(nth);
	e = doing();
	no_more_failures();
	if (!failed)
		return e == 0 ? 0 : NO_REASON;
	return doing() == 0 ? FAILED | e : NOT_AGAIN;
}

/* Each allocation of it fails once, with one of two errnos. */
static void
test(const char *what, operation op, int errno1, int errno2)
{
	int n, bad = 0, end = FAILED;
	long lost = 0;

	doing = op;
	for (n = 1; end != 0 && n <= FAILURES_MAX; n++) {
		long before = ktest_says("blocks ");

		nth = n;
		end = child_run(try);
		if (op != do_prf) /* which keeps its table */
			lost += ktest_says("blocks ") - before;
		if (end != 0 && end != (FAILED | errno1) &&
		    end != (FAILED | errno2))
			bad = end;
	}
	nth = 0;
	CHECK(bad == 0 && end == 0 && n > 2,
	      "%s: each time the right errno, then success", what);
	if (bad != 0 || n <= 2)
		printf("%s: %d, %d failures\n", what, bad, n - 2);
	CHECK(lost == 0, "%s: nothing is lost", what);
	if (lost != 0)
		printf("%s: %ld blocks\n", what, lost);
}

/* A file that has room for what will be written, as it keeps that. */
static void
make_file(void)
{
	int fd = open("there", O_RDWR | O_CREAT | O_TRUNC, 0666);

	if (write(fd, large, LARGE) != LARGE || ftruncate(fd, 1) < 0)
		printf("no file: %s\n", strerror(errno));
	close(fd);
}

/* The host has memory enough for names; and some memory makes do for reading
 * and writing its file, and for the first names of a folder. A file may have
 * been made although opening it failed (docs/limits.md). */
static void
test_host(void)
{
	make_file();
	test("open", do_open, ENOMEM, ENOMEM);
	test("open, to make a file", do_create, ENOMEM, EEXIST);
	test("write", do_write, ENOMEM, 0);
	test("read a file", do_read_file, ENOMEM, 0);
	test("stat", do_stat, ENOMEM, ENOMEM);
	test("getdents64", do_list, ENOMEM, 0);
	unlink("there");
}

static void
test_files(void)
{
	make_file();
	test("open", do_open, ENOMEM, ENOMEM);
	test("open, to make a file", do_create, ENOMEM, ENOSPC);
	test("write", do_write, ENOMEM, ENOSPC);
	test("read a file", do_read_file, ENOMEM, ENOMEM);
	test("mkdir", do_mkdir, ENOSPC, ENOSPC);
	test("rename", do_rename, ENOSPC, ENOSPC);
	test("getdents64", do_list, ENOMEM, ENOMEM);
	unlink("there");
}

static void
test_others(void)
{
	test("fork", do_fork, ENOMEM, EAGAIN);
	test("vfork", do_vfork, ENOMEM, EAGAIN);
	test("execve", do_exec, ENOMEM, ENOMEM);
	test("read into new pages", do_read, ENOMEM, 0); /* it waits */
	test("a thread", do_thread, EAGAIN, EAGAIN);
	test("mmap", do_mmap, ENOMEM, ENOMEM);
	test("mprotect", do_mprotect, ENOMEM, ENOMEM);
	test("munmap", do_munmap, ENOMEM, ENOMEM);
	test("mremap", do_mremap, ENOMEM, ENOMEM);
	test("psinfo", do_psinfo, ENOMEM, ENOMEM);
	test("a device", do_device, ENOMEM, ENOMEM);
	test("pipe", do_pipe, ENOMEM, 0); /* a page may be had later */
	test("poll", do_poll, ENOMEM, ENOMEM);
	test("eventfd", do_eventfd, ENOMEM, ENOMEM);
	test("timerfd", do_timerfd, ENOMEM, ENOMEM);
	test("epoll", do_epoll, ENOMEM, ENOMEM);
	test("/proc", do_proc, ENOMEM, ENOMEM);
	test("kprof", do_kprof, ENOMEM, ENOMEM);
	test("pcs", do_pcs, ENOMEM, ENOMEM);
	test("prf", do_prf, ENOMEM, ENOMEM);
	test("Solaris's profil", do_profil, ENOMEM, ENOMEM);
	test("AIX's profil", do_aix_profil, EFAULT, EFAULT);
	test("pcsample", do_pcsample, ENOMEM, ENOMEM);
}

/* Threads are made of which each lacks a page of its kernel stack. */
static int
lack_stacks(void)
{
	int lacking = 0;

	for (int i = 0; i < STACKS + FEW; i++) {
		fail_at(3); /* after the thread itself, and its first page */
		lacking += thread_make(thread_stay, large + LARGE) < 0;
		fail_at(0);
	}
	return lacking >= STACKS && do_thread() == 0 ? 0 : 1;
}

static void
test_stacks(void)
{
	CHECK(child_run(lack_stacks) == 0,
	      "a thread for whose stack there was no memory takes no stack");
}

int
main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "-e") == 0)
		return after_exec(argv);
	ktest = open("/dev/ktest", O_RDWR);
	if (argc > 1) {
		CHECK(chdir(argv[1]) == 0, "%s is there", argv[1]);
		test_host();
	} else {
		scratch_enter("no_memory.d");
		test_files();
		test_others();
		test_stacks();
		scratch_leave("no_memory.d");
	}
	return check_done();
}

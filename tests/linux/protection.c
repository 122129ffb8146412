/* What a fault says of itself, and whose a page is when its protection changes
 * before or after a fork. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

#define PAGE 4096
#define RW   (PROT_READ | PROT_WRITE)

static sigjmp_buf back;
static volatile int code;
static char *volatile address;

static void
faulted(int sig, siginfo_t *info, void *context)
{
	(void)context;
	code = info->si_code;
	address = info->si_addr;
	siglongjmp(back, sig);
}

static const char *
name_of(int sig)
{
	if (sig == SIGBUS)
		return code == BUS_ADRERR ? "SIGBUS, BUS_ADRERR" : "SIGBUS";
	return code == SEGV_MAPERR   ? "SIGSEGV, SEGV_MAPERR"
	       : code == SEGV_ACCERR ? "SIGSEGV, SEGV_ACCERR"
				     : "SIGSEGV";
}

/* An access at an offset of a mapping: what it reads, or how it fails. */
static void
touch(const char *what, char *p, long offset, int writes)
{
	int sig = sigsetjmp(back, 1);

	if (sig != 0)
		printf("%s: %s at %ld\n", what, name_of(sig),
		       (long)(address - p));
	else if (writes)
		printf("%s: writes %d\n", what,
		       *(volatile char *)(p + offset) = writes);
	else
		printf("%s: reads %d\n", what, *(volatile char *)(p + offset));
}

static char *
map(int pages, int protection)
{
	return mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
}

static void
test_codes(void)
{
	char *p = map(4, RW);

	munmap(p + PAGE, PAGE);
	mprotect(p + 2 * PAGE, PAGE, PROT_NONE);
	mprotect(p + 3 * PAGE, PAGE, PROT_READ);
	touch("nothing is there, read", p, PAGE + 5, 0);
	touch("nothing is there, write", p, 2 * PAGE - 1, 1);
	touch("PROT_NONE, read", p, 2 * PAGE + 7, 0);
	touch("PROT_NONE, write", p, 3 * PAGE - 1, 1);
	touch("PROT_READ, read", p, 3 * PAGE + 1, 0);
	touch("PROT_READ, write", p, 4 * PAGE - 1, 1);
	munmap(p, 4 * PAGE);
	touch("all of it gone", p, 0, 0);
}

static void
test_end_of_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *p;

	ftruncate(fd, PAGE + 10);
	p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
	touch("in the last page, behind the end", p, 2 * PAGE - 1, 0);
	touch("a page on", p, 2 * PAGE, 0);
	touch("a page on, write", p, 3 * PAGE - 1, 1);
	ftruncate(fd, 3 * PAGE);
	touch("once the file has grown", p, 3 * PAGE - 1, 2);
	ftruncate(fd, PAGE + 10);
	touch("stored past the end", p, PAGE + 20, 7);
	ftruncate(fd, PAGE + 30);
	touch("grown so far", p, PAGE + 20, 0);
	touch("stored past the end", p, PAGE + 40, 7);
	pwrite(fd, "x", 1, PAGE + 50);
	touch("written so far", p, PAGE + 40, 0);
	munmap(p, 4 * PAGE);
	close(fd);
	unlink(name);
}

/* A child does something with a page; then both say what they have. */
static void
in_a_child(char *p, void (*child)(char *), void (*parent)(char *))
{
	pid_t pid = fork();

	if (pid == 0) {
		child(p);
		touch("  child", p, 0, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	parent(p);
	touch("  parent", p, 0, 0);
}

static void
protect_then_write(char *p)
{
	mprotect(p, PAGE, PROT_READ);
	touch("  protected", p, 0, 9);
	mprotect(p, PAGE, RW);
	touch("  again", p, 0, 2);
}

static void
unprotect_then_write(char *p)
{
	mprotect(p, PAGE, RW);
	touch("  to be written", p, 0, 3);
}

static void
only_write(char *p)
{
	touch("  as it is", p, 0, 4);
}

static void
nothing(char *p)
{
	(void)p;
}

static void
hide_and_show(char *p)
{
	mprotect(p, PAGE, PROT_NONE);
	touch("  hidden", p, 0, 0);
	mprotect(p, PAGE, PROT_READ);
	touch("  shown", p, 0, 0);
	touch("  shown, write", p, 0, 5);
}

static void
test_forks(void)
{
	static void (*const all[])(char *) = {
	    protect_then_write, unprotect_then_write, only_write, nothing,
	    hide_and_show,
	};
	char *p = map(1, RW);

	for (int protection = PROT_READ; protection <= RW;
	     protection += PROT_WRITE)
		for (int i = 0; i < 25; i++) {
			mprotect(p, PAGE, RW);
			*p = 1;
			mprotect(p, PAGE, protection);
			printf("%s, %d and %d\n",
			       protection == RW ? "written" : "read only",
			       i / 5, i % 5);
			fflush(stdout);
			in_a_child(p, all[i / 5], all[i % 5]);
		}
	munmap(p, PAGE);
}

/* A page of a file that a process has made its own stays that. */
static void
test_own_page(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *p;

	write(fd, "\1\1", 2);
	p = mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, 0);
	touch("own", p, 0, 2);
	mprotect(p, PAGE, PROT_NONE);
	touch("hidden", p, 0, 0);
	mprotect(p, PAGE, PROT_READ);
	pwrite(fd, "\7\7", 2, 0);
	touch("read only", p, 0, 0);
	mprotect(p, PAGE, RW);
	touch("written again", p, 1, 3);
	touch("its other byte", p, 0, 0);
	munmap(p, PAGE);
	close(fd);
	unlink(name);
}

int
main(void)
{
	struct sigaction act = {.sa_sigaction = faulted,
				.sa_flags = SA_SIGINFO};

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	PROMISE(
	    "sigaction(2): SEGV_MAPERR or SEGV_ACCERR, and the exact address");
	test_codes();
	PROMISE("mmap(2): behind a file's last page is SIGBUS, BUS_ADRERR");
	test_end_of_file("end");
	PROMISE(
	    "mprotect(2): what a fork shares stays apart, in whatever order");
	test_forks();
	PROMISE("mprotect(2): a page that is one's own stays so");
	test_own_page("own");
	return 0;
}

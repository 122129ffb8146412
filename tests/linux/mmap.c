/* mmap and its like: what is there, where it may be, and each error. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

#define PAGE 4096L
#define RW   (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static void
say(const char *what, long result)
{
	if (result < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: %ld\n", what, result);
}

/* An address says nothing but that it's there. */
static void
say_map(const char *what, void *at)
{
	say(what, at == MAP_FAILED ? -1 : 0);
}

static sigjmp_buf back;

static void
on_fault(int sig)
{
	siglongjmp(back, sig);
}

/* The signal that an access raises, or 0. */
static int
read_at(const volatile char *at)
{
	int sig = sigsetjmp(back, 1);

	if (sig == 0)
		(void)*at;
	return sig;
}

static int
write_at(volatile char *at)
{
	int sig = sigsetjmp(back, 1);

	if (sig == 0)
		*at = 'w';
	return sig;
}

static char *
pages(int n, int prot)
{
	return mmap(NULL, n * PAGE, prot, ANON, -1, 0);
}

static void
test_anonymous(void)
{
	char *p = pages(4, RW), *q;

	printf("zero: %d, last %d\n", p[0], p[4 * PAGE - 1]);
	p[0] = 1;
	p[3 * PAGE] = 4;
	say("unmap the middle", munmap(p + PAGE, 2 * PAGE));
	printf("%d %d, there: signal %d\n", p[0], p[3 * PAGE],
	       read_at(p + PAGE));
	q = mmap(p + PAGE + 1, PAGE, RW, ANON, -1, 0);
	printf("a hint is rounded down: %d\n", q == p + PAGE);
	munmap(q, PAGE);
	q = mmap(p + PAGE, PAGE, RW, ANON, -1, 0);
	printf("a free hint: %s\n", q == p + PAGE ? "taken" : "not taken");
	q = mmap(p, PAGE, RW, ANON, -1, 0);
	printf("one that isn't: %s\n", q == p ? "taken" : "elsewhere");
	munmap(q, PAGE);
	q = mmap((void *)-PAGE, PAGE, RW, ANON, -1, 0);
	printf("one above all: %s\n", q != MAP_FAILED ? "elsewhere" : "no");
	munmap(q, PAGE);
	q = mmap(p, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	printf("fixed: %d, in its place %d\n", q == p, p[0]);
	q = mmap(p, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	say_map("fixed, not free", q);
	say("unmap", munmap(p, 4 * PAGE));
	say("unmap nothing", munmap(p, 4 * PAGE));
	q = mmap(p, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	printf("fixed, free: %d\n", q == p);
	munmap(p, PAGE);
}

static void
test_errors(int fd)
{
	char *p = pages(1, RW);

	say_map("length 0", mmap(NULL, 0, RW, ANON, -1, 0));
	say_map("too long", mmap(NULL, -PAGE, RW, ANON, -1, 0));
	say_map("much too long", mmap(NULL, -1, RW, ANON, -1, 0));
	say_map("neither private nor shared",
		mmap(NULL, PAGE, RW, MAP_ANONYMOUS, -1, 0));
	say_map("no such file", mmap(NULL, PAGE, RW, MAP_PRIVATE, 99, 0));
	say_map("no such file, length 0",
		mmap(NULL, 0, RW, MAP_PRIVATE, 99, 0));
	say_map("offset", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 1));
	say_map("fixed, unaligned",
		mmap(p + 1, PAGE, RW, ANON | MAP_FIXED, -1, 0));
	say_map("fixed, too high",
		mmap((void *)(-2 * PAGE), PAGE, RW, ANON | MAP_FIXED, -1, 0));
	say_map("offset too large",
		mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, -PAGE));
	say("unmap length 0", munmap(p, 0));
	say("unmap unaligned", munmap(p + 1, PAGE));
	say("unmap too much", munmap(p, -PAGE));
	say("protect unaligned", mprotect(p + 1, PAGE, RW));
	say("protect length 0", mprotect(p, 0, RW));
	say("protect unknown", mprotect(p, PAGE, 0x40));
	say("unmap", munmap(p, PAGE));
	say("protect nothing", mprotect(p, PAGE, PROT_READ));
	say("advise nothing", madvise(p, PAGE, MADV_DONTNEED));
	say("sync nothing", msync(p, PAGE, MS_SYNC));
	say("lock nothing", mlock(p, PAGE));
}

static void
test_protect(void)
{
	char *p = pages(5, RW);

	memset(p, 'a', 5 * PAGE);
	say("read only", mprotect(p + PAGE, PAGE, PROT_READ));
	printf("read %d, write %d, next %d\n", read_at(p + PAGE),
	       write_at(p + PAGE), write_at(p + 2 * PAGE));
	say("none", mprotect(p + PAGE, 2 * PAGE, PROT_NONE));
	printf("read %d, write %d\n", read_at(p + PAGE),
	       write_at(p + 2 * PAGE));
	say("again", mprotect(p, 5 * PAGE, RW));
	printf("%c %c\n", p[PAGE], p[2 * PAGE]);
	printf("write %d\n", write_at(p + PAGE));
	say("write alone", mprotect(p, PAGE, PROT_WRITE));
	printf("write %d, read %d\n", write_at(p), read_at(p));
	munmap(p + 3 * PAGE, PAGE);
	say("with a gap", mprotect(p, 5 * PAGE, PROT_READ));
	munmap(p, 5 * PAGE);
	p = pages(2, PROT_NONE);
	printf("none: read %d\n", read_at(p));
	mprotect(p, PAGE, RW);
	printf("some: write %d, the next %d\n", write_at(p),
	       write_at(p + PAGE));
	munmap(p, 2 * PAGE);
}

/* What is written is executed, by whoever is told to. */
static void
test_execute(void)
{
#ifdef __riscv
	static const unsigned int seven[] = {0x00700513, 0x00008067};
#else
	static const unsigned char seven[] = {0xb8, 7, 0, 0, 0, 0xc3};
#endif
	char *p = mmap(NULL, PAGE, RW | PROT_EXEC, ANON, -1, 0);

	memcpy(p, seven, sizeof(seven));
	__builtin___clear_cache(p, p + sizeof(seven));
	printf("written, executed: %d\n", ((int (*)(void))(uintptr_t)p)());
	say("not written any more", mprotect(p, PAGE, PROT_READ | PROT_EXEC));
	printf("%d, write %d\n", ((int (*)(void))(uintptr_t)p)(), write_at(p));
	munmap(p, PAGE);
}

static void
test_discard(void)
{
	char *p = pages(4, RW);

	memset(p, 'd', 4 * PAGE);
	say("discard", madvise(p + PAGE, 2 * PAGE, MADV_DONTNEED));
	printf("%c %d %d %c\n", p[0], p[PAGE], p[3 * PAGE - 1], p[3 * PAGE]);
	say("advise", madvise(p, 4 * PAGE, MADV_WILLNEED));
	say("unknown advice", madvise(p, PAGE, 1000));
	say("advise length 0", madvise(p, 0, MADV_NORMAL));
	say("advise unaligned", madvise(p + 1, PAGE, MADV_NORMAL));
	say("sync", msync(p, 4 * PAGE, MS_SYNC));
	say("sync both ways", msync(p, PAGE, MS_SYNC | MS_ASYNC));
	say("sync unaligned", msync(p + 1, PAGE, MS_SYNC));
	say("lock", mlock(p + 1, PAGE));
	say("unlock", munlock(p + 1, PAGE));
	say("lock all", mlockall(0));
	say("unlock all", munlockall());
	munmap(p, 4 * PAGE);
}

static void
test_move(void)
{
	char *p = pages(8, RW), *q, *to;

	for (int i = 0; i < 8; i++)
		p[i * PAGE] = 'a' + i;
	q = mremap(p, 8 * PAGE, 4 * PAGE, 0);
	printf("smaller: %d, behind it: signal %d\n", q == p,
	       read_at(p + 4 * PAGE));
	q = mremap(p, 4 * PAGE, 6 * PAGE, 0);
	printf("larger: %d, %c, then %d\n", q == p, p[3 * PAGE], p[4 * PAGE]);
	q = mmap(p + 6 * PAGE, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	mprotect(q, PAGE, PROT_READ);
	say_map("no room", mremap(p, 6 * PAGE, 8 * PAGE, 0));
	to = mremap(p, 6 * PAGE, 600 * PAGE, MREMAP_MAYMOVE);
	printf("moved: %d, %c %c %d, from there: signal %d\n", to != p, to[0],
	       to[3 * PAGE], to[599 * PAGE], read_at(p));
	munmap(q, PAGE);
	q = pages(4, RW);
	q[3 * PAGE] = 'q';
	p = mremap(to + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	printf("a part, there: %d, %c %d %c, from there: signal %d, %c\n",
	       p == q, q[0], q[PAGE], q[3 * PAGE], read_at(to + PAGE), *to);
	say_map("fixed alone", mremap(q, PAGE, PAGE, MREMAP_FIXED, to));
	say_map("onto itself", mremap(q, 2 * PAGE, 2 * PAGE,
				      MREMAP_MAYMOVE | MREMAP_FIXED, q + PAGE));
	say_map("size 0", mremap(q, PAGE, 0, MREMAP_MAYMOVE));
	say_map("unaligned", mremap(q + 1, PAGE, PAGE, MREMAP_MAYMOVE));
	say_map("unknown flag", mremap(q, PAGE, PAGE, 64));
	munmap(q, 4 * PAGE);
	say_map("nothing", mremap(q, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	munmap(to, 600 * PAGE);
}

/* --- Files --- */

static void
test_private_file(int fd)
{
	char *p = mmap(NULL, 3 * PAGE, RW, MAP_PRIVATE, fd, 0), c;

	printf("%c %c, past the end %d, behind that: signal %d\n", p[0],
	       p[PAGE], p[PAGE + 200], read_at(p + 2 * PAGE));
	p[0] = 'P';
	pread(fd, &c, 1, 0);
	printf("its own: %c, the file's %c\n", p[0], c);
	munmap(p, 3 * PAGE);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);
	printf("from page 1: %c, write %d\n", p[0], write_at(p));
	say("to be written", mprotect(p, PAGE, RW));
	printf("write %d\n", write_at(p));
	munmap(p, PAGE);
}

static void
test_shared_file(int fd)
{
	char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0);
	char *q = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0), c;

	p[1] = 'S';
	pread(fd, &c, 1, 1);
	printf("shared: the file has %c, another mapping %c\n", c, q[1]);
	pwrite(fd, "W", 1, 2);
	printf("the file was written: %c %c\n", p[2], q[2]);
	if (fork() == 0) {
		p[3] = 'C';
		_exit(0);
	}
	wait(NULL);
	printf("a child wrote %c\n", q[3]);
	ftruncate(fd, 3 * PAGE);
	p = mremap(p, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	p[2 * PAGE] = 'H';
	pread(fd, &c, 1, 2 * PAGE);
	printf("in a hole: %c, and %c\n", c, p[3]);
	say("sync", msync(p, 3 * PAGE, MS_SYNC));
	madvise(p, 3 * PAGE, MADV_DONTNEED);
	printf("discarded, and there again: %c\n", p[3]);
	munmap(p, 3 * PAGE);
	munmap(q, PAGE);
}

static void
test_file_errors(const char *name)
{
	int fd = open(name, O_RDONLY), dir = open(".", O_RDONLY);
	int writes = open(name, O_WRONLY), end[2];
	char *p;

	say_map("shared, read only", mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0));
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	say("then to be written", mprotect(p, PAGE, RW));
	say_map("private, read only", mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, 0));
	say_map("write only",
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, writes, 0));
	say_map("folder", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, dir, 0));
	pipe(end);
	say_map("pipe", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, end[0], 0));
	munmap(p, PAGE);
}

static void
test_shared_memory(void)
{
	int *p = mmap(NULL, 3 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			for (int j = 0; j < 1000; j++)
				__atomic_add_fetch(&p[2048], 1,
						   __ATOMIC_RELAXED);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	printf("four children counted to %d\n", p[2048]);
	munmap(p, 3 * PAGE);
}

/* Gigabytes that aren't touched, but for two pages. */
static void
test_reserved(void)
{
	size_t size = 8UL << 30;
	char *p = mmap(NULL, size, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	say_map("reserved", p);
	mprotect(p, PAGE, RW);
	mprotect(p + size - PAGE, PAGE, RW);
	p[0] = 'f';
	p[size - 1] = 'l';
	if (fork() == 0)
		_exit(p[0] == 'f' && p[size - 1] == 'l' ? 0 : 1);
	else {
		int status;

		wait(&status);
		printf("a child has them: %d\n", status);
	}
	say("unmap", munmap(p, size));
}

int
main(void)
{
	struct sigaction act = {.sa_handler = on_fault};
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	for (int i = 0; i < PAGE + 100; i++)
		write(fd, i < PAGE ? "0" : "1", 1);
	PROMISE("mmap(2): anonymous memory, and where it is put");
	test_anonymous();
	PROMISE("mmap(2): each error");
	test_errors(fd);
	PROMISE("mprotect(2): what isn't allowed is SIGSEGV");
	test_protect();
	PROMISE("mprotect(2): what was written is executed");
	test_execute();
	PROMISE("madvise(2): MADV_DONTNEED reads zeroes");
	test_discard();
	PROMISE("mremap(2): memory grows, shrinks and moves");
	test_move();
	PROMISE("mmap(2): MAP_PRIVATE changes no file");
	test_private_file(fd);
	PROMISE("mmap(2): MAP_SHARED is the file");
	test_shared_file(fd);
	PROMISE("mmap(2): what a file's mode allows");
	test_file_errors("file");
	PROMISE("mmap(2): shared memory without a file");
	test_shared_memory();
	PROMISE("mmap(2): what isn't touched costs nothing");
	test_reserved();
	unlink("file");
	return 0;
}

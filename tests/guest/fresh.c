/*
 * What a process gets is new: memory and holes of files are zero, whatever
 * others had there before; a program and a thread begin with registers that
 * say nothing; and a call changes only its result's.
 */
#include <elf.h>
#include <stddef.h>

#include "children.h"

#define MIB (1L << 20)
#define BIG (4 * MIB)

static bool
all_zero(const void *p, size_t n)
{
	const unsigned char *c = p;

	return n == 0 || (c[0] == 0 && memcmp(c, c + 1, n - 1) == 0);
}

/* --- Memory --- */

static char bss[BIG];

/* Leave a pattern in all free memory but a little, and end. */
static int
dirty_memory(void)
{
	long n = (pages_free() - 400) * PAGE;
	char *heap = sbrk(n);

	if (heap == (char *)-1)
		return 1;
	memset(heap, 0xa5, n);
	return 0;
}

/* In a program of its own (main's second mode): 0 if all was zero. */
static int
look_at_memory(void)
{
	char *stack = (char *)__builtin_frame_address(0) - 2 * MIB;
	/* Where .data ends and .bss begins in one page: with a buffer that is
	 * not in use yet. */
	char *mixed = (char *)(((uintptr_t)&environ | (PAGE - 1)) + 1) - 1024;
	char *heap = sbrk(BIG);
	int r = 0;

	if (heap == (char *)-1 || !all_zero(heap, BIG))
		r |= 1;
	if (!all_zero(bss, BIG) || !all_zero(mixed, 1024))
		r |= 2;
	if (!all_zero(stack, MIB)) /* below all that was used of it */
		r |= 4;
	memset(heap, 0xa5, BIG);
	__brk(heap + PAGE); /* not sbrk: the library keeps a part */
	__brk(heap + BIG);
	if (!all_zero(heap + 2 * PAGE, BIG - 2 * PAGE))
		r |= 8;
	return r;
}

static void
test_memory(void)
{
	pid_t pid;
	int r;

	CHECK(child_run(dirty_memory) == 0, "memory is used, and given back");
	pid = fork();
	if (pid == 0) {
		execl("/bin/fresh", "fresh", "memory", NULL);
		_exit(99);
	}
	r = child_wait(pid);
	CHECK(r >= 0 && !(r & 1), "a new heap is zero (%d)", r);
	CHECK(r >= 0 && !(r & 2), "so is the bss (%d)", r);
	CHECK(r >= 0 && !(r & 4), "so is the stack (%d)", r);
	CHECK(r >= 0 && !(r & 8), "so is a heap that shrank and grew (%d)", r);
}

/* --- Files --- */

static char buf[4 * PAGE];

static bool
zero_from(int fd, off_t offset, size_t n)
{
	memset(buf, 0x77, sizeof(buf));
	return pread(fd, buf, n, offset) == (ssize_t)n && all_zero(buf, n);
}

static void
test_files(void)
{
	int fd = open("file", O_RDWR | O_CREAT, 0666);
	char *edge = memory_end();

	memset(buf, 0xa5, sizeof(buf));
	CHECK(child_run(dirty_memory) == 0, "free memory isn't zero");
	pwrite(fd, buf, 10, 3 * PAGE);
	CHECK(zero_from(fd, 0, 3 * PAGE), "a hole is zero");
	memset(buf, 0xa5, sizeof(buf));
	pwrite(fd, buf, 10, PAGE + 100);
	CHECK(zero_from(fd, PAGE, 100) && zero_from(fd, PAGE + 110, 2000),
	      "so is what surrounds bytes written into it");
	memset(buf, 0xa5, sizeof(buf));
	pwrite(fd, buf, 4 * PAGE, 0);
	ftruncate(fd, 100);
	ftruncate(fd, 4 * PAGE);
	CHECK(zero_from(fd, 100, 4 * PAGE - 100),
	      "a file that was cut and lengthened is zero from there");
	ftruncate(fd, 0);
	pwrite(fd, "x", 1, 0);
	memset(edge - 100, 0xa5, 100);
	CHECK(pwrite(fd, edge - 100, 200, 1) == -1, "EFAULT in the middle");
	ftruncate(fd, PAGE);
	CHECK(zero_from(fd, 1, PAGE - 1),
	      "a write that failed leaves nothing past the end");
	ftruncate(fd, 0);
	pwrite(fd, "x", 1, 0);
	CHECK(pread(fd, buf, PAGE, 0) == 1,
	      "and no more is read than is there");
	ftruncate(fd, PAGE);
	CHECK(zero_from(fd, 1, PAGE - 1), "the rest of a page is zero");
	close(fd);
	unlink("file");
}

/* Files of the initrd, which may still lie in it, between others. */
static void
test_initrd_files(void)
{
	int fd = open("/bin/yes", O_RDWR);
	off_t size = lseek(fd, 0, SEEK_END);

	CHECK(fd >= 0 && ftruncate(fd, size + PAGE) == 0 &&
		  zero_from(fd, size, PAGE),
	      "a file of the initrd is zero past its end");
	ftruncate(fd, 100);
	ftruncate(fd, 2 * PAGE);
	CHECK(zero_from(fd, 100, 2 * PAGE - 100), "also one that was cut");
	close(fd);
}

/* --- Registers --- */

#define OTHERS                                                         \
	"1,5,6,7,8,9,18,19,20,21,22,23,24,25,26,27,28,29,30,31,11,12," \
	"13,14,15,16"

/*
 * A whole program: its exit status is 0 if all registers but sp were 0, 1 if
 * not; then those of floating point, 2.
 */
asm(".pushsection .rodata\n"
    "	.balign 8\n"
    "program:\n"
    "	or a0, a0, gp\n"
    "	or a0, a0, tp\n"
    "	or a0, a0, a7\n"
    "	.irp n, " OTHERS "\n"
    "	or a0, a0, x\\n\n"
    "	.endr\n"
    "	snez a0, a0\n"
    "	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
    "24,25,26,27,28,29,30,31\n"
    "	fmv.x.d t0, f\\n\n"
    "	or t1, t1, t0\n"
    "	.endr\n"
    "	csrr t0, fcsr\n"
    "	or t1, t1, t0\n"
    "	snez t1, t1\n"
    "	slli t1, t1, 1\n"
    "	or a0, a0, t1\n"
    "	li a7, 94\n" /* exit_group */
    "	ecall\n"
    "program_end:\n"
    "	.popsection\n");
extern char program[], program_end[];

#define TEXT 0x10000

static void
make_program(void)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr text;
		char code[1024];
	} image = {
	    .header = {.e_ident = ELFMAG "\2\1\1",
		       .e_type = ET_EXEC,
		       .e_machine = EM_RISCV,
		       .e_version = EV_CURRENT,
		       .e_entry = TEXT + offsetof(typeof(image), code),
		       .e_phoff = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 1},
	    .text = {.p_type = PT_LOAD,
		     .p_flags = PF_R | PF_X,
		     .p_vaddr = TEXT,
		     .p_filesz = sizeof(image),
		     .p_memsz = sizeof(image)},
	};
	int fd = open("program", O_WRONLY | O_CREAT, 0777);

	memcpy(image.code, program, program_end - program);
	write(fd, &image, sizeof(image));
	close(fd);
}

/* execve with a value in every register that it doesn't take. */
static __attribute__((noinline)) void
exec_with_registers(const char *path, char **argv)
{
	register long a0 asm("a0") = (long)path;
	register long a1 asm("a1") = (long)argv;
	register long a2 asm("a2") = 0;
	register long a7 asm("a7") = SYS_execve;

	asm volatile(".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,"
		     "19,20,21,22,23,24,25,26,27,28,29,30,31\n"
		     "fcvt.d.l f\\n, a7\n"
		     ".endr\n"
		     "fscsr a7\n"
		     ".irp n, 1,3,4,5,6,7,8,9,13,14,15,16,18,19,20,21,22,23,"
		     "24,25,26,27,28,29,30,31\n"
		     "li x\\n, 0x5a5a0000 + \\n\n"
		     ".endr\n"
		     "ecall" ::"r"(a0),
		     "r"(a1), "r"(a2), "r"(a7)
		     : "memory");
	__builtin_unreachable();
}

static void
test_program(void)
{
	char *argv[] = {"program", NULL};
	pid_t pid;

	make_program();
	pid = fork();
	if (pid == 0)
		exec_with_registers("./program", argv);
	CHECK(exited(pid, 0), "a program begins with registers of zero");
	unlink("program");
}

/* 0: after a call all registers but a0 were as before. */
long registers_survive(void);
asm(".pushsection .text, \"ax\", @progbits\n"
    "	.balign 8\n"
    "registers_survive:\n"
    "	addi sp, sp, -128\n"
    "	sd ra, 0(sp)\n"
    "	sd s0, 8(sp)\n"
    "	sd s1, 16(sp)\n"
    "	.irp n, 18,19,20,21,22,23,24,25,26,27\n"
    "	sd x\\n, (\\n - 15) * 8(sp)\n"
    "	.endr\n"
    "	.irp n, " OTHERS "\n"
    "	li x\\n, 0x5a5a0000 + \\n\n"
    "	.endr\n"
    "	li a7, 172\n" /* getpid */
    "	ecall\n"
    "	.irp n, " OTHERS "\n"
    "	li a0, 0x5a5a0000 + \\n\n"
    "	bne a0, x\\n, 1f\n"
    "	.endr\n"
    "	addi a0, a7, -172\n"
    "	j 2f\n"
    "1:	li a0, 1\n"
    "2:	ld ra, 0(sp)\n"
    "	ld s0, 8(sp)\n"
    "	ld s1, 16(sp)\n"
    "	.irp n, 18,19,20,21,22,23,24,25,26,27\n"
    "	ld x\\n, (\\n - 15) * 8(sp)\n"
    "	.endr\n"
    "	addi sp, sp, 128\n"
    "	ret\n"
    "	.popsection\n");

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "memory") == 0)
		return look_at_memory();
	scratch_enter("fresh.d");
	test_memory();
	test_files();
	test_initrd_files();
	test_program();
	CHECK(registers_survive() == 0,
	      "a call changes no register but its result's");
	scratch_leave("fresh.d");
	return check_done();
}

/*
 * What isn't a program's own, it can't reach: addresses all over the map, each
 * read, written, added to, executed, and named to system calls; every control
 * register; the instructions of the kernel and of the firmware. An attempt
 * ends in the signal that says so, with the address where that has one.
 */
#include <setjmp.h>
#include <sys/mman.h>

#include "catch.h"

#define STACK_TOP 0x80000000UL         /* of the first stack */
#define USER_TOP  0x4000000000UL       /* the end of Sv39's lower half */
#define STACKS    0xfffffffec0000000UL /* the window of kernel stacks */
#define SLOT      0x8000               /* a stack and its guard */
#define DIRECT    0xffffffff00000000UL /* 4 GiB: devices, RAM, the kernel */
#define MIB       (1UL << 20)
#define GIB       (1UL << 30)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- One attempt --- */

static jmp_buf back;
static volatile int got_signal;
static void *volatile got_address;

static void
caught(int sig, siginfo_t *info, void *context)
{
	(void)context;
	got_signal = sig;
	got_address = info->si_addr;
	longjmp(back, 1);
}

/* The signal that an attempt ends in; 0: it went well. */
#define ATTEMPT(what)                    \
	({                               \
		got_signal = 0;          \
		if (setjmp(back) == 0) { \
			what;            \
		}                        \
		got_signal;              \
	})

static void
do_read(uintptr_t a)
{
	(void)*(volatile long *)a;
}

static void
do_write(uintptr_t a)
{
	*(volatile long *)a = 0;
}

static void
do_add(uintptr_t a)
{
	asm volatile("amoadd.d zero, zero, (%0)" ::"r"(a) : "memory");
}

static void
do_execute(uintptr_t a)
{
	((void (*)(void))a)();
}

static const struct access {
	const char *name;
	void (*run)(uintptr_t a);
} accesses[] = {
    {"read", do_read},
    {"written", do_write},
    {"added to", do_add},
    {"executed", do_execute},
};

static bool
refused(const struct access *access, uintptr_t a)
{
	return ATTEMPT(access->run(a)) == SIGSEGV && got_address == (void *)a;
}

/* --- Addresses --- */

static int input, output; /* always give and take bytes */

/* What reads into it and what writes from it both say EFAULT. */
static bool
refused_by_calls(uintptr_t a)
{
	errno = 0;
	return read(input, (void *)a, 8) == -1 && errno == EFAULT &&
	       write(output, (void *)a, 8) == -1 && errno == EFAULT;
}

/* All addresses from start to end in these steps. */
static void
test_range(const char *name, uintptr_t start, uintptr_t end, uintptr_t step)
{
	uintptr_t calls = 0, last[COUNT(accesses)] = {0};

	for (uintptr_t a = start;; a += step) {
		for (size_t i = 0; i < COUNT(accesses); i++)
			if (!refused(&accesses[i], a))
				last[i] = a | 1;
		if (!refused_by_calls(a))
			calls = a | 1;
		if (end - a <= step)
			break;
	}
	for (size_t i = 0; i < COUNT(accesses); i++)
		CHECK(last[i] == 0, "%s can't be %s (%lx)", name,
		      accesses[i].name, last[i] & ~1UL);
	CHECK(calls == 0, "%s: EFAULT from calls (%lx)", name, calls & ~1UL);
}

static const struct {
	const char *name;
	uintptr_t start, end, step;
} ranges[] = {
    {"the first pages", 0, 0x10000, 0x800},
    {"what follows the heap", 0x2000000, 0x70000000, 16 * MIB},
    {"the UART, by its physical address", 0x10000000, 0x10000008, 8},
    {"RAM, by its physical address", STACK_TOP, 4 * GIB, 16 * MIB},
    {"the rest of the lower half", 4 * GIB, 256 * GIB, GIB},
    {"what is no address", 256 * GIB, -256 * GIB, 1UL << 55},
    {"the upper half", -256 * GIB, STACKS, GIB},
    {"kernel stacks, some of them guards", STACKS, STACKS + 256 * SLOT,
     SLOT / 2},
    {"the tops of kernel stacks", STACKS + SLOT - 8, STACKS + 256 * SLOT, SLOT},
    {"the window of kernel stacks", STACKS, DIRECT, 16 * MIB},
    {"the test device, which powers off", DIRECT + 0x100000, DIRECT + 0x101000,
     0x200},
    {"the CLINT", DIRECT + 0x2000000, DIRECT + 0x2010000, 0x1ff8},
    {"the PLIC", DIRECT + 0xc000000, DIRECT + 0xc600000, 0xffff8},
    {"the UART", DIRECT + 0x10000000, DIRECT + 0x10000100, 8},
    {"virtio", DIRECT + 0x10001000, DIRECT + 0x10009000, 0x800},
    {"the firmware", DIRECT + STACK_TOP, DIRECT + STACK_TOP + 0x80000, 0x1000},
    {"the kernel", -0x80000000 + 2 * MIB, -0x80000000 + 4 * MIB, 0x4000},
    {"the direct map", DIRECT, 0xfffffffffffffff8, 16 * MIB},
    {"the last word", 0xfffffffffffffff8, 0xfffffffffffffffe, 8},
};

/* An access that begins in the last page below top, which is zero, and isn't
 * aligned. Nothing follows that page. */
static void
test_edge(char *top)
{
	char *edge = top - 4;
	char four[4];

	CHECK(ATTEMPT(do_read((uintptr_t)edge)) != 0,
	      "a word that begins at the top can't be read");
	CHECK(ATTEMPT(do_write((uintptr_t)edge)) != 0, "nor written");
	CHECK_ERRNO(read(input, edge, 8), EFAULT, "nor a call's result");
	CHECK_ERRNO(write(output, edge, 8), EFAULT, "nor its source");
	CHECK(read(input, edge, 4) == 4 && write(output, edge, 4) == 4,
	      "but to the top all is the program's");
	memcpy(four, edge, 4);
	CHECK(memcmp(four, "\0\0\0\0", 4) == 0, "and it is what was read");
	CHECK_ERRNO(read(input, (void *)-4L, 8), EFAULT,
		    "nor around the end of all addresses");
	CHECK_ERRNO(read(input, edge, -1UL >> 1), EFAULT, "whatever the size");
	CHECK(read(input, edge, -1UL) == -1, "even the largest");
	memcpy(edge, "/dev", 4);
	CHECK_ERRNO(open(edge, O_RDONLY), EFAULT, "nor a path's end");
	memcpy(edge, "/.", 3);
	CHECK(close(open(edge, O_RDONLY)) == 0, "one that ends here can");
}

/* --- Control registers --- */

#define CSRS 4096

/* For each number: csrr a0, N; ret. And csrw N, a0; ret. */
asm(".pushsection .text, \"ax\", @progbits\n"
    "	.option push\n"
    "	.option norvc\n"
    "	.balign 8\n"
    "csr_readers:\n"
    "	.set csr, 0\n"
    "	.rept 4096\n"
    "	.word 0x00002573 | csr << 20, 0x00008067\n"
    "	.set csr, csr + 1\n"
    "	.endr\n"
    "csr_writers:\n"
    "	.set csr, 0\n"
    "	.rept 4096\n"
    "	.word 0x00051073 | csr << 20, 0x00008067\n"
    "	.set csr, csr + 1\n"
    "	.endr\n"
    "	.option pop\n"
    "	.popsection\n");
extern char csr_readers[], csr_writers[];

/* Registers of floating point, and the counters that a program may read. */
static bool
may_read(unsigned int csr)
{
	return (csr >= 1 && csr <= 3) || (csr >= 0xc00 && csr <= 0xc02);
}

static bool
may_write(unsigned int csr)
{
	return csr >= 1 && csr <= 3;
}

static void
test_registers(const char *name, char *code, bool (*may)(unsigned int))
{
	/* They outlive a return to ATTEMPT by longjmp. */
	volatile unsigned int wrong = 0, last = 0, csr;

	for (csr = 0; csr < CSRS; csr++) {
		long (*run)(long) = (long (*)(long))(code + 8 * csr);
		int sig = ATTEMPT(run(0));

		if (sig != (may(csr) ? 0 : SIGILL)) {
			wrong++;
			last = csr;
		}
	}
	CHECK(wrong == 0, "of 4096 control registers only a few are %s (%x)",
	      name, last);
}

/* --- Instructions --- */

#define INSTRUCTION(name, code)                           \
	static void name(void)                            \
	{                                                 \
		asm volatile(".word " code ::: "memory"); \
	}
INSTRUCTION(sret, "0x10200073")
INSTRUCTION(mret, "0x30200073")
INSTRUCTION(uret, "0x00200073")
INSTRUCTION(dret, "0x7b200073")
INSTRUCTION(wfi, "0x10500073")
INSTRUCTION(sfence, "0x12000073")
INSTRUCTION(sinval, "0x16000073")
INSTRUCTION(hfence_vvma, "0x22000073")
INSTRUCTION(hfence_gvma, "0x62000073")
INSTRUCTION(hlv, "0x68054573")
INSTRUCTION(set_vector, "0x0d0572d7")
INSTRUCTION(zeroes_32, "0x00000000")
INSTRUCTION(ones_32, "0xffffffff")

static const struct {
	const char *name;
	void (*run)(void);
} instructions[] = {
    {"sret", sret},
    {"mret", mret},
    {"uret", uret},
    {"dret", dret},
    {"wfi", wfi},
    {"sfence.vma", sfence},
    {"sinval.vma", sinval},
    {"hfence.vvma", hfence_vvma},
    {"hfence.gvma", hfence_gvma},
    {"hlv.b", hlv},
    {"vsetvli", set_vector},
    {"zeroes", zeroes_32},
    {"ones", ones_32},
};

/* The firmware is called by ecall, as the kernel is: but from the kernel. */
static void
test_firmware(void)
{
	CHECK(call(0x53525354, 0, 0) == -ENOSYS,
	      "ecall doesn't reset the machine: ENOSYS");
	CHECK(call(0x48534d, 0, 0) == -ENOSYS, "nor start or stop harts");
	CHECK(call(-1, 0, 0) == -ENOSYS && call(1L << 63, 0, 0) == -ENOSYS,
	      "nor does any number leave the table");
}

int
main(void)
{
	struct sigaction act = {
	    .sa_sigaction = caught,
	    .sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	char *last;

	scratch_enter("isolation.d");
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGILL, &act, NULL);
	input = open("/dev/zero", O_RDONLY);
	output = open("output", O_WRONLY | O_CREAT, 0666);
	CHECK(input >= 0 && output >= 0, "files to read and write");
	for (size_t i = 0; i < COUNT(ranges); i++)
		test_range(ranges[i].name, ranges[i].start, ranges[i].end,
			   ranges[i].step);
	test_edge((char *)STACK_TOP);
	last = mmap((void *)(USER_TOP - PAGE), PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(last != MAP_FAILED, "the last page can be mapped");
	test_edge(last + PAGE);
	test_registers("read", csr_readers, may_read);
	test_registers("written", csr_writers, may_write);
	for (size_t i = 0; i < COUNT(instructions); i++)
		CHECK(ATTEMPT(instructions[i].run()) == SIGILL, "SIGILL: %s",
		      instructions[i].name);
	test_firmware();
	unlink("output");
	scratch_leave("isolation.d");
	return check_done();
}

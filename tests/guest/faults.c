/*
 * What a program does wrong, and the signal it gets for that: wild pointers,
 * writing to what may only be read, executing what may only be written,
 * instructions that there aren't; and what a handler can do about it.
 */
#include <setjmp.h>

#include "catch.h"

#define WILD     0x70000000
#define KERNEL   0xffffffff80200000
#define DIRECT   0xffffffff00000000 /* the kernel's map of the devices */
#define STRANGE  0x4000000000000000 /* no address at all, in Sv39 */
#define PASSED   7                  /* exit status: nothing happened */
#define INSN_RET 0x00008067

static const char constant[] = "constant";
static uint32_t data_code[] = {INSN_RET};

static void
peek(void *p)
{
	*(volatile char *)p;
}

static void
poke(void *p)
{
	*(volatile char *)p = 1;
}

static void
jump(void *p)
{
	((void (*)(void))p)();
}

/* A return instruction, in memory that may be written. */
static void *
put_code(void *p)
{
	memcpy(p, data_code, sizeof(data_code));
	asm volatile("fence.i" ::: "memory");
	return p;
}

static void
jump_to_heap(void *p)
{
	(void)p;
	jump(put_code(malloc(16)));
}

static void
jump_to_stack(void *p)
{
	uint32_t code[4];

	(void)p;
	jump(put_code(code));
}

/* Atomics are where alignment matters: who emulates those? */
static void
add_misaligned(void *p)
{
	static long pair[2];

	(void)p;
	asm volatile("amoadd.d zero, zero, (%0)" ::"r"((char *)pair + 1)
		     : "memory");
}

#define INSTRUCTION(name, insn)                  \
	static void name(void *p)                \
	{                                        \
		(void)p;                         \
		asm volatile(insn ::: "memory"); \
	}
INSTRUCTION(no_instruction, ".half 0")
INSTRUCTION(read_sstatus, "csrr zero, sstatus")
INSTRUCTION(write_satp, "csrw satp, zero")
INSTRUCTION(write_cycle, "csrw cycle, zero")
INSTRUCTION(return_from_trap, "sret")
INSTRUCTION(flush_tlb, "sfence.vma")
INSTRUCTION(breakpoint, "ebreak")

/* Each time with a page more on the stack, which never gets to p. */
static void
recurse(void *p)
{
	char frame[PAGE];

	asm volatile("" ::"r"(frame) : "memory");
	if (p != frame)
		recurse(p);
	asm volatile("" ::: "memory");
}

static const struct fault {
	const char *name;
	void (*run)(void *address);
	void *address;
	int sig;
} faults[] = {
    {"reads null", peek, NULL, SIGSEGV},
    {"writes null", poke, NULL, SIGSEGV},
    {"calls null", jump, NULL, SIGSEGV},
    {"reads nowhere", peek, (void *)WILD, SIGSEGV},
    {"writes nowhere", poke, (void *)WILD, SIGSEGV},
    {"calls nowhere", jump, (void *)WILD, SIGSEGV},
    {"reads the kernel", peek, (void *)KERNEL, SIGSEGV},
    {"writes the kernel", poke, (void *)KERNEL, SIGSEGV},
    {"calls the kernel", jump, (void *)KERNEL, SIGSEGV},
    {"reads a device", peek, (void *)DIRECT, SIGSEGV},
    {"writes a device", poke, (void *)DIRECT, SIGSEGV},
    {"reads no address", peek, (void *)STRANGE, SIGSEGV},
    {"writes no address", poke, (void *)STRANGE, SIGSEGV},
    {"calls no address", jump, (void *)STRANGE, SIGSEGV},
    {"writes its text", poke, (void *)peek, SIGSEGV},
    {"writes a constant", poke, (void *)constant, SIGSEGV},
    {"calls a constant", jump, (void *)constant, SIGSEGV},
    {"calls its data", jump, data_code, SIGSEGV},
};

/* Those whose address isn't known beforehand. */
static const struct fault others[] = {
    {"calls its heap", jump_to_heap, NULL, SIGSEGV},
    {"calls its stack", jump_to_stack, NULL, SIGSEGV},
    {"overflows its stack", recurse, NULL, SIGSEGV},
    {"adds atomically to half a word", add_misaligned, NULL, SIGBUS},
    {"executes what is no instruction", no_instruction, NULL, SIGILL},
    {"reads the kernel's registers", read_sstatus, NULL, SIGILL},
    {"exchanges the page table", write_satp, NULL, SIGILL},
    {"writes a register that can't be", write_cycle, NULL, SIGILL},
    {"returns from no trap", return_from_trap, NULL, SIGILL},
    {"flushes the TLB", flush_tlb, NULL, SIGILL},
    {"executes a breakpoint", breakpoint, NULL, SIGTRAP},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A child that goes wrong so, after prepare(). */
static pid_t
fault_start(const struct fault *f, void (*prepare)(int sig))
{
	pid_t pid = fork();

	if (pid == 0) {
		if (prepare != NULL)
			prepare(f->sig);
		f->run(f->address);
		_exit(PASSED);
	}
	return pid;
}

static void
block(int sig)
{
	set_mask(sigmask(sig));
}

static void
ignore(int sig)
{
	signal(sig, SIG_IGN);
}

static void
test_kills(const struct fault *f)
{
	CHECK(killed(fault_start(f, NULL), f->sig), "signal %d: who %s", f->sig,
	      f->name);
	CHECK(killed(fault_start(f, block), f->sig),
	      "even if it is blocked: who %s", f->name);
	CHECK(killed(fault_start(f, ignore), f->sig), "or ignored: who %s",
	      f->name);
}

/* --- Handlers --- */

static void *expected_address;

static void
check_address(int sig, siginfo_t *info, void *context)
{
	(void)context;
	_exit(info->si_signo == sig && info->si_addr == expected_address ? 0
									 : 1);
}

static pid_t
fault_caught(const struct fault *f)
{
	struct sigaction act = {
	    .sa_sigaction = check_address,
	    .sa_flags = SA_SIGINFO,
	};

	expected_address = f->address;
	sigaction(f->sig, &act, NULL);
	pid_t pid = fault_start(f, NULL);
	signal(f->sig, SIG_DFL);
	return pid;
}

static void
test_address(void)
{
	struct fault illegal = {"", jump, (void *)no_instruction, SIGILL};

	for (size_t i = 0; i < COUNT(faults); i++)
		CHECK(exited(fault_caught(&faults[i]), 0),
		      "a handler is told where: who %s", faults[i].name);
	/* The compiler may begin the function with something else. */
	while (*(uint16_t *)illegal.address != 0)
		illegal.address = (uint16_t *)illegal.address + 1;
	CHECK(exited(fault_caught(&illegal), 0),
	      "a handler is told where: of an instruction");
}

/* The page that was missing is there when the access is made again. */
static void
grow_heap(int sig)
{
	(void)sig;
	hits++;
	__brk(memory_end() + PAGE);
}

static jmp_buf away;

static void
jump_away(int sig)
{
	set_mask(0);
	longjmp(away, sig);
}

static void
fault_again(int sig)
{
	(void)sig;
	hits++;
	if (hits < 3)
		poke(NULL);
	_exit(PASSED);
}

static int
fault_in_handler(void)
{
	signal(SIGSEGV, fault_again);
	poke(NULL);
	return PASSED;
}

static int
overflow_with_handler(void)
{
	signal(SIGSEGV, count_signal);
	recurse(NULL);
	return PASSED;
}

/* A signal comes while sp points nowhere. */
static int
signal_without_stack(void)
{
	pid_t pid = getpid();

	signal(SIGUSR1, count_signal);
	register long a7 asm("a7") = SYS_kill;
	register long a0 asm("a0") = pid;
	register long a1 asm("a1") = SIGUSR1;
	asm volatile("mv s1, sp; li sp, 64; ecall; mv sp, s1"
		     : "+r"(a0)
		     : "r"(a7), "r"(a1)
		     : "s1", "memory");
	return PASSED;
}

static void
test_handlers(void)
{
	volatile char *end = memory_end();

	signal(SIGSEGV, grow_heap);
	hits = 0;
	end[8] = 'x';
	CHECK(hits == 1 && end[8] == 'x',
	      "a handler can put it right: the access is made again");
	__brk((char *)end);
	signal(SIGSEGV, jump_away);
	if (setjmp(away) == 0)
		poke(NULL);
	CHECK(true, "a handler can jump away");
	if (setjmp(away) == 0)
		poke(NULL);
	CHECK(true, "and do so again");
	signal(SIGSEGV, SIG_DFL);
	CHECK(killed(child_start(fault_in_handler), SIGSEGV),
	      "a fault in its own handler kills");
	CHECK(killed(child_start(overflow_with_handler), SIGSEGV),
	      "so does one that leaves no stack for a handler");
	CHECK(killed(child_start(signal_without_stack), SIGSEGV),
	      "so does a signal that finds no stack");
}

static int
call_odd(void)
{
	uintptr_t odd = (uintptr_t)count_signal | 1;

	hits = 0;
	((void (*)(int))odd)(SIGHUP);
	return hits == 1 && last_sig == SIGHUP ? 0 : 1;
}

int
main(void)
{
	for (size_t i = 0; i < COUNT(faults); i++)
		test_kills(&faults[i]);
	for (size_t i = 0; i < COUNT(others); i++)
		test_kills(&others[i]);
	test_address();
	test_handlers();
	CHECK(child_run(call_odd) == 0,
	      "a jump to an odd address goes to the even one before it");
	return check_done();
}

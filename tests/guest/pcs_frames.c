/*
 * pcs's call stacks where a program's frame pointers are wrong, and synthetic
 * ones of which every address is known; and its stream with stacks.
 */
#include "stacks.h"

#define HZ       1000
#define ENOUGH   10 /* samples of a case */
#define TRIES    200
#define RUN_US   20000
#define ROUNDS   10000
#define RA       0x10080
#define USER_END 0x80000000
#define LONG     100000 /* frames, far more than a stack has */

/* Be busy, or in the kernel, with these in s0 and ra. */
long spin_with(unsigned long fp, unsigned long ra, long rounds);
long call_with(unsigned long fp, unsigned long ra, long number, int fd,
	       const char *text, size_t size);
extern char spin_begin[], spin_end[], call_done[];
asm(".text\n"
    "spin_with:\n"
    "	addi sp, sp, -16\n"
    "	sd s0, 0(sp)\n"
    "	sd ra, 8(sp)\n"
    "	mv s0, a0\n"
    "	mv ra, a1\n"
    "spin_begin:\n"
    "1: addi a2, a2, -1\n"
    "	bnez a2, 1b\n"
    "spin_end:\n"
    "	ld s0, 0(sp)\n"
    "	ld ra, 8(sp)\n"
    "	addi sp, sp, 16\n"
    "	ret\n"
    "call_with:\n"
    "	addi sp, sp, -16\n"
    "	sd s0, 0(sp)\n"
    "	sd ra, 8(sp)\n"
    "	mv s0, a0\n"
    "	mv ra, a1\n"
    "	mv a7, a2\n"
    "	mv a0, a3\n"
    "	mv a1, a4\n"
    "	mv a2, a5\n"
    "	ecall\n"
    "call_done:\n"
    "	j spin_end\n");

/* Frames: the caller's frame pointer, and a return address. */
static _Alignas(PAGE) unsigned long frames[LONG][2];

/* The frame pointer that a function has whose frame this is. */
static unsigned long
fp_of(int i)
{
	return (unsigned long)frames[i + 1];
}

static unsigned int
back(int i)
{
	return 0x10100 + 4 * i;
}

static void
frame_set(int i, unsigned long caller, unsigned long address)
{
	frames[i][0] = caller;
	frames[i][1] = address;
}

/* What shall be found. */
static unsigned int wanted[STACK_MAX];
static size_t nwanted;
static int wanted_cut; /* what ends it */

static void
want(unsigned int pc)
{
	if (nwanted < STACK_MAX)
		wanted[nwanted++] = pc;
}

/* The user's part of a record, from the i-th address, is what we want, as far
 * as there is room. */
static bool
right(const struct seen *s, size_t i)
{
	size_t room = STACK_MAX - i, n = s->n - i;
	bool full = nwanted > room || wanted_cut == STACK_FULL;

	return n == (nwanted < room ? nwanted : room) &&
	       STACK_USER(s->cut) == (full ? STACK_FULL : wanted_cut) &&
	       memcmp(s->pc + i, wanted, n * sizeof(s->pc[0])) == 0;
}

static size_t found, wrong;

static void
look_user(const struct seen *s)
{
	uintptr_t pc = s->p.pc;

	if (pc < (uintptr_t)spin_begin || pc >= (uintptr_t)spin_end)
		return;
	found++;
	wrong += s->n == NO_STACK || s->nkernel != 0 || !right(s, 0);
}

static void
look_kernel(const struct seen *s)
{
	size_t first = s->nkernel, n = s->n;
	uintptr_t done = (uintptr_t)call_done;

	if (n == NO_STACK || first >= n ||
	    (s->pc[first] != done && s->pc[first] != done - 4))
		return;
	found++;
	wrong += !right(s, first + 1);
}

static void
look(int mode)
{
	for (const struct seen *s = seen; s < seen + nseen; s++)
		if (s->p.pid != getpid())
			continue;
		else if (mode == USER && s->p.type == USER)
			look_user(s);
		else if (mode == KERNEL && s->p.type != USER)
			look_kernel(s);
}

static void
run_user(unsigned long fp)
{
	uint64_t until = now_us() + RUN_US;

	while (now_us() < until)
		spin_with(fp, RA, ROUNDS);
}

static void
run_kernel(unsigned long fp)
{
	static const char word[] = "spin 0 10000";
	int fd = open(KTEST, O_WRONLY);

	call_with(fp, RA, SYS_write, fd, word, sizeof(word) - 1);
	close(fd);
}

static void
check_mode(int mode, unsigned long fp, const char *name)
{
	found = wrong = 0;
	for (int i = 0; i < TRIES && found < ENOUGH; i++) {
		int fd = stacks_begin(HZ);

		if (mode == USER)
			run_user(fp);
		else
			run_kernel(fp);
		stacks_end(fd);
		look(mode);
	}
	CHECK(found >= ENOUGH && wrong == 0, "%s, in %s mode", name,
	      mode == USER ? "user" : "kernel");
}

/* With what was wanted, which then is forgotten, and with the end it has. */
static void
check_fp(unsigned long fp, int cut, const char *name)
{
	wanted_cut = cut;
	check_mode(USER, fp, name);
	check_mode(KERNEL, fp, name);
	nwanted = 0;
}

/* Where there is nothing to be read there is only what ra has. */
static void
check_only_ra(unsigned long fp, int cut, const char *name)
{
	want(RA);
	check_fp(fp, cut, name);
}

static void
check_nothing(void)
{
	static char unused[4 * PAGE]; /* no page of it is there yet */
	uintptr_t absent = ((uintptr_t)unused + 2 * PAGE) & -PAGE;

	for (const struct bad_address *b = bad_addresses + 1; b->name; b++) {
		unsigned long fp = (unsigned long)b->address + 16;
		bool user = fp <= USER_END && fp % 16 == 0;

		check_only_ra(fp, user ? STACK_ABSENT : STACK_BROKEN, b->name);
	}
	check_only_ra(0, STACK_WHOLE, "0");
	check_only_ra(1, STACK_BROKEN, "1");
	check_only_ra(-16, STACK_BROKEN, "the highest");
	check_only_ra(0xdeadbeefdeadbeef, STACK_BROKEN, "garbage");
	check_only_ra(0xdeadbeefdeadbee0, STACK_BROKEN, "garbage, aligned");
	check_only_ra(0xfffffffec0010000, STACK_BROKEN, "a kernel's stack");
	check_only_ra(USER_END + 16, STACK_ABSENT, "above the stack");
	check_only_ra((1UL << 38) + 16, STACK_BROKEN, "above all of a user's");
	check_only_ra(fp_of(0) + 8, STACK_BROKEN, "not aligned");
	check_only_ra(fp_of(0) + 1, STACK_BROKEN, "odd");
	check_only_ra(absent + 32, STACK_ABSENT,
		      "a page that is not there yet");
	/* The page before the one it points to is what is read. */
	check_only_ra((unsigned long)memory_end() + 16, STACK_ABSENT,
		      "behind the heap");
}

static void
check_loops(void)
{
	frame_set(0, fp_of(0), back(0));
	want(RA), want(back(0));
	check_fp(fp_of(0), STACK_BROKEN, "a frame that is its own caller's");
	frame_set(0, fp_of(1), back(0));
	frame_set(1, fp_of(0), back(1));
	want(RA), want(back(0)), want(back(1));
	check_fp(fp_of(0), STACK_BROKEN, "two that are each other's");
	want(RA), want(back(1));
	check_fp(fp_of(1), STACK_BROKEN, "a caller's that is further in");
	frame_set(0, fp_of(1) + 8, back(0));
	want(RA), want(back(0));
	check_fp(fp_of(0), STACK_BROKEN, "a caller's that is not aligned");
	frame_set(0, 0xffffffff80200010, back(0));
	want(RA), want(back(0));
	check_fp(fp_of(0), STACK_BROKEN, "a caller's in the kernel");
	frame_set(0, 0x70000000, back(0));
	want(RA), want(back(0));
	check_fp(fp_of(0), STACK_ABSENT, "a caller's that is not there");
}

static void
check_chains(void)
{
	frame_set(0, 0, fp_of(1));
	frame_set(1, 0, back(1));
	want(RA), want(back(1));
	check_fp(fp_of(0), STACK_WHOLE,
		 "a function that calls none, and its caller");
	frame_set(0, fp_of(1), RA);
	want(RA), want(RA), want(back(1));
	check_fp(fp_of(0), STACK_WHOLE, "ra in the frame too: it comes again");
	frame_set(0, fp_of(1), back(0));
	frame_set(1, fp_of(2), 0);
	frame_set(2, 0, back(2));
	want(RA), want(back(0));
	check_fp(fp_of(0), STACK_WHOLE, "the outermost returns to 0");
	frame_set(1, fp_of(2), fp_of(9));
	want(RA), want(back(0));
	check_fp(fp_of(0), STACK_BROKEN, "one returns to what is no code");
	for (int i = 0; i < LONG - 2; i++)
		frame_set(i, fp_of(i + 1), back(i));
	want(RA);
	for (int i = 0; i < STACK_MAX; i++)
		want(back(i));
	check_fp(fp_of(0), STACK_FULL, "more than a record has room for");
	for (int i = 0; i < LONG - 2; i++)
		frame_set(i, 0, fp_of(i + 1));
	want(RA);
	check_fp(fp_of(0), STACK_BROKEN, "a chain of functions that call none");
}

/* --- The stream --- */

#define FAST    2000
#define BUFFERS 60
#define SLOW_US 300000

static __attribute__((noipa)) int
burn(int depth)
{
	static char c[2000];
	volatile int sum = 0;
	static int zero;

	if (depth > 0)
		return burn(depth - 1) + 1;
	zero = open("/dev/zero", O_RDONLY);
	while (read(zero, c, sizeof(c)) > 0)
		sum++;
	return sum;
}

static struct sums {
	uint64_t hits, numlost;
	size_t stacks, short_ones; /* buffers with more unused than ever */
} sums;

/* Each buffer in pieces of so many bytes. */
static void
read_buffers(int fd, int count, size_t piece)
{
	struct LOGBUF b;

	while (count-- > 0) {
		for (size_t n = 0; n < BSIZE;) {
			ssize_t more = read(fd, (char *)&b + n,
					    BSIZE - n < piece ? BSIZE - n
							      : piece);
			if (more <= 0)
				return;
			n += more;
		}
		nseen = 0;
		sums.hits += see_buffer(&b);
		sums.numlost += b.lb_buf_hdr.h_numlost;
		sums.short_ones += b.lb_buf_hdr.h_unused > NUMWASTE;
		for (size_t i = 0; i < nseen; i++)
			sums.stacks += seen[i].n != NO_STACK;
	}
}

static void
check_stream(void)
{
	int harts = system_now().harts, fd;
	pid_t burners[3];
	struct pcs_stat s;

	for (int i = 0; i < 3; i++) {
		burners[i] = fork();
		if (burners[i] == 0)
			_exit(burn(i * 8));
	}
	fd = stacks_begin(FAST);
	read_buffers(fd, BUFFERS, BSIZE);
	while (account_of(fd).lost == 0) /* nobody reads meanwhile */
		burn_us(SLOW_US);
	read_buffers(fd, BUFFERS, 7);
	do {
		ioctl(fd, PCS_END);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		read_buffers(fd, harts * MAX_BUFS, 100);
		s = account_of(fd);
	} while (s.unread + s.pending > 0);
	for (int i = 0; i < 3; i++)
		child_end(burners[i]);
	/* All buffers are free, and those to come tell of what was lost. */
	ctl(PROFCLOCK, "hold");
	ioctl(fd, PROF_ALL, NULL);
	for (int i = 0; i < harts; i++)
		samples("kernel", i, 0, 0, KERNEL_PC, 1);
	ioctl(fd, PCS_END);
	read_buffers(fd, harts, BSIZE);
	s = account_of(fd);
	ctl(PROFCLOCK, "go");
	CHECK(stray == 0, "PCS-23: all records are whole, in one buffer");
	CHECK(sums.stacks > 0 && sums.short_ones > 0,
	      "what has no room goes into the next");
	CHECK(s.unread == 0 && s.pending == 0 && adds_up(&s) &&
		  sums.hits == s.recorded + s.merged,
	      "what was read is what was recorded");
	CHECK(s.lost > 0 && sums.numlost == s.lost,
	      "PCS-25: and the headers tell of the rest");
	CHECK(ctl(PROFCLOCK, "hz 100") == 0 && close(fd) == 0, "it ends");
}

int
main(void)
{
	alarm(DEADLINE);
	check_nothing();
	check_loops();
	check_chains();
	check_stream();
	return check_done();
}

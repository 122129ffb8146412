/*
 * A fuzzer of system calls: random calls with hostile arguments, made by
 * processes that may be killed for it, while others see that nobody else
 * suffers. What a run does follows from its seed alone; see main.c.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSCALL(number, name) SYS_##name = number,
enum {
#include <sys/syscalls.h>
};
#undef SYSCALL

#define PAGE       4096
#define ARGS       6
#define ROUND      2000 /* calls that one process makes */
#define REPORT_FD  63   /* where it says how far it is; left alone */
#define LOG_FD     62   /* and what it calls, if that is wanted */
#define FAIL_FD    61   /* and has allocations fail; or none, if it's closed */
#define FD_MAX     64
#define REPORT     50    /* calls for each byte on REPORT_FD */
#define LATER_PIDS 40000 /* from here on there are none */

#define countof(array) (sizeof(array) / sizeof((array)[0]))

/* --- Numbers: the same from the same seed (splitmix64) --- */

struct rng {
	uint64_t state;
};

static inline uint64_t
rng_next(struct rng *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* One of 0..n-1. */
static inline unsigned int
below(struct rng *r, unsigned int n)
{
	return rng_next(r) % n;
}

static inline bool
one_in(struct rng *r, unsigned int n)
{
	return below(r, n) == 0;
}

/* --- Calls (call.c makes them up, child.c makes them) --- */

struct call {
	long number;
	unsigned long arg[ARGS];
};

/*
 * Memory that calls may do anything to, the last of the heap: what runs over
 * its end finds nothing there. Before it is what the witnesses have as well,
 * shared by fork until it's written.
 */
#define PATTERN_SIZE (32ul * PAGE)
#define ARENA_SIZE   (16ul * PAGE)
extern unsigned long *pattern;
extern char *arena;

/* What the calls of a process are made up from. */
struct self {
	int pid;
	int depth;    /* forks since its first ancestor */
	int kids;     /* forks of its own */
	bool threads; /* it has had any */
};

extern struct self self;

/* The next call. It is hostile, but ends neither the machine nor any process
 * but the family's. */
void call_make(struct rng *r, struct call *c);
/* What a call is made up of, for scripts of calls (script.c). */
unsigned long any_value(struct rng *r);
unsigned long any_pointer(struct rng *r);
unsigned long any_length(struct rng *r);
unsigned long any_fd(struct rng *r);
/* Call, count, and show it if that is wanted. Gives what a0 has then. */
long call_do(struct rng *r, const struct call *c);
long call_args(struct rng *r, long number, unsigned long a, unsigned long b,
	       unsigned long c, unsigned long d);

/* A few calls that belong together: what single ones seldom come to. */
void script_run(struct rng *r);

/* So many calls, or one less hostile thing each; by threads as well. */
void child_steps(struct rng *r, int n);
/* A process of its own: never returns. */
void child_main(uint64_t seed, int length, bool show) __attribute__((noreturn));

/* --- Who watches (watch.c) --- */

/* What the kernel has in use. */
struct account {
	long pages, blocks, processes, threads, buffers;
};

struct account account_take(void);
/* Find memory, and fill the pattern; is it as it was filled? */
void pattern_make(void);
bool pattern_holds(void);
/* A process that looks at its own pattern until it's ended; then its status is
 * 0 if the pattern never changed. */
int witness_start(void);
bool witness_end(int pid);
/* Those there are now stay; end all others, and wait until they are gone. */
void family_note(void);
bool family_end(void);
/* Note what is in a folder: it stays. Remove what else is in this. */
void folder_note(const char *path);
void folder_empty(void);
/* What a hostile process may have set on a device, as it was at boot. */
void devices_reset(void);

#endif

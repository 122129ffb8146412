/*
 * How long threads wait, for what, and who wakes them up: /dev/waitctl,
 * /dev/waitdata and /dev/waitorder, waits(4). Tally's own: no manual of another
 * system has it.
 *
 * /dev/waitdata is a struct waits_head, then its `records' times a struct
 * waits_record. Numbers are in the machine's order, times in counts of the
 * timer: head.timebase of them are a second, and they begin at boot.
 *
 * There is a record for each call path on which a thread has slept for the same
 * thing, and one of kind WAITS_HART for each thread: what it ran, and how long
 * it was runnable and did not run. If nothing was lost, a thread's records add
 * up: its `ran' and the `total' of all its records is the time that it lived
 * while waits were recorded.
 */
#ifndef _SYS_WAITS_H
#define _SYS_WAITS_H

#include <stdint.h>

/* What a thread waited for; in parentheses what `id' tells. */
enum {
	WAITS_OTHER,         /* see `name' */
	WAITS_HART,          /* it was runnable: it waited for a hart */
	WAITS_SLEEP,         /* a time that it asked for */
	WAITS_SIGNAL,        /* a signal */
	WAITS_POLL,          /* files, or a time, in poll or select */
	WAITS_FUTEX,         /* another thread (the futex's address) */
	WAITS_PIPE_READ,     /* bytes from a pipe (its st_ino) */
	WAITS_PIPE_WRITE,    /* room in a pipe (its st_ino) */
	WAITS_CHILD,         /* a child */
	WAITS_CONSOLE_READ,  /* what is typed */
	WAITS_CONSOLE_WRITE, /* the console's output */
	WAITS_HOST,          /* the host, which answers for /host */
	WAITS_MUTEX,         /* a mutex of the kernel (its address; `name') */
	WAITS_STOPPED,       /* the process was stopped: SIGCONT */
	WAITS_THREADS,       /* in exec, the end of the other threads */
	WAITS_SPIN, /* a spinlock of the kernel (`name'); no thread's */
	WAITS_KINDS,
};

/* How a thread was woken up. */
enum {
	WAITS_BY_THREAD,    /* by another thread */
	WAITS_BY_SIGNAL,    /* for a signal; no pid: of an interrupt */
	WAITS_BY_TIMER,     /* its time had come */
	WAITS_BY_INTERRUPT, /* by a device */
	WAITS_BY_OTHERS,    /* by any for whom the record has no room */
	WAITS_BY_HOLDER,    /* not woken: pc is where a spinlock was taken */
};

/* A thread, and what its program is: contexts are those of <sys/pcs.h>. */
struct waits_waker {
	int pid, tid; /* 0: none */
	unsigned short context;
	unsigned char how;
	unsigned char fill;
	unsigned int pc; /* of user mode: where it called the system */
	uint64_t count, total;
};

#define WAITS_PATH   32 /* addresses of a call path */
#define WAITS_WAKERS 4  /* the last may be WAITS_BY_OTHERS */

/* What is waited for, and by which calls. */
struct waits_key {
	int pid, tid;
	unsigned short context;
	unsigned char kind;
	unsigned char nkernel; /* how many of pc[] are the kernel's; first */
	unsigned char n;       /* how many in all */
	unsigned char cut;     /* why it ends, as in a STKSAMPLE */
	unsigned char fill[2];
	uint64_t id;
	char name[16]; /* of the lock that guards what it waited for */
	/*
	 * The calls, the innermost first, as in a STKSAMPLE: return addresses;
	 * but the user's first is where user mode was left, and the next may be
	 * what register ra held.
	 */
	unsigned int pc[WAITS_PATH];
};

struct waits_record {
	struct waits_key key;
	uint64_t count, total;
	uint64_t longest, longest_at; /* and when that began */
	uint64_t unfinished; /* of count: still going on when it was stopped */
	uint64_t ran;        /* WAITS_HART: the time that the thread ran */
	struct waits_waker waker[WAITS_WAKERS]; /* count 0: there is none */
};

struct waits_head {
	uint32_t record_size; /* sizeof(struct waits_record) */
	uint32_t on;          /* is it recording? */
	uint64_t timebase;
	uint64_t begin;   /* when the first start after a clear was; 0: none */
	uint64_t watched; /* for how long it was on since then */
	uint64_t records, room;
	uint64_t lost;      /* waits without a record */
	uint64_t lost_time; /* and their time, with what those threads ran */
};

/*
 * /dev/waitorder is a struct waits_order, then its `absences' times a struct
 * waits_absence: a thread was off its hart. Each thread's are in the order of
 * their times. In between it ran: from one's `on' to the next one's `off'.
 */
struct waits_absence {
	int pid, tid;
	int by_pid, by_tid; /* the thread that woke it up or made it; 0: none */
	/* Which of /dev/waitdata's it was counted in, from 0 on. The kind is
	 * WAITS_HART if it was runnable all the time, or was new. */
	uint32_t record;
	uint32_t fill;
	/* It slept from off to woken, and was runnable until on. If it ended
	 * at off, the others are WAITS_NEVER. */
	uint64_t off, woken, on;
};
#define WAITS_NEVER UINT64_MAX

struct waits_order {
	uint32_t absence_size; /* sizeof(struct waits_absence) */
	uint32_t fill;
	uint64_t absences, room;
	uint64_t lost; /* absences after the last one, for want of room */
};

#endif

/*
 * pcs, the program counter sampling device of PDP-11 Unix: pcs(4), and for
 * what /dev/pcs gives and takes the manual that this header is restored from.
 * Tally's additions say so.
 *
 * The device gives LOGBUFs, one after another, of records of 8 bytes each. Each
 * hart fills buffers of its own: a LOGBUF has records of one, in the order of
 * time. Times are counted in hits: samples of the sampling clock on any hart.
 *
 * A stored stream, as getpc(1) makes it, has three parts: a LOGBUF with START
 * and an IOCTL for each request made, those that were read, and one with STOP.
 * After PROF_SEAL, LOGBUFs with records of getpc's own lie between them.
 * All its records are of multiples of 8 bytes; h_unused says where they end.
 */
#ifndef _SYS_PCS_H
#define _SYS_PCS_H

#include <stdint.h>
#include <sys/types.h>

#define BSIZE 512 /* bytes of a LOGBUF */

/* What a record is: its type. The device never makes START, STOP and IOCTL;
 * they are for a program that stores the stream. */
#define KERNEL   1  /* PSAMPLE */
#define USER     2  /* PSAMPLE */
#define IDLE     3  /* MSAMPLE */
#define MKERNEL  4  /* MSAMPLE */
#define MUSER    5  /* MSAMPLE */
#define START    6  /* SSAMPLE */
#define STOP     7  /* SSAMPLE */
#define IOCTL    8  /* ISAMPLE */
#define KERNELI  9  /* PSAMPLE: the kernel, in a handler of an interrupt */
#define MKERNELI 10 /* MSAMPLE */
#define STACK    11 /* STKSAMPLE: Tally's */
/* Tally's, after PROF_EVENTS. The second byte of these is the record's size, in
 * words of 8 bytes. The device never makes FILED, ACCOUNT and SEAL. */
#define MOMENT  12 /* MOMENT_RECORD: when a LOGBUF of samples begins */
#define AT      13 /* AT_RECORD: of which thread a sample is, and when taken */
#define BORN    14 /* BORN_RECORD: a thread, and perhaps its process with it */
#define EXECED  15 /* EXEC_RECORD: a process has another program */
#define MAPPED  16 /* MAP_RECORD: of a program's code */
#define EXITED  17 /* EXIT_RECORD: a process's last thread has ended */
#define CLOCKED 18 /* CLOCK_RECORD: the sampling clock's settings */
#define FILED   19 /* FILE_RECORD: what a file is that was mapped */
#define ACCOUNT 20 /* ACCOUNT_RECORD: what the stream doesn't have */
#define SEAL    21 /* SEAL_RECORD: the last in a LOGBUF, after PROF_SEAL */

#define DEF_BUFNO  3  /* buffers that an open gives each hart */
#define MAX_BUFS   10 /* of each, with those that BUF_INCR adds */
#define STACK_BUFS 8  /* Tally's: with PROF_STACK each of them is so many */
#define MAX_LIST   5  /* processes that PROF_LIST takes */

/* One hit. */
struct PSAMPLE {
	char type;
	char sspace;     /* high 4 bits: priority level; low 4: the hart */
	short pid;       /* of the interrupted process; 0: it was none */
	unsigned int pc; /* a kernel's is to be sign-extended */
};

/* The hits of one type that nobody asked to have recorded one by one: of 100
 * clocks of a hart, and of before if there was no room. */
struct MSAMPLE {
	char type;
	char cfill;  /* Tally: the hart */
	short count; /* at most 32767; what is more comes in a later record */
	unsigned int ufill; /* 0 */
};

struct SSAMPLE {
	char type;
	char cfill;
	unsigned int stime; /* seconds since 1970 */
};

struct ISAMPLE {
	char type;
	char cfill;
	int cmd;              /* the request, and what it was given: */
	short data[MAX_LIST]; /* the pids of PROF_LIST, or data[0]; else 0 */
	char ifill[6];
};

/*
 * Tally: the calls that led to the PSAMPLE it follows in the same LOGBUF, as
 * far as STACK_MAX goes. The kernel's come first, with the address in user mode
 * that it returns to after the last; then the user's. An odd one is no return
 * address: one less is where a trap or a signal interrupted. After that, and
 * where the sample's mode begins, the next may be what register ra held: leave
 * it out if it lies in the interrupted function.
 */
struct STKSAMPLE {
	char type;
	unsigned char n;       /* return addresses, the innermost first, */
	unsigned char nkernel; /* so many of them the kernel's */
	unsigned char cut;     /* where they end: STACK_USER, STACK_KERNEL */
	unsigned int pc[];     /* n, and a 0 if that makes it a multiple of 8 */
};
#define STACK_MAX      31
#define STACK_BYTES(n) ((4 + 4 * (size_t)(n) + 7) & ~(size_t)7) /* bytes */

/* What either part ends with, of a STKSAMPLE's cut. All but the first: it has
 * other callers further out. */
#define STACK_USER(cut)   ((cut)&15)
#define STACK_KERNEL(cut) ((cut) >> 4)
#define STACK_WHOLE       0 /* the outermost call */
#define STACK_FULL        1 /* there was no room for more */
#define STACK_AWAY        2 /* its memory or registers weren't there */
#define STACK_ABSENT      3 /* nor was the page with the next frame */
#define STACK_BROKEN      4 /* the next frame pointer can't be one */
#define STACK_FRAMELESS   5 /* the last is of code without frame pointers */

/*
 * What comes after PROF_EVENTS. Times are counts of the timer since boot; a
 * CLOCK_RECORD has its rate, and relates it to the time of day.
 *
 * A context is a thread while it executes one program. It has a number from 1,
 * which is used again after 65,535 others; 0 is for what belongs to no thread,
 * and for synthetic samples. BORN and EXECED begin one. They come in LOGBUFs of
 * their own, before the first sample of that context. After the request there
 * is a BORN, EXECED and MAPPED for each thread that lives already.
 */
struct MOMENT_RECORD { /* first in each LOGBUF with samples */
	char type;
	unsigned char words;
	char hart;
	char fill[5];
	uint64_t time;
};

/* Before a PSAMPLE. Its context is that of the samples after it, too, until the
 * next AT; a LOGBUF begins with context 0. */
struct AT_RECORD {
	char type;
	unsigned char words;
	unsigned short context;
	unsigned int after; /* when it was taken, in counts since the MOMENT */
};

struct EVENT { /* the beginning of all others */
	char type;
	unsigned char words;
	unsigned short context;
	int pid; /* 0: none */
	uint64_t time;
};

struct BORN_RECORD {
	struct EVENT event;
	unsigned short of; /* the context that made it; it has its program */
	short parent;      /* the pid of the process that made it */
	int tid;
};

struct EXEC_RECORD {
	struct EVENT event;
	unsigned short of; /* the context that ends; 0: the program isn't new */
	short fill;
	int tid;
	char name[16]; /* the last component of what was executed */
};

/* Code of a file that is mapped to be executed: by the context's EXECED. */
struct MAP_RECORD {
	struct EVENT event;
	uint64_t address, length, offset; /* bytes; offset in the file */
	uint64_t ino;                     /* st_dev and st_ino: IN_FILE */
	int64_t mtime;                    /* of the file, ns since 1970 */
	char path[];                      /* with a NUL; empty: removed */
};
#define IN_FILE(st) ((uint64_t)(st).st_dev << 48 | (st).st_ino)

struct EXIT_RECORD {
	struct EVENT event;
	int status; /* as wait has it */
	int fill;
};

struct CLOCK_RECORD {
	struct EVENT event;
	unsigned int hz, jitter; /* jitter: 1 if it's on */
	uint64_t seed;
	uint64_t timebase; /* counts a second */
	int64_t realtime;  /* ns since 1970, at the event's time */
};

/*
 * By a program that stores the stream: so many bytes with this CRC-32 (as in
 * zlib, PNG and cksum -o 3) were in the file of a MAP_RECORD. If blocks isn't
 * 0, the CRC is of so many blocks only, of FILE_BLOCK bytes each: block i of n
 * begins at (size - FILE_BLOCK) * i / (n - 1).
 */
struct FILE_RECORD {
	struct EVENT event;
	uint64_t ino;
	int64_t mtime;
	uint64_t size;
	unsigned int crc, blocks;
	char path[];
};

#define FILE_BLOCK  512
#define FILE_BLOCKS 8 /* that getpc takes while a command runs */

struct ACCOUNT_RECORD {
	struct EVENT event;
	uint64_t lost, skipped, untold; /* as in struct pcs_stat */
	uint64_t free; /* 1: the machine ran freely, without -icount */
};

/*
 * By a program that stores the stream: with this record a LOGBUF can be read
 * alone. Its checksum tells whether it is whole, and the two numbers tell what
 * is missing before it.
 */
struct SEAL_RECORD {
	char type;
	unsigned char words;
	unsigned short recording; /* one number in all LOGBUFs of a recording */
	unsigned int sequence;    /* LOGBUFs stored before this one */
	unsigned int hits;        /* samples in those, modulo 2^32 */
	unsigned int sum; /* of the LOGBUF's 32-bit words, with 0 for this: the
			   * last is added once, the one before twice, and so
			   * on; modulo SEAL_MODULUS */
};
#define SEAL_MODULUS 0xffffffff

/*
 * Requests: ioctl(fd, cmd, arg), 0 or -1 and errno. Kinds of profiling add up
 * until the device is closed; a new list or group replaces the one before.
 */
#define BUF_INCR    (('P' << 8) | 01)  /* arg: so many more a hart; EINVAL */
#define PROF_KERNEL (('P' << 8) | 02)  /* no arg: hits in the kernel */
#define PROF_ALL    (('P' << 8) | 04)  /* no arg: all hits but idle ones */
#define PROF_GROUP  (('P' << 8) | 010) /* arg: a process group; EINVAL */
/* arg: the address of an int array { n, pid 1, .. pid n }; EFAULT, EINVAL */
#define PROF_LIST (('P' << 8) | 020)
#define PROF_MASK 0177 /* leaves a kind of profiling its bit */

/* Tally: no arg: a STACK behind each PSAMPLE. LOGBUFs may have more unused, and
 * there are STACK_BUFS for each that there would be. */
#define PROF_STACK (('P' << 8) | 0100)
/*
 * Tally: the records of BORN to CLOCKED; and for samples that are recorded
 * later AT. arg 1: an AT for each, with its time, and MOMENTs; 0: only where a
 * context begins, and no times. ENOMEM, EINVAL
 */
#define PROF_EVENTS (('P' << 8) | 0240)
/* Tally: no arg: each LOGBUF that is begun from now on has room after its last
 * record for a SEAL_RECORD. */
#define PROF_SEAL (('P' << 8) | 0201)
/*
 * Tally: no arg: no hits are counted any more, until more is asked for. What is
 * merged is recorded, and the LOGBUFs being filled can be read, as far as there
 * are buffers: ask again when those have been read.
 */
#define PCS_END (('P' << 8) | 0200)

/* Tally: arg: the address of a struct pcs_stat to be filled in; EFAULT */
#define PCS_STAT (('P' << 8) | 040)

/*
 * The account, in hits, of all harts, each at one moment:
 * seen == recorded + merged + pending + lost.
 */
struct pcs_stat {
	uint64_t seen;     /* since the first kind of profiling was asked for */
	uint64_t recorded; /* in PSAMPLEs, one each */
	uint64_t merged;   /* in MSAMPLEs */
	uint64_t pending;  /* to be in MSAMPLEs, later */
	uint64_t lost;     /* no buffer was free */
	uint64_t unread;   /* of the recorded and merged, still in buffers */
	uint64_t thrown;   /* unread and pending when the one before closed */
	uint64_t
	    skipped; /* fell due meanwhile, and weren't seen: profclock(4) */
	uint64_t untold; /* events that there was no room for */
};

struct LOGBUF_HDR {
	unsigned short h_unused; /* bytes after the last record */
	short h_numlost; /* records that the hart lost since its buffer before;
			  * at most 32767 */
};

#define NUMSAMPS ((BSIZE - sizeof(struct LOGBUF_HDR)) / sizeof(struct PSAMPLE))
#define NUMWASTE \
	(BSIZE - sizeof(struct LOGBUF_HDR) - NUMSAMPS * sizeof(struct PSAMPLE))

struct LOGBUF {
	struct LOGBUF_HDR lb_buf_hdr;
	struct PSAMPLE lb_data[NUMSAMPS]; /* of both kinds */
	char lb_wasted[NUMWASTE];
};

struct pid_list {
	short p_count;
	short p_list[MAX_LIST];
};

#ifdef _KERNEL
#define NO_CLOCK     0 /* d_clock */
#define TCU100_CLOCK 1
#define KW11K_CLOCK  2

#define WAIT    1 /* these three have no use here, */
#define NOWAIT  2 /* where files and signals decide */
#define SAMPPRI (PZERO + 1)

#define FILLING     1 /* samp_cntl.flag */
#define NOT_FILLING 2

struct buf {
	/* Tally: no av_forw, for a log's buffers are in a row */
	uint64_t b_time; /* Tally: when it became full, in timer counts */
	struct LOGBUF b_log;
};

struct samp_cntl {
	unsigned short flag;
	struct buf *cursbuf; /* being filled; NULL: none */
	caddr_t currptr;     /* where in it the next record goes */
	/* Tally: no rq and fq, for counts say where the ring is read, and
	 * where it is filled */
	struct LOGBUF_HDR sbuf_hdr;
};

/* What would be the device's registers, if it were one. */
struct DEVPC {
	short d_clock;
	short d_runpid;         /* who has opened it; 0: nobody */
	unsigned short d_flag;  /* kinds of profiling asked for */
	short d_group;          /* for PROF_GROUP */
	struct pid_list d_list; /* for PROF_LIST */
	/* Tally: d_smple isn't here, for there is one for each hart */
};
#endif
#endif

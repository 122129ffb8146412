/*
 * What the machine and its processes are doing: sysinfo and psinfo, which
 * free, uname and ps show. A Tally interface: Linux's programs
 * read /proc.
 */
#ifndef _SYS_SYSINFO_H
#define _SYS_SYSINFO_H

#include <stdint.h>
#include <sys/types.h>

struct sysinfo {
	uint64_t page_size;
	uint64_t pages_total, pages_free;
	uint64_t harts; /* running */
	uint64_t processes;
	uint64_t hz;                   /* scheduling ticks a second */
	uint64_t timebase;             /* counts of rdtime a second */
	uint64_t uptime;               /* in counts of rdtime */
	uint64_t text_start, text_end; /* of the kernel */
	uint64_t ticks[16];            /* of each hart, since boot */
	uint64_t taken[16];            /* samples, since boot */
	uint64_t skipped[16]; /* samples that fell due and weren't taken */
	/* 1: the time is the number of instructions that were executed, by all
	 * harts in turn: QEMU's -icount; 0: it is the host's */
	uint64_t icount;
};

struct psinfo {
	int32_t pid, ppid, pgrp;
	char state;   /* R running, S sleeping, T stopped, Z zombie */
	uint8_t hart; /* where it runs, or ran last */
	uint16_t threads;
	uint64_t utime, stime;   /* ticks */
	uint64_t size, resident; /* bytes of address space; of memory */
	char name[16];
};

#ifdef __cplusplus
extern "C" {
#endif
/* Fill in as much of *info as size says. 0, or -1: EFAULT, EINVAL. */
int sysinfo(struct sysinfo *info, size_t size);
/* One entry per process, up to count; gives how many there are, or -1: EFAULT,
 * ENOMEM. */
int psinfo(struct psinfo *info, size_t count);
/* Power off; QEMU exits with status. Never returns. */
void poweroff(int status) __attribute__((noreturn));
#ifdef __cplusplus
}
#endif
#endif

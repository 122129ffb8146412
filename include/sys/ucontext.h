/*
 * What a signal has interrupted, as its handler finds it by way of its third
 * argument: Linux's layout for riscv64, with glibc's names. The handler may
 * change it, and returns to what it says then.
 */
#ifndef _SYS_UCONTEXT_H
#define _SYS_UCONTEXT_H

#include <signal.h>

/* Indices of __gregs: register n is at index n; what would be x0's is the
 * pc's. */
#define REG_PC 0
#define REG_RA 1
#define REG_SP 2
#define REG_TP 4
#define REG_S0 8
#define REG_A0 10
#define REG_S2 18
#define NGREG  32

typedef unsigned long greg_t;

/* Room for registers of 128 bits each, of which this machine has 64. */
union __riscv_mc_fp_state {
	struct {
		unsigned long __f[32];
		unsigned int __fcsr;
	} __d;
	unsigned int __size[132];
} __attribute__((aligned(16)));

typedef struct {
	greg_t __gregs[NGREG];
	union __riscv_mc_fp_state __fpregs;
} mcontext_t;

typedef struct __ucontext {
	unsigned long uc_flags;     /* 0 */
	struct __ucontext *uc_link; /* NULL */
	stack_t uc_stack;           /* that of sigaltstack */
	sigset_t uc_sigmask;        /* blocked before */
	char __uc_sigmask_room[128 - sizeof(sigset_t)];
	mcontext_t uc_mcontext;
} ucontext_t;

#endif

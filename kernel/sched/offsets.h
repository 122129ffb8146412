/*
 * Where assembly finds the fields of these structures, in bytes. If one doesn't
 * match the C definition, trap.c doesn't compile.
 */
#ifndef KERNEL_OFFSETS_H
#define KERNEL_OFFSETS_H

/* struct thread: the user's x1 to x31, then what the trap stubs keep. */
#define T_REG(n)     (((n)-1) * 8)
#define T_SP         T_REG(2)
#define T_TP         T_REG(4)
#define T_SEPC       248
#define T_SSTATUS    256
#define T_SCAUSE     264
#define T_STVAL      272
#define T_SCRATCH    280
#define T_WORK       288
#define T_KSTACK_TOP 296
#define T_HART       304
#define T_CTX        312

/* struct context: ra, sp, s0..s11, gp */
#define CTX_RA   0
#define CTX_SP   8
#define CTX_S(n) (16 + (n)*8)
#define CTX_GP   112

/* struct hart */
#define HART_ID     0
#define HART_HARTID 4
#define HART_IDLE   8
#define HART_OWED   16
#define HART_SIZE   296

/* struct ktrapframe */
#define KF_RA      0
#define KF_T(n)    (8 + (n)*8)        /* t0..t2 */
#define KF_A(n)    (32 + (n)*8)       /* a0..a7 */
#define KF_T3(n)   (96 + ((n)-3) * 8) /* t3..t6 */
#define KF_SCAUSE  128
#define KF_STVAL   136
#define KF_SIE     144
#define KF_SSTATUS 152
#define KF_S0      160 /* these two lie as in a C function's frame, so */
#define KF_SEPC    168 /* a backtrace passes through a trap */
#define KF_SIZE    176

#endif

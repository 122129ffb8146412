/*
 * Where a program begins. The kernel has put on the stack, as every Unix
 * does: argc; the arguments, and a NULL; the environment, and a NULL.
 *
 * Step 1: gp, which the linker makes short addresses with, and tp, the first
 *	   thread's thread-local storage. A frame with the return address 0:
 *	   here ends who follows frame pointers.
 * Step 2: environ, and main's three arguments, in registers that survive.
 * Step 3: what thread-local variables start as, constructors.
 * Step 4: main, and exit with what it gives.
 */
	.section .text.start, "ax"
	.globl _start
	.type _start, @function
_start:
	/* Step 1. Without relaxation: gp isn't there yet to relax with. */
	.option push
	.option norelax
	la	gp, __global_pointer$
	.option pop
	la	tp, __tls_main

	mv	t1, sp
	addi	sp, sp, -16
	sd	zero, 0(sp)
	sd	zero, 8(sp)
	addi	s0, sp, 16

	/* Step 2. The environment follows the arguments and their NULL. */
	ld	s3, 0(t1)
	addi	s1, t1, 8
	slli	s2, s3, 3
	add	s2, s2, s1
	addi	s2, s2, 8
	la	t0, environ
	sd	s2, 0(t0)
	la	t0, __argv
	sd	s1, 0(t0)

	/* Step 3. sp is 16-byte aligned, which functions may rely on. */
	mv	a0, tp
	la	a1, __tdata_start
	la	a2, __tdata_size
	call	memcpy
	call	__libc_init_array

	/* Step 4. */
	mv	a0, s3
	mv	a1, s1
	mv	a2, s2
	call	main
	call	exit
	.size _start, . - _start

/* main's argv, for <err.h>, which wants the program's name. */
	.section .bss.__argv, "aw", @nobits
	.globl	__argv
	.balign	8
__argv:
	.zero	8

/* Nothing of the old kind of constructor: __libc_init_array calls these. */
	.section .text._init, "ax"
	.weak _init
	.weak _fini
_init:
_fini:
	ret

/* loop(N) executes 2 N + 1 instructions, whatever the compiler. */
#ifndef LOOP_H
#define LOOP_H

#ifdef __cplusplus
extern "C"
#endif
    void
    loop(long n);

asm(".globl loop\n"
    ".type loop, @function\n"
    "loop:\n"
    "	addi	a0, a0, -1\n"
    "	bnez	a0, loop\n"
    "	ret\n"
    ".size loop, . - loop\n");

#endif

/* A program that may lie anywhere (static-pie), without a C library: its
 * function loop executes 2 ROUNDS + 1 instructions. */
#include "loop.h"

__attribute__((noinline)) static void
anywhere(void)
{
	loop(ROUNDS);
	asm volatile(""); /* so that it's no jump */
}

__attribute__((noreturn)) static void
leave(void)
{
	register long number asm("a7") = 93; /* exit */
	register long status asm("a0") = 0;

	asm volatile("ecall" : : "r"(number), "r"(status));
	__builtin_unreachable();
}

void
_start(void)
{
	anywhere();
	leave();
}

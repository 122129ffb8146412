/* counted N: its function loop executes 2 N + 1 instructions; it is called by
 * counted, which main calls. */
#include <stdio.h>
#include <stdlib.h>

void loop(long n);
asm(".globl loop\n"
    ".type loop, @function\n"
    "loop:\n"
    "	addi	a0, a0, -1\n"
    "	bnez	a0, loop\n"
    "	ret\n"
    ".size loop, . - loop\n");

__attribute__((noinline)) static void
counted(long n)
{
	loop(n);
	puts("counted");
}

int
main(int, char **argv)
{
	counted(atol(argv[1]));
	return 0;
}

/* Reads lines of an address and an instruction's number, in hexadecimal, and
 * writes the address and the instruction. */
#include <stdio.h>

#include "disasm.h"

int
main(void)
{
	unsigned long long pc;
	unsigned int code;
	struct disasm d;

	while (scanf("%llx %x", &pc, &code) == 2) {
		disasm(&d, pc, &code, sizeof(code));
		printf("%llx\t%s\n", pc, d.text);
	}
	return 0;
}

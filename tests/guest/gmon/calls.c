#include "calls.h"

volatile int sink;

FUNCTION void
f1(void)
{
	sink = 1;
}

FUNCTION void
f2(void)
{
	f1();
	sink = 2;
}

FUNCTION void
f3(int n)
{
	for (int i = 0; i < n; i++) {
		f1();
		f2();
	}
	sink = 3;
}

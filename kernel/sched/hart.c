/* The harts, in the device tree's order. main.c numbers them at boot. */
#include "hart.h"

#include "machine/machine.h"
#include "machine/sbi.h"

#include "icount.h"

struct hart harts[HART_MAX];
unsigned int nharts;

void
hart_interrupt(struct hart *h)
{
	if (!machine.icount || !icount_ask(h))
		sbi_send_ipi(h->hartid);
}

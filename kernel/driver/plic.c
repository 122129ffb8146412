/*
 * The PLIC, the platform-level interrupt controller, passes the interrupts of
 * devices to the harts. A source, which is a device's irq, has a priority. A
 * context, which is a hart in one mode, has a threshold, and a bit for each
 * source that may interrupt it. Here all sources have the same priority and may
 * interrupt every hart.
 *
 * So one interrupt may trap several harts. The first that reads its claim
 * register gets the irq, the others get 0. Until it writes the irq back this
 * source interrupts nobody. So a handler never runs on two harts at once.
 *
 * At boot, drivers call plic_register, and boot_main calls plic_init. After
 * that each hart calls plic_init_hart for itself. No lock is needed.
 */
#include "plic.h"

#include <stdint.h>

#include "base/layout.h"
#include "base/panic.h"
#include "machine/machine.h"
#include "sched/hart.h"

#define IRQ_MAX 96 /* irqs are below this, as on QEMU's virt machine */

/* Offsets of registers, in bytes: a word for each source; for each context 0x80
 * bytes with a bit for each source, and a page for its threshold and claim. */
#define PRIORITY(irq)    (4UL * (irq))
#define ENABLE(ctx, irq) (0x2000 + 0x80UL * (ctx) + (irq) / 32 * 4)
#define THRESHOLD(ctx)   (0x200000 + 0x1000UL * (ctx))
#define CLAIM(ctx)       (THRESHOLD(ctx) + 4)
#define PRIORITY_NEVER   0
#define PRIORITY_LOWEST  1
#define IRQ_NONE         0

/* By irq. Set before other harts run, and constant after. */
static void (*handlers[IRQ_MAX])(void);

static volatile uint32_t *
plic_reg(unsigned long offset)
{
	return pa_to_va(machine.plic + offset);
}

static unsigned int
context(void)
{
	return machine.plic_context[this_hart()->id];
}

/* Have handler called for each interrupt irq, at level 5 and on any hart. */
void
plic_register(unsigned int irq, void (*handler)(void))
{
	assert(irq > IRQ_NONE && irq < IRQ_MAX && !handlers[irq]);
	handlers[irq] = handler;
}

/* Disable all sources, whatever the firmware has enabled: an interrupt for
 * which there is no handler would call NULL. */
void
plic_init(void)
{
	for (unsigned int irq = 1; irq < IRQ_MAX; irq++)
		*plic_reg(PRIORITY(irq)) = PRIORITY_NEVER;
}

void
plic_init_hart(void)
{
	unsigned int ctx = context();

	for (unsigned int irq = 1; irq < IRQ_MAX; irq++) {
		if (!handlers[irq])
			continue;
		*plic_reg(PRIORITY(irq)) = PRIORITY_LOWEST;
		*plic_reg(ENABLE(ctx, irq)) |= 1U << irq % 32;
	}
	*plic_reg(THRESHOLD(ctx)) = PRIORITY_NEVER;
}

/* There may be none pending, if another hart was faster. */
void
plic_interrupt(void)
{
	volatile uint32_t *claim = plic_reg(CLAIM(context()));
	unsigned int irq;

	while ((irq = *claim) != IRQ_NONE) {
		handlers[irq]();
		*claim = irq;
	}
}

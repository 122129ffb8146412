/*
 * The PLIC: external interrupts, from devices to harts.
 *
 * A source has a priority; a context (a hart in one mode) has a threshold and
 * a bit for each source it takes. Here all sources are equal and every hart
 * takes all: whichever claims an interrupt first, handles it. Between claim
 * and completion the same source interrupts no other hart.
 */
#include <stdint.h>

#include "../hart.h"
#include "../layout.h"
#include "../machine.h"
#include "../print.h"
#include "dev.h"

#define IRQ_MAX 96 /* of the sources that are used; QEMU has as many */

/* Where the registers are, in bytes: a word a source, a bit a source in the
 * words of a context, a page for each context's threshold and claim. */
#define PRIORITY(irq)    (4UL * (irq))
#define ENABLE(ctx, irq) (0x2000 + 0x80UL * (ctx) + (irq) / 32 * 4)
#define THRESHOLD(ctx)   (0x200000 + 0x1000UL * (ctx))
#define CLAIM(ctx)       (THRESHOLD(ctx) + 4)
#define PRIORITY_NEVER   0
#define PRIORITY_LOWEST  1
#define IRQ_NONE         0

/* Set before other harts run, constant after. */
static void (*handlers[IRQ_MAX])(void);

static volatile uint32_t *
reg(unsigned long offset)
{
	return pa_to_va(machine.plic + offset);
}

static unsigned int
context(void)
{
	return machine.plic_context[this_hart()->id];
}

/* Call handler on irq, on any hart, at level 5. Before plic_init_hart. */
void
plic_register(unsigned int irq, void (*handler)(void))
{
	assert(irq > IRQ_NONE && irq < IRQ_MAX && !handlers[irq]);
	handlers[irq] = handler;
}

/* Silence all sources, however the firmware has left them. */
void
plic_init(void)
{
	for (unsigned int irq = 1; irq < IRQ_MAX; irq++)
		*reg(PRIORITY(irq)) = PRIORITY_NEVER;
}

/* Let this hart take every interrupt that has a handler. */
void
plic_init_hart(void)
{
	unsigned int ctx = context();

	for (unsigned int irq = 1; irq < IRQ_MAX; irq++) {
		if (!handlers[irq])
			continue;
		*reg(PRIORITY(irq)) = PRIORITY_LOWEST;
		*reg(ENABLE(ctx, irq)) |= 1U << irq % 32;
	}
	*reg(THRESHOLD(ctx)) = PRIORITY_NEVER;
}

/* Handle all that is pending. None may be: another hart was faster. */
void
plic_interrupt(void)
{
	volatile uint32_t *claim = reg(CLAIM(context()));
	unsigned int irq;

	while ((irq = *claim) != IRQ_NONE) {
		handlers[irq]();
		*claim = irq;
	}
}

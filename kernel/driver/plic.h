/* The interrupt controller. plic.c says in which order these are called. */
#ifndef KERNEL_PLIC_H
#define KERNEL_PLIC_H

void plic_init(void);
void plic_init_hart(void);
void plic_interrupt(void); /* an external interrupt, at level 5 */
void plic_register(unsigned int irq, void (*handler)(void));

#endif

/* What the device tree says of the machine (fdt.c), read once at boot. */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hart.h"

#define VIRTIO_MAX 8

struct machine {
	unsigned int nharts;
	unsigned int harts_ignored;          /* past HART_MAX */
	unsigned int hartid[HART_MAX];       /* sparse, in the tree's order */
	unsigned int plic_context[HART_MAX]; /* S-mode external, per hart */
	uint64_t memory_start, memory_end;   /* physical, below 4 GiB */
	uint64_t memory_ignored; /* bytes past what the kernel maps */
	uint64_t initrd_start, initrd_end;
	uint64_t timebase;              /* counts of rdtime a second */
	bool sstc;                      /* stimecmp exists, on every hart */
	uint64_t uart, plic, rtc, test; /* physical addresses; 0: none */
	unsigned int uart_irq;
	unsigned int nvirtio; /* places for virtio devices */
	struct {
		uint64_t address;
		unsigned int irq;
	} virtio[VIRTIO_MAX];
	uint64_t key[2]; /* secret, for hashes; [1] is odd */
	bool icount;     /* several harts share the time: see icount.c */
	char bootargs[256];
};

extern struct machine machine;

/* Fill in `machine` from the tree at dtb; runs before anything else. */
void fdt_read(const void *dtb);

/* The value of NAME=VALUE among the boot arguments; dflt without one. */
unsigned long bootarg_number(const char *name, unsigned long dflt);
bool bootarg_present(const char *name);

/* sbi.c */
void sbi_set_timer(uint64_t when);
void sbi_send_ipi(unsigned int hartid);
int sbi_hart_start(unsigned int hartid, uint64_t entry);
/* For uart.c, while no serial port is known. */
void sbi_putchar(char c);
/* When all output has left, through the test device: QEMU exits with status. */
void machine_poweroff(int status) __attribute__((noreturn));

#endif

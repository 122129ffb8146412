/* What the device tree says of the machine. It is filled in at boot by
 * machine_read (icount by number_harts in main.c), and constant after. */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HART_MAX   16 /* pcs has four bits for a hart's number */
#define VIRTIO_MAX 8

/* Addresses are physical, and below 4 GiB as pa_to_va wants them. Without an
 * initial RAM disk its start equals its end. */
struct machine {
	unsigned int nharts;
	unsigned int harts_ignored;          /* more than HART_MAX */
	unsigned int hartid[HART_MAX];       /* any numbers, as in the tree */
	unsigned int plic_context[HART_MAX]; /* S-mode external, per hart */
	uint64_t memory_start, memory_end;   /* the range with the kernel */
	uint64_t memory_ignored;             /* bytes outside of that range */
	uint64_t initrd_start, initrd_end;
	uint64_t timebase;              /* counts of rdtime a second */
	bool sstc;                      /* stimecmp exists, on every hart */
	unsigned long extensions;       /* bit n: the n-th letter, as Linux's */
	uint64_t uart, plic, rtc, test; /* 0: there is none */
	unsigned int uart_irq;
	unsigned int nvirtio; /* slots for virtio devices, empty ones too */
	struct {
		uint64_t address;
		unsigned int irq;
	} virtio[VIRTIO_MAX];
	uint64_t key[2]; /* secret, for hashes of names; [1] is odd */
	bool icount;     /* QEMU runs one hart at a time: see icount.c */
	char bootargs[256];
};

extern struct machine machine;

/* Fill in `machine` from boot/entry.S's copy of the device tree, at dtb. */
void machine_read(const void *dtb);

/* Boot arguments are words NAME or NAME=VALUE with blanks between.
 * bootarg_number returns a decimal VALUE, or fallback if there is none. */
unsigned long bootarg_number(const char *name, unsigned long fallback);
bool bootarg_present(const char *name);

/* Wait until all output has been sent, and power off. If the machine has a test
 * device, QEMU then exits with this status. In sbi.c. */
void sbi_poweroff(int status) __attribute__((noreturn));

#endif

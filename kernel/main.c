/* From the first line of C to the first process. */
#include "clock.h"
#include "dev/dev.h"
#include "icount.h"
#include "machine.h"
#include "mm/mm.h"
#include "print.h"
#include "proc/proc.h"
#include "trap.h"

/* boot/entry.S */
extern char boot_dtb[], boot_dtb_end[], boot_stack_end[];
extern char _start[];

/* The boot hart's first thread; it becomes that hart's idle thread. */
struct thread boot_thread = {
    .kstack_top = (unsigned long)boot_stack_end,
    .hart = &harts[0],
};

/* Number the harts as the device tree does; this is hartid's. */
static void
number_harts(unsigned long hartid)
{
	nharts = machine.nharts;
	machine.icount = nharts > 1 && bootarg_present("icount");
	for (unsigned int i = 0; i < nharts; i++) {
		harts[i].id = i;
		harts[i].hartid = machine.hartid[i];
		if (machine.hartid[i] == hartid)
			boot_thread.hart = &harts[i];
	}
	if (this_hart()->hartid != hartid)
		panic("hart %lu isn't in the device tree", hartid);
	this_hart()->idle = &boot_thread;
}

/*
 * Let the other harts into secondary_main, each as its own idle thread. They
 * all have one before the first of them starts: from then on a new kernel stack
 * waits for all harts (mm/kstack.c).
 */
static void
start_harts(void)
{
	for (unsigned int i = 0; i < nharts; i++) {
		struct hart *h = &harts[i];

		if (h == this_hart())
			continue;
		h->idle = thread_create(NULL, sched_idle);
		if (!h->idle)
			panic("no memory for hart %u", i);
		h->idle->hart = h;
	}
	for (unsigned int i = 0; i < nharts; i++) {
		const struct hart *h = &harts[i];

		if (h == this_hart())
			continue;
		if (sbi_hart_start(h->hartid, va_to_pa(_start)) != 0)
			panic("hart %u doesn't start", h->hartid);
		if (machine.icount)
			icount_probe();
	}
}

/* What every hart does last, before it looks for something to run. */
static void
hart_main(void)
{
	plic_init_hart();
	clock_init_hart();
	csr_set(sstatus, SSTATUS_SIE);
	sched_idle();
}

/* The firmware drops an interrupt for a hart that it hasn't started yet. So
 * this one interrupts itself, and finds what it was asked for meanwhile. */
void
secondary_main(void)
{
	trap_init_hart();
	aspace_switch(NULL);
	csr_set(sip, SIE_SOFT);
	if (machine.icount)
		icount_probe_partner();
	hart_main();
}

/* Each step needs those before: the machine is known before it can be talked
 * to, there is memory before files, and files before the first process. */
void
boot_main(unsigned long hartid)
{
	trap_init_hart();
	fdt_read(boot_dtb);
	number_harts(hartid);
	clock_init();
	uart_init();
	kprintf("Tally on %u harts, %lu MiB\n", nharts,
		(machine.memory_end - machine.memory_start) >> 20);
	if (machine.memory_ignored)
		kprintf("%lu MiB beyond the kernel's reach stay unused\n",
			machine.memory_ignored >> 20);
	if (machine.harts_ignored)
		kprintf("%u more harts than the limit of %u stay off\n",
			machine.harts_ignored, HART_MAX);
	page_init(va_to_pa(kernel_end), machine.memory_end,
		  machine.initrd_start, machine.initrd_end);
	aspace_init();
	plic_init();
	time_init();
	vfs_init();
	dev_init();
	hostfs_init();
	symbols_load();
	proc_init();
	sampleclock_init();
	start_harts();
	hart_main();
}

/*
 * From the first line of C to the first process.
 *
 * boot/entry.S calls boot_main on the first hart and secondary_main on each of
 * the others, with the MMU on and SIE=0. Both end in hart_main, where the hart
 * goes on as its own idle thread and runs whatever is on the run queue. Read
 * boot_main first. This file lies above all rooms, and so connects them, too.
 */
#include "base/layout.h"
#include "base/panic.h"
#include "base/print.h"
#include "base/riscv.h"
#include "base/symbols.h"
#include "dev/profil.h"
#include "dev/sample.h"
#include "dev/waits.h"
#include "driver/plic.h"
#include "driver/rtc.h"
#include "driver/uart.h"
#include "fs/device.h"
#include "fs/filesystems.h"
#include "fs/vfs.h"
#include "fs/vnode.h"
#include "machine/machine.h"
#include "machine/sbi.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "proc/proc.h"
#include "proc/threads.h"
#include "procfs/procfs.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/icount.h"
#include "sched/sampleclock.h"
#include "sched/thread.h"
#include "sched/time.h"
#include "trap/trap.h"
#include "tty/console.h"

#define SYMBOLS_FILE "/boot/symbols"
#define SYMBOLS_MAX  (1 << 20) /* bytes; a larger file isn't believed */

/* boot/entry.S */
extern char boot_dtb[], boot_dtb_end[], boot_stack_end[];
extern char _start[];

/* The thread in which the first hart starts (boot/entry.S); it becomes that
 * hart's idle thread. number_harts corrects `hart'. */
struct thread boot_thread = {
    .kstack_top = (unsigned long)boot_stack_end,
    .hart = &harts[0],
};

/* --- Who answers whom --- */

/* A device is a file that defines one of these (fs/device.h), and a line in
 * each of these two lists. */
extern const struct device console_device;
extern const struct device kprof_device;
extern const struct device ktest_device;
extern const struct device links_device;
extern const struct device null_device;
extern const struct device prf_device;
extern const struct device pcs_device;
extern const struct device pcstat_device;
extern const struct device profclock_device;
extern const struct device random_device;
extern const struct device waits_device;

static const struct device *const all_devices[] = {
    &console_device,   /* console.c: console, tty, hostout, hosterr, hostdata */
    &null_device,      /* null.c: null, zero, full */
    &random_device,    /* random.c: random, urandom */
    &links_device,     /* links.c: fd, stdin, stdout, stderr, shm */
    &profclock_device, /* profclock.c: profclock */
    &pcs_device,       /* pcs.c: pcs */
    &pcstat_device,    /* pcstat.c: pcstat */
    &kprof_device,     /* kprof.c: kpctl, kpdata */
    &prf_device,       /* prf.c: prf, prf255, prf0, prf1.. */
    &waits_device,     /* waits.c: waitctl, waitdata */
    &ktest_device,     /* ktest.c: ktest */
    NULL,
};

/*
 * A room's files call functions of lower rooms only. What a room needs done by
 * a higher one is a pointer, or some in a struct, and all are set here, before
 * anything else. docs/tour.md has a table of them.
 */
static void
connect_rooms(void)
{
	printer = &uart_printer;
	proc_serve(&profil_calls);
	sample_serve();
	waits_serve();
	vfs_serve();
	devices = all_devices;
}

/* Load the table of names for backtraces. If that fails, backtraces have
 * addresses only. The two bytes more are symbols_set's. */
static void
load_symbols(void)
{
	struct vnode *v;
	char *table = NULL;
	struct stat st;

	if (vfs_lookup(NULL, SYMBOLS_FILE, &v) != 0)
		return;
	if (vnode_stat(v, &st) == 0 && st.st_size <= SYMBOLS_MAX)
		table = kzalloc(st.st_size + 2);
	if (table && vnode_read(v, table, st.st_size, 0) == st.st_size)
		symbols_set(table, st.st_size);
	vnode_put(v);
}

/* Number the harts as the device tree does. hartid is the hardware's number for
 * this one, which need not be the first there. */
static void
number_harts(unsigned long hartid)
{
	nharts = machine.nharts;
	machine.icount = nharts > 1 && bootarg_present("icount") &&
			 !bootarg_present("races");
	for (unsigned int i = 0; i < nharts; i++) {
		harts[i].id = i;
		harts[i].hartid = machine.hartid[i];
		if (machine.hartid[i] == hartid)
			boot_thread.hart = &harts[i];
	}
	if (this_hart()->hartid != hartid)
		panic("hart %lu isn't in the device tree", hartid);
	if (machine.icount)
		icount_start(this_hart());
	this_hart()->idle = &boot_thread;
}

/*
 * Start the other harts, each in its own idle thread. All of these are made
 * before the first hart starts. From then on the first process may run, and use
 * up the kernel stacks that kstack_init has filled. Filling others waits until
 * all harts have flushed, which a hart that isn't started never does.
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
	}
}

/* The end of boot, on every hart. It takes interrupts from here on. */
static void
hart_main(void)
{
	plic_init_hart();
	clock_init_hart();
	csr_set(sstatus, SSTATUS_SIE);
	sched_idle();
}

/*
 * The first C of the other harts. Such a hart may already have been asked for a
 * flush, for example; but the firmware drops interrupts for a hart that hasn't
 * started. So it interrupts itself, and then finds what it was asked for.
 */
void
secondary_main(void)
{
	trap_init_hart();
	aspace_switch(NULL);
	csr_set(sip, SIE_SOFT);
	hart_main();
}

/*
 * The first C of the boot hart. hartid is the hardware's number for it.
 *
 * The order matters. The pointers and the trap vector come first, as a panic
 * needs them; then machine_read, which finds all devices. Memory comes before
 * page tables, and both before files. The time of day is set before files are
 * made, as they have times. vfs_init unpacks the initial RAM disk, in which
 * load_symbols finds its file. The process that proc_init makes is only
 * runnable so far: it begins when a hart comes to hart_main.
 */
void
boot_main(unsigned long hartid)
{
	connect_rooms();
	trap_init_hart();
	machine_read(boot_dtb);
	number_harts(hartid);
	clock_init();
	uart_init(console_readable, console_writable);
	kprintf("Tally on %u harts, %lu MiB, version %s\n", nharts,
		(machine.memory_end - machine.memory_start) >> 20,
		TALLY_VERSION); /* of the file VERSION, by the Makefile */
	if (machine.memory_ignored)
		kprintf("%lu MiB of memory beyond the kernel's limit are "
			"not used\n",
			machine.memory_ignored >> 20);
	if (machine.harts_ignored)
		kprintf("%u harts beyond the limit of %u are not started\n",
			machine.harts_ignored, HART_MAX);
	page_init(va_to_pa(kernel_end), machine.memory_end,
		  machine.initrd_start, machine.initrd_end);
	aspace_init();
	plic_init();
	time_init(rtc_read_ns());
	vfs_init();
	devices_init();
	hostfs_init();
	procfs_init();
	load_symbols();
	proc_init();
	sampleclock_init();
	start_harts();
	hart_main();
}

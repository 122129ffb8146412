/* /proc and /sys: what there is to know about the machine and the kernel. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/layout.h"
#include "base/list.h"
#include "base/riscv.h"
#include "fs/vfs.h"
#include "machine/machine.h"
#include "mm/page.h"
#include "proc/proc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"
#include "syscall/info.h"

#include "procfs.h"

#define KIB_PER_PAGE (PAGE_SIZE / 1024)

/* Ticks of all processes that there were, and how many there are. */
struct total {
	uint64_t user, system, ticks;
	unsigned int processes, running;
	pid_t last;
};

/* Those that have been waited for are counted by their parents. */
static struct total
total(void)
{
	struct total t = {0};
	struct psinfo ps;

	spin_lock(&proc_tree_lock);
	list_each (struct proc, p, &proc_list, all_link) {
		info_describe(p, &ps);
		t.user += ps.utime + p->child_utime;
		t.system += ps.stime + p->child_stime;
		t.running += ps.state == 'R';
		t.processes++;
		t.last = p->pid;
	}
	spin_unlock(&proc_tree_lock);
	for (unsigned int i = 0; i < nharts; i++)
		t.ticks += harts[i].ticks;
	return t;
}

/* user, nice, system, idle, and what isn't counted. Ticks aren't counted for
 * each hart apart, so each has the same share of them. */
static void
print_ticks(struct text *t, const struct total *all, unsigned int share)
{
	uint64_t busy = all->user + all->system;
	uint64_t idle = all->ticks > busy ? all->ticks - busy : 0;

	text_say(t, " %lu 0 %lu %lu 0 0 0 0 0 0\n", all->user / share,
		 all->system / share, idle / share);
}

static int
print_all_ticks(const struct procnode *, struct text *t)
{
	struct total all = total();
	uint64_t boot = time_realtime_ns() - time_of_counts(rdtime());

	text_say(t, "cpu ");
	print_ticks(t, &all, 1);
	for (unsigned int i = 0; i < nharts; i++) {
		text_say(t, "cpu%u", i);
		print_ticks(t, &all, nharts);
	}
	text_say(t, "intr 0\nctxt 0\nbtime %lu\nprocesses %d\n",
		 boot / NS_PER_SEC, all.last);
	text_say(t, "procs_running %u\nprocs_blocked 0\n", all.running);
	return 0;
}

/* Seconds with two digits behind the point. */
static void
print_seconds(struct text *t, uint64_t hundredths)
{
	text_say(t, "%lu.", hundredths / 100);
	text_digits(t, hundredths % 100, 10, 2);
}

static int
print_uptime(const struct procnode *, struct text *t)
{
	struct total all = total();
	uint64_t busy = all.user + all.system;

	print_seconds(t, time_of_counts(rdtime()) / (NS_PER_SEC / 100));
	text_say(t, " ");
	print_seconds(t, all.ticks > busy ? all.ticks - busy : 0);
	text_say(t, "\n");
	return 0;
}

/* Nobody computes averages: they are 0. */
static int
print_loadavg(const struct procnode *, struct text *t)
{
	struct total all = total();

	text_say(t, "0.00 0.00 0.00 %u/%u %d\n", all.running, all.processes,
		 all.last);
	return 0;
}

static void
print_kib(struct text *t, const char *name, size_t pages)
{
	size_t start = t->size;

	text_say(t, "%s:", name);
	text_pad(t, start, 16);
	text_say(t, "%lu kB\n", pages * KIB_PER_PAGE);
}

static int
print_meminfo(const struct procnode *, struct text *t)
{
	size_t free = page_count_free();

	print_kib(t, "MemTotal", page_count_total());
	print_kib(t, "MemFree", free);
	print_kib(t, "MemAvailable", free);
	print_kib(t, "Buffers", 0);
	print_kib(t, "Cached", 0);
	print_kib(t, "Shmem", 0);
	print_kib(t, "SReclaimable", 0);
	print_kib(t, "SwapTotal", 0);
	print_kib(t, "SwapFree", 0);
	return 0;
}

static int
print_cpuinfo(const struct procnode *, struct text *t)
{
	for (unsigned int i = 0; i < nharts; i++)
		text_say(t,
			 "processor\t: %u\nhart\t\t: %u\n"
			 "isa\t\t: rv64imafdc\nmmu\t\t: sv39\n\n",
			 i, harts[i].hartid);
	return 0;
}

int
system_mounts(const struct procnode *, struct text *t)
{
	struct vnode *v;

	text_say(t, "ramfs / ramfs rw 0 0\ndevfs /dev devfs rw 0 0\n"
		    "proc /proc proc ro 0 0\nsysfs /sys sysfs ro 0 0\n");
	if (vfs_lookup(NULL, "/host", &v) != 0)
		return 0;
	if (v->covered != NULL)
		text_say(t, "host /host 9p rw 0 0\n");
	vnode_put(v);
	return 0;
}

static int
print_filesystems(const struct procnode *, struct text *t)
{
	text_say(t, "nodev\tramfs\nnodev\tdevfs\nnodev\tproc\nnodev\tsysfs\n"
		    "nodev\t9p\n");
	return 0;
}

static int
print_version(const struct procnode *, struct text *t)
{
	text_say(t, "Linux version %s (%s %s)\n", info_system.release,
		 info_system.sysname, info_system.version);
	return 0;
}

/* What Linux calls the system is what programs look for here. */
static int
print_ostype(const struct procnode *, struct text *t)
{
	text_say(t, "%s\n", info_system.sysname);
	return 0;
}

static int
print_osrelease(const struct procnode *, struct text *t)
{
	text_say(t, "%s\n", info_system.release);
	return 0;
}

static int
print_hostname(const struct procnode *, struct text *t)
{
	text_say(t, "%s\n", info_system.nodename);
	return 0;
}

static int
print_pid_max(const struct procnode *, struct text *t)
{
	text_say(t, "%d\n", PID_MAX + 1);
	return 0;
}

/* Memory is promised (proc/memory.c), up to what a call can see is missing. */
static int
print_overcommit(const struct procnode *, struct text *t)
{
	text_say(t, "0\n");
	return 0;
}

static int
print_online(const struct procnode *, struct text *t)
{
	if (nharts > 1)
		text_say(t, "0-%u\n", nharts - 1);
	else
		text_say(t, "0\n");
	return 0;
}

static int
link_self(const struct procnode *, struct text *t)
{
	text_say(t, "%d", current->proc->pid);
	return 0;
}

/* --- The trees --- */

#define FILE(n, print)                                           \
	{                                                        \
		.name = n, .mode = S_IFREG | 0444, .text = print \
	}
#define DIR(n, table)                                             \
	{                                                         \
		.name = n, .mode = S_IFDIR | 0555, .files = table \
	}

static const struct procfile kernel_files[] = {
    FILE("hostname", print_hostname),
    FILE("osrelease", print_osrelease),
    FILE("ostype", print_ostype),
    FILE("pid_max", print_pid_max),
    {0},
};

static const struct procfile vm_files[] = {
    FILE("overcommit_memory", print_overcommit),
    {0},
};

static const struct procfile sysctl_files[] = {
    DIR("kernel", kernel_files),
    DIR("vm", vm_files),
    {0},
};

static const struct procfile process_dir = {.mode = S_IFDIR | 0555,
					    .files = process_files};

static const struct procfile root_files[] = {
    FILE("cpuinfo", print_cpuinfo),
    FILE("filesystems", print_filesystems),
    FILE("loadavg", print_loadavg),
    FILE("meminfo", print_meminfo),
    FILE("mounts", system_mounts),
    {.name = "self", .mode = S_IFLNK | 0777, .link = link_self},
    FILE("stat", print_all_ticks),
    DIR("sys", sysctl_files),
    FILE("uptime", print_uptime),
    FILE("version", print_version),
    {0},
};

const struct procfile system_root = {
    .mode = S_IFDIR | 0555,
    .files = root_files,
    .next = process_next,
    .numbered = &process_dir,
};

/* C libraries count the harts by this. */
static const struct procfile cpu_files[] = {
    FILE("online", print_online),
    {0},
};
static const struct procfile system_files[] = {DIR("cpu", cpu_files), {0}};
static const struct procfile devices_files[] = {DIR("system", system_files),
						{0}};
static const struct procfile sys_files[] = {DIR("devices", devices_files), {0}};

const struct procfile system_sys = {.mode = S_IFDIR | 0555, .files = sys_files};

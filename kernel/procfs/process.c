/*
 * /proc/PID: what there is to know about a process.
 *
 * What locks guard is copied first, with references to what may go away
 * (process_get). The texts are printed from the copy, without a lock: printing
 * needs memory.
 */
#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "base/list.h"
#include "fs/fd.h"
#include "fs/file.h"
#include "fs/vfs.h"
#include "fs/walk.h"
#include "mm/aspace.h"
#include "mm/look.h"
#include "proc/proc.h"
#include "sched/clock.h"
#include "sched/hart.h"
#include "sched/lock.h"
#include "sched/thread.h"
#include "sched/time.h"
#include "syscall/info.h"

#include "procfs.h"

#define MAPS_COLUMN 73 /* where Linux prints the names */
#define PRIORITY    20
#define PIECE       256 /* bytes of arguments that are copied at a time */

struct process {
	struct psinfo ps;
	uint64_t born;
	pid_t session;
	clock_t child_utime, child_stime;
	mode_t umask;
	struct aspace *as; /* NULL: it has none any more; so are the next two */
	struct vnode *cwd, *program;
};

static struct proc *
find(pid_t pid, uint64_t born)
{
	struct proc *p;

	must_hold(&proc_tree_lock);
	p = proc_find(pid);
	return p != NULL && p->born == born ? p : NULL;
}

uint64_t
process_born(pid_t pid)
{
	const struct proc *p;
	uint64_t born;

	spin_lock(&proc_tree_lock);
	p = proc_find(pid);
	born = p != NULL ? p->born : 0;
	spin_unlock(&proc_tree_lock);
	return born;
}

int
process_next(const struct procnode *, int from)
{
	const struct proc *p;
	int pid;

	spin_lock(&proc_tree_lock);
	p = proc_from(from);
	pid = p != NULL ? p->pid : -1;
	spin_unlock(&proc_tree_lock);
	return pid;
}

/* Copy what n's process is now: 0; or -ESRCH. */
static int
process_get(const struct procnode *n, struct process *copy)
{
	struct proc *p;

	spin_lock(&proc_tree_lock);
	p = find(n->pid, n->born);
	if (p == NULL) {
		spin_unlock(&proc_tree_lock);
		return -ESRCH;
	}
	info_describe(p, &copy->ps);
	copy->born = p->born;
	copy->session = p->session;
	copy->child_utime = p->child_utime;
	copy->child_stime = p->child_stime;
	copy->umask = p->umask;
	spin_lock(&p->lock);
	copy->as = p->as;
	copy->cwd = p->cwd;
	copy->program = p->program;
	if (copy->as != NULL)
		aspace_ref(copy->as);
	if (copy->cwd != NULL)
		vnode_ref(copy->cwd);
	if (copy->program != NULL)
		vnode_ref(copy->program);
	spin_unlock(&p->lock);
	spin_unlock(&proc_tree_lock);
	return 0;
}

static void
process_put(const struct process *p)
{
	if (p->as != NULL)
		aspace_put(p->as);
	if (p->cwd != NULL)
		vnode_put(p->cwd);
	if (p->program != NULL)
		vnode_put(p->program);
}

/* --- Memory --- */

/* NULL: the name of its file. */
static const char *
region_name(const struct aspace *as, const struct region *r)
{
	if (r->vnode != NULL) /* proc/signal_page.c's isn't a file */
		return r->vnode->ops->stat != NULL ? NULL : "[vdso]";
	if (r->start < as->brk && r->end > as->heap)
		return "[heap]";
	if (r->start <= as->args.start && as->args.start < r->end)
		return "[stack]";
	return "";
}

static void
print_region(struct text *t, const struct aspace *as, const struct region *r)
{
	const char *name = region_name(as, r);
	char path[PATH_MAX_LEN] = "";
	size_t start = t->size;
	struct stat st = {0};

	if (name == NULL) {
		vnode_stat(r->vnode, &st);
		name = vfs_path(r->vnode, path) < 0 ? "(deleted)" : path;
	}
	text_digits(t, r->start, 16, 8);
	text_say(t, "-");
	text_digits(t, r->end, 16, 8);
	text_say(t, " %c%c%c%c ", r->prot & PROT_R ? 'r' : '-',
		 r->prot & PROT_W ? 'w' : '-', r->prot & PROT_X ? 'x' : '-',
		 r->shared ? 's' : 'p');
	text_digits(t, r->vnode != NULL ? r->offset : 0, 16, 8);
	text_say(t, " 00:");
	text_digits(t, st.st_dev, 16, 2);
	text_say(t, " %lu ", (unsigned long)st.st_ino);
	if (*name != '\0')
		text_pad(t, start, MAPS_COLUMN);
	text_say(t, "%s\n", name);
}

static int
print_maps(const struct procnode *n, struct text *t)
{
	struct process p;
	struct region r;
	int error = process_get(n, &p);

	if (error < 0)
		return error;
	for (uintptr_t at = 0;
	     p.as != NULL && t->error == 0 && look_region(p.as, at, &r);
	     at = r.end) {
		print_region(t, p.as, &r);
		if (r.vnode != NULL)
			aspace_files.release(&r);
	}
	process_put(&p);
	return 0;
}

/* Pages: size, resident, shared, text, 0, data and stack, 0. */
static int
print_statm(const struct procnode *n, struct text *t)
{
	struct process p;
	size_t text = 0;
	int error = process_get(n, &p);

	if (error < 0)
		return error;
	if (p.as != NULL)
		text = (p.as->text.end - p.as->text.start) / PAGE_SIZE;
	text_say(t, "%lu %lu 0 %lu 0 %lu 0\n", p.ps.size / PAGE_SIZE,
		 p.ps.resident / PAGE_SIZE, text, p.ps.size / PAGE_SIZE - text);
	process_put(&p);
	return 0;
}

/* Copy a part of the program's memory, as it is now. */
static void
print_span(struct text *t, struct aspace *as, const struct span *s)
{
	char piece[PIECE];
	size_t n;

	for (uintptr_t at = s->start; at < s->end && t->error == 0; at += n) {
		n = s->end - at < PIECE ? s->end - at : PIECE;
		n = look_bytes(as, at, piece, n);
		if (n == 0)
			break;
		text_append(t, piece, n);
	}
}

static int
print_cmdline(const struct procnode *n, struct text *t)
{
	struct process p;
	int error = process_get(n, &p);

	if (error < 0)
		return error;
	if (p.as != NULL)
		print_span(t, p.as, &p.as->args);
	process_put(&p);
	return 0;
}

static int
print_environ(const struct procnode *n, struct text *t)
{
	struct process p;
	int error = process_get(n, &p);

	if (error < 0)
		return error;
	if (p.as != NULL)
		print_span(t, p.as, &p.as->env);
	process_put(&p);
	return 0;
}

/* --- State --- */

static int
print_comm(const struct procnode *n, struct text *t)
{
	struct process p;
	int error = process_get(n, &p);

	if (error < 0)
		return error;
	text_say(t, "%s\n", p.ps.name);
	process_put(&p);
	return 0;
}

/* Linux's 52 fields; those that nobody counts here are 0. Times are in ticks,
 * of which both kernels have 100 a second. */
static int
print_stat(const struct procnode *n, struct text *t)
{
	static const struct span none;
	struct process p;
	int error = process_get(n, &p);
	const struct span *text = &none, *args = &none, *env = &none;
	unsigned long started;

	if (error < 0)
		return error;
	if (p.as != NULL) {
		text = &p.as->text;
		args = &p.as->args;
		env = &p.as->env;
	}
	started = time_of_counts(p.born) / (NS_PER_SEC / HZ);
	text_say(t, "%d (%s) %c %d %d %d 0 -1 0 0 0 0 0 ", p.ps.pid, p.ps.name,
		 p.ps.state, p.ps.ppid, p.ps.pgrp, p.session);
	text_say(t, "%lu %lu %lu %lu %d 0 %u 0 %lu ", p.ps.utime, p.ps.stime,
		 (unsigned long)p.child_utime, (unsigned long)p.child_stime,
		 PRIORITY, p.ps.threads, started);
	text_say(t, "%lu %lu %lu %lu %lu %lu ", p.ps.size,
		 p.ps.resident / PAGE_SIZE, ~0UL, text->start, text->end,
		 args->start);
	text_say(t, "0 0 0 0 0 0 0 0 0 17 %u 0 0 0 0 0 ", p.ps.hart);
	text_say(t, "%lu %lu %lu %lu %lu %lu %lu 0\n", text->end,
		 p.as != NULL ? p.as->brk : 0, p.as != NULL ? p.as->heap : 0,
		 args->start, args->end, env->start, env->end);
	process_put(&p);
	return 0;
}

static const char *
state_word(char state)
{
	switch (state) {
	case 'R':
		return "R (running)";
	case 'T':
		return "T (stopped)";
	case 'Z':
		return "Z (zombie)";
	default:
		return "S (sleeping)";
	}
}

static int
print_status(const struct procnode *n, struct text *t)
{
	struct process p;
	int error = process_get(n, &p);

	if (error < 0)
		return error;
	text_say(t, "Name:\t%s\nUmask:\t", p.ps.name);
	text_digits(t, p.umask, 8, 4);
	text_say(t, "\nState:\t%s\n", state_word(p.ps.state));
	text_say(t, "Tgid:\t%d\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n", p.ps.pid,
		 p.ps.pid, p.ps.ppid);
	text_say(t, "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t%u\n",
		 FD_MAX);
	if (p.as != NULL)
		text_say(t, "VmSize:\t%lu kB\nVmRSS:\t%lu kB\n",
			 p.ps.size >> 10, p.ps.resident >> 10);
	text_say(t, "Threads:\t%u\nCpus_allowed_list:\t0", p.ps.threads);
	if (nharts > 1)
		text_say(t, "-%u", nharts - 1);
	text_say(t, "\n");
	process_put(&p);
	return 0;
}

/* --- Links --- */

/* One of p's vnodes becomes the caller's. */
static int
take(struct process *p, struct vnode **which, struct vnode **out)
{
	*out = *which;
	*which = NULL;
	process_put(p);
	return *out != NULL ? 0 : -ENOENT;
}

static int
follow_exe(const struct procnode *n, struct vnode **out)
{
	struct process p;
	int error = process_get(n, &p);

	return error < 0 ? error : take(&p, &p.program, out);
}

static int
follow_cwd(const struct procnode *n, struct vnode **out)
{
	struct process p;
	int error = process_get(n, &p);

	return error < 0 ? error : take(&p, &p.cwd, out);
}

static int
follow_root(const struct procnode *, struct vnode **out)
{
	vnode_ref(vfs_root);
	*out = vfs_root;
	return 0;
}

/* Only a process itself may look at its descriptors: at its end it takes its
 * table apart without a lock. Others find none. */
static struct file *
get_file(const struct procnode *n, int fd)
{
	const struct proc *p = current->proc;

	return n->pid == p->pid && n->born == p->born ? fd_get(p->fds, fd)
						      : NULL;
}

static int
next_fd(const struct procnode *n, int from)
{
	for (int fd = from; fd < FD_MAX; fd++) {
		struct file *f = get_file(n, fd);

		if (f != NULL) {
			file_put(f);
			return fd;
		}
	}
	return -1;
}

static int
follow_fd(const struct procnode *n, struct vnode **out)
{
	struct file *f = get_file(n, n->number);

	if (f == NULL)
		return -ENOENT;
	*out = f->vnode;
	vnode_ref(*out);
	file_put(f);
	return 0;
}

static const struct procfile fd_link = {.mode = S_IFLNK | 0700,
					.follow = follow_fd};
static const struct procfile no_files[] = {{0}};

#define FILE_MODE (S_IFREG | 0444)
#define LINK_MODE (S_IFLNK | 0777)

const struct procfile process_files[] = {
    {.name = "cmdline", .mode = FILE_MODE, .text = print_cmdline},
    {.name = "comm", .mode = FILE_MODE, .text = print_comm},
    {.name = "cwd", .mode = LINK_MODE, .follow = follow_cwd},
    {.name = "environ", .mode = FILE_MODE, .text = print_environ},
    {.name = "exe", .mode = LINK_MODE, .follow = follow_exe},
    {
	.name = "fd",
	.mode = S_IFDIR | 0500,
	.files = no_files,
	.next = next_fd,
	.numbered = &fd_link,
    },
    {.name = "maps", .mode = FILE_MODE, .text = print_maps},
    {.name = "mounts", .mode = FILE_MODE, .text = system_mounts},
    {.name = "root", .mode = LINK_MODE, .follow = follow_root},
    {.name = "stat", .mode = FILE_MODE, .text = print_stat},
    {.name = "statm", .mode = FILE_MODE, .text = print_statm},
    {.name = "status", .mode = FILE_MODE, .text = print_status},
    {0},
};

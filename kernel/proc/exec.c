/*
 * exec: another program for the same process.
 *
 * A failed exec must change nothing. So whatever can fail is done first: open
 * the file, copy the arguments out of the old program's memory, and build the
 * new address space beside the old one, including the pages of its stack that
 * the arguments will fill (args_prepare). The last step that can fail is
 * threads_alone, which ends the process's other threads. Then start_program
 * goes over to the new address space. Read exec, at the end, first.
 *
 * A program starts with its stack pointer, a multiple of 16, at
 *
 *	argc, argv[0] .. argv[argc-1], NULL, envp[0] .., NULL, auxiliary vector
 *
 * (eight bytes each; auxv.c). The strings lie above that, at the end of the
 * stack: the program's path, the arguments, the environment. Then come 16
 * random bytes, which the auxiliary vector points at, and as many zeroes:
 *
 *	sp -> vectors | up to 15 bytes | strings | 32 bytes | TEXT_TOP
 *
 * A file that starts with "#!" and a line of text is run by the interpreter
 * that the line names, with at most one argument from the line.
 */
#include "exec.h"

#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "base/riscv.h"
#include "fs/fd.h"
#include "fs/vfs.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "mm/uaccess.h"
#include "sched/lock.h"
#include "sched/thread.h"

#include "futex.h"
#include "proc.h"
#include "ptimer.h"
#include "signal.h"
#include "threads.h"

#define STACK_ALIGN  16
#define EXEC_BITS    (S_IXUSR | S_IXGRP | S_IXOTH)
#define SCRIPT_LINE  256 /* longest "#!" line, with the newline */
#define BLANKS       " \t"
#define STRING_SLACK 32 /* bytes past the last string, as in user.ld */
#define RANDOM_AT    (TEXT_TOP - STRING_SLACK)

/*
 * The arguments on their way from one program to the next, in kernel memory, as
 * the old program's goes before the new one's can be written. The strings lie
 * one after another, each with its NUL: the program's path, argv's, envp's.
 *
 * The buffer has one page at first, and grows for the user's strings. What the
 * kernel itself adds (args_add) comes before these, and always fits.
 */
struct args {
	char *strings;
	size_t used, room; /* bytes of strings so far; bytes of the buffer */
	unsigned int argc, envc;
	uintptr_t *vector; /* argc and all vectors, as they go on the stack */
};

/* Words of the vectors: argc, two NULLs, the auxiliary vector. */
#define VECTOR_FIXED (3 + AUXV_WORDS)

static size_t
vector_size(const struct args *a)
{
	return (a->argc + a->envc + VECTOR_FIXED) * sizeof(uintptr_t);
}

/* Where the strings will lie in the new address space. */
static uintptr_t
strings_address(const struct args *a)
{
	return TEXT_TOP - STRING_SLACK - a->used;
}

/* Where the vectors will lie: the program's first stack pointer. */
static uintptr_t
vector_address(const struct args *a)
{
	return (strings_address(a) - vector_size(a)) &
	       ~(uintptr_t)(STACK_ALIGN - 1);
}

/* Make the buffer four times as large. 0, -E2BIG (too large), or -ENOMEM. */
static int
args_grow(struct args *a)
{
	size_t room = 4 * a->room;
	char *bigger;

	if (a->room == ARG_MAX_BYTES)
		return -E2BIG;
	if (room > ARG_MAX_BYTES)
		room = ARG_MAX_BYTES;
	bigger = kmalloc(room);
	if (bigger == NULL)
		return -ENOMEM;
	memcpy(bigger, a->strings, a->used);
	kfree(a->strings);
	a->strings = bigger;
	a->room = room;
	return 0;
}

/* Append the string at a user address; the buffer grows if need be. */
static int
args_copy_string(struct args *a, uintptr_t user)
{
	for (;;) {
		ssize_t n = copy_in_str(a->strings + a->used, user,
					a->room - a->used);
		int r;

		if (n >= 0) {
			a->used += n + 1;
			return 0;
		}
		if (n != -ENAMETOOLONG)
			return n;
		r = args_grow(a);
		if (r < 0)
			return r;
	}
}

/*
 * Append the strings of a vector in user memory (0: there is none), except the
 * first `skip` of them, and add to *count how many they are.
 */
static int
args_copy_vector(struct args *a, uintptr_t vector, unsigned int skip,
		 unsigned int *count)
{
	for (; vector != 0; vector += sizeof(uintptr_t)) {
		uintptr_t string;
		int r = copy_in(&string, vector, sizeof(string));

		if (r < 0)
			return r;
		if (string == 0)
			break;
		if (skip > 0) {
			skip--;
			continue;
		}
		r = args_copy_string(a, string);
		if (r < 0)
			return r;
		++*count;
		if (a->used + vector_size(a) > ARG_MAX_BYTES)
			return -E2BIG;
	}
	return 0;
}

static void
args_add_string(struct args *a, const char *string)
{
	a->used += strlcpy(a->strings + a->used, string, a->room - a->used) + 1;
}

static void
args_add(struct args *a, const char *string)
{
	args_add_string(a, string);
	a->argc++;
}

/*
 * If resolve_script has put arguments of its own there (argc isn't 0), these
 * replace the first one: for a script called as "x a b", where "#!/bin/sh -e"
 * is its first line, the arguments are "/bin/sh -e PATH a b".
 */
static int
args_copy(struct args *a, const char *arg0, uintptr_t argv, uintptr_t envp)
{
	unsigned int replaced = a->argc > 0;
	int r;

	if (arg0 != NULL && !replaced)
		args_add(a, arg0);
	r = args_copy_vector(a, argv, replaced, &a->argc);
	return r < 0 ? r : args_copy_vector(a, envp, 0, &a->envc);
}

/*
 * Make the vectors, with the addresses of the strings in the new program. And
 * fill in, for writing, the pages that the arguments will be copied to, so that
 * copy_out can't fail in start_program: the kernel never takes pages back.
 */
static int
args_prepare(struct args *a, const struct image *image)
{
	uintptr_t page = page_round_down(vector_address(a));
	size_t path_size = strlen(a->strings) + 1;
	uintptr_t string = strings_address(a) + path_size;
	const char *s = a->strings + path_size;
	uintptr_t *to;
	int r = 0;

	a->vector = to = kzalloc(vector_size(a));
	if (to == NULL)
		return -ENOMEM;
	*to++ = a->argc;
	image->as->args = (struct span){string, string};
	for (unsigned int i = 0; i < a->argc + a->envc; i++) {
		size_t size = strlen(s) + 1;

		if (i == a->argc)
			to++; /* argv's end */
		*to++ = string;
		s += size;
		string += size;
		if (i < a->argc)
			image->as->args.end = string;
	}
	image->as->env = (struct span){image->as->args.end, string};
	auxv_fill(a->vector + 3 + a->argc + a->envc, image, strings_address(a),
		  RANDOM_AT);
	for (; page < TEXT_TOP && r == 0; page += PAGE_SIZE)
		r = aspace_fault(image->as, page, PROT_W);
	return r;
}

int
exec_open(const char *path, struct vnode **out)
{
	struct vnode *v;
	struct stat st;
	int r = vfs_lookup(NULL, path, &v);

	if (r < 0)
		return r;
	r = v->type == S_IFREG ? vnode_stat(v, &st) : -EACCES;
	if (r == 0 && !(st.st_mode & EXEC_BITS))
		r = -EACCES;
	if (r < 0)
		vnode_put(v);
	else
		*out = v;
	return r;
}

/*
 * If *program is a script, replace it by its interpreter, whose arguments begin
 * with "interpreter [argument] path". On failure *program is what it was. If
 * the interpreter is a script itself, elf_load refuses it.
 */
static SLOW_PATH int
resolve_script(struct vnode **program, const char *path, struct args *a)
{
	char head[SCRIPT_LINE];
	char *end, *interpreter, *argument, *rest;
	ssize_t n = vnode_read(*program, head, sizeof(head), 0);
	struct vnode *script = *program;
	int r;

	if (n < 2 || head[0] != '#' || head[1] != '!')
		return n < 0 ? n : 0;
	end = memchr(head, '\n', n);
	if (end == NULL)
		return -ENOEXEC;
	*end = '\0';
	interpreter = strtok_r(head + 2, BLANKS, &rest);
	if (interpreter == NULL)
		return -ENOEXEC;
	argument = strtok_r(NULL, BLANKS, &rest);
	args_add(a, interpreter);
	if (argument != NULL)
		args_add(a, argument);
	args_add(a, path);
	r = exec_open(interpreter, program);
	if (r == 0)
		vnode_put(script);
	return r;
}

/* Make an address space for program: 0 and *image; or an error, without one. */
static int
build_image(struct vnode *program, struct args *args, struct image *image)
{
	static const struct region stack = {
	    .start = TEXT_TOP - USER_STACK_MAX,
	    .end = TEXT_TOP,
	    .prot = PROT_R | PROT_W,
	};
	int r;

	image->as = aspace_create();
	if (image->as == NULL)
		return -ENOMEM;
	r = elf_load(program, image);
	if (r == 0)
		r = signal_page_map(image->as);
	if (r == 0)
		r = aspace_map(image->as, &stack);
	if (r == 0)
		r = args_prepare(args, image);
	if (r < 0) {
		aspace_put(image->as);
		image->as = NULL;
	}
	return r;
}

/*
 * Past the point of no return, with no other thread left: go over to as, and
 * let go of what else belonged to the old program. The new trap frame takes
 * effect when the system call returns to user mode.
 *
 * As soon as the address space has changed, the stack pointer in the old trap
 * frame would lead the sampler, which follows call stacks, into the new
 * program's memory. So all of this lies within tf_change_begin and _end.
 *
 * Takes over the reference to program, and returns that to the one before.
 */
static struct vnode *
start_program(const char *name, struct vnode *program,
	      const struct image *image, const struct args *args)
{
	struct proc *p = current->proc;
	unsigned int context = context_new();
	unsigned long sstatus = csr_read(sstatus);
	struct vnode *before = p->program;
	uint64_t random[RANDOM_BYTES / sizeof(uint64_t)];
	struct aspace *old;

	auxv_random(random);
	futex_leave();
	proc_observer()->execed(context, name, program, image->as);
	tf_change_begin();
	old = proc_set_aspace(image->as);
	if (old != NULL)
		aspace_put(old);
	copy_out(strings_address(args), args->strings, args->used);
	copy_out(vector_address(args), args->vector, vector_size(args));
	copy_out(RANDOM_AT, random, sizeof(random));
	fdtable_close(p->fds, false);
	signal_exec(p);
	ptimer_free_all(p);
	proc_profil->off(p);
	spin_lock(&proc_tree_lock);
	p->execed = true;
	proc_end_vfork(p);
	spin_unlock(&proc_tree_lock);
	spin_lock(&p->lock);
	strlcpy(p->name, name, sizeof(p->name));
	memcpy(current->name, p->name, sizeof(p->name));
	p->program = program;
	current->context = context;
	spin_unlock(&p->lock);
	current->tf = (struct trapframe){
	    .sepc = image->start,
	    .sp = vector_address(args),
	    /*
	     * SPP clear: to user mode; SPIE set: with interrupts enabled. With
	     * FS off the first use of a floating-point register traps, and
	     * finds all of them 0. The firmware may have left VS on.
	     */
	    .sstatus = (sstatus & ~(SSTATUS_SPP | SSTATUS_FS | SSTATUS_VS |
				    SSTATUS_SUM)) |
		       SSTATUS_SPIE,
	};
	tf_change_end();
	return before;
}

/* Process 1 starts by this, too, without an old address space. */
int
exec(const char *path, const char *arg0, uintptr_t argv, uintptr_t envp)
{
	struct args args = {.strings = kmalloc(PAGE_SIZE), .room = PAGE_SIZE};
	struct vnode *program = NULL;
	struct image image = {.as = NULL};
	const char *slash = strrchr(path, '/');
	int r = -ENOMEM;

	if (args.strings != NULL)
		r = exec_open(path, &program);
	if (r == 0)
		args_add_string(&args, path);
	if (r == 0)
		r = resolve_script(&program, path, &args);
	if (r == 0)
		r = args_copy(&args, arg0, argv, envp);
	if (r == 0)
		r = build_image(program, &args, &image);
	if (r == 0)
		r = threads_alone();
	if (r == 0)
		program = start_program(slash != NULL ? slash + 1 : path,
					program, &image, &args);
	else if (image.as != NULL)
		aspace_put(image.as);
	if (program != NULL)
		vnode_put(program);
	kfree(args.vector);
	kfree(args.strings);
	return r;
}

long
sys_execve(const unsigned long *arg)
{
	char path[PATH_MAX_LEN];
	ssize_t r = copy_in_str(path, arg[0], sizeof(path));

	return r < 0 ? r : exec(path, NULL, arg[1], arg[2]);
}

/*
 * exec: another program for the same process.
 *
 * The new address space is built beside the old one, down to the stack's pages
 * that take the arguments; only when nothing can fail any more do the other
 * threads and the old one go. So a failed exec changes nothing.
 *
 * A program starts with its stack pointer, a multiple of 16, at
 *
 *	argc, argv[0] .. argv[argc-1], NULL, envp[0] .., NULL, 0, 0
 *
 * (eight bytes each, the last two an empty auxiliary vector), above which
 * lie the strings. A file that starts with "#!" and a line of text is run by
 * the interpreter the line names, with at most one argument from there.
 */
#include <string.h>

#include "../syscall.h"
#include "proc.h"

#define STACK_ALIGN  16
#define EXEC_BITS    (S_IXUSR | S_IXGRP | S_IXOTH)
#define SCRIPT_LINE  256 /* longest "#!" line, with the newline */
#define BLANKS       " \t"
#define STRING_SLACK 32 /* bytes past the last string, as in user.ld */

/*
 * The arguments on their way from one program to the next: the strings, one
 * after another, argv's first. What the kernel itself adds comes before the
 * user's strings, and fits the first page.
 */
struct args {
	char *strings;
	size_t used, room; /* bytes of strings; the buffer's size */
	unsigned int argc, envc;
	uintptr_t *vector; /* all vectors, as they go on the stack */
};

/* Words of the vectors: argc, two NULLs, the empty auxiliary vector. */
#define VECTOR_FIXED 5

static size_t
vector_size(const struct args *a)
{
	return (a->argc + a->envc + VECTOR_FIXED) * sizeof(uintptr_t);
}

/* The user's addresses: of the strings, and of the vectors, where sp starts. */
static uintptr_t
strings_address(const struct args *a)
{
	return USER_TOP - STRING_SLACK - a->used;
}

static uintptr_t
vector_address(const struct args *a)
{
	return (strings_address(a) - vector_size(a)) &
	       ~(uintptr_t)(STACK_ALIGN - 1);
}

/* Make the room for strings four times as large, but not more than allowed. */
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

/* Append the string at a user address. */
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

/* Append the strings of a vector in user memory (0: there is none), but the
 * first `skip` of them, and count them. */
static int
args_copy_vector(struct args *a, uintptr_t vector, unsigned int skip,
		 unsigned int *count)
{
	for (; vector != 0; vector += sizeof(uintptr_t)) {
		uintptr_t string;
		int r = copy_in(&string, vector, sizeof string);

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

/* Append an argument of the kernel's. */
static void
args_add(struct args *a, const char *string)
{
	a->used += strlcpy(a->strings + a->used, string, a->room - a->used) + 1;
	a->argc++;
}

/* All arguments but those that a script adds: they replace the first one. */
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

/* Fill in the vectors, and have all pages that the arguments go to present in
 * as: then putting them there can't fail. 0 or -ENOMEM. */
static int
args_prepare(struct args *a, struct aspace *as)
{
	uintptr_t page = page_round_down(vector_address(a));
	uintptr_t string = strings_address(a);
	const char *s = a->strings;
	uintptr_t *to;
	int r = 0;

	a->vector = to = kzalloc(vector_size(a));
	if (to == NULL)
		return -ENOMEM;
	*to++ = a->argc;
	for (unsigned int i = 0; i < a->argc + a->envc; i++) {
		size_t size = strlen(s) + 1;

		if (i == a->argc)
			to++; /* argv's end */
		*to++ = string;
		s += size;
		string += size;
	}
	for (; page < USER_TOP && r == 0; page += PAGE_SIZE)
		r = aspace_fault(as, page, PROT_W);
	return r;
}

/* The file to run, referenced: a regular one that is marked executable. */
static int
open_program(const char *path, struct vnode **out)
{
	struct vnode *v;
	struct stat st;
	int r = vfs_lookup(path, &v);

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
 * with "interpreter [argument] path". An interpreter that is a script itself
 * is refused by elf_load.
 */
static int
resolve_script(struct vnode **program, const char *path, struct args *a)
{
	char head[SCRIPT_LINE];
	char *end, *interpreter, *argument, *rest;
	ssize_t n = vnode_read(*program, head, sizeof head, 0);
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
	r = open_program(interpreter, program);
	if (r == 0)
		vnode_put(script);
	return r;
}

/* An address space for program, with a stack that has room for args. */
static int
build_image(struct vnode *program, struct args *args, struct aspace **out,
	    uintptr_t *entry)
{
	static const struct region stack = {
	    .start = USER_TOP - USER_STACK_MAX,
	    .end = USER_TOP,
	    .prot = PROT_R | PROT_W,
	};
	struct aspace *as = aspace_create();
	int r;

	if (as == NULL)
		return -ENOMEM;
	r = elf_load(program, as, entry);
	if (r == 0)
		r = aspace_map(as, &stack);
	if (r == 0)
		r = args_prepare(args, as);
	if (r < 0)
		aspace_free(as);
	else
		*out = as;
	return r;
}

/*
 * Past the point of no return: go over to as, and forget what else belonged to
 * the old program. The trap frame is the new one's first.
 */
static void
start_program(const char *path, struct aspace *as, const struct args *args,
	      uintptr_t entry)
{
	struct proc *p = current->proc;
	const char *slash = strrchr(path, '/');
	unsigned long sstatus = csr_read(sstatus);
	struct aspace *old;

	tf_change_begin();
	old = proc_set_aspace(as);
	if (old != NULL)
		aspace_free(old);
	copy_out(strings_address(args), args->strings, args->used);
	copy_out(vector_address(args), args->vector, vector_size(args));
	fdtable_close(p->fds, false);
	signal_exec(p);
	profil_off(p);
	spin_lock(&proc_tree_lock);
	p->execed = true;
	spin_unlock(&proc_tree_lock);
	spin_lock(&p->lock);
	strlcpy(p->name, slash != NULL ? slash + 1 : path, sizeof p->name);
	spin_unlock(&p->lock);
	current->tf = (struct trapframe){
	    .sepc = entry,
	    .sp = vector_address(args),
	    /* With FS off: its first use clears the registers. The firmware
	     * may have left VS on. */
	    .sstatus = (sstatus & ~(SSTATUS_SPP | SSTATUS_FS | SSTATUS_VS |
				    SSTATUS_SUM)) |
		       SSTATUS_SPIE,
	};
	tf_change_end();
}

int
exec(const char *path, const char *arg0, uintptr_t argv, uintptr_t envp)
{
	struct args args = {.strings = kmalloc(PAGE_SIZE), .room = PAGE_SIZE};
	struct vnode *program = NULL;
	struct aspace *as = NULL;
	uintptr_t entry;
	int r = -ENOMEM;

	if (args.strings != NULL)
		r = open_program(path, &program);
	if (r == 0)
		r = resolve_script(&program, path, &args);
	if (r == 0)
		r = args_copy(&args, arg0, argv, envp);
	if (r == 0)
		r = build_image(program, &args, &as, &entry);
	if (r == 0)
		r = threads_alone();
	if (r == 0)
		start_program(path, as, &args, entry);
	else if (as != NULL)
		aspace_free(as);
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
	ssize_t r = copy_in_str(path, arg[0], sizeof path);

	return r < 0 ? r : exec(path, NULL, arg[1], arg[2]);
}

/* Programs: what execve runs. */
#ifndef KERNEL_EXEC_H
#define KERNEL_EXEC_H

#include <stdint.h>

struct aspace;
struct vnode;

#define ARG_MAX_BYTES (128 << 10) /* of exec's strings and pointers */

/*
 * Run the program at path in the current process, with arg0, unless NULL, and
 * the strings of the user's vectors argv and envp, which may be 0. 0: the trap
 * frame is the new program's; or a negative errno: nothing has changed.
 */
int exec(const char *path, const char *arg0, uintptr_t argv, uintptr_t envp);
/* Find the regular, executable file to run: 0 and *out, referenced. */
int exec_open(const char *path, struct vnode **out);

/* A program in an address space that is new. */
struct image {
	struct aspace *as;
	uintptr_t entry;   /* the program's own first pc */
	uintptr_t start;   /* where it starts: there, or in its interpreter */
	uintptr_t base;    /* where its interpreter lies; 0: it has none */
	uintptr_t headers; /* where its program headers lie; 0: nowhere */
	unsigned int nheaders;
};

/* Map the program v into image->as, and fill in the rest. */
int elf_load(struct vnode *v, struct image *image);

/*
 * The auxiliary vector: what a C library wants to know of the program and the
 * machine before it can ask. AUXV_WORDS of them, at to; name is the address of
 * the program's name, random that of RANDOM_BYTES (auxv_random).
 */
#define AUXV_WORDS   (2 * 18)
#define RANDOM_BYTES 16
void auxv_fill(uintptr_t *to, const struct image *image, uintptr_t name,
	       uintptr_t random);
void auxv_random(uint64_t bytes[RANDOM_BYTES / 8]);

#endif

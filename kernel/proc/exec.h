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
/* Map the program v into as, which is new, and find its first pc. */
int elf_load(struct vnode *v, struct aspace *as, uintptr_t *entry);

#endif

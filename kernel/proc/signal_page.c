/*
 * The page to which signal handlers return. It is in each program's address
 * space, at USER_SIGRETURN, and has the two instructions of a call of
 * rt_sigreturn. Debuggers, and those who unwind stacks, know a handler's frame
 * by just these.
 *
 * There is one page for all, made at boot. To an address space it is a file's:
 * one that has no name, and is never freed.
 */
#include <stdint.h>
#include <string.h>

#include "base/layout.h"
#include "base/panic.h"
#include "base/riscv.h"
#include "base/syscall.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/page.h"

#include "signal.h"

#define LI_A7(n) ((n) << 20 | 17 << 7 | 0x13) /* addi a7, zero, n */
#define ECALL    0x73

static const uint32_t code[] = {LI_A7(SYS_rt_sigreturn), ECALL};
static void *page;

static int
find_page(struct vnode *, off_t, bool, void **out)
{
	page_ref(page);
	*out = page;
	return 0;
}

static const struct vnode_ops ops = {.getpage = find_page};
static struct vnode file;

void
signal_page_init(void)
{
	page = page_alloc_zero();
	if (page == NULL)
		panic("no memory for the signal page");
	memcpy(page, code, sizeof(code));
	vnode_init(&file, &ops, S_IFREG);
}

int
signal_page_map(struct aspace *as)
{
	return aspace_map(as, &(struct region){
				  .start = USER_SIGRETURN,
				  .end = USER_SIGRETURN + PAGE_SIZE,
				  .prot = PROT_R | PROT_X,
				  .vnode = &file,
				  .filled = PAGE_SIZE,
			      });
}

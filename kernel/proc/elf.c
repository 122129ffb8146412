/*
 * ELF files: a program's segments become regions of an address space, which
 * page faults fill from the file later (mm/fault.c). exec calls elf_load.
 *
 * Accepted is a statically linked 64-bit RISC-V program that lies between
 * USER_BASE and the stack, each loadable segment in pages of its own. Anybody
 * may have made the file: every number in it is checked before it is used, in
 * a way that can't overflow, and what doesn't fit is ENOEXEC.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/layout.h"
#include "fs/vnode.h"
#include "mm/aspace.h"
#include "mm/page.h"

#include "exec.h"

#define IDENT ELFMAG "\2\1\1" /* 64 bits, little-endian, version 1 */

#define SEGMENT_MAX 16 /* program headers; more are refused */
#define HEAP_TOP    (USER_TOP - USER_STACK_MAX)

/* Read exactly n bytes at offset; -ENOEXEC if the file is too short. */
static int
read_exactly(struct vnode *v, void *buf, size_t n, uint64_t offset)
{
	ssize_t r;

	if (offset > INT64_MAX - n)
		return -ENOEXEC;
	r = vnode_read(v, buf, n, offset);
	if (r < 0)
		return r;
	return (size_t)r == n ? 0 : -ENOEXEC;
}

static bool
header_good(const Elf64_Ehdr *h)
{
	return memcmp(h->e_ident, IDENT, sizeof(IDENT) - 1) == 0 &&
	       h->e_type == ET_EXEC && h->e_machine == EM_RISCV &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum > 0 &&
	       h->e_phnum <= SEGMENT_MAX;
}

/* Pages are mapped whole: address and offset agree modulo PAGE_SIZE. */
static bool
segment_good(const Elf64_Phdr *s, uint64_t file_size)
{
	return s->p_vaddr >= USER_BASE && s->p_vaddr <= HEAP_TOP &&
	       s->p_memsz <= HEAP_TOP - s->p_vaddr &&
	       s->p_filesz <= s->p_memsz && s->p_offset <= file_size &&
	       s->p_filesz <= file_size - s->p_offset &&
	       (s->p_vaddr ^ s->p_offset) % PAGE_SIZE == 0;
}

static int
segment_prot(const Elf64_Phdr *s)
{
	return (s->p_flags & PF_R ? PROT_R : 0) |
	       (s->p_flags & PF_W ? PROT_W : 0) |
	       (s->p_flags & PF_X ? PROT_X : 0);
}

static struct span
span_of(const Elf64_Phdr *s)
{
	return (struct span){s->p_vaddr, s->p_vaddr + s->p_memsz};
}

/*
 * Add segment s to as, widened to whole pages: its first page begins with what
 * the file has before it; struct region explains how its last one ends. The
 * heap begins after the highest segment.
 */
static int
segment_map(struct aspace *as, struct vnode *v, const Elf64_Phdr *s)
{
	uintptr_t start = page_round_down(s->p_vaddr);
	uintptr_t end = page_round_up(s->p_vaddr + s->p_memsz);
	struct region r = {
	    .start = start,
	    .end = end,
	    .prot = segment_prot(s),
	};
	int error;

	if (s->p_filesz > 0) {
		r.vnode = v;
		r.offset = page_round_down(s->p_offset);
		r.filled = s->p_vaddr - start + s->p_filesz;
	}
	/* EINVAL: it overlaps another, or is to be written and executed. */
	error = aspace_map(as, &r);
	if (error == -EINVAL)
		return -ENOEXEC;
	if (error == 0 && as->brk < end)
		aspace_start_heap(as, end);
	return error;
}

/*
 * The entry must lie in what an executable segment has of the file. That
 * segment is the program's text for call stacks; PT_FRAMELESS is Tally's own
 * header, which names the code that was compiled without frame pointers.
 */
int
elf_load(struct vnode *v, struct aspace *as, uintptr_t *entry)
{
	Elf64_Ehdr h;
	Elf64_Phdr s[SEGMENT_MAX];
	struct stat st;
	bool entry_good = false;
	int r = vnode_stat(v, &st);

	if (r == 0)
		r = read_exactly(v, &h, sizeof(h), 0);
	if (r < 0)
		return r;
	if (!header_good(&h))
		return -ENOEXEC;
	r = read_exactly(v, s, h.e_phnum * sizeof(*s), h.e_phoff);
	if (r < 0)
		return r;
	for (int i = 0; i < h.e_phnum; i++) {
		if (s[i].p_type == PT_INTERP)
			return -ENOEXEC; /* wants a dynamic linker */
		if (s[i].p_type == PT_FRAMELESS)
			as->frameless = span_of(&s[i]);
		if (s[i].p_type != PT_LOAD || s[i].p_memsz == 0)
			continue;
		if (!segment_good(&s[i], st.st_size))
			return -ENOEXEC;
		r = segment_map(as, v, &s[i]);
		if (r < 0)
			return r;
		if (s[i].p_flags & PF_X && h.e_entry >= s[i].p_vaddr &&
		    h.e_entry - s[i].p_vaddr < s[i].p_filesz) {
			as->text = span_of(&s[i]);
			as->text_offset = s[i].p_offset;
			entry_good = true;
		}
	}
	*entry = h.e_entry;
	return entry_good ? 0 : -ENOEXEC;
}

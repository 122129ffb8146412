/*
 * ELF files: a program's segments become regions of an address space, which
 * page faults fill from the file later (mm/fault.c). exec calls elf_load.
 *
 * Accepted is a 64-bit RISC-V program, each loadable segment in pages of its
 * own, between USER_BASE and the stack: there its code has the 32-bit addresses
 * that a pcs record holds. A program that may lie anywhere (ET_DYN) is put at
 * PROGRAM_BASE. One that names an interpreter, the dynamic linker, has that in
 * its address space, too, at INTERPRETER_BASE, and starts there.
 *
 * Anybody may have made the file: every number in it is checked before it is
 * used, in a way that can't overflow, and what doesn't fit is ENOEXEC.
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

#define SEGMENT_MAX      16  /* program headers; more are refused */
#define INTERPRETER_PATH 128 /* bytes, with the NUL; a longer one, too */
#define HEAP_TOP         (TEXT_TOP - USER_STACK_MAX)

/* As PROGRAM_BASE a multiple of what segments are aligned to, at most. */
#define INTERPRETER_BASE (HEAP_TOP - (16 << 20))

/* A file, and its headers, with addresses as they are in memory. */
struct elf {
	struct vnode *v;
	uint64_t size; /* of the file */
	Elf64_Ehdr h;
	Elf64_Phdr s[SEGMENT_MAX];
};

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
	       (h->e_type == ET_EXEC || h->e_type == ET_DYN) &&
	       h->e_machine == EM_RISCV &&
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

/* The segment s as a region, widened to whole pages: its first page begins with
 * what the file has before it; struct region explains how its last one ends. */
static struct region
segment_region(struct vnode *v, const Elf64_Phdr *s)
{
	struct region r = {
	    .start = page_round_down(s->p_vaddr),
	    .end = page_round_up(s->p_vaddr + s->p_memsz),
	    .prot = segment_prot(s),
	    .text = s->p_flags & PF_X,
	};

	if (s->p_filesz > 0) {
		r.vnode = v;
		r.offset = page_round_down(s->p_offset);
		r.filled = s->p_vaddr - r.start + s->p_filesz;
	}
	return r;
}

/* Read v's headers. A file that may lie anywhere is to lie at base; a sum that
 * wraps around is an address like any other, to be checked. */
static int
elf_read(struct elf *e, struct vnode *v, uintptr_t base)
{
	struct stat st;
	int r = vnode_stat(v, &st);

	e->v = v;
	e->size = st.st_size;
	if (r == 0)
		r = read_exactly(v, &e->h, sizeof(e->h), 0);
	if (r < 0)
		return r;
	if (!header_good(&e->h))
		return -ENOEXEC;
	r = read_exactly(v, e->s, e->h.e_phnum * sizeof(*e->s), e->h.e_phoff);
	if (r < 0 || e->h.e_type == ET_EXEC)
		return r;
	e->h.e_entry += base;
	for (int i = 0; i < e->h.e_phnum; i++)
		e->s[i].p_vaddr += base;
	return 0;
}

/* Map the file's segments. The entry must lie in what an executable one has of
 * the file: *text is that segment. */
static int
elf_map(const struct elf *e, struct aspace *as, const Elf64_Phdr **text)
{
	*text = NULL;
	for (const Elf64_Phdr *s = e->s; s < e->s + e->h.e_phnum; s++) {
		struct region r;
		int error;

		if (s->p_type != PT_LOAD || s->p_memsz == 0)
			continue;
		if (!segment_good(s, e->size))
			return -ENOEXEC;
		r = segment_region(e->v, s);
		error = aspace_map(as, &r);
		/* EINVAL: it overlaps another, or is both W and X. */
		if (error < 0)
			return error == -EINVAL ? -ENOEXEC : error;
		if (s->p_flags & PF_X && e->h.e_entry >= s->p_vaddr &&
		    e->h.e_entry - s->p_vaddr < s->p_filesz)
			*text = s;
	}
	return *text != NULL ? 0 : -ENOEXEC;
}

/* Map the interpreter that segment s of v names; e is used for its headers. */
static int
load_interpreter(struct elf *e, struct vnode *v, const Elf64_Phdr *s,
		 struct image *image)
{
	const Elf64_Phdr *text;
	char path[INTERPRETER_PATH];
	size_t n = s->p_filesz;
	int r;

	if (n == 0 || n > sizeof(path))
		return -ENOEXEC;
	r = read_exactly(v, path, n, s->p_offset);
	if (r < 0)
		return r;
	if (path[n - 1] != '\0')
		return -ENOEXEC;
	r = exec_open(path, &v);
	if (r < 0)
		return r;
	r = elf_read(e, v, INTERPRETER_BASE);
	if (r == 0)
		r = elf_map(e, image->as, &text);
	image->start = e->h.e_entry;
	image->base = INTERPRETER_BASE;
	vnode_put(v);
	return r;
}

/* Where the program headers are in memory; 0: no segment has them. */
static uintptr_t
headers_address(const struct elf *e)
{
	for (const Elf64_Phdr *s = e->s; s < e->s + e->h.e_phnum; s++)
		if (s->p_type == PT_LOAD && e->h.e_phoff >= s->p_offset &&
		    e->h.e_phoff - s->p_offset < s->p_filesz)
			return s->p_vaddr + (e->h.e_phoff - s->p_offset);
	return 0;
}

/*
 * The segment with the entry is the program's text for call stacks;
 * PT_FRAMELESS is Tally's own header, which names the code that was compiled
 * without frame pointers. The heap begins after the highest segment.
 */
int
elf_load(struct vnode *v, struct image *image)
{
	const Elf64_Phdr *text, *interpreter = NULL;
	struct aspace *as = image->as;
	struct elf e;
	int r = elf_read(&e, v, PROGRAM_BASE);

	if (r == 0)
		r = elf_map(&e, as, &text);
	if (r < 0)
		return r;
	as->text = span_of(text);
	as->text_offset = text->p_offset;
	for (const Elf64_Phdr *s = e.s; s < e.s + e.h.e_phnum; s++) {
		uintptr_t end = page_round_up(s->p_vaddr + s->p_memsz);

		if (s->p_type == PT_FRAMELESS)
			as->frameless = span_of(s);
		else if (s->p_type == PT_INTERP)
			interpreter = s;
		else if (s->p_type == PT_LOAD && as->brk < end)
			aspace_start_heap(as, end);
	}
	image->entry = image->start = e.h.e_entry;
	image->headers = headers_address(&e);
	image->nheaders = e.h.e_phnum;
	return interpreter != NULL ? load_interpreter(&e, v, interpreter, image)
				   : 0;
}

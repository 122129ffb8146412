/*
 * Names for addresses of kernel text, for backtraces: from the kernel's own
 * ELF file, if /boot/kernel is there. Read once at boot, constant after.
 *
 * Kept are the file's string table as it is, and eight bytes for each symbol
 * that lies in the text, sorted by address.
 */
#include <stdint.h>
#include <string.h>

#include "fs/vfs.h"
#include "layout.h"
#include "mm/mm.h"
#include "print.h"

#define KERNEL_FILE "/boot/kernel"
#define STRINGS_MAX (1 << 20) /* bytes; a larger table isn't believed */

#define ELF_IDENT "\177ELF\2\1\1" /* 64 bits, little-endian */

/* The layout is the ELF specification's; so are the names and values. */
struct elf_header {
	uint8_t e_ident[16];
	uint16_t e_type, e_machine;
	uint32_t e_version;
	uint64_t e_entry, e_phoff, e_shoff;
	uint32_t e_flags;
	uint16_t e_ehsize, e_phentsize, e_phnum;
	uint16_t e_shentsize, e_shnum, e_shstrndx;
};

struct elf_section {
	uint32_t sh_name, sh_type;
	uint64_t sh_flags, sh_addr, sh_offset, sh_size;
	uint32_t sh_link, sh_info;
	uint64_t sh_addralign, sh_entsize;
};

#define SHT_SYMTAB 2

struct elf_symbol {
	uint32_t st_name;
	uint8_t st_info, st_other;
	uint16_t st_shndx;
	uint64_t st_value, st_size;
};

#define ST_TYPE(info) ((info)&0xf)
#define STT_FUNC      2

struct symbol {
	uint32_t address; /* its low 32 bits */
	uint32_t name;    /* in strings */
};

static struct symbol *symbols;
static size_t nsymbols;
static char *strings;
static size_t strings_size;

static bool
read_exactly(struct vnode *v, void *buf, size_t n, uint64_t offset)
{
	return vnode_read(v, buf, n, offset) == (ssize_t)n;
}

/* Is s a function in the text? Labels in assembly are only marks. */
static bool
is_wanted(const struct elf_symbol *s)
{
	return ST_TYPE(s->st_info) == STT_FUNC &&
	       s->st_value >= (unsigned long)text_start &&
	       s->st_value < (unsigned long)text_end &&
	       s->st_name < strings_size && strings[s->st_name] != '\0';
}

/* Pass over the symbols in the file: add those wanted to the table if there
 * is one yet, and count them. 0 if the file can't be read. */
static size_t
scan(struct vnode *v, const struct elf_section *table)
{
	struct elf_symbol batch[32];
	size_t left = table->sh_size / sizeof(batch[0]);
	uint64_t offset = table->sh_offset;
	size_t count = 0;

	while (left > 0) {
		size_t n = left < 32 ? left : 32;

		if (!read_exactly(v, batch, n * sizeof(batch[0]), offset))
			return 0;
		for (size_t i = 0; i < n; i++) {
			if (!is_wanted(&batch[i]))
				continue;
			if (symbols)
				symbols[count] = (struct symbol){
				    batch[i].st_value, batch[i].st_name};
			count++;
		}
		offset += n * sizeof(batch[0]);
		left -= n;
	}
	return count;
}

/* By address, with Shell's method: short, and quick enough for thousands. */
static void
sort(void)
{
	for (size_t gap = nsymbols / 2; gap > 0; gap /= 2)
		for (size_t i = gap; i < nsymbols; i++) {
			struct symbol s = symbols[i];
			size_t j = i;

			for (; j >= gap && symbols[j - gap].address > s.address;
			     j -= gap)
				symbols[j] = symbols[j - gap];
			symbols[j] = s;
		}
}

/* The section headers at index i, if the file has it. */
static bool
read_section(struct vnode *v, const struct elf_header *h, unsigned int i,
	     struct elf_section *out)
{
	return i < h->e_shnum &&
	       read_exactly(v, out, sizeof(*out),
			    h->e_shoff + (uint64_t)i * sizeof(*out));
}

static bool
find_symtab(struct vnode *v, const struct elf_header *h,
	    struct elf_section *out)
{
	for (unsigned int i = 0; read_section(v, h, i, out); i++)
		if (out->sh_type == SHT_SYMTAB)
			return true;
	return false;
}

/* Read the string table; it gets a NUL after its end, whatever is in it. */
static bool
load_strings(struct vnode *v, const struct elf_section *section)
{
	if (section->sh_size > STRINGS_MAX)
		return false;
	strings = kmalloc(section->sh_size + 1);
	if (!strings ||
	    !read_exactly(v, strings, section->sh_size, section->sh_offset))
		return false;
	strings[section->sh_size] = '\0';
	strings_size = section->sh_size;
	return true;
}

static bool
load(struct vnode *v)
{
	struct elf_header h;
	struct elf_section symtab, strtab;
	size_t count;

	if (!read_exactly(v, &h, sizeof(h), 0) ||
	    memcmp(h.e_ident, ELF_IDENT, sizeof(ELF_IDENT) - 1) != 0 ||
	    !find_symtab(v, &h, &symtab) ||
	    !read_section(v, &h, symtab.sh_link, &strtab) ||
	    !load_strings(v, &strtab))
		return false;
	count = scan(v, &symtab);
	symbols = count ? kmalloc(count * sizeof(*symbols)) : NULL;
	if (!symbols || scan(v, &symtab) != count)
		return false;
	nsymbols = count;
	sort();
	return true;
}

/* Without the file, or with one that makes no sense, there are no names. */
void
symbols_load(void)
{
	struct vnode *v;

	if (vfs_lookup(KERNEL_FILE, &v) != 0)
		return;
	if (!load(v)) {
		kfree(strings);
		kfree(symbols);
		strings = NULL;
		symbols = NULL;
	}
	vnode_put(v);
}

/* The last symbol not after pc, and how far from it pc is. */
const char *
symbol_name(unsigned long pc, unsigned long *offset)
{
	size_t low = 0, high = nsymbols;

	if (pc < (unsigned long)text_start || pc >= (unsigned long)text_end)
		return NULL;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (symbols[middle].address <= (uint32_t)pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	*offset = (uint32_t)pc - symbols[low - 1].address;
	return strings + symbols[low - 1].name;
}

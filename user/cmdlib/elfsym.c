/*
 * Symbols of an executable: see elfsym.h. The file is whole in memory, and
 * nothing in it is trusted: what it says lies where, is looked at before it
 * is used.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "elfsym.h"

/* The tables that matter, checked. */
struct tables {
	const Elf64_Shdr *sections;
	size_t sections_count;
	Elf64_Sym *symbols;
	size_t symbols_count;
	char *names;
	size_t names_size;
};

/* count records of size each at offset, if the file has them all. */
static const void *
piece(const struct elfsyms *syms, uint64_t offset, uint64_t count,
      uint64_t size)
{
	/* The loader of the image aligns it; the offsets must be, too. */
	if (offset > syms->size || offset % sizeof(uint32_t) != 0 ||
	    count > (syms->size - offset) / size)
		return NULL;
	return syms->image + offset;
}

static const Elf64_Ehdr *
header(const struct elfsyms *syms)
{
	const Elf64_Ehdr *h = piece(syms, 0, 1, sizeof(*h));

	if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (h->e_type != ET_EXEC && h->e_type != ET_DYN))
		return NULL;
	return h;
}

/* GCC's analyzer forgets that elfsym_load has looked at h. */
#pragma GCC diagnostic ignored "-Wanalyzer-null-dereference"

static bool
find_tables(const struct elfsyms *syms, const Elf64_Ehdr *h, struct tables *t)
{
	const Elf64_Shdr *s, *names;

	t->sections_count = h->e_shnum;
	t->sections = piece(syms, h->e_shoff, h->e_shnum, sizeof(*s));
	if (!t->sections || h->e_shentsize != sizeof(*s))
		return false;
	for (s = t->sections; s < t->sections + t->sections_count; s++) {
		if (s->sh_type == SHT_SYMTAB)
			break;
	}
	if (s == t->sections + t->sections_count ||
	    s->sh_link >= t->sections_count ||
	    s->sh_entsize != sizeof(Elf64_Sym))
		return false;
	names = &t->sections[s->sh_link];
	t->symbols_count = s->sh_size / sizeof(Elf64_Sym);
	t->symbols = (Elf64_Sym *)piece(syms, s->sh_offset, t->symbols_count,
					sizeof(Elf64_Sym));
	t->names_size = names->sh_size;
	if (!t->symbols || names->sh_offset > syms->size ||
	    names->sh_size > syms->size - names->sh_offset)
		return false;
	t->names = syms->image + names->sh_offset;
	/* With a NUL at its end, any name in it has one. */
	return t->names_size > 0 && t->names[t->names_size - 1] == '\0';
}

static const char *
symbol_name(const struct tables *t, const Elf64_Sym *s)
{
	return s->st_name < t->names_size ? t->names + s->st_name : "";
}

/* Is s a function? Labels in assembly, `$x` and the like are only marks. */
static bool
is_function(const struct tables *t, const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
	       s->st_shndx < t->sections_count &&
	       (t->sections[s->st_shndx].sh_flags & SHF_EXECINSTR) &&
	       *symbol_name(t, s) != '\0';
}

static int
by_address(const void *left, const void *right)
{
	const struct elfsym *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The compiler splits functions and copies them: open.part.0, open.isra.0. A
 * reader looks for open. Other languages' names have dots of their own. */
static void
cut_suffix(char *name)
{
	static const char *const suffixes[] = {
	    ".part.", ".isra.", ".constprop.", ".cold", ".lto_priv.",
	};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *suffix = strstr(name, suffixes[i]);

		if (suffix && suffix != name)
			*suffix = '\0';
	}
}

static void
collect(struct elfsyms *syms, const struct tables *t)
{
	size_t room = 0, kept = 0;

	for (size_t i = 0; i < t->symbols_count; i++) {
		const Elf64_Sym *s = &t->symbols[i];

		if (!is_function(t, s))
			continue;
		cut_suffix(t->names + s->st_name);
		if (syms->count == room)
			syms->text = cmd_grow(syms->text, &room,
					      sizeof(*syms->text));
		syms->text[syms->count++] = (struct elfsym){
		    .value = s->st_value,
		    .name = symbol_name(t, s),
		};
	}
	qsort(syms->text, syms->count, sizeof(*syms->text), by_address);
	for (size_t i = 1; i < syms->count; i++) {
		if (syms->text[i].value != syms->text[kept].value)
			syms->text[++kept] = syms->text[i];
	}
	if (syms->count > 0)
		syms->count = kept + 1;
}

const char *
elfsym_load(struct elfsyms *syms, const char *path)
{
	const Elf64_Ehdr *h;
	struct tables t;
	int fd = cmd_open(path);

	*syms = (struct elfsyms){0};
	if (fd < 0)
		return "";
	syms->image = cmd_slurp(fd, path, &syms->size);
	close(fd);
	if (!syms->image)
		return "";
	h = header(syms);
	if (!h)
		return "not a 64-bit executable";
	if (!find_tables(syms, h, &t))
		return "no symbols";
	/* As it lies in memory. */
	if (h->e_type == ET_DYN)
		for (size_t i = 0; i < t.symbols_count; i++)
			t.symbols[i].st_value += PROGRAM_BASE;
	collect(syms, &t);
	syms->end = UINT64_MAX;
	elfsym_value(syms, "etext", &syms->end);
	return syms->count > 0 ? NULL : "no symbols";
}

size_t
elfsym_find(const struct elfsyms *syms, uint64_t address)
{
	size_t low = 0, high = syms->count; /* the first one past it */

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (syms->text[middle].value <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 || address >= syms->end ? syms->count : low - 1;
}

bool
elfsym_value(const struct elfsyms *syms, const char *name, uint64_t *value)
{
	struct tables t;

	if (!find_tables(syms, header(syms), &t))
		return false;
	for (size_t i = 0; i < t.symbols_count; i++) {
		if (strcmp(symbol_name(&t, &t.symbols[i]), name) == 0) {
			*value = t.symbols[i].st_value;
			return true;
		}
	}
	return false;
}

const char *
elfsym_variable(const struct elfsyms *syms, uint64_t address)
{
	struct tables t;

	if (!syms->image || !find_tables(syms, header(syms), &t))
		return NULL;
	for (size_t i = 0; i < t.symbols_count; i++) {
		const Elf64_Sym *s = &t.symbols[i];

		if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT &&
		    address - s->st_value < s->st_size &&
		    *symbol_name(&t, s) != '\0')
			return symbol_name(&t, s);
	}
	return NULL;
}

void
elfsym_kernel(struct elfsyms *syms, const char *path, uint64_t *start,
	      uint64_t *end)
{
	const char *wrong = elfsym_load(syms, path);

	if (!wrong && (!elfsym_value(syms, "text_start", start) ||
		       !elfsym_value(syms, "etext", end) || *end < *start))
		wrong = "not a kernel: no symbols text_start and etext";
	if (wrong && *wrong)
		cmd_error("%s: %s", path, wrong);
	if (wrong)
		exit(cmd_status);
}

const void *
elfsym_code(const struct elfsyms *syms, uint64_t address, size_t *left)
{
	struct tables t;

	*left = 0;
	if (!find_tables(syms, header(syms), &t))
		return NULL;
	for (size_t i = 0; i < t.sections_count; i++) {
		const Elf64_Shdr *s = &t.sections[i];
		const char *code;

		if (s->sh_type != SHT_PROGBITS ||
		    !(s->sh_flags & SHF_EXECINSTR) || address < s->sh_addr ||
		    address - s->sh_addr >= s->sh_size)
			continue;
		code = piece(syms, s->sh_offset, s->sh_size, 1);
		if (!code)
			return NULL;
		*left = s->sh_size - (address - s->sh_addr);
		return code + (address - s->sh_addr);
	}
	return NULL;
}

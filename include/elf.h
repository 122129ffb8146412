/*
 * The parts of an ELF file of 64 bits: header, segments, sections, symbols.
 * In place of the C library's, which its newer versions left out.
 */
#ifndef _ELF_H
#define _ELF_H

#include <stdint.h>

typedef uint16_t Elf64_Half;
typedef uint32_t Elf64_Word;
typedef uint64_t Elf64_Xword;
typedef uint64_t Elf64_Addr;
typedef uint64_t Elf64_Off;

#define EI_NIDENT 16

typedef struct {
	unsigned char e_ident[EI_NIDENT];
	Elf64_Half e_type;
	Elf64_Half e_machine;
	Elf64_Word e_version;
	Elf64_Addr e_entry;
	Elf64_Off e_phoff;
	Elf64_Off e_shoff;
	Elf64_Word e_flags;
	Elf64_Half e_ehsize;
	Elf64_Half e_phentsize;
	Elf64_Half e_phnum;
	Elf64_Half e_shentsize;
	Elf64_Half e_shnum;
	Elf64_Half e_shstrndx;
} Elf64_Ehdr;

/* e_ident */
#define EI_CLASS    4
#define EI_DATA     5
#define EI_VERSION  6
#define ELFMAG      "\177ELF"
#define SELFMAG     4
#define ELFCLASS64  2
#define ELFDATA2LSB 1
#define EV_CURRENT  1
/* e_type */
#define ET_REL  1
#define ET_EXEC 2
#define ET_DYN  3
/* e_machine */
#define EM_RISCV 243

typedef struct {
	Elf64_Word p_type;
	Elf64_Word p_flags;
	Elf64_Off p_offset;
	Elf64_Addr p_vaddr;
	Elf64_Addr p_paddr;
	Elf64_Xword p_filesz;
	Elf64_Xword p_memsz;
	Elf64_Xword p_align;
} Elf64_Phdr;

/* p_type */
#define PT_LOAD   1
#define PT_INTERP 3
#define PT_TLS    7

/* Tally's, in the range for an operating system's own: where in the text there
 * is code without frame pointers (user/user.ld). */
#define PT_FRAMELESS 0x67a11f00

/* Where the kernel puts a program that may lie anywhere (ET_DYN). */
#define PROGRAM_BASE (4 << 20)
/* p_flags */
#define PF_X 1
#define PF_W 2
#define PF_R 4

typedef struct {
	Elf64_Word sh_name;
	Elf64_Word sh_type;
	Elf64_Xword sh_flags;
	Elf64_Addr sh_addr;
	Elf64_Off sh_offset;
	Elf64_Xword sh_size;
	Elf64_Word sh_link;
	Elf64_Word sh_info;
	Elf64_Xword sh_addralign;
	Elf64_Xword sh_entsize;
} Elf64_Shdr;

/* sh_type */
#define SHT_PROGBITS 1
#define SHT_SYMTAB   2
#define SHT_STRTAB   3
#define SHT_NOBITS   8
/* sh_flags */
#define SHF_WRITE     1
#define SHF_ALLOC     2
#define SHF_EXECINSTR 4

#define SHN_UNDEF     0
#define SHN_LORESERVE 0xff00 /* from here on, not the number of a section */

typedef struct {
	Elf64_Word st_name;
	unsigned char st_info;
	unsigned char st_other;
	Elf64_Half st_shndx;
	Elf64_Addr st_value;
	Elf64_Xword st_size;
} Elf64_Sym;

#define ELF64_ST_BIND(info) ((info) >> 4)
#define ELF64_ST_TYPE(info) ((info)&0xf)

#define STB_LOCAL   0
#define STB_GLOBAL  1
#define STB_WEAK    2
#define STT_NOTYPE  0
#define STT_OBJECT  1
#define STT_FUNC    2
#define STT_SECTION 3
#define STT_FILE    4

/* The auxiliary vector */
#define AT_NULL        0
#define AT_PHDR        3
#define AT_PHENT       4
#define AT_PHNUM       5
#define AT_PAGESZ      6
#define AT_BASE        7
#define AT_FLAGS       8
#define AT_ENTRY       9
#define AT_UID         11
#define AT_EUID        12
#define AT_GID         13
#define AT_EGID        14
#define AT_HWCAP       16
#define AT_CLKTCK      17
#define AT_SECURE      23
#define AT_RANDOM      25
#define AT_EXECFN      31
#define AT_MINSIGSTKSZ 51

#endif

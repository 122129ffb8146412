/*
 * What the tests of execve share that make programs byte by byte: a struct
 * image that begins with header, program headers (the first is text) and code.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define TEXT   0x10000
#define DATA   0x20000
#define ANSWER 42 /* the exit status of IMAGE_CODE */

/* Of an image with so many program headers. */
#define IMAGE_HEADER(n)                                          \
	{                                                        \
		.e_ident = ELFMAG "\2\1\1", .e_type = ET_EXEC,   \
		.e_machine = EM_RISCV, .e_version = EV_CURRENT,  \
		.e_entry = TEXT + offsetof(struct image, code),  \
		.e_phoff = offsetof(struct image, text),         \
		.e_ehsize = sizeof(Elf64_Ehdr),                  \
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = n, \
	}

/* All of it, as text. */
#define IMAGE_TEXT                                                          \
	{                                                                   \
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, \
		.p_filesz = sizeof(struct image),                           \
		.p_memsz = sizeof(struct image),                            \
	}

#define IMAGE_CODE                                              \
	{                                                       \
		0x05e00893,               /* li a7, 94: exit */ \
		    ANSWER << 20 | 0x513, /* li a0, ANSWER */   \
		    0x00000073,           /* ecall */           \
	}

/* The first size bytes of an image as a file. */
static inline void
image_write(const char *name, const void *image, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	write(fd, image, size);
	close(fd);
}

#endif

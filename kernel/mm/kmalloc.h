/* Blocks of memory of any size. */
#ifndef KERNEL_KMALLOC_H
#define KERNEL_KMALLOC_H

#include <stddef.h>

/*
 * Blocks of more than 2048 bytes are whole pages; smaller ones never cross a
 * page boundary. NULL: no memory. Not for interrupt handlers.
 */
void *kmalloc(size_t size);
void *kzalloc(size_t size);
void kfree(void *block); /* NULL is fine */

#endif

/* A text that grows as it is printed. */
#ifndef KERNEL_TEXT_H
#define KERNEL_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *buf;
	size_t size, room;
	int error; /* -ENOMEM, from then on */
};

/* Print as kprintf does. At level 0, without a spinlock. */
void text_say(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Append bytes as they are. */
void text_append(struct text *t, const char *bytes, size_t n);
/* A number of at least so many digits, in this base. */
void text_digits(struct text *t, uint64_t value, unsigned int base,
		 unsigned int digits);
/* Blanks up to this column of a line that began at `start'. */
void text_pad(struct text *t, size_t start, size_t column);
void text_free(struct text *t);

#endif

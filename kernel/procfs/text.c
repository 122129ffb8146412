/* A text that grows as it is printed: see text.h. */
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mm/kmalloc.h"
#include "mm/page.h"

#define FIRST_ROOM 512
#define MOST       (8 << 20) /* bytes; no text here is longer */
#define LINE       256       /* that one text_say prints, without its strings */
#define DIGITS_MAX 20

/* Make room for n bytes more. */
static bool
make_room(struct text *t, size_t n)
{
	size_t room = t->room != 0 ? t->room : FIRST_ROOM;
	char *larger = NULL;

	if (t->error != 0 || t->size + n <= t->room)
		return t->error == 0;
	while (room < t->size + n)
		room *= 2;
	if (room <= MOST && page_spare(room / PAGE_SIZE, LEFT_BY_PROGRAMS))
		larger = kmalloc(room);
	if (larger == NULL) {
		t->error = -ENOMEM;
		return false;
	}
	memcpy(larger, t->buf, t->size);
	kfree(t->buf);
	t->buf = larger;
	t->room = room;
	return true;
}

void
text_append(struct text *t, const char *bytes, size_t n)
{
	if (!make_room(t, n))
		return;
	memcpy(t->buf + t->size, bytes, n);
	t->size += n;
}

/* With room for a line it is printed in most cases; else again, with enough. */
void
text_say(struct text *t, const char *fmt, ...)
{
	size_t want = LINE;

	for (;;) {
		va_list ap;
		size_t n;

		if (!make_room(t, want))
			return;
		va_start(ap, fmt);
		n = vsnprintf(t->buf + t->size, t->room - t->size, fmt, ap);
		va_end(ap);
		if (n < t->room - t->size) {
			t->size += n;
			return;
		}
		want = n + 1;
	}
}

void
text_digits(struct text *t, uint64_t value, unsigned int base,
	    unsigned int digits)
{
	char buf[DIGITS_MAX];
	unsigned int n = 0;

	do
		buf[sizeof(buf) - ++n] = "0123456789abcdef"[value % base];
	while ((value /= base) != 0 || n < digits);
	text_append(t, buf + sizeof(buf) - n, n);
}

void
text_pad(struct text *t, size_t start, size_t column)
{
	while (t->error == 0 && t->size < start + column)
		text_append(t, " ", 1);
}

void
text_free(struct text *t)
{
	kfree(t->buf);
	*t = (struct text){0};
}

/*
 * The student's reply.c on the host, under the compiler's sanitizers. It gets
 * replies by a script and tells what reply.c makes of them; what is right, it
 * doesn't know. A line is a token, which the answer repeats, and one of these:
 *
 *	session	another server, that hasn't lied yet
 *	reply TYPE TAG COUNT FIELDS DATA BYTES
 *		a request's type, tag and count; the fields that its caller
 *		wants of the reply, of which BYTES came (in hex), and DATA
 *		more of a read's
 *	entry BYTES
 *		an entry of a directory, and what is behind it
 *	clock	nothing: there is no guest time here
 *
 * Where there is nothing to say, a line has "-". What reply.c may touch ends
 * where a page ends that is followed by none; the sanitizer knows where it
 * begins, too.
 */
#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fs/reply.h"

#define ROOM (1 << 16) /* bytes of a line, and of what a fence is around */

/* Memory whose last bytes alone may be touched. */
struct fence {
	uint8_t *end;
};

static struct fence bytes_fence, numbers_fence, entry_fence;

static struct fence
fence_make(void)
{
	uint8_t *p = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + ROOM, ROOM, PROT_NONE) < 0)
		exit(2);
	__asan_poison_memory_region(p, 2 * ROOM);
	return (struct fence){p + ROOM};
}

/* The last n bytes. */
static void *
fence_open(const struct fence *f, size_t n)
{
	__asan_poison_memory_region(f->end - ROOM, ROOM);
	__asan_unpoison_memory_region(f->end - n, n);
	return f->end - n;
}

/* The bytes that a word of hex digits stands for, behind the fence. */
static uint8_t *
bytes_of(const char *word, size_t *size)
{
	uint8_t *bytes;
	unsigned int byte;

	*size = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;
	bytes = fence_open(&bytes_fence, *size);
	for (size_t i = 0; i < *size; i++) {
		sscanf(word + 2 * i, "%2x", &byte);
		bytes[i] = byte;
	}
	return bytes;
}

static unsigned long
next_number(void)
{
	return strtoul(strtok(NULL, " "), NULL, 0);
}

/* The result, by an errno's name. */
static void
print_result(const struct session *s, long r)
{
	if (r < 0 && r > -4096 && strerrorname_np(-r) != NULL)
		printf("-%s", strerrorname_np(-r));
	else
		printf("%ld", r);
	fputs(s->closed ? " closed" : " open", stdout);
}

static bool
changed(const void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const uint8_t *)p)[i] != 0xa5)
			return true;
	return false;
}

static void
do_reply(struct session *s)
{
	struct asked asked = {.type = next_number()};
	const char *fields;
	struct came came;
	uint64_t *reply;
	size_t n;
	int r;

	asked.tag = next_number();
	asked.count = next_number();
	fields = strtok(NULL, " ");
	fields = strcmp(fields, "-") == 0 ? "" : fields;
	came.data = next_number();
	came.bytes = bytes_of(strtok(NULL, " "), &came.size);
	n = strlen(fields);
	reply = fence_open(&numbers_fence, n * sizeof(*reply));
	memset(reply, 0xa5, n * sizeof(*reply));
	r = reply_parse(s, &asked, &came, fields, reply);
	print_result(s, r);
	if (r != 0 && changed(reply, n * sizeof(*reply)))
		fputs(" and a number was stored", stdout);
	for (size_t i = 0; r == 0 && i < n; i++)
		printf(" %lu", reply[i]);
}

static void
do_entry(struct session *s)
{
	size_t size;
	const uint8_t *bytes = bytes_of(strtok(NULL, " "), &size);
	struct reply_entry *e = fence_open(&entry_fence, sizeof(*e));
	ssize_t r;

	memset(e, 0xa5, sizeof(*e));
	r = reply_entry(s, bytes, size, e);
	print_result(s, r);
	if (r < 0 && changed(e, sizeof(*e)))
		fputs(" and the entry was changed", stdout);
	if (r < 0)
		return;
	printf(" %u %lu %lu ", e->type, e->path, e->next);
	for (size_t i = 0; i < sizeof(e->name) && e->name[i] != '\0'; i++)
		printf("%02x", (uint8_t)e->name[i]);
	if (memchr(e->name, '\0', sizeof(e->name)) == NULL)
		fputs(" and no NUL terminates it", stdout);
}

int
main(void)
{
	static char line[2 * ROOM];
	struct session session = {.closed = false};

	bytes_fence = fence_make();
	numbers_fence = fence_make();
	entry_fence = fence_make();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		const char *token, *op;

		line[strcspn(line, "\n")] = '\0';
		token = strtok(line, " ");
		op = strtok(NULL, " ");
		printf("%s ", token);
		if (strcmp(op, "session") == 0)
			session = (struct session){.closed = false};
		if (strcmp(op, "reply") == 0)
			do_reply(&session);
		else if (strcmp(op, "entry") == 0)
			do_entry(&session);
		else
			putchar('0');
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}

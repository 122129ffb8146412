/*
 * Unpacking ustar archives, which is how the root directory gets its contents.
 *
 * An archive is a series of 512-byte blocks: a header for each file, then its
 * contents, padded. Headers hold text; numbers are octal. Blocks of zeroes end
 * an archive; another may follow in the same memory (QEMU's -initrd takes one
 * file, so the scripts append theirs to it): its files replace those before.
 * Files keep their contents in the archive, so its memory is never given back.
 */
#include <errno.h>
#include <string.h>

#include "../print.h"
#include "ramfs.h"

#define BLOCK 512

struct header {
	char name[100], mode[8], uid[8], gid[8];
	char size[12], mtime[12], checksum[8];
	char type; /* TYPE_* */
	char linkname[100], magic[6], version[2], uname[32], gname[32];
	char devmajor[8], devminor[8];
	char prefix[155]; /* goes before the name, with a slash */
	char pad[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

#define TYPE_FILE     '0'
#define TYPE_FILE_OLD '\0'
#define TYPE_DIR      '5'

/* The octal number at s, which a NUL, a blank or the field's end follows. */
static uint64_t
octal(const char *s, size_t size)
{
	uint64_t n = 0;
	size_t i = 0;

	while (i < size && s[i] == ' ')
		i++;
	for (; i < size && s[i] >= '0' && s[i] <= '7'; i++)
		n = n * 8 + (s[i] - '0');
	return n;
}

/* The sum of a header's bytes, its checksum field taken as blanks. */
static uint64_t
checksum(const struct header *h)
{
	const uint64_t *p = (const uint64_t *)h;
	const uint64_t every_other = 0x00ff00ff00ff00ff;
	uint64_t sums = 0, sum = 0;

	/* Four sums at once: none can reach 1 << 16. */
	for (size_t i = 0; i < BLOCK / sizeof *p; i++)
		sums += (p[i] & every_other) + (p[i] >> 8 & every_other);
	for (; sums != 0; sums >>= 16)
		sum += sums & 0xffff;
	for (size_t i = 0; i < sizeof h->checksum; i++)
		sum += ' ' - (unsigned char)h->checksum[i];
	return sum;
}

/* Append a field's text, which may fill it without a NUL. */
static char *
add_field(char *at, const char *field, size_t size)
{
	*at++ = '/';
	for (size_t i = 0; i < size && field[i] != '\0'; i++)
		*at++ = field[i];
	return at;
}

/* The absolute path of h's file. */
static void
path_of(const struct header *h, char path[PATH_MAX_LEN])
{
	char *at = path;

	if (h->prefix[0] != '\0')
		at = add_field(at, h->prefix, sizeof(h->prefix));
	*add_field(at, h->name, sizeof(h->name)) = '\0';
}

/* Make the directories on the way to path; those that exist are no matter. */
static void
make_parents(char *path)
{
	for (char *p = path + 1; *p != '\0'; p++)
		if (*p == '/') {
			*p = '\0';
			vfs_create(path, S_IFDIR | 0755, NULL);
			*p = '/';
		}
}

static int
make_file(const char *path, mode_t mode, const char *contents, size_t size)
{
	struct vnode *v;
	int r = vfs_create(path, S_IFREG | mode, &v);

	if (r == -EEXIST) {
		/* An earlier archive's, which had its own mode. */
		vfs_remove(path, S_IFREG);
		r = vfs_create(path, S_IFREG | mode, &v);
	}
	if (r == 0) {
		r = ramfile_start(v, contents, size);
		vnode_put(v);
	}
	return r;
}

static int
unpack_one(const struct header *h, const char *path, size_t size)
{
	mode_t mode = octal(h->mode, sizeof h->mode) & 07777;
	int r;

	switch (h->type) {
	case TYPE_FILE:
	case TYPE_FILE_OLD:
		return make_file(path, mode, (const char *)(h + 1), size);
	case TYPE_DIR:
		r = vfs_create(path, S_IFDIR | mode, NULL);
		return r == -EEXIST ? 0 : r;
	default:
		return -ENOTSUP;
	}
}

/* Is h, block number block, a header whose file fits in left bytes? If not,
 * say so. */
static bool
check(const struct header *h, size_t block, size_t left)
{
	const char *wrong = NULL;

	if (memcmp(h->magic, "ustar", sizeof "ustar" - 1) != 0)
		wrong = "isn't a ustar header";
	else if (octal(h->checksum, sizeof h->checksum) != checksum(h))
		wrong = "has a wrong checksum";
	else if (octal(h->size, sizeof h->size) > left)
		wrong = "has a file longer than the archive";
	if (wrong != NULL)
		kprintf("ustar: block %zu %s\n", block, wrong);
	return wrong == NULL;
}

/* What can't be made is reported and left out; a damaged header ends it all,
 * for who knows where the next one is. */
void
ustar_unpack(const void *archive, size_t size)
{
	char path[PATH_MAX_LEN];
	const struct header *blocks = archive;
	size_t count = size / BLOCK, i = 0;

	while (i < count) {
		const struct header *h = &blocks[i++];
		size_t n = octal(h->size, sizeof h->size);
		int r;

		if (h->name[0] == '\0') /* a block of zeroes */
			continue;
		if (!check(h, i - 1, (count - i) * BLOCK))
			return;
		i += (n + BLOCK - 1) / BLOCK;
		path_of(h, path);
		r = unpack_one(h, path, n);
		if (r == -ENOENT) {
			make_parents(path);
			r = unpack_one(h, path, n);
		}
		if (r < 0)
			kprintf("ustar: %s: error %d\n", path, -r);
	}
}

/*
 * Unpacking ustar archives, which is how the root directory gets its contents:
 * vfs_init calls ustar_unpack once, with the initial RAM disk.
 *
 * An archive is a series of 512-byte blocks: for each file a header, and then
 * its contents, padded to whole blocks. Headers consist of text, and numbers in
 * them are octal digits. Blocks of zeroes end an archive. Another may follow in
 * the same memory, since QEMU's -initrd takes one file, to which the scripts
 * append their own archive. Its files replace those of the same name.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/print.h"

#include "file.h"
#include "filesystems.h"
#include "uio.h"
#include "vfs.h"
#include "vnode.h"

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
#define TYPE_LINK     '1' /* another name of the file called linkname */
#define TYPE_SYMLINK  '2' /* which leads to linkname */
#define TYPE_DIR      '5'

/* The octal number in a field, which a NUL or a blank may end early. */
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

/* Append a slash and the text of a field, which ends without a NUL if it fills
 * the field. Returns where to go on. */
static char *
add_field(char *at, const char *field, size_t size)
{
	*at++ = '/';
	for (size_t i = 0; i < size && field[i] != '\0'; i++)
		*at++ = field[i];
	return at;
}

/* "/prefix/name", or "/name" if the prefix is empty: 257 characters at most. */
static void
path_of(const struct header *h, char path[PATH_MAX_LEN])
{
	char *at = path;

	if (h->prefix[0] != '\0')
		at = add_field(at, h->prefix, sizeof(h->prefix));
	*add_field(at, h->name, sizeof(h->name)) = '\0';
}

/* Make the directories on the way to path. Errors don't matter: a directory may
 * exist already, and if one can't be made, the file can't be either. */
static void
make_parents(char *path)
{
	for (char *p = path + 1; *p != '\0'; p++)
		if (*p == '/') {
			*p = '\0';
			vfs_mkdir(NULL, path, 0755);
			*p = '/';
		}
}

/* A file of an earlier archive is removed first, not overwritten: the new one
 * has a mode of its own. */
static int
write_file(const char *path, mode_t mode, const void *data, size_t size)
{
	struct uio u = {
	    .base = (uintptr_t)data,
	    .left = size,
	    .kernel = true,
	};
	struct file *f = file_alloc();
	const int flags = O_WRONLY | O_CREAT | O_EXCL;
	ssize_t n;

	if (f == NULL)
		return -ENOMEM;
	n = vfs_open(f, NULL, path, flags, mode);
	if (n == -EEXIST && vfs_remove(NULL, path, S_IFREG) == 0)
		n = vfs_open(f, NULL, path, flags, mode);
	if (n == 0)
		n = f->vnode->ops->write(f->vnode, f, &u);
	file_put(f);
	return n < 0 || (size_t)n == size ? n : -ENOSPC;
}

/* The same with a link, whose header says where it leads. */
static int
make_link(const struct header *h, const char *path)
{
	char name[1 + sizeof(h->linkname) + 1]; /* with a slash and a NUL */
	struct vnode *v;
	int r;

	*add_field(name, h->linkname, sizeof(h->linkname)) = '\0';
	if (h->type == TYPE_SYMLINK) {
		r = vfs_symlink(name + 1, NULL, path);
		if (r == -EEXIST && vfs_remove(NULL, path, S_IFREG) == 0)
			r = vfs_symlink(name + 1, NULL, path);
		return r;
	}
	r = vfs_lookup_link(NULL, name, &v);
	if (r < 0)
		return r;
	r = vfs_link(v, NULL, path);
	if (r == -EEXIST && vfs_remove(NULL, path, S_IFREG) == 0)
		r = vfs_link(v, NULL, path);
	vnode_put(v);
	return r;
}

static int
unpack_one(const struct header *h, const char *path, size_t size)
{
	mode_t mode = octal(h->mode, sizeof(h->mode)) & 07777;
	int r;

	switch (h->type) {
	case TYPE_FILE:
	case TYPE_FILE_OLD:
		return write_file(path, mode, h + 1, size);
	case TYPE_LINK:
	case TYPE_SYMLINK:
		return make_link(h, path);
	case TYPE_DIR:
		r = vfs_mkdir(NULL, path, mode);
		return r == -EEXIST ? 0 : r;
	default:
		return -ENOTSUP;
	}
}

/* What is wrong with h? Its file has n bytes; `left` bytes follow in memory. */
static const char *
check(const struct header *h, size_t n, size_t left)
{
	if (memcmp(h->magic, "ustar", sizeof "ustar" - 1) != 0)
		return "isn't a ustar header";
	return n > left ? "begins a file that extends past the archive's end"
			: NULL;
}

/* A file that can't be made is reported and left out. A damaged header ends the
 * unpacking, since it can't be told where the next one is. */
void
ustar_unpack(const void *archive, size_t size)
{
	char path[PATH_MAX_LEN];
	const struct header *blocks = archive;
	size_t count = size / BLOCK, i = 0;

	while (i < count) {
		const struct header *h = &blocks[i++];
		size_t n = octal(h->size, sizeof(h->size));
		const char *wrong = check(h, n, (count - i) * BLOCK);
		int r;

		if (h->name[0] == '\0') /* a block of zeroes */
			continue;
		if (wrong != NULL) {
			kprintf("ustar: block %zu %s\n", i - 1, wrong);
			return;
		}
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

/*
 * kernel/fs/ustar.c with damaged archives: what it writes lies in the archive,
 * under a path that is one.
 */
#include "host.h"

#include "kernel/fs/ustar.c"

static const char *archive, *archive_end;
static long written;

/* --- What it calls --- */

static int
check_path(const char *path)
{
	EXPECT(path[0] == '/' && strlen(path) < PATH_MAX_LEN);
	return random_below(10) == 0 ? -EEXIST : 0;
}

int
vfs_mkdir(struct vnode *at, const char *path, mode_t mode)
{
	EXPECT(at == NULL);
	EXPECT(mode <= 07777);
	return check_path(path);
}

int
vfs_remove(struct vnode *at, const char *path, mode_t type)
{
	EXPECT(at == NULL);
	EXPECT(type == S_IFREG);
	return check_path(path);
}

int
vfs_symlink(const char *target, struct vnode *at, const char *path)
{
	EXPECT(at == NULL &&
	       strlen(target) <= sizeof(((struct header *)0)->linkname));
	return check_path(path);
}

/* What a hard link leads to: any one will do, and it must be put back. */
static struct vnode target;

static void
target_free(struct vnode *v)
{
	EXPECT(v == &target && v->refs == 0);
}

static const struct vnode_ops target_ops = {.free = target_free};
static struct vnode target = {.ops = &target_ops};

int
vfs_lookup_link(struct vnode *at, const char *path, struct vnode **out)
{
	EXPECT(at == NULL && strlen(path) < PATH_MAX_LEN);
	if (random_below(4) == 0)
		return -ENOENT;
	target.refs++;
	*out = &target;
	return 0;
}

int
vfs_link(struct vnode *v, struct vnode *at, const char *path)
{
	EXPECT(v == &target && v->refs == 1 && at == NULL);
	return check_path(path);
}

static ssize_t
write_all(struct vnode *v, struct file *f, struct uio *u)
{
	const char *from = (const char *)u->base;
	unsigned int sum = 0;

	EXPECT(v != NULL && f != NULL && u->kernel);
	EXPECT(from >= archive && u->left <= (size_t)(archive_end - from));
	for (size_t i = 0; i < u->left; i++)
		sum += from[i];
	written += sum != 1;
	return u->left;
}

struct file *
file_alloc(void)
{
	return random_below(50) > 0 ? calloc(1, sizeof(struct file)) : NULL;
}

int
vfs_open(struct file *f, struct vnode *at, const char *path, int flags,
	 mode_t mode)
{
	static const struct vnode_ops ops = {.write = write_all};
	static struct vnode v = {.ops = &ops};

	EXPECT(at == NULL);
	EXPECT(flags == (O_WRONLY | O_CREAT | O_EXCL) && mode <= 07777);
	f->vnode = &v;
	return check_path(path);
}

void
file_put(struct file *f)
{
	free(f);
}

/* --- Archives --- */

#define MEMBERS 12

static void
set_octal(char *field, size_t size, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%0*lo", (int)size - 1, (long)n);
	memcpy(field, text, size - 1);
	field[size - 1] = '\0';
}

/* An archive of files and folders; its size. */
static size_t
make_archive(char *at)
{
	char *start = at;

	for (int i = 0; i < MEMBERS; i++) {
		struct header *h = (struct header *)at;
		size_t size = i % 3 == 0 ? 0 : random_below(2000);

		memset(h, 0, sizeof(*h));
		snprintf(h->name, sizeof(h->name), "folder%d/file%d", i / 4, i);
		memcpy(h->magic, "ustar", 6);
		h->type = i % 3 == 0 ? TYPE_DIR : TYPE_FILE;
		if (i % 6 == 1)
			h->type = i < 6 ? TYPE_LINK : TYPE_SYMLINK;
		memset(h->linkname, 'l', random_below(sizeof(h->linkname) + 1));
		set_octal(h->mode, sizeof(h->mode), 0755);
		set_octal(h->size, sizeof(h->size), size);
		at += BLOCK;
		memset(at, 'x', size);
		at += (size + BLOCK - 1) / BLOCK * BLOCK;
	}
	memset(at, 0, 2 * BLOCK);
	return at + 2 * BLOCK - start;
}

/* Damage a header. */
static void
damage(char *start, size_t size)
{
	struct header *h = (struct header *)start + random_below(size / BLOCK);

	switch (random_below(6)) {
	case 0:
		set_octal(h->size, sizeof(h->size), random_number());
		break;
	case 1: /* no end, or no digits */
		memset(h->size, random_below(2) ? '7' : 'x', sizeof(h->size));
		break;
	case 2: /* names that fill their fields */
		memset(h->name, random_below(2) ? 'n' : '/', sizeof(h->name));
		memset(h->prefix, random_below(2) ? 'p' : '.',
		       sizeof(h->prefix));
		break;
	case 3:
		((char *)h)[random_below(BLOCK)] = random_64();
		break;
	case 4:
		h->type = random_64();
		break;
	case 5:
		h->type = random_below(2) ? TYPE_LINK : TYPE_SYMLINK;
		break;
	}
}

int
main(int argc, char **argv)
{
	long rounds = strtol(argv[1], NULL, 0);
	static char room[BLOCK * (2 + 5 * MEMBERS)];

	random_state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	for (round_number = 0; round_number < rounds; round_number++) {
		size_t size = make_archive(room);
		char *copy;

		for (int n = random_below(4); n > 0; n--)
			damage(room, size);
		if (random_below(4) == 0)
			size = random_below(size);
		copy = memcpy(malloc(size + 1), room, size);
		copy = realloc(copy, size > 0 ? size : 1);
		archive = copy;
		archive_end = copy + size;
		ustar_unpack(copy, size);
		free(copy);
	}
	printf("%ld files written\n", written);
	EXPECT(written > rounds);
	return 0;
}

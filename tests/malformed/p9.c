/*
 * /host with a server that lies: kernel/fs/p9.c, hostfs.c and hostfile.c. Its
 * replies are cut, too long, of another type or tag, with counts that aren't
 * true and names that are none. Whatever it says, a call ends, in an errno or
 * in a result that holds nothing but what was sent.
 */
#include "host.h"

#include "kernel/proc/proc.h"

#include "kernel/fs/hostfile.c"
#include "kernel/fs/hostfs.c"
#include "kernel/fs/hostremove.c"
#undef VERSION
#include "kernel/fs/p9.c"

#define CANARY    0xa5 /* what memory holds before; the server never says it */
#define CALLS_MAX 500  /* exchanges of one system call: then comes a signal */
#define ENTRY     24   /* bytes of a directory's entry before the name */

struct thread *current;
static struct thread thread = {.work = WORK_SIGNAL}; /* if `signalled' */
static struct proc proc;
static bool signalled;

static bool
interrupted(void)
{
	return signalled;
}

struct thread_calls thread_calls = {.interrupted = interrupted};

/* --- The rest of the kernel --- */

static long blocks; /* allocated */

void *
kmalloc(size_t size)
{
	blocks++;
	return memset(malloc(size), CANARY, size);
}

void *
kzalloc(size_t size)
{
	return memset(kmalloc(size), 0, size);
}

void
kfree(void *p)
{
	blocks -= p != NULL;
	free(p);
}

size_t page_nfree = SIZE_MAX / 2; /* there is enough */

size_t
kstack_reclaimable(void)
{
	return 0;
}

void *
page_alloc(void)
{
	blocks++;
	return memset(aligned_alloc(PAGE_SIZE, PAGE_SIZE), CANARY, PAGE_SIZE);
}

void *
page_alloc_zero(void)
{
	return memset(page_alloc(), 0, PAGE_SIZE);
}

void
page_free(void *p)
{
	kfree(p);
}

void
uio_skip(struct uio *u, size_t n)
{
	EXPECT(n <= u->left);
	u->base += n;
	u->left -= n;
	u->offset += n;
}

ssize_t
uio_to(struct uio *u, const void *from, size_t n)
{
	n = n < u->left ? n : u->left;
	memcpy((void *)u->base, from, n);
	u->base += n;
	u->left -= n;
	u->offset += n;
	return n;
}

ssize_t
uio_from(struct uio *u, void *to, size_t n)
{
	n = n < u->left ? n : u->left;
	memcpy(to, (void *)u->base, n);
	u->base += n;
	u->left -= n;
	u->offset += n;
	return n;
}

void
vnode_init(struct vnode *v, const struct vnode_ops *ops, mode_t type)
{
	*v = (struct vnode){.ops = ops, .refs = 1, .type = type};
}

ssize_t
vnode_read(struct vnode *v, void *buf, size_t n, off_t offset)
{
	struct uio u = {(uintptr_t)buf, n, offset, true};

	return v->ops->read(v, NULL, &u);
}

void
vfs_mount(const char *path, struct vnode *fs)
{
}

#define NOTHING(declaration) \
	declaration          \
	{                    \
	}
NOTHING(void mutex_lock(struct mutex *m))
NOTHING(void mutex_unlock(struct mutex *m))
NOTHING(void spin_lock(struct spinlock *l))
NOTHING(void spin_unlock(struct spinlock *l))
NOTHING(void wait_uninterruptible(struct waitq *q, struct spinlock *l))
NOTHING(void wake_all(struct waitq *q))

/* --- The server --- */

static bool honest;
static bool endless; /* a directory of nothing but dots */
static long exchanges;
static size_t sent;

bool
virtio_open(uint32_t id, void (*done)(void))
{
	return true;
}

bool
virtio_done(size_t *written)
{
	*written = sent;
	return true;
}

static uint8_t reply_bytes[20 * PAGE_SIZE];

static uint8_t *
put_qid(uint8_t *at, uint8_t type)
{
	at = put(at, type, 'b');
	at = put(at, 1, 'd');
	return put(at, 77, 'q');
}

static const char *const names[] = {
    "file", ".", "..", "", "a/b", "/", "nul\0in it", "another",
};

/* An entry, with n bytes of a name that is said to be so long. */
static uint8_t *
put_entry(uint8_t *at, const char *name, size_t n, size_t said)
{
	at = put_qid(at, random_below(2) ? QTDIR : 0);
	at = put(at, random_number(), 'q');
	at = put(at, 4, 'b');
	at = put(at, said, 'w');
	memcpy(at, name, n);
	return at + n;
}

/*
 * Long names, all good but for the last, of which the reply has only a part.
 * The rest would be what was in the page before; or, as most often the reply
 * fills it, what is after the page.
 */
static uint8_t *
put_cut_entries(uint8_t *at, size_t size)
{
	char name[NAME_MAX_LEN];
	size_t left = random_below(4) ? size : random_below(size + 1);

	memset(name, 'n', sizeof(name));
	while (left >= ENTRY) {
		size_t said = 1 + random_below(NAME_MAX_LEN);
		size_t n = said < left - ENTRY ? said : left - ENTRY;

		at = put_entry(at, name, n, said);
		left -= ENTRY + n;
	}
	return at;
}

/* Entries of a directory, at most size bytes, that never end. */
static uint8_t *
put_entries(uint8_t *at, size_t size)
{
	uint8_t *start = at;
	unsigned int most = endless ? 40 : random_below(40);

	while (most-- > 0) {
		unsigned int i = honest ? 0 : endless ? 1 : random_below(8);
		size_t n = i == 6 ? 9 : strlen(names[i]);

		if ((size_t)(at - start) + ENTRY + n > size)
			break;
		at = put_entry(at, names[i], n, n);
	}
	return at;
}

static const uint8_t qid_types[] = {QTDIR, QTDIR, 0, QTSYMLINK};

/* What a reply to a request has after its header. */
static uint8_t *
put_body(uint8_t *at, const uint8_t *asked, unsigned int type, size_t room)
{
	uint8_t *count = at;

	switch (type) {
	case P9_VERSION:
		at = put(at, p9_number(asked + 7, 'd'), 'd');
		at = put(at, 8, 'w');
		memcpy(at, "9P2000.L", 8);
		return at + 8;
	case P9_ATTACH:
		return put_qid(at, QTDIR);
	case P9_LOPEN:
		return put(put_qid(at, 0), 0, 'd');
	case P9_MKDIR:
	case P9_MKNOD:
		return put_qid(at, QTDIR);
	case P9_WALK:
		at = put(at, p9_number(asked + 15, 'w'), 'w');
		return p9_number(asked + 15, 'w')
			   ? put_qid(at, qid_types[random_below(4)])
			   : at;
	case P9_READLINK:
		room = random_below(3000);
		at = put(at, random_below(3) ? room : random_64(), 'w');
		memset(at, 'l', room);
		return at + room;
	case P9_GETATTR:
		at = put(at, 0x7ff, 'q');
		at = put_qid(at, 0);
		at = put(at, random_below(4) ? S_IFREG | 0644 : S_IFDIR, 'd');
		at = put(put(at, 0, 'd'), 0, 'd');
		for (int i = 0; i < 15; i++)
			at = put(at, random_below(3) ? 1000 : random_number(),
				 'q');
		return at;
	case P9_READDIR:
		at = honest || endless || random_below(4)
			 ? put_entries(at + 4, room)
			 : put_cut_entries(at + 4, room);
		put(count, at - count - 4, 'd');
		return at;
	case P9_READ:
		room = random_below(room + 1);
		put(at, room, 'd');
		memset(at + 4, 'd', room);
		return at + 4 + room;
	case P9_WRITE:
		return put(at, 1 + random_below(p9_number(asked + 19, 'd')),
			   'd');
	}
	return at;
}

/* Spoil a reply; its length. */
static size_t
spoil(size_t size)
{
	switch (random_below(8)) {
	case 0:
		return random_below(size + 1);
	case 1:
		put(reply_bytes, random_number(), 'd');
		break;
	case 2:
		put(reply_bytes + 5, random_64(), 'w');
		break;
	case 3:
		put(reply_bytes + 4, random_64(), 'b');
		break;
	case 4: /* most often a count */
		put(reply_bytes + HEADER, random_number(), 'd');
		break;
	case 5: /* an error, perhaps of a strange number */
		put(reply_bytes, 11, 'd');
		put(reply_bytes + 4, RLERROR, 'b');
		put(reply_bytes + HEADER, random_number(), 'd');
		return 11;
	case 6:
		for (int n = random_below(8); n >= 0; n--)
			reply_bytes[random_below(size)] = random_64() & 0x7f;
		break;
	case 7:
		return size + random_below(500);
	}
	return size;
}

void
virtio_submit(const struct virtio_piece *piece, unsigned int n)
{
	static uint8_t asked[20 * PAGE_SIZE];
	size_t at = 0, room = 0, size;
	unsigned int type, i;
	uint8_t *end;

	EXPECT(n <= VIRTIO_PIECES);
	for (i = 0; i < n && !piece[i].device_writes; i++) {
		memcpy(asked + at, piece[i].base, piece[i].size);
		at += piece[i].size;
	}
	EXPECT(p9_number(asked, 'd') == at);
	type = p9_number(asked + 4, 'b');
	for (unsigned int j = i; j < n; j++)
		room += piece[j].size;
	memset(reply_bytes, 0, sizeof(reply_bytes));
	end = put_body(reply_bytes + HEADER, asked, type,
		       room > COUNTED ? room - COUNTED : 0);
	size = end - reply_bytes;
	put(reply_bytes, size, 'd');
	put(reply_bytes + 4, type + 1, 'b');
	put(reply_bytes + 5, p9_number(asked + 5, 'w'), 'w');
	if (!honest && random_below(3) == 0 && !(endless && type == P9_READDIR))
		size = spoil(size);
	sent = size < room ? size : room;
	for (at = 0; i < n && at < sent; i++) {
		size_t part = sent - at < piece[i].size ? sent - at
							: piece[i].size;

		memcpy(piece[i].base, reply_bytes + at, part);
		at += part;
	}
	/* After so many, someone has killed the process. */
	if (++exchanges > CALLS_MAX)
		signalled = true;
	EXPECT(exchanges < 2 * CALLS_MAX);
}

/* --- Calls --- */

static uint8_t user[40 * PAGE_SIZE];

/* A result: an errno, or at most so many bytes, of which none is old. */
static void
check(ssize_t r, size_t most)
{
	EXPECT(r >= -4095 && r <= (ssize_t)most);
	for (ssize_t i = 0; i < r; i++)
		EXPECT(user[i] != CANARY);
	EXPECT(user[most] == CANARY);
}

static struct uio
uio_of(size_t size)
{
	memset(user, CANARY, sizeof(user));
	return (struct uio){(uintptr_t)user, size, random_number() >> 1, true};
}

static void
read_directory(struct vnode *v, struct file *f)
{
	off_t cookie = random_below(8) ? DIR_COOKIE : DIR_COOKIE + 100000;
	int r = 1;

	for (int i = 0; i < 60 && r > 0; i++) {
		struct dirent de = {.d_ino = 0};

		memset(de.d_name, CANARY, sizeof(de.d_name));
		exchanges = 0;
		signalled = false;
		r = hostfile_readdir(v, f, &cookie, &de);
		EXPECT(r <= 1 && r >= -4095);
		if (r <= 0)
			break;
		EXPECT(memchr(de.d_name, '\0', NAME_MAX_LEN + 1) != NULL);
		EXPECT(de.d_name[0] != '\0' && !strchr(de.d_name, '/'));
		EXPECT(!strchr(de.d_name, CANARY) && !is_dots(de.d_name));
	}
}

static void
use_open(struct vnode *v, struct file *f)
{
	static const size_t sizes[] = {1, 100, PAGE_SIZE, 70000, 150000};
	size_t size = sizes[random_below(5)];
	struct uio u = uio_of(size);
	void *page;

	check(hostfile_read(v, f, &u), size);
	u = uio_of(size);
	check(hostfile_read(v, NULL, &u), size);
	u = uio_of(size);
	memset(user, 'w', size);
	u.append = random_below(2);
	check(hostfile_write(v, f, &u), size);
	hostfile_fsync(v, f);
	if (hostfile_getpage(v, random_below(100000), false, &page) == 0) {
		EXPECT(memchr(page, CANARY, PAGE_SIZE) == NULL);
		page_free(page);
	}
	read_directory(v, f);
}

/* Calls on a name in the root, and then on what it led to. */
static void
use_name(void)
{
	struct vnode *v, *up;
	struct stat st;
	char target[2000];
	ssize_t n;
	char name[NAME_MAX_LEN + 1];
	const struct attr attr = {0644, 0, 0, 1, 2};

	hostfs_create(&root.vnode, "new", S_IFREG | 0644, NULL);
	hostfs_create(&root.vnode, "dir", S_IFDIR | 0755, NULL);
	host_remove(&root.vnode, "old", S_IFREG);
	host_rename(&root.vnode, "old", &root.vnode, "new", 0);
	hostfs_symlink(&root.vnode, "link", "target");
	if (host_lookup(&root.vnode, "name", &v) < 0)
		return;
	hostfs_link(&root.vnode, "hard", v);
	EXPECT(v->type == S_IFDIR || v->type == S_IFREG || v->type == S_IFLNK);
	memset(target, CANARY, sizeof(target));
	n = hostfs_readlink(v, target, 1000);
	EXPECT(n <= 1000 && target[1000] == (char)CANARY);
	EXPECT(n <= 0 || memchr(target, CANARY, n) == NULL);
	memset(&st, 0, sizeof(st));
	EXPECT(hostfs_stat(v, &st) <= 0);
	hostfs_setattr(v, &attr);
	hostfs_truncate(v, 1000);
	hostfs_name(v, name);
	if (host_lookup(v, "..", &up) == 0)
		vnode_put(up);
	for (int i = 0; i < 3; i++) {
		struct file f = {.flags = O_RDWR, .vnode = v};

		if (hostfile_open(v, &f) < 0)
			continue;
		use_open(v, &f);
		hostfile_close(v, &f);
	}
	vnode_put(v);
}

int
main(int argc, char **argv)
{
	long rounds = strtol(argv[1], NULL, 0);

	EXPECT(errno_of(ENOENT) == -ENOENT &&
	       errno_of(ENOTEMPTY) == -ENOTEMPTY);
	EXPECT(errno_of(0) == -EIO && errno_of(ECONNRESET) == -EIO &&
	       errno_of(5000) == -EIO && errno_of(1UL << 32 | ENOENT) == -EIO);
	current = &thread;
	random_state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	for (round_number = 0; round_number < rounds; round_number++) {
		/* A machine without processes may try to start. */
		honest = false;
		thread.proc = NULL;
		exchanges = 0;
		hostfs_init();
		honest = true;
		hostfs_init();
		honest = random_below(20) == 0;
		endless = !honest && random_below(8) == 0;
		proc = (struct proc){.state = 0};
		thread.proc = &proc;
		exchanges = 0;
		use_name();
		EXPECT(blocks == 0);
	}
	return 0;
}

/*
 * /proc and /sys, the tree: directories, links, and reading texts.
 *
 * As devfs it keeps nothing: each lookup searches the tables and returns a new
 * vnode. A node of a process has no reference to it, but its pid and when it
 * was made. Each operation looks for such a process, and if it is gone by then
 * fails with ESRCH.
 *
 * A text is made when it is read from its start, and kept until the file is
 * closed. So what is read piece by piece is of one moment.
 */
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "fs/file.h"
#include "fs/uio.h"
#include "fs/vfs.h"
#include "mm/kmalloc.h"
#include "mm/page.h"
#include "proc/proc.h"
#include "sched/thread.h"
#include "sched/time.h"

#define DEV_PROCFS 4  /* st_dev */
#define PLACES     64 /* inode numbers: names that a table has at most, */
#define NUMBERS    (PLACES << 16)
#define NUMBER_MAX 65535

static const struct vnode_ops procfs_ops;

static struct procnode *
procnode_of(struct vnode *v)
{
	return (struct procnode *)v;
}

static bool
is_dir(const struct procfile *f)
{
	return S_ISDIR(f->mode);
}

/* A name as a number: no sign, no zeroes before it; -1 if it isn't one. */
static int
number_of(const char *name)
{
	int n = 0;

	if (name[0] == '\0' || (name[0] == '0' && name[1] != '\0'))
		return -1;
	for (; *name != '\0'; name++) {
		if (*name < '0' || *name > '9')
			return -1;
		n = 10 * n + *name - '0';
		if (n > NUMBER_MAX)
			return -1;
	}
	return n;
}

/* A new node below dir, which it gets a reference to. */
static int
make_node(struct procnode *dir, const struct procfile *file, int number,
	  struct vnode **out)
{
	struct procnode *n = NULL;
	pid_t pid = dir->pid;
	uint64_t born = dir->born;

	if (file->files == process_files) {
		pid = number;
		born = process_born(pid);
		if (born == 0)
			return -ENOENT;
	}
	if (page_spare(1, LEFT_BY_FORK))
		n = kzalloc(sizeof(*n));
	if (n == NULL)
		return -ENOMEM;
	vnode_init(&n->vnode, &procfs_ops, file->mode & S_IFMT);
	vnode_ref(&dir->vnode);
	n->parent = dir;
	n->file = file;
	n->number = number;
	n->pid = pid;
	n->born = born;
	n->lock = (struct mutex)MUTEX("proc text", n->lock);
	*out = &n->vnode;
	return 0;
}

/* Whoever isn't a directory is asked for ".." only. */
static int
procfs_lookup(struct vnode *v, const char *name, struct vnode **out)
{
	struct procnode *n = procnode_of(v);
	int number = number_of(name);

	if (strcmp(name, "..") == 0) {
		*out = &n->parent->vnode;
		vnode_ref(*out);
		return 0;
	}
	for (const struct procfile *f = n->file->files; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return make_node(n, f, 0, out);
	if (n->file->next == NULL || number < 0 ||
	    n->file->next(n, number) != number)
		return -ENOENT;
	return make_node(n, n->file->numbered, number, out);
}

/* Print the name of a file, which has the number if its table says none. */
static void
print_name(const struct procfile *f, int number, char *buf, size_t size)
{
	if (f->name != NULL)
		strlcpy(buf, f->name, size);
	else
		snprintf(buf, size, "%d", number);
}

static int
procfs_name(struct vnode *v, char *buf)
{
	const struct procnode *n = procnode_of(v);

	print_name(n->file, n->number, buf, NAME_MAX_LEN + 1);
	return 0;
}

/* Inode numbers are those of the process, of the place in the table, and of the
 * number: enough for programs that tell files apart by them. */
static ino_t
inode(pid_t pid, const struct procfile *f, int number)
{
	return ((uintptr_t)f / sizeof(*f)) % NUMBERS + 1 +
	       (ino_t)NUMBERS * (pid + (ino_t)NUMBER_MAX * number);
}

/* The table's names come first, then the numbers: a cookie is the number, past
 * the table's last place. */
static int
procfs_readdir(struct vnode *v, struct file *, off_t *cookie, struct dirent *de)
{
	const struct procnode *n = procnode_of(v);
	const struct procfile *f = n->file->files;
	off_t at = *cookie - DIR_COOKIE;
	int number = 0;

	while (f->name != NULL && at > 0) {
		f++;
		at--;
	}
	if (f->name == NULL) {
		number = -1;
		if (n->file->next != NULL && at <= NUMBER_MAX)
			number = n->file->next(n, at);
		if (number < 0)
			return 0;
		*cookie += number - at;
		f = n->file->numbered;
	}
	++*cookie;
	de->d_ino = inode(n->pid, f, number);
	de->d_type = IFTODT(f->mode);
	print_name(f, number, de->d_name, sizeof(de->d_name));
	return 1;
}

/* As others see a process's files they belong to root, as all does. */
static int
procfs_stat(struct vnode *v, struct stat *st)
{
	const struct procnode *n = procnode_of(v);
	uint64_t born = n->pid != 0 ? process_born(n->pid) : 0;

	if (born != n->born)
		return -ESRCH;
	st->st_dev = DEV_PROCFS;
	st->st_ino = inode(n->parent != NULL ? n->parent->pid : 0, n->file,
			   n->number);
	st->st_mode = n->file->mode;
	st->st_nlink = is_dir(n->file) ? 2 : 1;
	st->st_blksize = PAGE_SIZE;
	st->st_atim = st->st_mtim = st->st_ctim = time_of_ns(
	    time_realtime_ns());
	return 0;
}

static int
procfs_open(struct vnode *v, struct file *f)
{
	if (v->type != S_IFDIR && (f->flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	return 0;
}

static ssize_t
procfs_read(struct vnode *v, struct file *, struct uio *u)
{
	struct procnode *n = procnode_of(v);
	ssize_t r = 0;

	mutex_lock(&n->lock);
	if (u->offset == 0) {
		text_free(&n->text);
		r = n->file->text(n, &n->text);
		if (r == 0)
			r = n->text.error;
	}
	if (r == 0 && (size_t)u->offset < n->text.size)
		r = uio_to(u, n->text.buf + u->offset,
			   n->text.size - u->offset);
	mutex_unlock(&n->lock);
	return r;
}

/* The path of what a link leads to; or, if that has none, what it is. */
static ssize_t
print_target(struct vnode *v, char path[PATH_MAX_LEN])
{
	ssize_t size = -ENOENT;
	struct stat st;

	if (v->ops->name != NULL || v->covered != NULL)
		size = vfs_path(v, path);
	if (size != -ENOENT)
		return size;
	if (v->type != S_IFIFO)
		return snprintf(path, PATH_MAX_LEN, "%s",
				v->type != 0 ? "(deleted)"
					     : "anon_inode:[file]");
	vnode_stat(v, &st);
	return snprintf(path, PATH_MAX_LEN, "pipe:[%lu]",
			(unsigned long)st.st_ino);
}

/* As many of n bytes as there is room for; n may be an error. */
static ssize_t
copy_some(char *to, const char *from, ssize_t n, size_t room)
{
	if (n > (ssize_t)room)
		n = room;
	if (n > 0)
		memcpy(to, from, n);
	return n;
}

/* Where a link leads to: a path that is too long for the stack. */
static ssize_t
read_target(const struct procnode *n, char *buf, size_t size)
{
	char *path = kmalloc(PATH_MAX_LEN);
	struct vnode *target;
	ssize_t r;

	if (path == NULL)
		return -ENOMEM;
	r = n->file->follow(n, &target);
	if (r == 0) {
		r = print_target(target, path);
		vnode_put(target);
	}
	r = copy_some(buf, path, r, size);
	kfree(path);
	return r;
}

static ssize_t
procfs_readlink(struct vnode *v, char *buf, size_t size)
{
	const struct procnode *n = procnode_of(v);
	struct text t = {0};
	ssize_t r;

	if (n->file->link == NULL)
		return read_target(n, buf, size);
	r = n->file->link(n, &t);
	if (r == 0)
		r = t.error != 0 ? t.error : (ssize_t)t.size;
	r = copy_some(buf, t.buf, r, size);
	text_free(&t);
	return r;
}

static int
procfs_follow(struct vnode *v, struct vnode **out)
{
	const struct procnode *n = procnode_of(v);

	return n->file->follow != NULL ? n->file->follow(n, out) : -EINVAL;
}

static void
procfs_free(struct vnode *v)
{
	struct procnode *n = procnode_of(v);

	text_free(&n->text);
	vnode_put(&n->parent->vnode);
	kfree(n);
}

static const struct vnode_ops procfs_ops = {
    .lookup = procfs_lookup,
    .name = procfs_name,
    .readdir = procfs_readdir,
    .stat = procfs_stat,
    .open = procfs_open,
    .read = procfs_read,
    .readlink = procfs_readlink,
    .follow = procfs_follow,
    .free = procfs_free,
};

void
procfs_init(void)
{
	static struct procnode proc = {.file = &system_root};
	static struct procnode sys = {.file = &system_sys};

	vnode_init(&proc.vnode, &procfs_ops, S_IFDIR);
	vnode_init(&sys.vnode, &procfs_ops, S_IFDIR);
	vfs_mount("/proc", &proc.vnode);
	vfs_mount("/sys", &sys.vnode);
}

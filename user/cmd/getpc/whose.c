/*
 * Whose samples the stream has: see getpc.h. The device names a file by its
 * path and its place in a file system; on another machine size and contents
 * tell which file it was. They are stored before the file's first sample, since
 * the end of a recording may get lost.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cmdlib/crc.h"
#include "../../cmdlib/pcsread.h"
#include "../../cmdlib/pcswho.h"

#include "getpc.h"

#define KERNEL_FILE "/boot/kernel"
#define OWN_FILE    "/bin/getpc"
/*
 * What a file or a context is may be in a part of the stream that gets lost,
 * and then its later samples would be nobody's. So before a buffer with such a
 * sample its record is stored again, if it hasn't been in the last AGAIN
 * buffers.
 */
#define AGAIN 64

#define ROOM (NUMSAMPS * sizeof(struct PSAMPLE) - sizeof(struct SEAL_RECORD))

#define CONTEXTS 65536

/* Our own records, which aren't stored yet. */
static char own[ROOM];
static size_t own_used;

/* The context of the buffer's last sample, which has been seen to. */
static unsigned int looked = CONTEXTS;

void
whose_store(void)
{
	looked = CONTEXTS;
	if (own_used > 0)
		store_own(own, own_used, 0);
	own_used = 0;
}

static void
append(const struct EVENT *record)
{
	size_t size = record->words * 8;

	if (own_used + size > ROOM)
		whose_store();
	memcpy(own + own_used, record, size);
	own_used += size;
}

/* --- Files --- */

#define HELD 24 /* files that are kept open: a process may have 64 */

/*
 * A file with code. It is opened at once, as it may be removed before it is
 * read. While the command runs, some blocks of it are read when a sample needs
 * it; reading all would take time, which the samples would show. So that is
 * done at the end.
 */
struct file {
	struct FILE_RECORD *filed;
	struct MAP_RECORD *mapped; /* at first; NULL: not yet */
	int fd;           /* -1: it was gone, or HELD others are open */
	bool tried;       /* to read it */
	bool known;       /* its blocks, or all of it, have been read */
	bool whole;       /* all of it has */
	unsigned int due; /* from which buffer on it is repeated */
};

static struct file **files, *kernel;
static size_t files_count, files_room;
static unsigned int held;

static struct file *
add_file(const char *path, uint64_t ino, int64_t mtime)
{
	size_t size = sizeof(struct FILE_RECORD) + (strlen(path) + 8) / 8 * 8;
	struct FILE_RECORD *r = memset(cmd_alloc(size), 0, size);
	struct file *f = cmd_alloc(sizeof(*f));

	*f = (struct file){.filed = r, .fd = -1};
	if (held < HELD)
		f->fd = open(path, O_RDONLY | O_CLOEXEC);
	held += f->fd >= 0;
	r->event.type = FILED;
	r->event.words = size / 8;
	r->ino = ino;
	r->mtime = mtime;
	strcpy(r->path, path);
	if (files_count == files_room)
		files = cmd_grow(files, &files_room, sizeof(*files));
	return files[files_count++] = f;
}

static struct file *
find_file(const char *path, uint64_t ino, int64_t mtime)
{
	for (size_t i = 0; i < files_count; i++) {
		const struct FILE_RECORD *r = files[i]->filed;

		if (r->ino == ino && r->mtime == mtime &&
		    strcmp(r->path, path) == 0)
			return files[i];
	}
	return add_file(path, ino, mtime);
}

static bool
read_all(int fd, struct FILE_RECORD *r)
{
	static _Alignas(8) char piece[16384];
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), r->size)) > 0) {
		r->crc = crc32(r->crc, piece, n);
		r->size += n;
	}
	return n == 0;
}

static bool
read_blocks(int fd, struct FILE_RECORD *r, off_t size)
{
	_Alignas(8) char block[FILE_BLOCK];
	off_t at;

	r->size = size;
	r->blocks = FILE_BLOCKS;
	for (int i = 0; i < FILE_BLOCKS; i++) {
		at = (size - FILE_BLOCK) * i / (FILE_BLOCKS - 1);
		if (pread(fd, block, FILE_BLOCK, at) != FILE_BLOCK)
			return false;
		r->crc = crc32(r->crc, block, FILE_BLOCK);
	}
	return true;
}

/* Read a file, if it is still the one that was mapped. If it isn't, what is
 * known of it stays. */
static void
read_file(struct file *f, bool whole)
{
	struct FILE_RECORD r = *f->filed;
	bool good = false;
	struct stat st;
	int fd = f->fd;

	f->tried = true;
	r.size = r.crc = r.blocks = 0;
	if (fd < 0)
		fd = open(f->filed->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && IN_FILE(st) == r.ino &&
	    pcs_mtime(&st) == r.mtime) {
		if (whole || st.st_size < FILE_BLOCKS * FILE_BLOCK)
			good = read_all(fd, &r);
		else
			good = read_blocks(fd, &r, st.st_size);
	}
	if (good)
		*f->filed = r;
	f->known |= good;
	f->whole = good && r.blocks == 0;
	held -= f->fd >= 0;
	f->fd = fd;
	if (f->whole || held == HELD) {
		close(fd);
		f->fd = -1;
	}
	held += f->fd >= 0;
}

/* A file that is gone, or another now, has no record. */
static void
append_file(struct file *f)
{
	f->due = store_count() + AGAIN;
	if (!f->tried)
		read_file(f, false);
	if (f->known)
		append(&f->filed->event);
}

static struct file *
prepare_file(const char *path)
{
	struct stat st;
	struct file *f;

	if (stat(path, &st) < 0)
		return NULL;
	f = find_file(path, IN_FILE(st), pcs_mtime(&st));
	read_file(f, true);
	return f;
}

void
whose_prepare(void)
{
	kernel = prepare_file(KERNEL_FILE);
	prepare_file(OWN_FILE);
}

void
whose_start(void)
{
	for (size_t i = 0; i < files_count; i++)
		append_file(files[i]);
	whose_store();
}

void
whose_end(void)
{
	for (size_t i = 0; i < files_count; i++) {
		struct file *f = files[i];

		if (f->whole)
			continue;
		read_file(f, true);
		if (f->whole)
			append(&f->filed->event);
	}
	whose_store();
}

/* --- Contexts --- */

/* The device says what a context is where it begins, or the recording does. */
static struct context {
	int pid, tid;
	short parent;
	uint64_t begin;
	char name[16];     /* empty: not known */
	struct file *file; /* NULL: not known */
	unsigned int due;  /* from which buffer on it is repeated */
} * contexts[CONTEXTS];

static struct context *
begin(const struct EVENT *event, int tid)
{
	struct context **c = &contexts[event->context];

	if (!*c)
		*c = cmd_alloc(sizeof(**c));
	**c = (struct context){
	    .pid = event->pid,
	    .tid = tid,
	    .begin = event->time,
	    .due = store_count() + AGAIN,
	};
	return *c;
}

/* It executes what the context does that made it. */
static void
see_born(const struct BORN_RECORD *r)
{
	struct context *c = begin(&r->event, r->tid);
	const struct context *maker = contexts[r->of];

	c->parent = r->parent;
	if (r->of && maker && maker->pid == r->parent) {
		memcpy(c->name, maker->name, sizeof(c->name));
		c->file = maker->file;
		c->due = maker->due; /* what it refers to is as far back */
	}
}

static void
see_execed(const struct EXEC_RECORD *r)
{
	unsigned int before = r->of ? r->of : r->event.context;
	short parent = contexts[before] ? contexts[before]->parent : 0;
	struct context *c = begin(&r->event, r->tid);

	c->parent = parent;
	memcpy(c->name, r->name, sizeof(c->name));
}

static void
see_mapped(const struct MAP_RECORD *m)
{
	struct context *c = contexts[m->event.context];
	size_t size = m->event.words * 8;
	struct file *f;

	if (!c || c->file || !*m->path)
		return;
	c->file = f = find_file(m->path, m->ino, m->mtime);
	if (!f->mapped)
		f->mapped = memcpy(cmd_alloc(size), m, size);
}

static struct EVENT
event_of(unsigned int context, int type, size_t size)
{
	const struct context *c = contexts[context];

	return (struct EVENT){
	    .type = type,
	    .words = size / 8,
	    .context = context,
	    .pid = c->pid,
	    .time = c->begin,
	};
}

/* Store what a context is, with the records that the device makes of those that
 * live already. */
static void
repeat(unsigned int context)
{
	struct context *c = contexts[context];
	struct BORN_RECORD born = {
	    .event = event_of(context, BORN, sizeof(born)),
	    .parent = c->parent,
	    .tid = c->tid,
	};
	struct EXEC_RECORD execed = {
	    .event = event_of(context, EXECED, sizeof(execed)),
	    .tid = c->tid,
	};
	struct {
		struct MAP_RECORD record;
		char path[ROOM - sizeof(struct MAP_RECORD)];
	} mapped;
	size_t size;

	c->due = store_count() + AGAIN;
	/* If one of these were lost without the other, the context would be
	 * taken for what its process executed before. */
	if (own_used + sizeof(born) + sizeof(execed) > ROOM)
		whose_store();
	append(&born.event);
	if (!*c->name)
		return;
	memcpy(execed.name, c->name, sizeof(execed.name));
	append(&execed.event);
	if (!c->file)
		return;
	size = c->file->mapped->event.words * 8;
	memcpy(&mapped, c->file->mapped, size);
	mapped.record.event = event_of(context, MAPPED, size);
	append(&mapped.record.event);
}

static void
see_sample(struct context *c, unsigned int context)
{
	unsigned int now = store_count();

	if (kernel && now >= kernel->due)
		append_file(kernel);
	if (c && c->file && now >= c->file->due)
		append_file(c->file);
	if (c && now >= c->due)
		repeat(context);
}

void
whose_look(const void *record, unsigned int context)
{
	int type = *(const unsigned char *)record;
	_Alignas(8) char copy[BSIZE];

	if (pcs_is_sample(type)) {
		if (context != looked)
			see_sample(contexts[context], context);
		looked = context;
		return;
	}
	if (type != BORN && type != EXECED && type != MAPPED)
		return;
	/* In a LOGBUF records are aligned to 4 bytes only. */
	memcpy(copy, record, ((const unsigned char *)record)[1] * 8);
	if (type == BORN)
		see_born((const void *)copy);
	else if (type == EXECED)
		see_execed((const void *)copy);
	else
		see_mapped((const void *)copy);
}

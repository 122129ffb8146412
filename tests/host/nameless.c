/*
 * Files that lose or change their names while they are open: each call on the
 * open file is one on that file, in /host as in /tmp.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../guest/check.h"
#include "../guest/helpers.h"

/* What happens to "file", which holds "hello", while it is open. */
struct event {
	const char *what;
	int (*happens)(void);
	int names;         /* that the file still has */
	const char *other; /* what "file" holds then, or NULL */
};

static int
open_new(const char *name, const char *text)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);

	write(fd, text, strlen(text));
	return fd;
}

static int
removed(void)
{
	return unlink("file");
}

static int
replaced(void)
{
	file_make("new", "other");
	return rename("new", "file");
}

static int
made_again(void)
{
	return unlink("file") < 0 ? -1 : file_make("file", "other");
}

static int
made_again_twice(void)
{
	return made_again() < 0 ? -1 : made_again();
}

static int
renamed(void)
{
	return rename("file", "dir/file");
}

static int
renamed_and_removed(void)
{
	return renamed() < 0 ? -1 : unlink("dir/file");
}

static int
folder_renamed(void)
{
	return renamed() < 0 || rename("dir", "moved") < 0 ||
	       rename("moved/file", "file") < 0 || rename("moved", "dir") < 0;
}

static int
one_name_removed(void)
{
	return link("file", "dir/file") < 0 ? -1 : unlink("file");
}

static int
both_names_removed(void)
{
	return one_name_removed() < 0 ? -1 : unlink("dir/file");
}

static int
not_replaced(void)
{
	CHECK_ERRNO(rename("none", "file"), ENOENT, "nothing replaces it");
	CHECK_ERRNO(rename("dir", "file"), ENOTDIR, "nor does a folder");
	return rename("file", "file");
}

static const struct event events[] = {
    {"removed", removed, 0, NULL},
    {"replaced", replaced, 0, "other"},
    {"made again", made_again, 0, "other"},
    {"made again twice", made_again_twice, 0, "other"},
    {"renamed", renamed, 1, NULL},
    {"renamed and removed", renamed_and_removed, 0, NULL},
    {"in a folder that is renamed", folder_renamed, 1, "helxyz"},
    {"one name removed", one_name_removed, 1, NULL},
    {"both names removed", both_names_removed, 0, NULL},
    {"not replaced", not_replaced, 1, "helxyz"},
};

static bool
is_mapped(int fd)
{
	char *map = mmap(NULL, 6, PROT_READ, MAP_PRIVATE, fd, 0);
	bool is = map != MAP_FAILED && memcmp(map, "helxyz", 6) == 0;

	munmap(map, 6);
	return is;
}

/* Every call that takes an open file. */
static void
check_calls(const struct event *e, int fd)
{
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	char text[8] = "";
	struct stat st;

	CHECK(fstat(fd, &st) == 0 && st.st_size == 5, "%s: fstat", e->what);
	CHECK((int)st.st_nlink == e->names, "%s: names", e->what);
	CHECK(ftruncate(fd, 3) == 0, "%s: ftruncate", e->what);
	CHECK(lseek(fd, 0, SEEK_END) == 3, "%s: lseek", e->what);
	CHECK(write(fd, "xyz", 3) == 3, "%s: write", e->what);
	CHECK(pread(fd, text, 7, 0) == 6 && strcmp(text, "helxyz") == 0,
	      "%s: pread", e->what);
	CHECK(fchmod(fd, 0640) == 0 && utimensat(fd, NULL, times, 0) == 0 &&
		  fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0640 &&
		  st.st_mtime == 2000,
	      "%s: fchmod and utimensat", e->what);
	CHECK(fsync(fd) == 0, "%s: fsync", e->what);
	CHECK(is_mapped(fd), "%s: mmap", e->what);
}

/* What is mapped stays, too, when the file is closed. */
static void
check_mapping(void)
{
	int fd = open_new("mapped", "text");
	char *map = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);

	close(fd);
	unlink("mapped");
	CHECK(memcmp(map, "text", 4) == 0, "a file that is only mapped");
	munmap(map, 4);
}

static int
entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2; /* "." and ".." */

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
check_event(const struct event *e)
{
	int fd = open_new("file", "hello"), twin = open("file", O_RDONLY);
	struct stat st, own;

	mkdir("dir", 0777);
	CHECK(e->happens() == 0, "%s", e->what);
	check_calls(e, fd);
	CHECK(e->other != NULL ? file_holds("file", e->other)
			       : stat("file", &st) < 0,
	      "%s: what the name leads to", e->what);
	CHECK(close(fd) == 0 && fstat(twin, &own) == 0 && own.st_size == 6,
	      "%s: another one has it open", e->what);
	close(twin);
	unlink("file");
	unlink("dir/file");
	CHECK(rmdir("dir") == 0 && entries(".") == 0, "%s: nothing is left",
	      e->what);
}

int
main(void)
{
	static const char *const folders[] = {"/tmp/nameless", "/host"};

	alarm(DEADLINE);
	mkdir(folders[0], 0777);
	for (int i = 0; i < 2; i++) {
		chdir(folders[i]);
		for (size_t e = 0; e < sizeof(events) / sizeof(events[0]); e++)
			check_event(&events[e]);
		check_mapping();
		CHECK(entries(".") == 0, "%s is empty", folders[i]);
	}
	return check_done();
}

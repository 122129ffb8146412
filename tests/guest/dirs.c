/* Directories: making and removing them, renaming, reading, being in one. */
#include <dirent.h>
#include <limits.h>

#include "children.h"

#define MANY 1000 /* entries */
#define PART 50
#define BITS 12

long __getcwd(char *buf, size_t size); /* the system call itself */

static bool
exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static ino_t
inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Is path a directory, and dot, a path that ends in . or .., the same one? */
static bool
same_dir(const char *path, const char *dot)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(dot, &b) == 0 &&
	       S_ISDIR(a.st_mode) && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static void
test_mkdir(void)
{
	CHECK(mkdir("d", 0777) == 0 && mkdir("d/e/", 0777) == 0, "mkdir");
	CHECK(same_dir("d", "d/.") && same_dir("d", "d/e/.."), "has . and ..");
	file_make("f", "text");
	CHECK_ERRNO(mkdir("d", 0777), EEXIST, "mkdir, and it's there");
	CHECK_ERRNO(mkdir("f", 0777), EEXIST, "mkdir, and it's a file");
	CHECK_ERRNO(mkdir("/", 0777), EEXIST, "mkdir of the root");
	CHECK_ERRNO(mkdir(".", 0777), EEXIST, "mkdir of .");
	CHECK_ERRNO(mkdir("d/..", 0777), EEXIST, "mkdir of ..");
	CHECK_ERRNO(mkdir("/dev/d", 0777), EROFS, "mkdir in /dev");
	CHECK_ERRNO(unlink("d"), EISDIR, "unlink of a directory");
	CHECK_ERRNO(unlink("d/"), EISDIR, "with a slash");
	CHECK_ERRNO(unlink("d/."), EISDIR, "and of its .");
	CHECK_ERRNO(unlink("none"), ENOENT, "unlink of nothing");
	CHECK_ERRNO(rmdir("d"), ENOTEMPTY, "rmdir of one that isn't empty");
	CHECK_ERRNO(rmdir("f"), ENOTDIR, "rmdir of a file");
	CHECK_ERRNO(rmdir("none"), ENOENT, "rmdir of nothing");
	CHECK_ERRNO(rmdir("d/e/."), EINVAL, "rmdir of a .");
	CHECK_ERRNO(rmdir("d/e/.."), ENOTEMPTY, "rmdir of a ..");
	CHECK_ERRNO(rmdir("/"), EBUSY, "rmdir of the root");
	CHECK_ERRNO(rmdir("/dev"), EBUSY, "rmdir of a mount point");
	CHECK(rmdir("d/e/") == 0 && rmdir("d") == 0, "rmdir");
	CHECK_ERRNO(rmdir("d"), ENOENT, "once");
	unlink("f");
}

static void
test_rename_files(void)
{
	ino_t inode;
	int fd;

	file_make("a", "a");
	mkdir("d", 0777);
	inode = inode_of("a");
	CHECK(rename("a", "b") == 0 && !exists("a") && inode_of("b") == inode,
	      "rename keeps the file");
	CHECK(rename("b", "d/c") == 0 && inode_of("d/c") == inode,
	      "into another folder");
	CHECK(rename("d/c", "./a") == 0 && file_holds("a", "a"), "and back");
	file_make("b", "b");
	fd = open("b", O_RDONLY);
	CHECK(rename("a", "b") == 0 && !exists("a") && file_holds("b", "a"),
	      "onto another, which is gone");
	CHECK(read(fd, (char[1]){0}, 1) == 1, "but for who has it open");
	close(fd);
	CHECK(rename("b", "b") == 0 && file_holds("b", "a"), "onto itself");
	CHECK(rename("b", "d/../b") == 0 && file_holds("b", "a"),
	      "however that is put");
	CHECK_ERRNO(rename("none", "x"), ENOENT, "rename nothing");
	CHECK_ERRNO(rename("none", "b"), ENOENT, "onto a file");
	CHECK(file_holds("b", "a"), "which stays");
	CHECK_ERRNO(rename("b", "d"), EISDIR, "a file onto a directory");
	CHECK_ERRNO(rename("b", "x/"), ENOTDIR, "a file to a name with slash");
	CHECK_ERRNO(rename("b/", "x"), ENOTDIR, "or from one");
	CHECK_ERRNO(rename("b", "none/x"), ENOENT, "into no folder");
	CHECK_ERRNO(rename("b", "/dev/x"), EXDEV, "to another file system");
	CHECK_ERRNO(rename("/dev/null", "x"), EXDEV, "or from one");
	CHECK_ERRNO(rename("/dev/null", "/dev/x"), EROFS, "within /dev");
	CHECK_ERRNO(unlink("/dev/null"), EROFS, "unlink in /dev");
	CHECK(file_holds("b", "a") && !exists("x"), "no harm was done");
	unlink("b");
	rmdir("d");
}

static void
test_rename_dirs(void)
{
	struct stat st;

	mkdir("a", 0777);
	mkdir("a/sub", 0777);
	mkdir("b", 0777);
	file_make("f", "text");
	CHECK(rename("a", "c/") == 0 && exists("c/sub") && !exists("a"),
	      "rename takes along what is inside");
	CHECK(rename("c", "b/c") == 0 && same_dir("b", "b/c/.."),
	      ".. is the new parent");
	CHECK(stat("b", &st) == 0 && st.st_nlink == 3, "which it links to");
	CHECK_ERRNO(rename("b", "b/c/x"), EINVAL, "a folder into itself");
	CHECK_ERRNO(rename("b", "b/x"), EINVAL, "a folder right into itself");
	CHECK_ERRNO(rename("f", "b/c/sub"), EISDIR, "a file onto a folder");
	CHECK_ERRNO(rename("b", "f"), ENOTDIR, "a folder onto a file");
	mkdir("full", 0777);
	file_make("full/f", "text");
	CHECK_ERRNO(rename("b", "full"), ENOTEMPTY, "onto one that's full");
	CHECK_ERRNO(rename("b/c", "b"), ENOTEMPTY, "onto its own parent");
	CHECK_ERRNO(rename("b", "b/."), EBUSY, "to a .");
	CHECK_ERRNO(rename("b/c/..", "x"), EBUSY, "from a ..");
	CHECK_ERRNO(rename("/", "x"), EBUSY, "the root");
	CHECK_ERRNO(rename("/dev", "/x"), EBUSY, "a mount point");
	CHECK_ERRNO(rename("b", "/dev"), EBUSY, "or onto one");
	mkdir("empty", 0777);
	CHECK(rename("b", "empty") == 0 && exists("empty/c/sub"),
	      "onto one that's empty");
	CHECK(unlink("f") == 0 && rmdir("empty/c/sub") == 0 &&
		  rmdir("empty/c") == 0 && rmdir("empty") == 0 &&
		  unlink("full/f") == 0 && rmdir("full") == 0,
	      "the tree is what it should be");
}

static bool
cwd_is(const char *path)
{
	char buf[256];

	return getcwd(buf, sizeof(buf)) == buf && strcmp(buf, path) == 0;
}

static void
test_cwd(void)
{
	char buf[256];

	mkdir("a", 0777);
	mkdir("a/b", 0777);
	file_make("f", "text");
	CHECK(cwd_is("/tmp/dirs.d"), "getcwd");
	CHECK(chdir("a/./b/") == 0 && cwd_is("/tmp/dirs.d/a/b"), "chdir");
	CHECK(chdir("..") == 0 && cwd_is("/tmp/dirs.d/a"), "to ..");
	CHECK(rename("../a", "../z") == 0 && cwd_is("/tmp/dirs.d/z"),
	      "getcwd knows what a folder is called now");
	CHECK(exists("b") && exists("../f"), "paths start there");
	CHECK_ERRNO(chdir("none"), ENOENT, "chdir to nothing");
	CHECK_ERRNO(chdir("../f"), ENOTDIR, "chdir to a file");
	CHECK_ERRNO(chdir("/dev/null"), ENOTDIR, "chdir to a device");
	CHECK(cwd_is("/tmp/dirs.d/z"), "one stays then");
	CHECK(chdir("/dev/../..") == 0 && cwd_is("/"), "the root");
	CHECK(chdir("dev") == 0 && cwd_is("/dev"), "where a disk is mounted");
	CHECK(same_dir(".", "/dev/.") && same_dir("..", "/"), "and its ..");
	chdir("/tmp/dirs.d");
	errno = 0;
	CHECK(getcwd(buf, 4) == NULL && errno == ERANGE, "too little room");
	CHECK(getcwd(buf, sizeof("/tmp/dirs.d") - 1) == NULL, "by one byte");
	CHECK(getcwd(buf, sizeof("/tmp/dirs.d")) == buf, "just enough");
	CHECK(getcwd(buf, 0) == NULL && errno == EINVAL, "no room");
	CHECK_FAULTS_OUT("getcwd", __getcwd(bad, sizeof(buf)));
	rmdir("z/b");
	rmdir("z");
	unlink("f");
}

/* To be in a folder that is gone. */
/* Two names of each length, next to each other in the kernel's memory. */
static void
test_lengths(void)
{
	char name[256];
	int good = 0;

	for (int pass = 0; pass < 3; pass++)
		for (int i = 2; i < 400; i++) {
			memset(name, 'a' + i % 2, i / 2);
			name[i / 2] = '\0';
			if (pass == 0)
				good += file_make(name, "") == 0;
			else
				good += pass == 1 ? exists(name)
						  : unlink(name) == 0;
		}
	CHECK(good == 3 * 398, "names of all lengths: %d", good);
}

/* 1023 bytes and a NUL: four names of 252 in this folder. */
static void
test_longest_cwd(void)
{
	char name[253], buf[2000];

	memset(name, 'n', 252);
	name[252] = '\0';
	for (int i = 0; i < 4; i++) {
		mkdir(name, 0777);
		chdir(name);
	}
	CHECK(getcwd(buf, sizeof(buf)) == buf && strlen(buf) == 1023,
	      "the longest path that getcwd knows");
	mkdir("n", 0777);
	chdir("n");
	CHECK(getcwd(buf, sizeof(buf)) == NULL && errno == ENAMETOOLONG,
	      "a longer one is ENAMETOOLONG");
	chdir("..");
	rmdir("n");
	for (int i = 0; i < 4; i++) {
		chdir("..");
		rmdir(name);
	}
}

/* Bytes of an entry with a name of up to four. */
#define ENTRY 24

static void
test_removed_cwd(void)
{
	char buf[256];
	struct dirent de[4];
	int fd;

	mkdir("gone", 0777);
	chdir("gone");
	fd = open(".", O_RDONLY);
	CHECK(rmdir("../gone") == 0, "rmdir of the working directory");
	errno = 0;
	CHECK(getcwd(buf, sizeof(buf)) == NULL && errno == ENOENT,
	      "getcwd is ENOENT then");
	CHECK_ERRNO(open("f", O_WRONLY | O_CREAT, 0666), ENOENT, "open");
	CHECK_ERRNO(mkdir("d", 0777), ENOENT, "mkdir");
	CHECK_ERRNO(chdir(".."), ENOENT, "chdir to ..");
	CHECK_ERRNO(rename("/tmp/dirs.d", "d"), ENOENT, "rename into it");
	CHECK(getdents64(fd, de, sizeof(de)) <= ENTRY, "it has no entries");
	close(fd);
	CHECK(chdir("/tmp/dirs.d") == 0, "one can leave it");
}

/* Names a000..a999 */
static const char *
entry_name(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "d/a%03d", i);
	return name;
}

/* Count the entries that readdir gives, each seen at most once; . and .. too.
 * remove, if it isn't NULL, is called for each. -1: one came twice. */
static int
count_entries(const char *path, void (*remove)(int i))
{
	static bool seen[MANY];
	DIR *dir = opendir(path);
	struct dirent *de;
	int n = 0;

	memset(seen, 0, sizeof(seen));
	while ((de = readdir(dir)) != NULL) {
		int i = atoi(de->d_name + 1);

		n++;
		if (de->d_name[0] == '.')
			continue;
		if (i < 0 || i >= MANY || seen[i])
			return -1;
		seen[i] = true;
		if (remove != NULL)
			remove(i);
	}
	closedir(dir);
	return n;
}

static void
remove_this(int i)
{
	unlink(entry_name(i));
}

/* And the two after it, which may be read ahead or not. */
static void
remove_three(int i)
{
	for (int k = 0; k < 3 && i + k < MANY; k++)
		unlink(entry_name(i + k));
}

static bool
make_many(void)
{
	for (int i = 0; i < MANY; i++)
		if (file_make(entry_name(i), "") < 0)
			return false;
	return true;
}

/* What it takes to read entries [skip, skip + PART); the least of some tries,
 * as others may be busy too. */
static unsigned long
reading_takes(int skip)
{
	static char de[MANY * ENTRY];
	unsigned long least = -1UL, start, end;

	for (int i = 0; i < 10; i++) {
		int fd = open("d", O_RDONLY);

		getdents64(fd, de, skip * ENTRY);
		asm volatile("rdcycle %0" : "=r"(start));
		getdents64(fd, de, PART * ENTRY);
		asm volatile("rdcycle %0" : "=r"(end));
		if (end - start < least)
			least = end - start;
		close(fd);
	}
	return least;
}

static void
test_many(void)
{
	mkdir("d", 0777);
	CHECK(make_many(), "1000 entries");
	CHECK(count_entries("d", NULL) == MANY + 2, "readdir gives each once");
	CHECK(reading_takes(MANY - PART) < 3 * reading_takes(PART),
	      "the last take no longer than the first");
	CHECK(exists(entry_name(0)) && exists(entry_name(MANY - 1)) &&
		  !exists("d/a1000"),
	      "each is found");
	CHECK_ERRNO(rmdir("d"), ENOTEMPTY, "rmdir doesn't remove them");
	CHECK(count_entries("d", remove_this) == MANY + 2,
	      "removing each as it's read skips none");
	CHECK(count_entries("d", NULL) == 2, "then it's empty");
	make_many();
	CHECK(count_entries("d", remove_three) > 0,
	      "removing those to come gives none twice");
	CHECK(count_entries("d", NULL) == 2, "and is done all the same");
	CHECK(rmdir("d") == 0, "rmdir");
}

/* What readdir says of name in the open directory: DT_*, or -1: not there. */
static int
type_of(DIR *dir, const char *name, ino_t inode)
{
	struct dirent *de;

	rewinddir(dir);
	while ((de = readdir(dir)) != NULL)
		if (strcmp(de->d_name, name) == 0)
			return de->d_ino == inode ? de->d_type : -1;
	return -1;
}

static void
test_getdents(void)
{
	struct dirent de[8];
	DIR *dir;
	int fd;

	mkdir("d", 0777);
	mkdir("d/sub", 0777);
	file_make("d/f", "text");
	dir = opendir("d");
	CHECK(type_of(dir, ".", inode_of("d")) == DT_DIR &&
		  type_of(dir, "..", inode_of(".")) == DT_DIR,
	      "there are . and .., with their inodes");
	CHECK(type_of(dir, "f", inode_of("d/f")) == DT_REG &&
		  type_of(dir, "sub", inode_of("d/sub")) == DT_DIR,
	      "and what was made, with type and inode");
	file_make("d/new", "");
	CHECK(type_of(dir, "new", inode_of("d/new")) == DT_REG,
	      "one that came since, after rewinddir");
	closedir(dir);
	fd = open("d", O_RDONLY);
	CHECK(getdents64(fd, de, 3 * ENTRY - 1) == 2 * ENTRY &&
		  de[0].d_reclen == ENTRY,
	      "whole entries that fit");
	CHECK_ERRNO(getdents64(fd, de, ENTRY - 1), EINVAL,
		    "room for no entry is EINVAL");
	CHECK(getdents64(fd, de, sizeof(de)) == 3 * ENTRY, "the rest");
	CHECK(getdents64(fd, de, sizeof(de)) == 0, "and then 0");
	lseek(fd, 0, SEEK_SET);
	CHECK_FAULTS_OUT("getdents64", getdents64(fd, bad, sizeof(de)));
	CHECK(getdents64(fd, de, sizeof(de)) == 5 * ENTRY,
	      "a fault loses no entry");
	lseek(fd, de[0].d_off, SEEK_SET);
	CHECK(getdents64(fd, de, ENTRY) == ENTRY &&
		  strcmp(de[0].d_name, "..") == 0,
	      "d_off leads to the next entry");
	close(fd);
	fd = open("d/f", O_RDONLY);
	CHECK_ERRNO(getdents64(fd, de, sizeof(de)), ENOTDIR, "of a file");
	close(fd);
	errno = 0;
	CHECK(opendir("d/f") == NULL && errno == ENOTDIR, "opendir, too");
	CHECK(opendir("d/x") == NULL && errno == ENOENT, "opendir of none");
	fd = open("d/f", O_RDONLY);
	CHECK(fdopendir(fd) == NULL && errno == ENOTDIR, "nor fdopendir");
	CHECK(close(fd) == 0, "which leaves it open");
	CHECK(fdopendir(fd) == NULL && errno == EBADF, "fdopendir of none");
	unlink("d/new");
	unlink("d/f");
	rmdir("d/sub");
	rmdir("d");
}

static void
test_scandir(void)
{
	struct dirent **list;
	int n;

	file_make("b", "");
	file_make("a", "");
	file_make("c", "");
	n = scandir(".", &list, NULL, alphasort);
	CHECK(n == 5 && strcmp(list[2]->d_name, "a") == 0 &&
		  strcmp(list[3]->d_name, "b") == 0 &&
		  strcmp(list[4]->d_name, "c") == 0,
	      "scandir sorts");
	while (n > 0)
		free(list[--n]);
	free(list);
	unlink("a");
	unlink("b");
	unlink("c");
}

#define ROUNDS 200

/* Exchange the file for another, again and again. */
static int
replace_often(void)
{
	for (int i = 0; i < ROUNDS; i++)
		if (file_make("new", i % 2 ? "odd" : "even") < 0 ||
		    rename("new", "f") < 0)
			return 1;
	return file_make("stop", "");
}

/* Whoever opens it meanwhile finds one or the other, whole. */
static void
test_rename_is_atomic(void)
{
	int wrong = 0;
	pid_t child;

	file_make("f", "odd");
	child = child_start(replace_often);
	while (!exists("stop")) {
		char buf[8] = "";
		int fd = open("f", O_RDONLY);

		read(fd, buf, sizeof(buf));
		wrong += strcmp(buf, "odd") != 0 && strcmp(buf, "even") != 0;
		close(fd);
	}
	CHECK(child_wait(child) == 0, "200 times rename onto a file");
	CHECK(wrong == 0, "meanwhile there always is one");
	unlink("stop");
	unlink("f");
}

/* The i-th of the names that are made of two pairs of letters. */
static void
name_of(char name[2 * BITS + 1], int i, const char *pair0, const char *pair1)
{
	for (int bit = 0; bit < BITS; bit++)
		memcpy(name + 2 * bit, i >> bit & 1 ? pair1 : pair0, 2);
	name[2 * BITS] = '\0';
}

/* How long it takes to find each of a folder full of such names, in ns. */
static long
time_to_find(const char *pair0, const char *pair1)
{
	char name[2 * BITS + 1];
	struct stat st;
	long took;
	int bad = 0;

	mkdir("names", 0777);
	chdir("names");
	for (int i = 0; i < 1 << BITS; i++) {
		name_of(name, i, pair0, pair1);
		file_make(name, "");
	}
	took = -now_ns();
	for (int i = 0; i < 1 << BITS; i++) {
		name_of(name, i, pair0, pair1);
		bad += stat(name, &st) != 0;
	}
	took += now_ns();
	for (int i = 0; i < 1 << BITS; i++) {
		name_of(name, i, pair0, pair1);
		bad += unlink(name) != 0;
	}
	chdir("..");
	CHECK(rmdir("names") == 0 && bad == 0, "%d names of %s and %s",
	      1 << BITS, pair0, pair1);
	return took;
}

/* Hashes that add up the bytes, each 31 or 33 times the next, are the same for
 * all of these names. */
static void
test_names_of_one_hash(void)
{
	long others = time_to_find("ab", "cd");

	CHECK(time_to_find("Aa", "BB") < 2 * others,
	      "names that are meant to be alike take no longer to find");
	CHECK(time_to_find("bB", "c!") < 2 * others, "nor others like them");
}

int
main(void)
{
	scratch_enter("dirs.d");
	test_names_of_one_hash();
	test_mkdir();
	test_rename_files();
	test_rename_dirs();
	test_cwd();
	test_lengths();
	test_longest_cwd();
	test_removed_cwd();
	test_many();
	test_getdents();
	test_scandir();
	test_rename_is_atomic();
	scratch_leave("dirs.d");
	return check_done();
}

/* Symbolic and hard links: how paths go through them, and what each call makes
 * of one at the end of a path. */
#include "files.h"
#include "promise.h"

static void
show_link(const char *path)
{
	char buf[100];
	ssize_t n = readlink(path, buf, sizeof(buf));

	if (n < 0)
		printf("link %s: %s\n", path, strerrorname_np(errno));
	else
		printf("link %s -> \"%.*s\"\n", path, (int)n, buf);
}

static void
show_stat(const char *path)
{
	struct stat st, own;

	if (lstat(path, &own) < 0) {
		printf("lstat %s: %s\n", path, strerrorname_np(errno));
		return;
	}
	printf("lstat %s: %o, %lu links", path, own.st_mode,
	       (unsigned long)own.st_nlink);
	if (!S_ISDIR(own.st_mode))
		printf(", %ld bytes", (long)own.st_size);
	if (stat(path, &st) < 0)
		printf("; %s", strerrorname_np(errno));
	else
		printf("; %o%s", st.st_mode,
		       st.st_ino == own.st_ino ? ", itself" : "");
	printf("\n");
}

static void
make_and_read(void)
{
	char c = '?';

	write_file("f", "contents");
	SAY(mkdir("d", 0755));
	SAY(symlink("f", "l"));
	show("l");
	show_link("l");
	show_stat("l");
	SAY(readlink("l", &c, 1));
	printf("%c\n", c);
	SAY(readlink("l", &c, 0));
	SAY(readlink("f", &c, 1));
	SAY(readlink("d", &c, 1));
	SAY(readlink("none", &c, 1));
	SAY(readlink("l/", &c, 1));
	SAY(symlink("", "empty"));
	SAY(symlink("x", ""));
	SAY(symlink("x", "l"));
	SAY(symlink("x", "f"));
	SAY(symlink("x", "f/"));
	SAY(symlink("x", "d"));
	SAY(symlink("x", "d/"));
	SAY(symlink("x", "new/"));
	SAY(symlink("x", "none/new"));
	SAY(symlink("x", "f/new"));
	SAY(symlink("x", "."));
	SAY(symlink("x", "/"));
	SAY(symlink("../f", "d/up"));
	show("d/up");
	SAY(symlink("d", "dl"));
	show("dl/up");
	show_stat("dl");
	show_stat("dl/");
	show_stat("dl/.");
	show_stat("l/");
	show_stat("l/.");
}

/* `..' behind a link is the parent of where it leads. */
static void
through(void)
{
	SAY(mkdir("a", 0755));
	SAY(mkdir("a/b", 0755));
	write_file("a/g", "a's");
	write_file("g", "here");
	SAY(symlink("a/b", "ab"));
	show("ab/../g");
	show("ab/../../g");
	SAY(symlink("ab/../g", "ag"));
	show("ag");
	SAY(symlink("ab/", "slash"));
	SAY(mkdir("slash/made", 0755));
	show_stat("a/b/made");
	SAY(rmdir("slash/made/"));
	SAY(symlink("g/", "gslash"));
	show("gslash");
	SAY(symlink("/", "root"));
	SAY(access("root/tmp", F_OK));
}

static void
loops(void)
{
	char from[20], to[20];

	SAY(symlink("loop", "loop"));
	show("loop");
	show("loop/x");
	show_stat("loop");
	SAY(mkdir("loop", 0755));
	SAY(mkdir("loop/x", 0755));
	SAY(open("loop", O_RDWR | O_CREAT, 0644));
	SAY(open("loop", O_RDWR | O_CREAT | O_EXCL, 0644));
	SAY(unlink("loop"));
	strcpy(from, "f");
	for (int i = 1; i <= 41; i++) {
		snprintf(to, sizeof(to), "n%d", i);
		if (symlink(from, to) < 0)
			printf("%s: %s\n", to, strerrorname_np(errno));
		strcpy(from, to);
	}
	show("n39");
	show("n40");
	show("n41");
	SAY(symlink(".", "dot"));
	show("dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/f");
	show("dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/n26");
	show("dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/dot/n27");
}

static void
dangling(void)
{
	int fd;

	SAY(symlink("target", "dangling"));
	show("dangling");
	SAY(access("dangling", F_OK));
	SAY(faccessat(AT_FDCWD, "dangling", F_OK, AT_SYMLINK_NOFOLLOW));
	SAY(open("dangling", O_WRONLY));
	SAY(open("dangling", O_RDONLY | O_NOFOLLOW));
	SAY(open("dangling", O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
	SAY(open("dangling", O_WRONLY | O_CREAT | O_EXCL, 0644));
	SAY(open("dangling/", O_WRONLY | O_CREAT, 0644));
	SAY(mkdir("dangling", 0755));
	SAY(mkdir("dangling/", 0755));
	SAY(mkdir("dangling/x", 0755));
	SAY(access("target", F_OK));
	fd = open("dangling", O_WRONLY | O_CREAT, 0644);
	SAY(write(fd, "made", 4));
	SAY(close(fd));
	show("target");
	SAY(symlink("nowhere/x", "far"));
	SAY(open("far", O_WRONLY | O_CREAT, 0644));
	SAY(access("nowhere", F_OK));
	SAY(symlink("nowhere/", "trailing"));
	SAY(open("trailing", O_WRONLY | O_CREAT, 0644));
	SAY(open("f", O_WRONLY | O_NOFOLLOW | O_DIRECTORY));
	SAY(open("dl", O_RDONLY | O_NOFOLLOW));
	SAY(open("dl", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
	fd = open("dl/", O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
	SAY(fd >= 0);
	SAY(close(fd));
}

static void
change(void)
{
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	struct stat st;

	SAY(chmod("l", 0600));
	show_stat("f");
	show_stat("l");
	SAY(utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW));
	SAY(stat("l", &st));
	SAY(st.st_mtime == 2000);
	SAY(lstat("l", &st));
	SAY(st.st_mtime);
	SAY(unlink("l/"));
	SAY(rmdir("l"));
	SAY(unlink("dl/"));
	SAY(rmdir("dl"));
	SAY(rmdir("dl/"));
	SAY(unlink("dl"));
	show_stat("d");
	SAY(unlink("d"));
	SAY(unlink("d/"));
	SAY(unlink("d/."));
	SAY(unlink("."));
	SAY(unlink("f/"));
	SAY(unlink("none/"));
	SAY(unlink("l"));
	show("f");
}

static void
hard(void)
{
	char name[300];
	int fd;

	SAY(link("f", "h"));
	show("h");
	show_stat("h");
	write_file("h", "by the other");
	show("f");
	SAY(link("f", "h"));
	SAY(link("f", "d"));
	SAY(link("f", "d/"));
	SAY(link("f", "new/"));
	SAY(link("f/", "new"));
	SAY(link("f", "none/new"));
	SAY(link("f", "f/new"));
	SAY(link("none", "new"));
	SAY(link("d", "new"));
	SAY(link("d", "h"));
	SAY(link("", "new"));
	SAY(link("f", ""));
	SAY(link("f", "."));
	memset(name, 'x', 256);
	name[256] = '\0';
	SAY(link("f", name));
	SAY(symlink("f", name));
	name[255] = '\0';
	SAY(link("f", name));
	show_stat("f");
	SAY(rename("f", "h"));
	show_stat("f");
	SAY(unlink("f"));
	show_stat("h");
	SAY(unlink(name));
	show_stat("h");
	show("h");
	SAY(symlink("h", "hl"));
	SAY(link("hl", "hard_l"));
	show_link("hard_l");
	show_stat("hard_l");
	SAY(linkat(AT_FDCWD, "hl", AT_FDCWD, "h2", AT_SYMLINK_FOLLOW));
	show_stat("h2");
	SAY(linkat(AT_FDCWD, "hl", AT_FDCWD, "h3", 0x8000));
	fd = open("h2", O_RDWR);
	SAY(unlink("h"));
	SAY(unlink("h2"));
	SAY(write(fd, "still", 5));
	SAY(linkat(fd, "", AT_FDCWD, "again", AT_EMPTY_PATH));
	SAY(close(fd));
}

static void
renames(void)
{
	write_file("x", "x");
	write_file("y", "y");
	SAY(symlink("y", "yl"));
	SAY(rename("yl", "zl"));
	show_link("zl");
	SAY(rename("x", "zl"));
	show("y");
	show("zl");
	SAY(rename("zl", "x"));
	SAY(symlink("d", "dl"));
	SAY(rename("dl/", "moved"));
	SAY(rename("x", "dl"));
	show_stat("d");
	SAY(renameat2(AT_FDCWD, "dl", AT_FDCWD, "y", RENAME_NOREPLACE));
	SAY(renameat2(AT_FDCWD, "dl", AT_FDCWD, "x", RENAME_NOREPLACE));
	SAY(renameat2(AT_FDCWD, "none", AT_FDCWD, "x", RENAME_NOREPLACE));
	SAY(renameat2(AT_FDCWD, "x", AT_FDCWD, "none", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "x", AT_FDCWD, "y", RENAME_EXCHANGE));
	show("x");
	show("y");
	SAY(renameat2(AT_FDCWD, "x", AT_FDCWD, "d", RENAME_EXCHANGE));
	show("d");
	show_stat("x");
	show("x/up");
	SAY(renameat2(AT_FDCWD, "x", AT_FDCWD, "x/up", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "x/up", AT_FDCWD, "x", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "x/", AT_FDCWD, "d", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "d/", AT_FDCWD, "x", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "y", AT_FDCWD, "x/", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "y", AT_FDCWD, "d", 3));
	SAY(renameat2(AT_FDCWD, "y", AT_FDCWD, "d", 8));
	SAY(rename(".", "q"));
	SAY(rename("a", "."));
	SAY(rename("a", "a/b/c"));
	SAY(rename("a/b", "a"));
	SAY(rename("a/g", "a"));
	SAY(rename("y", "a"));
	SAY(rename("a", "y"));
	SAY(rename("y/", "q"));
	SAY(rename("y", "q/"));
	SAY(rename("a/b/", "bb/"));
	show_stat("bb");
	show_stat("a");
}

int
main(void)
{
	work_in("links");
	PROMISE("symlink(2): a link is made and read");
	make_and_read();
	PROMISE("path_resolution(7): a link is followed on the way, and at the "
		"end");
	through();
	PROMISE("path_resolution(7): links in a circle are ELOOP");
	loops();
	PROMISE("symlink(7): a link to nothing");
	dangling();
	PROMISE("symlink(7): what changes a link, and what its file");
	change();
	PROMISE(
	    "link(2): a file with several names lives until the last one goes");
	hard();
	PROMISE("rename(2): a name takes another's place, or both change it");
	renames();
	return 0;
}

/*
 * What programs see of /host, an empty folder of the host's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/children.h"
#include "../guest/image.h"

#define OPEN    50
#define MANY    700 /* names: more than one request lists */
#define WRITERS 4
#define WRITES  100
#define LARGE   (3 * 1024 * 1024 + 17)
#define DEPTH   520
#define CUTS    100 /* programs that are cut short while they run */

static void
check_errors(void)
{
	char name[300];

	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	file_make("file", "text");
	mkdir("dir", 0777);
	file_make("dir/inside", "");
	CHECK_ERRNO(open("none", O_RDONLY), ENOENT, "no such file");
	CHECK_ERRNO(open("none/file", O_RDONLY), ENOENT, "no such folder");
	CHECK_ERRNO(open("file/file", O_RDONLY), ENOTDIR, "a file in a file");
	CHECK_ERRNO(open("dir", O_WRONLY), EISDIR, "a folder can't be written");
	CHECK_ERRNO(open("file", O_CREAT | O_EXCL | O_RDWR, 0666), EEXIST,
		    "O_EXCL and it exists");
	CHECK_ERRNO(mkdir("dir", 0777), EEXIST, "mkdir of what exists");
	CHECK_ERRNO(rmdir("dir"), ENOTEMPTY, "a folder that isn't empty");
	CHECK_ERRNO(rmdir("file"), ENOTDIR, "rmdir of a file");
	CHECK(unlink("dir") < 0, "unlink of a folder");
	CHECK_ERRNO(rename("none", "x"), ENOENT, "rename of nothing");
	CHECK_ERRNO(rename("file", "dir"), EISDIR, "a file onto a folder");
	CHECK_ERRNO(rename("file", "/tmp/file"), EXDEV,
		    "rename away from here");
	CHECK_ERRNO(open(name, O_CREAT | O_RDWR, 0666), ENAMETOOLONG,
		    "a name of 256");
	name[255] = '\0';
	CHECK(file_make(name, "long") == 0 && unlink(name) == 0,
	      "a name of 255");
	unlink("dir/inside");
	CHECK(rmdir("dir") == 0 && unlink("file") == 0, "all can be removed");
}

static void
check_links(void)
{
	char buf[300], name[300];
	struct stat st;

	file_make("file", "text");
	mkdir("dir", 0777);
	CHECK(symlink("../file", "dir/link") == 0, "a symbolic link");
	CHECK(file_holds("dir/link", "text"), "it is followed");
	CHECK(readlink("dir/link", buf, sizeof(buf)) == 7 &&
		  memcmp(buf, "../file", 7) == 0,
	      "it can be read");
	CHECK(readlink("dir/link", buf, 3) == 3, "or a part of it");
	CHECK_ERRNO(readlink("file", buf, 3), EINVAL, "a file is none");
	CHECK(lstat("dir/link", &st) == 0 && S_ISLNK(st.st_mode) &&
		  st.st_size == 7,
	      "what it is itself");
	CHECK(stat("dir/link", &st) == 0 && S_ISREG(st.st_mode),
	      "what it leads to");
	CHECK_ERRNO(symlink("x", "file"), EEXIST, "a name that is taken");
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	CHECK(symlink(name, "long") == 0 && lstat("long", &st) == 0 &&
		  st.st_size == 255,
	      "to a long name");
	CHECK(link("file", "hard") == 0 && file_holds("hard", "text"),
	      "another name");
	CHECK(stat("file", &st) == 0 && st.st_nlink == 2, "there are two");
	CHECK_ERRNO(link("file", "dir"), EEXIST, "a name for a folder's");
	CHECK_ERRNO(link("dir", "x"), EPERM, "a folder has one");
	CHECK_ERRNO(link("/tmp", "x"), EPERM, "wherever it is");
	file_make("/tmp/file", "");
	CHECK_ERRNO(link("/tmp/file", "x"), EXDEV, "another file system's");
	CHECK_ERRNO(link("file", "/tmp/x"), EXDEV, "or the other way");
	CHECK_ERRNO(
	    renameat2(AT_FDCWD, "file", AT_FDCWD, "x", RENAME_NOREPLACE),
	    EINVAL, "no flags of renameat2 here");
	CHECK(unlink("dir/link") == 0 && unlink("file") == 0 &&
		  unlink("hard") == 0 && unlink("long") == 0 &&
		  rmdir("dir") == 0 && unlink("/tmp/file") == 0,
	      "all can be removed");
}

static void
check_contents(void)
{
	char *a = malloc(LARGE), *b = malloc(LARGE);
	int fd = open("large", O_CREAT | O_RDWR, 0666);
	struct stat st;

	for (int i = 0; i < LARGE; i++)
		a[i] = i * 7 + (i >> 10);
	CHECK(write(fd, a, LARGE) == LARGE, "3 MiB in one write");
	CHECK(fstat(fd, &st) == 0 && st.st_size == LARGE, "its size");
	CHECK(pread(fd, b, LARGE, 0) == LARGE && memcmp(a, b, LARGE) == 0,
	      "and in one read");
	CHECK(pread(fd, b, 100, LARGE - 50) == 50, "up to the end");
	CHECK(pread(fd, b, 100, LARGE) == 0, "nothing is past it");
	CHECK(pwrite(fd, "xyz", 3, 70000) == 3 && pread(fd, b, 5, 69999) == 5 &&
		  b[0] == a[69999] && memcmp(b + 1, "xyz", 3) == 0 &&
		  b[4] == a[70003],
	      "a write in the middle");
	CHECK(ftruncate(fd, 10) == 0 && fstat(fd, &st) == 0 && st.st_size == 10,
	      "cut");
	CHECK(ftruncate(fd, 20) == 0 && pread(fd, b, 100, 0) == 20 && !b[15],
	      "lengthened with zeroes");
	CHECK(fsync(fd) == 0, "fsync");
	CHECK_ERRNO(pread(fd, (void *)0xffffffff80200000, 20, 0), EFAULT,
		    "a read to the kernel");
	CHECK_ERRNO(write(fd, (void *)0x70000000, 20), EFAULT,
		    "a write from nowhere");
	close(fd);
	fd = open("large", O_WRONLY | O_APPEND);
	write(fd, "tail", 4);
	CHECK(lseek(fd, 0, SEEK_CUR) == 24, "O_APPEND writes at the end");
	CHECK_ERRNO(read(fd, b, 1), EBADF, "what is open for writing only");
	close(fd);
	unlink("large");
	free(a);
	free(b);
}

static void
check_open_files(void)
{
	char name[20], c;
	int fd[OPEN], good = 0;

	for (int i = 0; i < OPEN; i++) {
		sprintf(name, "open%d", i);
		fd[i] = open(name, O_CREAT | O_RDWR, 0666);
		c = i;
		write(fd[i], &c, 1);
		unlink(name);
	}
	for (int i = 0; i < OPEN; i++) {
		good += pread(fd[i], &c, 1, 0) == 1 && c == i;
		close(fd[i]);
	}
	CHECK(good == OPEN, "many open files, and gone from their folder");
}

static void
check_listing(void)
{
	static char seen[MANY];
	struct dirent *de;
	char name[20];
	int n = 0, again = 0;

	mkdir("many", 0777);
	for (int i = 0; i < MANY; i++) {
		sprintf(name, "many/%d", i);
		file_make(name, "");
	}
	DIR *d = opendir("many");
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] != '.')
			seen[atoi(de->d_name)]++;
		n++;
	}
	rewinddir(d);
	while (readdir(d) != NULL)
		again++;
	closedir(d);
	CHECK(n == MANY + 2 && memchr(seen, 0, MANY) == NULL,
	      "each name is listed once");
	CHECK(again == n, "and once more");
	for (int i = 0; i < MANY; i++) {
		sprintf(name, "many/%d", i);
		unlink(name);
	}
	CHECK(rmdir("many") == 0, "all are removed");
}

/* Processes on all harts write files of their own. */
static int
write_one(int which)
{
	char name[20], line[40];
	int size = 0;

	sprintf(name, "writer%d", which);
	for (int i = 0; i < WRITES; i++) {
		int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0666);

		sprintf(line, "%d: line %d\n", which, i);
		size += strlen(line);
		if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
			return 1;
		close(fd);
	}
	struct stat st;
	return stat(name, &st) != 0 || st.st_size != size || unlink(name) != 0;
}

static void
check_together(void)
{
	pid_t pid[WRITERS];
	int good = 0;

	for (int i = 0; i < WRITERS; i++)
		if ((pid[i] = fork()) == 0)
			_exit(write_one(i));
	for (int i = 0; i < WRITERS; i++)
		good += child_wait(pid[i]) == 0;
	CHECK(good == WRITERS, "several processes write at once");
}

static void
check_names(void)
{
	char path[100];
	struct stat st;
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};

	mkdir("a", 0700);
	mkdir("a/b", 0755);
	chdir("a/b");
	CHECK(getcwd(path, sizeof(path)) && strcmp(path, "/host/a/b") == 0,
	      "getcwd");
	CHECK(chdir("../..") == 0 && stat("a/b/../b", &st) == 0 &&
		  S_ISDIR(st.st_mode),
	      "up and down again");
	CHECK(rename("a/b", "c") == 0 && stat("c", &st) == 0, "a folder moves");
	file_make("c/f", "text");
	CHECK(chmod("c/f", 0640) == 0 && stat("c/f", &st) == 0 &&
		  (st.st_mode & 07777) == 0640,
	      "chmod");
	CHECK(utimensat(AT_FDCWD, "c/f", times, 0) == 0 &&
		  stat("c/f", &st) == 0 && st.st_mtime == 2000 &&
		  st.st_atime == 1000,
	      "times are set");
	CHECK(rename("c/f", "c/g") == 0 && file_holds("c/g", "text"),
	      "a file is renamed");
	file_make("c/h", "other");
	CHECK(rename("c/g", "c/h") == 0 && file_holds("c/h", "text"),
	      "onto another");
	unlink("c/h");
	CHECK(rmdir("c") == 0 && rmdir("a") == 0, "all are removed");
}

/* The host's file keeps none; the sticky bit, which gives nobody anything, may
 * pass. */
static void
check_set_id_bits(void)
{
	int fd = open("file", O_CREAT | O_WRONLY, 06711);
	struct stat st;

	close(fd);
	CHECK(stat("file", &st) == 0 && (st.st_mode & 07777) == 0711,
	      "no set-id bits of a new file");
	CHECK(chmod("file", 06755) == 0 && stat("file", &st) == 0 &&
		  (st.st_mode & 07777) == 0755,
	      "nor by chmod, which does the rest");
	CHECK(mkdir("dir", 06755) == 0 && stat("dir", &st) == 0 &&
		  (st.st_mode & 07777) == 0755,
	      "nor of a new folder");
	CHECK(chmod("dir", 07755) == 0 && stat("dir", &st) == 0 &&
		  (st.st_mode & 07777) == 01755,
	      "the sticky bit passes");
	CHECK(rmdir("dir") == 0 && unlink("file") == 0, "both are removed");
}

/* Folders nested deeper than a kernel stack has room for calls. */
static void
check_depth(void)
{
	int depth = 0;

	while (depth < DEPTH && mkdir("d", 0777) == 0 && chdir("d") == 0)
		depth++;
	CHECK(depth == DEPTH, "%d folders in one another", DEPTH);
	CHECK(chdir("/host") == 0, "all of them are left at once");
	while (chdir("d") == 0)
		;
	while (chdir("..") == 0 && rmdir("d") == 0)
		depth--;
	CHECK(depth == 0, "and removed");
	chdir("/host"); /* the last step led out of it */
}

/* A program that empties its own file, and then reads what was in there. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr text, data;
	uint32_t code[10];
	char name[8];
};

static const struct image cut_short = {
    .header = IMAGE_HEADER(2),
    .text = IMAGE_TEXT,
    .data =
	{
	    .p_type = PT_LOAD,
	    .p_flags = PF_R | PF_W,
	    .p_offset = PAGE,
	    .p_vaddr = DATA,
	    .p_filesz = PAGE,
	    .p_memsz = PAGE,
	},
    .code =
	{
	    0xf9c00513,                                   /* li a0, AT_FDCWD */
	    TEXT | 0x5b7,                                 /* lui a1, TEXT */
	    offsetof(struct image, name) << 20 | 0x58593, /* addi a1, a1, .. */
	    (O_WRONLY | O_TRUNC) << 20 | 0x613, /* li a2, O_WRONLY | O_TRUNC */
	    SYS_openat << 20 | 0x893,           /* li a7, SYS_openat */
	    0x00000073,                         /* ecall */
	    DATA | 0x5b7,                       /* lui a1, DATA */
	    0x0005a503,                         /* lw a0, (a1) */
	    SYS_exit_group << 20 | 0x893,       /* li a7, SYS_exit_group */
	    0x00000073,                         /* ecall */
	},
    .name = "program",
};

/* It faults for good, as the page that it reads is nowhere. */
static bool
cut_short_faults(void)
{
	static char file[2 * PAGE];
	pid_t pid;

	memcpy(file, &cut_short, sizeof(cut_short));
	image_write("program", file, sizeof(file));
	pid = fork();
	if (pid == 0) {
		execl("./program", "program", NULL);
		_exit(1);
	}
	return killed(pid, SIGBUS);
}

/* The kernel has a page to read to, before it knows that nothing comes. */
static void
check_cut_programs(void)
{
	long before;
	int faults = 0;

	CHECK(cut_short_faults(), "a program whose file was cut short faults");
	before = pages_free();
	for (int i = 0; i < CUTS; i++)
		faults += cut_short_faults();
	CHECK(faults == CUTS, "each time");
	CHECK(AWAIT(pages_free() > before - CUTS / 2), "and no page is lost");
	unlink("program");
}

int
main(void)
{
	alarm(DEADLINE);
	if (chdir("/host") < 0)
		printf("no /host: %s\n", strerror(errno));
	check_errors();
	check_names();
	check_set_id_bits();
	check_links();
	check_depth();
	check_contents();
	check_open_files();
	check_listing();
	check_together();
	check_cut_programs();
	return check_done();
}

/*
 * What calls take while they work they give back, whether they succeed or
 * fail: each is made over and over in children, and then the kernel has given
 * out as many blocks of memory as before.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <utime.h>

#include "children.h"

#define TIMES 20

static void
change_directory(void)
{
	mkdir("d", 0777);
	chdir("d");
	chdir("..");
	rmdir("d");
}

static void
end_in_a_directory(void)
{
	mkdir("d", 0777);
	chdir("d");
	rmdir("../d");
}

/* Each of these walks ends in an error, at another place. */
static void
walk_in_vain(void)
{
	static char name[300];

	mkdir("d", 0777);
	file_make("d/f", "text");
	memset(name, 'n', sizeof(name) - 1);
	open("d/f/g", O_RDONLY);
	open("d/none/g", O_RDONLY);
	open("d/f/", O_RDONLY);
	open("d/../d/none", O_RDONLY);
	chdir("d");
	open(name, O_RDONLY);
	open("f", O_RDONLY | O_DIRECTORY);
	open("f", O_CREAT | O_EXCL | O_WRONLY, 0666);
	open(".", O_WRONLY);
	open("/dev/prf9x", O_RDONLY);
	open("/dev/pcs", O_WRONLY);
	chdir("f");
	rename("f", "none/f");
	rename("f", "/dev/f");
	rename("f/", "g");
	rename("none", "f");
	utime("none", NULL);
	truncate("f", -1);
	rmdir("f");
	unlink("f");
	chdir("..");
	rmdir("d");
	chdir("/tmp/none");
}

static void
make_names(void)
{
	mkdir("d", 0777);
	file_make("d/f", "text");
	file_make("d/g", "text");
	rename("d/f", "d/g");
	mkdir("d/e", 0777);
	mkdir("d/e", 0777);
	rename("d/e", "d/h");
	rename("d", "d/h/d");
	rmdir("d/h");
	unlink("d/g");
	rmdir("d");
}

static void
read_directory(void)
{
	DIR *d = opendir("/dev");

	while (readdir(d) != NULL)
		;
}

static void
take_all_descriptors(void)
{
	static char path[] = "f";
	int fds[2];

	file_make(path, "text");
	while (open(path, O_RDONLY) >= 0)
		;
	open(path, O_RDONLY);
	dup(0);
	fcntl(0, F_DUPFD, 10);
	pipe(fds);
	close(9);
	pipe(fds);
	unlink(path);
}

static void
replace_descriptors(void)
{
	int fds[2], others[2], *volatile nowhere = (int *)8;

	pipe(fds);
	pipe(others);
	write(fds[1], "text", 4);
	dup2(others[1], fds[1]);
	dup2(fds[0], others[0]);
	pipe(nowhere);
}

static void
poll_files(void)
{
	int fds[2];

	pipe(fds);
	for (int i = 0; i < 10; i++) {
		struct pollfd p[] = {{fds[0], POLLIN, 0}, {fds[1], POLLOUT, 0}};

		poll(p, 2, 0);
	}
}

static void
fill_pipe(void)
{
	static char text[64 * 1024];
	int fds[2];

	pipe(fds);
	write(fds[1], text, sizeof(text));
}

static void
write_file(void)
{
	static char text[5 * PAGE];
	int fd = open("f", O_RDWR | O_CREAT, 0666);

	pwrite(fd, text, sizeof(text), 40 * PAGE);
	ftruncate(fd, 42 * PAGE + 1);
	pwrite(fd, (void *)8, 1, 0);
	pwrite(fd, text, 10, 41 * PAGE);
	unlink("f");
}

static void
run_in_vain(void)
{
	file_make("f", "neither");
	chmod("f", 0755);
	execl("./f", "f", NULL);
	file_make("f", "#!none\n");
	execl("./f", "f", NULL);
	execl("/bin/true", "true", (void *)8, NULL);
	execl("/tmp", "tmp", NULL);
	unlink("f");
}

static void
run_program(void)
{
	execl("/bin/true", "true", NULL);
}

/* One whose file goes. */
static void
run_copy(void)
{
	if (system("cp /bin/profil_test p; ./p >/dev/null") != 0)
		printf("no copy runs\n");
	unlink("p");
}

static void *
nothing(void *arg)
{
	return arg;
}

static void
make_threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, nothing, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Pages of the heap, and of what a fork shares. */
static void
share_memory(void)
{
	char *p = malloc(100 * PAGE);

	memset(p, 1, 100 * PAGE);
	if (fork() == 0) {
		memset(p, 2, 50 * PAGE);
		_exit(0);
	}
	memset(p, 3, 70 * PAGE);
	wait(NULL);
}

static void
profile(void)
{
	static unsigned short counts[16];

	profil(counts, sizeof(counts), 0x10000, 2);
	if (fork() == 0)
		_exit(0);
	wait(NULL);
	profil(counts, sizeof(counts), 0x10000, 4);
}

static void
make_links(void)
{
	char buf[10];

	file_make("f", "text");
	mkdir("d", 0777);
	symlink("d", "l");
	symlink("loop", "loop");
	symlink("none", "l/dangling");
	link("f", "l/f");
	link("f", "d");
	link("d", "e");
	link("loop/x", "e");
	open("loop", O_RDONLY);
	open("l/../l/f", O_RDONLY);
	open("d/dangling", O_RDONLY);
	open("d/dangling", O_RDONLY | O_CREAT | O_EXCL, 0666);
	open("l", O_RDONLY | O_NOFOLLOW);
	symlink("x", "l/none/x");
	readlink("l/dangling", buf, sizeof(buf));
	renameat2(AT_FDCWD, "f", AT_FDCWD, "l", RENAME_EXCHANGE);
	renameat2(AT_FDCWD, "f", AT_FDCWD, "l", RENAME_NOREPLACE);
	rename("l", "f/f");
	unlink("d/dangling");
	unlink("d/f");
	unlink("f");
	unlink("l");
	unlink("loop");
	rmdir("d");
}

static void
move_vectors(void)
{
	static struct iovec pieces[100];
	int fd = open("f", O_RDWR | O_CREAT, 0666);
	int copy = open("g", O_RDWR | O_CREAT, 0666);

	for (int i = 0; i < 100; i++)
		pieces[i] = (struct iovec){"text", 4};
	writev(fd, pieces, 100);
	writev(-1, pieces, 100);
	writev(fd, (struct iovec *)16, 100);
	lseek(fd, 0, SEEK_SET);
	sendfile(copy, fd, NULL, 100);
	copy_file_range(fd, NULL, copy, NULL, 1000, 0);
	copy_file_range(fd, NULL, fd, NULL, 1000, 0);
	sendfile(copy, -1, NULL, 1);
	unlink("f");
	unlink("g");
}

/* Locks that are cut, replaced, and those that go when their owner ends. */
static void
lock_files(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_len = 100};
	int fd = open("f", O_RDWR | O_CREAT, 0666), other = open("f", O_RDWR);

	fcntl(fd, F_SETLK, &l);
	l.l_start = 40;
	l.l_len = 10;
	l.l_type = F_UNLCK;
	fcntl(fd, F_SETLK, &l);
	fcntl(other, F_OFD_SETLK, &l);
	l.l_type = F_RDLCK;
	fcntl(other, F_OFD_SETLK, &l);
	l.l_start = 0;
	fcntl(other, F_OFD_SETLK, &l);
	flock(fd, LOCK_EX);
	flock(other, LOCK_EX | LOCK_NB);
	flock(fd, LOCK_SH);
	unlink("f");
}

static void
have_many_descriptors(void)
{
	static struct pollfd p[300];

	dup2(0, 100);
	dup2(0, 900);
	if (fork() == 0)
		_exit(0);
	wait(NULL);
	poll(p, 300, 0);
	poll((struct pollfd *)16, 300, 0);
}

static void
die_of_a_signal(void)
{
	alarm(1000);
	kill(getpid(), SIGTERM);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
    {"who changes directories", change_directory},
    {"who ends in one that is gone", end_in_a_directory},
    {"paths that lead nowhere", walk_in_vain},
    {"names that are made and go", make_names},
    {"who reads a directory to its end", read_directory},
    {"who has taken all descriptors", take_all_descriptors},
    {"descriptors that are replaced", replace_descriptors},
    {"who polls", poll_files},
    {"a pipe with bytes in it", fill_pipe},
    {"a file with holes", write_file},
    {"programs that can't run", run_in_vain},
    {"a program", run_program},
    {"a program whose file goes", run_copy},
    {"threads", make_threads},
    {"memory that a fork shares", share_memory},
    {"profiles", profile},
    {"links of all kinds", make_links},
    {"vectors and copies", move_vectors},
    {"locks on files", lock_files},
    {"who has many descriptors", have_many_descriptors},
    {"who dies of a signal", die_of_a_signal},
};

static void
act_once(void (*act)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		act();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int
main(void)
{
	scratch_enter("kept.d");
	blocks_used(); /* which makes a buffer */
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		long before, more;

		act_once(acts[i].act); /* what is made once for all is there */
		before = blocks_used();
		for (int n = 0; n < TIMES; n++)
			act_once(acts[i].act);
		AWAIT((more = blocks_used() - before) <= 0);
		CHECK(more <= 0, "%s: nothing is kept (%ld blocks)",
		      acts[i].name, more);
	}
	scratch_leave("kept.d");
	return check_done();
}

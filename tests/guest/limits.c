/*
 * What there is only so much of: the last one can be had, one more is an
 * error with its errno, and when some are given back there are some again.
 * The numbers are those of docs/limits.md. Others' limits are tested where
 * they are: descriptors.c, paths.c, space.c, prf_device.c, fresh.c.
 */
#include <pthread.h>

#include "children.h"
#include "image.h"

#define STACKS      1024        /* in the kernel, of all threads */
#define THREADS     512         /* of a process */
#define ARGUMENTS   (128 << 10) /* bytes of strings and pointers */
#define FIXED       39 /* words: argc, two NULLs, the auxiliary vector */
#define FILE_SIZE   (1L << 40)
#define PIPE_BYTES  (64 << 10)
#define PIPES       30
#define NAME        255
#define HEADERS     16 /* of segments */
#define STACK       (8L << 20)
#define STACK_END   (0x80000000 - STACK)
#define SCRIPT_LINE 255 /* bytes, before the newline */

/* Children that wait; then none can be made. */
static void
test_processes(void)
{
	static pid_t pid[STACKS];
	long before = pages_free();
	int n = 0, err, most = STACKS - (system_info().harts - 1);

	while (n < STACKS && (pid[n] = sleeper_start()) > 0)
		n++;
	err = errno;
	CHECK((int)system_info().processes == most,
	      "as many processes as stacks, but for idle threads': %d", most);
	CHECK(err == ENOMEM, "one more: ENOMEM");
	CHECK(fork() == -1 && errno == ENOMEM, "and again");
	child_end(pid[--n]);
	pid[n] = sleeper_start();
	CHECK(pid[n] > 0, "when one has ended there is room for another");
	for (int i = 0; i <= n; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i <= n; i++)
		status_of(pid[i], 0);
	CHECK(AWAIT(pages_free() >= before - 4), "their memory is back (%ld)",
	      before - pages_free());
}

/* --- Threads: each waits at a gate --- */

static struct gate gate, ready;

static void *
wait_at_gate(void *arg)
{
	gate_pass(gate);
	return arg;
}

/* As many threads as there can be; how many of n, and the error. */
static int
start_threads(pthread_t *t, int n, int *err)
{
	int i = 0;

	while (i < n &&
	       (*err = pthread_create(&t[i], NULL, wait_at_gate, NULL)) == 0)
		i++;
	return i;
}

static int
half_of_the_threads(void)
{
	static pthread_t t[THREADS];
	int err, n = start_threads(t, THREADS - 12, &err);

	gate_open(ready);
	pause();
	return n;
}

static void
test_threads(void)
{
	static pthread_t t[THREADS];
	int err, n;

	gate = gate_make();
	n = start_threads(t, THREADS, &err);
	CHECK(n == THREADS - 1, "%d threads in a process", THREADS);
	CHECK(err == EAGAIN, "one more: EAGAIN");
	gate_open(gate);
	CHECK(AWAIT(pthread_create(&t[n], NULL, wait_at_gate, NULL) == 0),
	      "when one has ended there is room for another");
	for (int i = 0; i < n; i++)
		gate_open(gate);
	for (int i = 0; i <= n; i++)
		pthread_join(t[i], NULL);
	gate_remove(gate);
}

static void
test_thousand_threads(void)
{
	pid_t pid[2];

	gate = gate_make();
	ready = gate_make();
	for (int i = 0; i < 2; i++)
		pid[i] = child_start(half_of_the_threads);
	CHECK(gate_pass(ready) && gate_pass(ready) &&
		  info_of(pid[0]).threads + info_of(pid[1]).threads >= 1000,
	      "%d threads, of two processes",
	      info_of(pid[0]).threads + info_of(pid[1]).threads);
	child_end(pid[0]);
	child_end(pid[1]);
	gate_remove(ready);
	gate_remove(gate);
}

/* --- Names and arguments --- */

static void
test_names(void)
{
	static char name[NAME + 2], path[1025];

	memset(name, 'n', NAME);
	CHECK(file_make(name, "") == 0 && unlink(name) == 0,
	      "a name of %d bytes", NAME);
	name[NAME] = 'n';
	CHECK_ERRNO(open(name, O_WRONLY | O_CREAT, 0666), ENAMETOOLONG,
		    "one of %d: ENAMETOOLONG", NAME + 1);
	for (int i = 0; i < 1024; i++)
		path[i] = i % 2 ? '/' : '.';
	path[1023] = '\0';
	CHECK(access(path, F_OK) == 0, "a path of 1023 bytes");
	path[1023] = '.';
	CHECK_ERRNO(access(path, F_OK), ENAMETOOLONG,
		    "one of 1024: ENAMETOOLONG");
}

/* /bin/true with one argument, such that all are so many bytes: its status,
 * or errno. */
static int
run_with(size_t bytes)
{
	static char text[ARGUMENTS + 1];
	char *argv[] = {"true", text, NULL}, *envp[] = {NULL};
	size_t rest = (FIXED + 2) * sizeof(long) + sizeof("/bin/true") +
		      sizeof("true");
	pid_t pid;

	memset(text, 'a', bytes - rest - 1);
	text[bytes - rest - 1] = '\0';
	pid = fork();
	if (pid == 0) {
		execve("/bin/true", argv, envp);
		_exit(errno);
	}
	return child_wait(pid);
}

static void
test_arguments(void)
{
	CHECK(run_with(ARGUMENTS) == 0, "128 KiB of arguments");
	CHECK(run_with(ARGUMENTS + 1) == E2BIG, "one byte more: E2BIG");
}

/* A script whose first line is so many bytes and a newline: its status, or
 * errno. */
static int
script_with(int bytes)
{
	char text[SCRIPT_LINE + 3] = "#!/bin/true";
	pid_t pid;

	memset(text + strlen(text), ' ', bytes - strlen(text));
	text[bytes] = '\n';
	text[bytes + 1] = '\0';
	file_make("script", text);
	chmod("script", 0755);
	pid = fork();
	if (pid == 0) {
		execve("script", (char *[]){"script", NULL}, (char *[]){NULL});
		_exit(errno);
	}
	return child_wait(pid);
}

static void
test_scripts(void)
{
	CHECK(script_with(SCRIPT_LINE) == 0,
	      "a script that begins with a line of %d bytes", SCRIPT_LINE);
	CHECK(script_with(SCRIPT_LINE + 1) == ENOEXEC,
	      "one byte more: ENOEXEC");
	unlink("script");
}

/* --- Programs --- */

static struct image {
	Elf64_Ehdr header;
	Elf64_Phdr text, more[HEADERS];
	uint32_t code[3];
} image = {
    .header = IMAGE_HEADER(1),
    .text = IMAGE_TEXT,
    .code = IMAGE_CODE,
};

/* With so many headers, of which so many are loaded, the others than text as
 * pages that end there: its status, or errno. */
static int
image_with(int headers, int loaded, uintptr_t end)
{
	pid_t pid;

	image.header.e_phnum = headers;
	for (int i = 1; i < headers; i++)
		image.more[i - 1] = (Elf64_Phdr){
		    .p_type = i < loaded ? PT_LOAD : 0,
		    .p_flags = PF_R | PF_W,
		    .p_vaddr = end - (loaded - i) * PAGE,
		    .p_memsz = PAGE,
		};
	image_write("image", &image, sizeof(image));
	pid = fork();
	if (pid == 0) {
		execl("image", "image", NULL);
		_exit(errno);
	}
	return child_wait(pid);
}

static void
test_segments(void)
{
	CHECK(image_with(HEADERS, 2, STACK_END) == ANSWER,
	      "a program of %d headers", HEADERS);
	CHECK(image_with(HEADERS + 1, 2, STACK_END) == ENOEXEC,
	      "one more: ENOEXEC");
	CHECK(image_with(HEADERS, HEADERS, STACK_END) == ANSWER,
	      "all of them are loaded");
	CHECK(image_with(2, 2, STACK_END + PAGE) == ENOEXEC,
	      "one where the stack may come: ENOEXEC");
	unlink("image");
}

static void
test_stack(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	char *end = (char *)STACK_END;

	CHECK(read(zero, end, 1) == 1, "a stack of 8 MiB");
	CHECK_ERRNO(read(zero, end - 1, 1), EFAULT, "one byte more: EFAULT");
	close(zero);
}

/* --- Files --- */

static void
test_sizes(void)
{
	int fd = open("file", O_RDWR | O_CREAT, 0666);

	CHECK(ftruncate(fd, FILE_SIZE) == 0, "a file of 1 TiB, all hole");
	CHECK_ERRNO(ftruncate(fd, FILE_SIZE + 1), EFBIG,
		    "one byte more: EFBIG");
	CHECK_ERRNO(pwrite(fd, "x", 1, FILE_SIZE), EFBIG,
		    "a write past that: EFBIG");
	CHECK_ERRNO(pwrite(fd, "x", 1, FILE_SIZE - 1), ENOSPC,
		    "one before: its table of pages has no room");
	CHECK(pwrite(fd, "x", 1, 1 << 30) == 1, "a byte at 1 GiB");
	close(fd);
	unlink("file");
}

static void
test_pipes(void)
{
	static char bytes[PIPE_BYTES];
	int end[PIPES][2], n = 0, flags;

	while (n < PIPES && pipe(end[n]) == 0)
		n++;
	CHECK(n == PIPES, "%d pipes", PIPES);
	for (int i = 0; i < n; i++) {
		flags = fcntl(end[i][1], F_GETFL);
		fcntl(end[i][1], F_SETFL, flags | O_NONBLOCK);
	}
	CHECK(write(end[0][1], bytes, PIPE_BYTES) == PIPE_BYTES,
	      "64 KiB in a pipe");
	CHECK_ERRNO(write(end[0][1], bytes, 1), EAGAIN,
		    "a byte more would wait: EAGAIN");
	while (n-- > 0) {
		close(end[n][0]);
		close(end[n][1]);
	}
}

int
main(void)
{
	scratch_enter("limits.d");
	test_names();
	test_arguments();
	test_scripts();
	test_segments();
	test_stack();
	test_sizes();
	test_pipes();
	test_processes();
	test_thousand_threads();
	/* Last: threads that have ended keep their stacks for a while. */
	test_threads();
	scratch_leave("limits.d");
	return check_done();
}

/* Reads and writes of several pieces of memory; copies within the kernel. */
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "files.h"
#include "promise.h"

/* Volatile, so that no compiler warns. */
static void *volatile bad_address = (void *)16;
static volatile int less_than_none = -1;

#define BAD bad_address

static char a[10], b[10], c[10];

static void
show_pieces(void)
{
	printf("\"%.*s\" \"%.*s\" \"%.*s\"\n", 10, a, 10, b, 10, c);
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	memset(c, 0, sizeof(c));
}

static void
files(void)
{
	struct iovec three[] = {{"one", 3}, {"", 0}, {"three", 5}};
	struct iovec to[] = {{a, 2}, {BAD, 0}, {b, 4}, {c, 9}};
	int fd = open("v", O_RDWR | O_CREAT | O_TRUNC, 0644);

	SAY(writev(fd, three, 3));
	SAY(lseek(fd, 0, SEEK_CUR));
	show("v");
	SAY(lseek(fd, 1, SEEK_SET));
	SAY(readv(fd, to, 4));
	show_pieces();
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(readv(fd, to, 4));
	SAY(preadv(fd, to, 4, 3));
	show_pieces();
	SAY(pwritev(fd, three, 3, 20));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(preadv(fd, to, 4, 19));
	show_pieces();
	SAY(preadv(fd, to, 4, -1));
	SAY(pwritev(fd, to, 4, -2));
	SAY(preadv2(fd, to, 1, 0, 0));
	SAY(preadv2(fd, to, 1, -1, 0));
	SAY(pwritev2(fd, three, 1, -1, 0));
	SAY(preadv2(fd, to, 1, 0, 0x1000));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(close(fd));
	fd = open("v", O_WRONLY | O_APPEND);
	SAY(writev(fd, three, 3));
	SAY(pwritev(fd, three, 1, 0));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(readv(fd, to, 4));
	SAY(close(fd));
	fd = open("v", O_RDONLY);
	SAY(writev(fd, three, 3));
	SAY(close(fd));
	SAY(readv(fd, to, 4));
	SAY(writev(-1, to, 4));
	fd = open(".", O_RDONLY);
	SAY(readv(fd, to, 4));
	SAY(close(fd));
}

static void
errors(void)
{
	static struct iovec many[IOV_MAX + 1];
	struct iovec first[] = {{"good", 4}, {BAD, 4}};
	struct iovec bad[] = {{BAD, 4}, {"good", 4}};
	struct iovec to[] = {{a, 4}, {BAD, 4}};
	struct iovec negative[] = {{"good", 4}, {"x", -1}};
	struct iovec large[] = {{a, 4}, {b, LONG_MAX}};
	int fd = open("e", O_RDWR | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i <= IOV_MAX; i++)
		many[i] = (struct iovec){"x", 1};
	SAY(writev(fd, many, IOV_MAX));
	SAY(writev(fd, many, IOV_MAX + 1));
	SAY(writev(fd, many, less_than_none));
	SAY(writev(fd, many, 0));
	SAY(writev(fd, BAD, 1));
	SAY(writev(fd, BAD, 0));
	SAY(writev(fd, negative, 2));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(writev(fd, bad, 2));
	SAY(writev(fd, first, 2));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(preadv(fd, to, 2, 0));
	show_pieces();
	SAY(preadv(fd, bad, 2, 0));
	SAY(preadv(fd, large, 1, 1020));
	SAY(close(fd));
}

static void
pipes(void)
{
	struct iovec three[] = {{"one", 3}, {"and", 3}, {"three", 5}};
	struct iovec to[] = {{a, 2}, {b, 4}, {c, 9}};
	static char large[5000];
	struct iovec pieces[] = {{large, 3000}, {large, 5000}, {"end", 3}};
	int fd[2];

	SAY(pipe(fd));
	SAY(writev(fd[1], three, 3));
	SAY(readv(fd[0], to, 3));
	show_pieces();
	SAY(writev(fd[1], pieces, 3));
	SAY(read(fd[0], large, 5000));
	SAY(read(fd[0], large, 3000));
	SAY(readv(fd[0], to, 3));
	show_pieces();
	SAY(preadv(fd[0], to, 3, 0));
	SAY(pwritev(fd[1], to, 3, 0));
	SAY(fcntl(fd[0], F_GETPIPE_SZ));
	SAY(fcntl(fd[1], F_SETPIPE_SZ, 65536));
	SAY(close(fd[1]));
	SAY(readv(fd[0], to, 3));
	SAY(close(fd[0]));
}

static void
copies(void)
{
	off_t at = 2, to = 4;
	int in, out, fd[2];

	write_file("source", "0123456789");
	in = open("source", O_RDWR);
	out = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0644);
	SAY(sendfile(out, in, NULL, 4));
	SAY(lseek(in, 0, SEEK_CUR));
	SAY(lseek(out, 0, SEEK_CUR));
	SAY(sendfile(out, in, &at, 3));
	SAY(at);
	SAY(lseek(in, 0, SEEK_CUR));
	SAY(sendfile(out, in, NULL, 100));
	SAY(sendfile(out, in, NULL, 100));
	show("copy");
	at = -1;
	SAY(sendfile(out, in, &at, 3));
	SAY(sendfile(out, -1, NULL, 3));
	SAY(sendfile(-1, in, NULL, 3));
	SAY(pipe(fd));
	SAY(sendfile(fd[1], in, NULL, 1));
	at = 7;
	SAY(sendfile(fd[1], in, &at, 100));
	SAY(read(fd[0], a, 10));
	show_pieces();
	SAY(sendfile(out, fd[0], &at, 1));
	SAY(sendfile(fd[0], in, &at, 1));
	at = 1;
	SAY(copy_file_range(in, &at, out, &to, 3, 0));
	SAY(at);
	SAY(to);
	show("copy");
	SAY(lseek(in, 0, SEEK_SET));
	SAY(lseek(out, 0, SEEK_SET));
	SAY(copy_file_range(in, NULL, out, NULL, 2, 0));
	SAY(lseek(in, 0, SEEK_CUR));
	SAY(lseek(out, 0, SEEK_CUR));
	SAY(copy_file_range(in, NULL, out, NULL, 2, 1));
	SAY(copy_file_range(in, NULL, fd[1], NULL, 2, 0));
	at = 0, to = 4;
	SAY(copy_file_range(in, &at, in, &to, 5, 0));
	SAY(copy_file_range(in, &at, in, &to, 4, 0));
	show("source");
	at = 10;
	SAY(copy_file_range(in, &at, in, &to, 4, 0));
	SAY(close(out));
	out = open("copy", O_WRONLY | O_APPEND);
	SAY(copy_file_range(in, NULL, out, NULL, 2, 0));
	SAY(sendfile(out, in, NULL, 2));
	SAY(copy_file_range(out, NULL, in, NULL, 2, 0));
	SAY(close(out));
	out = open(".", O_RDONLY);
	SAY(copy_file_range(out, NULL, in, NULL, 2, 0));
	SAY(close(out));
	SAY(close(in));
}

int
main(void)
{
	work_in("vectors");
	PROMISE(
	    "readv(2): pieces in order, at an offset or where the file stands");
	files();
	PROMISE("readv(2): each error");
	errors();
	PROMISE("readv(2): of a pipe what is there");
	pipes();
	PROMISE("copy_file_range(2), sendfile(2): copies within the kernel");
	copies();
	return 0;
}

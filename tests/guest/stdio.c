/* Streams: opening, buffers, formats both ways, seeking, errors. */
#include <math.h>
#include <signal.h>
#include <stdarg.h>

#include "helpers.h"

static char buf[16 * 1024];

/* Does the format give that text, whether there is room for it or not? */
static __attribute__((format(printf, 2, 3))) bool
prints(const char *want, const char *format, ...)
{
	char text[256], cut[4];
	va_list args;
	int n, m;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	va_start(args, format);
	m = vsnprintf(cut, sizeof(cut), format, args);
	va_end(args);
	return strcmp(text, want) == 0 && n == (int)strlen(want) && m == n &&
	       (int)strlen(cut) == (n < 3 ? n : 3) &&
	       strncmp(cut, want, 3) == 0;
}

static void
test_printf(void)
{
	CHECK(prints("-12 +12 |  12|12  |0012", "%d %+d |%4d|%-4d|%04d", -12,
		     12, 12, 12, 12),
	      "%%d with sign, width and zeroes");
	CHECK(prints("-9223372036854775808 18446744073709551615", "%lld %llu",
		     -__LONG_LONG_MAX__ - 1, ~0ULL),
	      "%%lld and %%llu");
	CHECK(prints("4096 -1 ffff FFFF 0x1f 17", "%zu %zd %x %hX %#x %o",
		     (size_t)4096, (ssize_t)-1, 0xffff, 0xffff, 31, 15),
	      "%%zu, %%x, %%o");
	CHECK(prints("3.141593 3.14 -2.50e+10 0.0001 1e-05 1e+06",
		     "%f %.2f %.2e %g %g %g", 3.14159265, 3.14159265, -2.5e10,
		     0.0001, 0.00001, 1e6),
	      "%%f, %%e, %%g");
	CHECK(prints("0.1 0.333333 1.7976931348623157e+308 5e-324",
		     "%g %g %.17g %g", 0.1, 1.0 / 3, __DBL_MAX__, 5e-324),
	      "the largest and the smallest");
	CHECK(prints("inf -inf nan", "%f %f %f", (double)INFINITY,
		     (double)-INFINITY, (double)NAN),
	      "those that are no numbers");
	CHECK(prints("a|  b|c  |de|100%", "%c|%3s|%-3s|%.2s|%d%%", 'a', "b",
		     "c", "def", 100),
	      "%%c and %%s");
	CHECK(prints("   42|7  ", "%*d|%-*d", 5, 42, 3, 7), "%%*d");
	CHECK(prints("0x1234", "%p", (void *)0x1234), "%%p");
}

static void
test_scanf(void)
{
	char word[16], set[16], c;
	int i, n, h;
	long long l;
	double d;

	CHECK(sscanf(" -42 0x1f word,rest", "%d %i %[a-z],%s", &i, &h, word,
		     set) == 4 &&
		  i == -42 && h == 31 && strcmp(word, "word") == 0 &&
		  strcmp(set, "rest") == 0,
	      "sscanf of numbers and words");
	CHECK(sscanf("9223372036854775807 6.25e-3x", "%lld %lf%c%n", &l, &d, &c,
		     &n) == 3 &&
		  l == __LONG_LONG_MAX__ && d == 0.00625 && c == 'x' && n == 28,
	      "of long ones, doubles, and how far it came");
	CHECK(sscanf("abc", "%d", &i) == 0, "what doesn't match isn't stored");
	CHECK(sscanf("", "%d", &i) == EOF, "nothing is EOF");
	CHECK(sscanf("12:34", "%*d:%d", &i) == 1 && i == 34, "%%*d skips");
}

static void
test_modes(void)
{
	FILE *f;

	errno = 0;
	CHECK(fopen("f", "r") == NULL && errno == ENOENT, "r makes no file");
	CHECK(fopen("f", "z") == NULL && errno == EINVAL, "a mode of no kind");
	CHECK((f = fopen("f", "w")) != NULL && fputs("one\n", f) >= 0 &&
		  fclose(f) == 0 && file_holds("f", "one\n"),
	      "w makes one");
	CHECK((f = fopen("f", "a")) != NULL && fputs("two\n", f) >= 0 &&
		  fclose(f) == 0 && file_holds("f", "one\ntwo\n"),
	      "a adds to it");
	CHECK(fopen("f", "wx") == NULL && errno == EEXIST, "x wants none");
	f = fopen("f", "r+");
	CHECK(fgets(buf, 100, f) == buf && strcmp(buf, "one\n") == 0 &&
		  fseek(f, 0, SEEK_CUR) == 0 && fputs("TWO", f) >= 0 &&
		  fclose(f) == 0 && file_holds("f", "one\nTWO\n"),
	      "r+ reads, and writes where it has read to");
	f = fopen("f", "w+");
	CHECK(fputs("new", f) >= 0 && (rewind(f), getc(f)) == 'n' &&
		  fclose(f) == 0 && file_holds("f", "new"),
	      "w+ begins with nothing, and reads what it wrote");
	f = fopen("f", "r");
	CHECK(fputc('x', f) == EOF && fclose(f) == 0 && file_holds("f", "new"),
	      "r doesn't write");
	f = fopen("f", "a");
	CHECK(getc(f) == EOF && fclose(f) == 0, "a doesn't read");
	CHECK((f = fopen(".", "r")) != NULL && getc(f) == EOF && ferror(f) &&
		  !feof(f),
	      "a directory's contents are an error");
	fclose(f);
	unlink("f");
}

static void
test_lines(void)
{
	FILE *f = fopen("f", "w+");
	char *line = NULL;
	size_t size = 0;
	int n = 0;

	memset(buf, 'x', 9999);
	fprintf(f, "short\n\n%.9999s\nlast", buf);
	rewind(f);
	CHECK(getline(&line, &size, f) == 6 && strcmp(line, "short\n") == 0,
	      "getline gives a line with its newline");
	CHECK(getline(&line, &size, f) == 1, "even if that's all");
	CHECK(getline(&line, &size, f) == 10000 && size > 10000 &&
		  line[9999] == '\n' && strspn(line, "x") == 9999,
	      "however long it is");
	CHECK(getline(&line, &size, f) == 4 && strcmp(line, "last") == 0,
	      "the last without one");
	CHECK(getline(&line, &size, f) == -1 && feof(f) && !ferror(f),
	      "then -1, at the end of file");
	rewind(f);
	CHECK(!feof(f) && getdelim(&line, &size, 'r', f) == 4 &&
		  strcmp(line, "shor") == 0,
	      "getdelim, to another byte");
	free(line);
	rewind(f);
	while (fgets(buf, 100, f) != NULL)
		n++;
	CHECK(n == 2 + 102 + 1 && strcmp(buf, "last") == 0,
	      "fgets gives lines in parts");
	fclose(f);
	unlink("f");
}

static void
test_seek(void)
{
	FILE *f = fopen("f", "w+");

	for (int i = 0; i < 3000; i++)
		fprintf(f, "%d\n", i + 1000);
	CHECK(ftell(f) == 15000, "ftell knows of what is buffered");
	CHECK(fseek(f, 5 * 1500, SEEK_SET) == 0 && fscanf(f, "%s", buf) == 1 &&
		  strcmp(buf, "2500") == 0 && ftell(f) == 7504,
	      "fseek, and read there");
	CHECK(fseek(f, 1, SEEK_CUR) == 0 && fscanf(f, "%s", buf) == 1 &&
		  strcmp(buf, "2501") == 0,
	      "on from there");
	CHECK(fseek(f, -5, SEEK_END) == 0 && fputs("last\n", f) >= 0 &&
		  ftell(f) == 15000,
	      "at the end, and write");
	CHECK(fseek(f, -5, SEEK_END) == 0 && getc(f) == 'l', "it's there");
	CHECK(ungetc('L', f) == 'L' && getc(f) == 'L' && getc(f) == 'a',
	      "ungetc gives back a byte");
	CHECK(ungetc('A', f) == 'A' && fseek(f, -2, SEEK_END) == 0 &&
		  getc(f) == 't',
	      "which fseek forgets");
	CHECK(getc(f) == '\n' && getc(f) == EOF && feof(f), "the end");
	CHECK(fseek(f, 0, SEEK_SET) == 0 && !feof(f), "fseek leaves it");
	CHECK(fseek(f, -1, SEEK_SET) == -1, "fseek before the start fails");
	fclose(f);
	unlink("f");
}

static void
test_blocks(void)
{
	FILE *f = fopen("f", "w+");
	int in[3000], out[3000];
	bool good;

	for (int i = 0; i < 3000; i++)
		out[i] = i * 7919;
	good = fwrite(out, sizeof(int), 1, f) == 1 &&
	       fwrite(out + 1, sizeof(int), 2500, f) == 2500 &&
	       fwrite(out + 2501, sizeof(int), 499, f) == 499;
	CHECK(good, "fwrite of blocks");
	rewind(f);
	memset(in, 0, sizeof(in));
	good = fread(in, sizeof(int), 7, f) == 7 &&
	       fread(in + 7, sizeof(int), 2800, f) == 2800 &&
	       fread(in + 2807, sizeof(int), 1000, f) == 193;
	CHECK(good, "fread says how many there were");
	CHECK(memcmp(in, out, sizeof(in)) == 0, "and they are the same");
	CHECK(feof(f) && fread(in, 4, 1, f) == 0, "the end");
	fclose(f);
	unlink("f");
}

static void
test_buffers(void)
{
	FILE *f = fopen("f", "w");

	fputs("held", f);
	CHECK(file_holds("f", ""), "a file is written by blocks");
	CHECK(fflush(f) == 0 && file_holds("f", "held"), "fflush writes");
	fputs("!", f);
	CHECK(fflush(NULL) == 0 && file_holds("f", "held!"), "of all streams");
	setvbuf(f, NULL, _IOLBF, 0);
	fputs("a\nb", f);
	CHECK(file_holds("f", "held!a\n"), "by lines, if one likes");
	setvbuf(f, NULL, _IONBF, 0);
	fprintf(f, "%d", 7);
	CHECK(file_holds("f", "held!a\nb7"), "or at once");
	fclose(f);
	f = fopen("f", "w");
	setvbuf(f, buf, _IOFBF, sizeof(buf));
	fputs("own", f);
	CHECK(memcmp(buf, "own", 3) == 0 && fclose(f) == 0 &&
		  file_holds("f", "own"),
	      "in a buffer of one's own");
	f = fopen("f", "r");
	CHECK(getc(f) == 'o' && fflush(f) == 0 &&
		  lseek(fileno(f), 0, SEEK_CUR) == 1,
	      "fflush gives back what was read ahead");
	fclose(f);
	unlink("f");
}

/* In a child: write to a stream that can't. */
static int
write_to_full(void)
{
	int fds[2];
	FILE *f;

	pipe(fds);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	f = fdopen(fds[1], "w");
	if (fputs("lost", f) < 0 || fflush(f) != EOF || !ferror(f))
		return 1;
	clearerr(f);
	return ferror(f) || fclose(f) != 0;
}

static void
test_errors(void)
{
	FILE *f = fopen("f", "w+");
	int fd = fileno(f);

	CHECK(child_run(write_to_full) == 0, "a failing write is an error");
	close(fd);
	fputs("lost", f);
	CHECK(fclose(f) == EOF && errno == EBADF, "fclose tells of it");
	CHECK(fdopen(0, "q") == NULL && errno == EINVAL, "fdopen's mode");
	CHECK(freopen("none/f", "r", fopen("f", "r")) == NULL &&
		  errno == ENOENT,
	      "freopen of no file");
	CHECK(remove("f") == 0 && remove("f") == -1 && errno == ENOENT,
	      "remove");
	mkdir("d", 0777);
	CHECK(remove("d") == 0, "remove of a folder");
}

static void
test_reopen(void)
{
	FILE *f;

	file_make("a", "first");
	file_make("b", "second");
	f = fopen("a", "r");
	getc(f);
	CHECK((f = freopen("b", "r", f)) != NULL && getc(f) == 's',
	      "freopen reads another file");
	fclose(f);
	CHECK((f = fdopen(open("a", O_RDONLY), "r")) != NULL &&
		  fgets(buf, 100, f) == buf && strcmp(buf, "first") == 0,
	      "fdopen reads an open one");
	fclose(f);
	CHECK(rename("a", "b") == 0 && file_holds("b", "first"), "rename");
	unlink("b");
}

static void
test_mkstemp(void)
{
	char a[] = "tmpXXXXXX", b[] = "tmpXXXXXX", bad[] = "tmp";
	int fd = mkstemp(a), other = mkstemp(b);

	CHECK(fd >= 0 && other >= 0 && strcmp(a, b) != 0,
	      "mkstemp gives different names");
	CHECK(strncmp(a, "tmp", 3) == 0 && strlen(a) == 9 &&
		  access(a, F_OK) == 0 && write(fd, "x", 1) == 1,
	      "of files that are there");
	CHECK_ERRNO(mkstemp(bad), EINVAL, "it wants its six X");
	close(fd);
	close(other);
	unlink(a);
	unlink(b);
}

int
main(void)
{
	scratch_enter("stdio.d");
	test_printf();
	test_scanf();
	test_modes();
	test_lines();
	test_seek();
	test_blocks();
	test_buffers();
	test_errors();
	test_reopen();
	test_mkstemp();
	scratch_leave("stdio.d");
	return check_done();
}

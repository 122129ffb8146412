/* The rest of the C library, as Tally's own part of it carries it. */
#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <regex.h>
#include <setjmp.h>
#include <time.h>

#include "helpers.h"

#define BLOCKS    400
#define ROUNDS    20
#define ITEMS     2000
#define ALIGNMENT 8 /* bytes: of what malloc gives */

/* Numbers without an order that repeat the same in every run. */
static unsigned long seed = 1;

static unsigned int
any(unsigned int below)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (seed >> 33) % below;
}

/* A block of memory whose bytes all are fill. */
struct block {
	unsigned char *at;
	size_t size;
	unsigned char fill;
};

static struct block blocks[BLOCKS];

static bool
block_good(const struct block *b)
{
	for (size_t i = 0; i < b->size; i++)
		if (b->at[i] != b->fill)
			return false;
	return true;
}

static bool
block_set(struct block *b, void *at, size_t size)
{
	*b = (struct block){at, size, any(256)};
	if (at == NULL || (uintptr_t)at % ALIGNMENT != 0)
		return false;
	memset(at, b->fill, size);
	return true;
}

/* Small sizes mostly, some of a page or more. */
static size_t
any_size(void)
{
	return any(8) == 0 ? any(20000) : any(300);
}

/* Resize a block: what it held is there, as far as it reaches. */
static bool
block_resize(struct block *b)
{
	size_t size = any_size(), kept = size < b->size ? size : b->size;
	struct block start = *b;

	if (size == 0)
		size = 1;
	start.at = realloc(b->at, size);
	start.size = kept;
	return start.at != NULL && block_good(&start) &&
	       block_set(b, start.at, size);
}

static void
test_malloc(void)
{
	volatile size_t huge = (size_t)1 << 33;
	bool good = true;
	char *p;

	for (int i = 0; i < BLOCKS; i++) {
		size_t size = any_size();
		good &= block_set(&blocks[i], malloc(size), size);
	}
	CHECK(good, "malloc of many sizes, aligned");
	for (int i = 0; i < ROUNDS * BLOCKS; i++) {
		struct block *b = &blocks[any(BLOCKS)];
		size_t size = any_size();

		good &= block_good(b);
		if (any(2)) {
			good &= block_resize(b);
			continue;
		}
		free(b->at);
		good &= block_set(b, malloc(size), size);
	}
	for (int i = 0; i < BLOCKS; i++) {
		good &= block_good(&blocks[i]);
		free(blocks[i].at);
	}
	CHECK(good, "8000 of malloc, realloc and free: no block hurts another");
	p = calloc(1000, 7);
	blocks[0] = (struct block){(unsigned char *)p, 7000, 0};
	CHECK(block_good(&blocks[0]), "calloc gives zeroes");
	free(p);
	free(NULL);
	errno = 0;
	CHECK(malloc((size_t)1 << 40) == NULL && errno == ENOMEM,
	      "too much is ENOMEM");
	errno = 0;
	CHECK(calloc(huge, huge) == NULL,
	      "calloc of more than can be said is too");
	p = malloc(1 << 20);
	CHECK(p != NULL && memset(p, 1, 1 << 20) == p, "after which one can");
	free(p);
}

static int
compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void
test_sorting(void)
{
	static int item[ITEMS];
	long before = 0, after = 0;
	bool sorted = true;
	int key = -1;

	for (int i = 0; i < ITEMS; i++)
		before += item[i] = any(ITEMS / 2);
	qsort(item, ITEMS, sizeof(item[0]), compare_ints);
	for (int i = 0; i < ITEMS; i++) {
		after += item[i];
		sorted &= i == 0 || item[i - 1] <= item[i];
	}
	CHECK(sorted && before == after, "qsort");
	CHECK(bsearch(&key, item, ITEMS, sizeof(key), compare_ints) == NULL,
	      "bsearch of what isn't there");
	key = item[ITEMS / 3];
	CHECK(*(int *)bsearch(&key, item, ITEMS, sizeof(key), compare_ints) ==
		  key,
	      "and what is");
}

/* Does the pattern match text? Then from where to where; or -1. */
static int
match(const char *pattern, int flags, const char *text)
{
	regmatch_t m[2];
	regex_t re;
	int r;

	if (regcomp(&re, pattern, flags) != 0)
		return -2;
	r = regexec(&re, text, 2, m, 0);
	regfree(&re);
	return r == 0 ? m[0].rm_so * 100 + m[0].rm_eo : -1;
}

static void
test_regex(void)
{
	CHECK(match("b[a-c]*d", 0, "xxbacacd") == 208, "a basic one matches");
	CHECK(match("(foo|ba+r)$", REG_EXTENDED, "a baaar") == 207,
	      "an extended one");
	CHECK(match("HELLO", REG_ICASE, "hello") == 5, "without case");
	CHECK(match("^b", 0, "ab") == -1, "what doesn't match");
	CHECK(match("[[:digit:]]{3}", REG_EXTENDED, "ab123") == 205, "classes");
	CHECK(match("(", REG_EXTENDED, "") == -2, "a wrong one");
}

static void
test_time(void)
{
	time_t t = 1700000000;
	struct tm tm, *utc = gmtime(&t);
	char buf[64];

	CHECK(strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S %a %b %j", utc) ==
		      31 &&
		  strcmp(buf, "2023-11-14 22:13:20 Tue Nov 318") == 0,
	      "gmtime and strftime");
	tm = *utc;
	CHECK(mktime(&tm) == t, "mktime is their reverse");
	tm.tm_mon += 14;
	CHECK(mktime(&tm) != -1 && tm.tm_mon == 0 && tm.tm_year == 125,
	      "and sets right what is out of range");
	CHECK(strftime(buf, 5, "%Y-%m", utc) == 0, "too small a buffer");
}

/* What getopt gives for args, one after the other; optind is where it ended. */
static const char *
options_of(char **args, const char *options)
{
	static char got[32];
	int argc = 0, c;

	while (args[argc] != NULL)
		argc++;
	got[0] = '\0';
	optind = 1;
	while ((c = getopt(argc, args, options)) != -1)
		sprintf(got + strlen(got), "%c%s,", c,
			c == '?' || c == ':' ? (char[2]){optopt}
			: c == 'c'           ? optarg
					     : "");
	return got;
}

static void
test_getopt(void)
{
	char *args[] = {"cmd", "-ab", "-cone", "-c", "two", "rest", NULL};
	char *wrong[] = {"cmd", "-xa", "-c", NULL};
	char *dash[] = {"cmd", "-a", "-", "-b", NULL};
	char *end[] = {"cmd", "-a", "--", "-b", NULL};

	CHECK(optind == 1 && opterr == 1, "getopt starts at 1");
	CHECK(strcmp(options_of(args, "abc:"), "a,b,cone,ctwo,") == 0 &&
		  optind == 5,
	      "it gives options and their values");
	CHECK(strcmp(options_of(wrong, ":ac:"), "?x,a,:c,") == 0,
	      "says which is unknown, and which lacks its value");
	CHECK(strcmp(options_of(dash, "ab"), "a,") == 0 && optind == 2,
	      "a dash is an operand");
	CHECK(strcmp(options_of(end, "ab"), "a,") == 0 && optind == 3,
	      "two end the options");
	opterr = 0;
	CHECK(strcmp(options_of(wrong, "ac:"), "?x,a,?c,") == 0,
	      "both are ? unless a colon is first");
}

static jmp_buf place;

static __attribute__((noinline)) void
jump(int depth)
{
	volatile char room[100];

	room[0] = depth;
	if (depth == 0)
		longjmp(place, 42);
	if (depth > 0)
		jump(depth - 1);
	room[1] = room[0];
}

static void
test_setjmp(void)
{
	volatile int kept = 7;
	volatile double real = 2.5;
	int r = setjmp(place);

	if (r == 0) {
		kept++;
		jump(50);
	}
	CHECK(r == 42 && kept == 8 && real == 2.5, "longjmp, from deep inside");
	if (setjmp(place) == 0)
		longjmp(place, 0);
	else
		r = 0;
	CHECK(r == 0, "longjmp with 0 gives 1");
}

static void
test_numbers(void)
{
	char *end;

	errno = 0;
	CHECK(strtol("  -0x1F rest", &end, 16) == -31 && *end == ' ', "strtol");
	CHECK(strtol("99999999999999999999", NULL, 10) == LONG_MAX &&
		  errno == ERANGE,
	      "what is too large is ERANGE");
	errno = 0;
	CHECK(strtoul("z", &end, 36) == 35 && *end == '\0' && errno == 0,
	      "strtoul in base 36");
	CHECK(strtod("1.5e3x", &end) == 1500 && *end == 'x', "strtod");
	CHECK(fabs(sin(1) - 0.8414709848078965) < 1e-15 &&
		  fabs(exp(log(10)) - 10) < 1e-14 && pow(2, 0.5) == sqrt(2),
	      "sin, exp, log, pow");
	CHECK(isalpha('a') && !isalpha('1') && toupper('b') == 'B', "ctype");
}

static void
test_strings(void)
{
	char buf[64] = "one,two,,three", *save, *copy = strdup(buf);
	int n = 0;

	for (char *p = strtok_r(copy, ",", &save); p != NULL;
	     p = strtok_r(NULL, ",", &save))
		n++;
	CHECK(n == 3, "strtok_r skips what is empty");
	free(copy);
	CHECK(strcmp(strerror(ENOENT), strerror(EIO)) != 0 &&
		  strerror(9999) != NULL,
	      "strerror has words for errors");
	CHECK(strstr(buf, "two") == buf + 4 && strchr(buf, 'x') == NULL,
	      "strstr, strchr");
	for (int from = 0; from < 20; from++)
		for (int to = 0; to < 20; to++) {
			char want[64];
			size_t size = 30;

			for (size_t i = 0; i < sizeof(buf); i++)
				want[i] = buf[i] = i * 3;
			for (size_t i = 0; i < size; i++)
				want[to + i] = (from + i) * 3;
			memmove(buf + to, buf + from, size);
			n += memcmp(buf, want, sizeof(buf)) != 0;
		}
	CHECK(n == 3, "memmove, overlapping and not, however aligned");
}

static void
test_environ(void)
{
	CHECK(setenv("TALLY_A", "1", 1) == 0 &&
		  strcmp(getenv("TALLY_A"), "1") == 0,
	      "setenv");
	CHECK(setenv("TALLY_A", "2", 0) == 0 &&
		  strcmp(getenv("TALLY_A"), "1") == 0,
	      "which leaves it if told to");
	CHECK(setenv("TALLY_A", "a longer one", 1) == 0 &&
		  strcmp(getenv("TALLY_A"), "a longer one") == 0,
	      "or replaces it");
	CHECK(unsetenv("TALLY_A") == 0 && getenv("TALLY_A") == NULL,
	      "unsetenv");
	CHECK(getenv("TALLY_") == NULL && getenv("PATH") != NULL, "getenv");
}

int
main(void)
{
	alarm(DEADLINE);
	test_malloc();
	test_sorting();
	test_regex();
	test_time();
	test_getopt();
	test_setjmp();
	test_numbers();
	test_strings();
	test_environ();
	return check_done();
}

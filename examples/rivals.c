/*
 * rivals: two functions that cost nearly the same. How many samples does it
 * take to tell which is the slower one? See docs/cookbook.md.
 */
#define APART __attribute__((noinline))

enum { ROUNDS = 20000, LEFT = 1000, RIGHT = 1100 };

static volatile unsigned int sink;

static APART void
left(void)
{
	for (unsigned int i = 0; i < LEFT; i++)
		sink = i;
}

static APART void
right(void)
{
	for (unsigned int i = 0; i < RIGHT; i++)
		sink = i;
}

int
main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		left();
		right();
	}
	return 0;
}

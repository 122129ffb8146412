/*
 * pages: touches new memory in two places, one of them three times as much as
 * the other. Which is it? See docs/cookbook.md.
 */
#define APART __attribute__((noinline))

enum { PAGE = 4096, INDEX = 40, TABLE = 120 };

static volatile char index_pages[INDEX * PAGE], table_pages[TABLE * PAGE];

static APART void
fill_index(void)
{
	for (int i = 0; i < INDEX; i++)
		index_pages[i * PAGE] = 1;
}

static APART void
fill_table(void)
{
	for (int i = 0; i < TABLE; i++)
		table_pages[i * PAGE] = 1;
}

int
main(void)
{
	fill_index();
	fill_table();
	return 0;
}

/* See crc.h. */
#include "crc.h"

#define POLYNOMIAL 0xedb88320 /* the lowest bit is that of the highest power */

/* For each byte what it adds, eight bits later. */
static unsigned int table[256];

static void
make_table(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^
				   (table[i] & 1 ? POLYNOMIAL : 0);
	}
}

unsigned int
crc32(unsigned int crc, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	if (!table[1])
		make_table();
	crc = ~crc;
	while (n-- > 0)
		crc = table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return ~crc;
}

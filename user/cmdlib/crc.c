/*
 * See crc.h. Eight bytes are taken at a time: each has a table of what it adds
 * to the CRC after as many bytes as follow it among the eight.
 */
#include "crc.h"

#include <stdint.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320 /* the lowest bit is that of the highest power */

static uint32_t table[8][256];

static void
make_table(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][i] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (unsigned int i = 0; i < 256; i++) {
			uint32_t before = table[k - 1][i];

			table[k][i] = before >> 8 ^ table[0][before & 0xff];
		}
}

static uint32_t
add_one(uint32_t crc, unsigned char byte)
{
	return table[0][(crc ^ byte) & 0xff] ^ crc >> 8;
}

/* The eight bytes must be aligned, or else they are loaded one by one. */
static uint32_t
add_eight(uint32_t crc, const unsigned char *bytes)
{
	uint64_t w;

	memcpy(&w, __builtin_assume_aligned(bytes, 8), 8);
	w ^= crc;
	return table[7][w & 0xff] ^ table[6][w >> 8 & 0xff] ^
	       table[5][w >> 16 & 0xff] ^ table[4][w >> 24 & 0xff] ^
	       table[3][w >> 32 & 0xff] ^ table[2][w >> 40 & 0xff] ^
	       table[1][w >> 48 & 0xff] ^ table[0][w >> 56];
}

unsigned int
crc32(unsigned int crc, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	if (!table[0][1])
		make_table();
	crc = ~crc;
	for (; n > 0 && (uintptr_t)p % 8 != 0; n--)
		crc = add_one(crc, *p++);
	for (; n >= 8; n -= 8, p += 8)
		crc = add_eight(crc, p);
	for (; n > 0; n--)
		crc = add_one(crc, *p++);
	return ~crc;
}

/* CRC-32, as zlib, PNG and Ethernet have it. */
#ifndef CRC_H
#define CRC_H

#include <stddef.h>

/* That of n bytes more, after those whose CRC is crc; at first that is 0. */
unsigned int crc32(unsigned int crc, const void *bytes, size_t n);

#endif

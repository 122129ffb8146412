/* prof's two halves: reading a profile, and charging and showing it. */
#ifndef PROF_H
#define PROF_H

#include <stdint.h>

/*
 * Read a profile, mon.out or gmon.out, and give charge and called what is in
 * it: all ranges of text of one width, with their ticks, and calls of the
 * function at pc. The samples a second, or 0: the file doesn't say. Ends the
 * command if the file is missing, truncated or another kind's.
 */
struct reader {
	void (*charge)(uint64_t low, uint64_t width, unsigned int ticks);
	void (*called)(uint64_t pc, uint64_t count);
};

unsigned int profile_read(const char *path, const struct reader *to);

#endif

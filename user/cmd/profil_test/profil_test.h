/* What is profiled, and by whom. */
#ifndef PROFIL_TEST_H
#define PROFIL_TEST_H

#include <stdint.h>

#define AREA   64  /* bytes of text that each function has to itself */
#define ENOUGH 100 /* ticks, to tell one part from three */

void one_part(void);
void three_parts(void);

/* Ticks of the two functions, as each flavour of profil counts them. */
struct parts {
	unsigned int one, three;
};

struct parts by_aix(void);
struct parts by_solaris(void);

#endif

/* See main.c. */
#include <mon.h>

#include <unistd.h>

int mon_first(unsigned short *b);

int
mon_first(unsigned short *b)
{
	return profil(b, 2, 0x10000, 2);
}

/* See main.c. */
#include <mon.h>

int mon_alone(unsigned short *b);

int
mon_alone(unsigned short *b)
{
	return profil(b, 2, 0x10000, 2);
}

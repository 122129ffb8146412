/* Random turns of the harts, to find races: see races.c. */
#ifndef KERNEL_RACES_H
#define KERNEL_RACES_H

#include <stdint.h>

struct hart;

/* Set the deadline at which h interrupts itself for another hart's turn. */
void races_next(struct hart *h, uint64_t now);

#endif

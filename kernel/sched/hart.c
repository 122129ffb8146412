/* The harts, in the device tree's order. main.c numbers them at boot. */
#include "hart.h"

#include "machine/machine.h"

struct hart harts[HART_MAX];
unsigned int nharts;

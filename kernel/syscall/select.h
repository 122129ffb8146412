/* What waiting for files has in common: select.c. */
#ifndef KERNEL_SELECT_H
#define KERNEL_SELECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * While a call waits, the thread blocks the signals of the set at address user,
 * if there is one. If one comes, its handler runs before the old set is put
 * back, by signal_deliver. begin gives 0 or an errno; the call returns r, which
 * end gives back.
 */
int select_mask_begin(uintptr_t user, size_t size);
int select_mask_end(uintptr_t user, int r);

#endif

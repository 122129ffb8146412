/* profil(2) and pcsample(2): see profil.c. */
#ifndef KERNEL_PROFIL_H
#define KERNEL_PROFIL_H

#include "proc/proc.h"

/* What fork, exec and exit call; main.c hands it to proc_serve. */
extern const struct proc_profil profil_calls;
/* Charge the ticks that the current thread owes. Called on its way to user
 * mode, at level 0, as this touches user memory and may sleep. */
void profil_pay(void);

#endif

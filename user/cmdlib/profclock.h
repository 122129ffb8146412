/* The sampling clock's settings, for the time that a command samples. */
#ifndef PROFCLOCK_H
#define PROFCLOCK_H

/* Random intervals, at this rate (0: at the one that is set): a program that is
 * in step with a clock without jitter is seen always, or never. The settings
 * are restored at exit; sooner by profclock_restore, which says so if it can't.
 * Ends the program if they can't be changed. */
void profclock_set(unsigned int hz);
void profclock_restore(void);

#endif

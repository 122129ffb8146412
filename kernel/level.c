/* The slow half of lowering the level: what the timer handler left. */
#include "clock.h"
#include "thread.h"

/*
 * Do the work of the ticks that this hart owes, at level 5; then let another
 * thread have its turn if this one's is over. A tick may fall due while the
 * level goes down again, so look once more after that.
 */
void
level_pending(void)
{
	while (this_hart()->owed) {
		unsigned long sie = level_raise(LEVEL5_MASK);

		clock_tick(false);
		csr_write(sie, sie);
	}
	if (current->work & WORK_RESCHED)
		thread_yield();
}

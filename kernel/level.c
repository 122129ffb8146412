/* The slow half of lowering the level: what the timer handler left. */
#include "clock.h"
#include "thread.h"

/*
 * Do the work that is pending on this hart, at level 5; then let another
 * thread have its turn if this one's is over. A tick may fall due while the
 * level goes down again, so look once more after that.
 */
void
level_pending(void)
{
	while (this_hart()->pending) {
		unsigned long sie = level_raise(LEVEL5_MASK);

		if (__atomic_exchange_n(&this_hart()->pending, 0,
					__ATOMIC_RELAXED))
			clock_tick(false);
		csr_write(sie, sie);
	}
	if (current->work & WORK_RESCHED)
		thread_yield();
}

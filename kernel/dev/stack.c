/*
 * Call stacks for pcs: who called the code that a sample has interrupted.
 * pcslog.c calls log_stack with SIE=0, so nothing here may wait. Any frame
 * pointer may be wrong: each is checked before it is followed, a user's memory
 * is read only where it is present (peek), and the walk ends after STACK_MAX
 * addresses.
 *
 * A function's frame has two words below fp (register s0):
 *
 *		in most functions	in a leaf, which calls nothing
 *	fp - 8	the return address	the caller's fp
 *	fp - 16	the caller's fp		-
 *
 * If the interrupted function is a leaf, has not made its frame yet, or has
 * given it up already, only register ra has its caller. In the middle of other
 * functions ra may hold any return address that was there last. The sampler
 * can't tell which, so it records ra first. The reader, who has symbols, leaves
 * it out if it lies in the interrupted function itself, or if the next address
 * is the same again.
 *
 * A record has the kernel's callers, then the user's, with none left out in
 * between. Each part says why it ends: at the outermost call (STACK_WHOLE), or
 * because no more callers could be found. Where a trap or a signal has
 * interrupted code, the interrupted pc is recorded, with bit 0 set: a return
 * address is even.
 *
 * Read log_stack first, at the end; then the kernel's part, and the user's.
 * Most functions return how the calls end: STACK_WHOLE and so on (sys/pcs.h),
 * or GOES_ON, or AT_TRAP.
 */
#include <string.h>

#include "base/layout.h"
#include "mm/aspace.h"
#include "mm/uaccess.h"
#include "proc/proc.h"
#include "sched/clock.h"
#include "sched/entry.h"
#include "sched/thread.h"

#include "pcslog.h"
#include "sample.h"

/* Addresses in switch.S. */
extern char switch_loads[], switch_end[], thread_first[];

/* There are more calls; a trap or a signal has interrupted what follows. */
enum { GOES_ON = -1, AT_TRAP = -2 };

/* The addresses recorded so far, the innermost first. */
struct chain {
	unsigned int *pc;
	unsigned int n;
};

/* Where code was interrupted, and the registers by which its callers are found.
 * sp is where its stack ends: no frame of it lies below. */
struct place {
	unsigned long pc, ra, fp, sp;
};

static bool
within(unsigned long pc, const void *start, const void *end)
{
	return pc - (unsigned long)start <
	       (unsigned long)end - (unsigned long)start;
}

/* Returns false if there is no room. */
static bool
add(struct chain *c, unsigned long pc)
{
	if (c->n == STACK_MAX)
		return false;
	c->pc[c->n++] = pc;
	return true;
}

/* --- The kernel's part --- */

static bool
in_text(unsigned long pc)
{
	return within(pc, text_start, etext);
}

/* Is pc in the code of trap.S that leads from user mode and back there? The
 * outermost call was made there. */
static bool
in_entry(unsigned long pc)
{
	return within(pc, trap_vector, from_kernel) &&
	       !within(pc, trap_return_user, user_interrupt);
}

/* Is pc in the code of trap.S for traps of the kernel itself? */
static bool
in_kernel_trap(unsigned long pc)
{
	return within(pc, from_kernel, stack_overflow);
}

/* Go on with what a trap of the kernel has interrupted: *p becomes that place,
 * from the trap frame that ends at fp. */
static bool
add_trap(struct chain *c, struct place *p, unsigned long fp)
{
	const struct ktrapframe *kf = (const struct ktrapframe *)fp - 1;

	*p = (struct place){kf->sepc, kf->ra, kf->s0, fp};
	return add(c, kf->sepc | 1);
}

/*
 * The sample has interrupted the code of trap.S for a trap of the kernel, whose
 * frame is at sp. If ra and s0 haven't been saved there yet, or have been
 * restored already, the registers are right and the frame may not be. Otherwise
 * ra is a return address in this code, if it has called C, and s0 is the end of
 * the frame.
 */
static bool
add_own_trap(struct chain *c, struct place *p)
{
	unsigned long fp = p->sp + sizeof(struct ktrapframe);
	struct place live = *p;
	bool room = add_trap(c, p, fp);

	if (!in_kernel_trap(live.ra))
		p->ra = live.ra;
	if (live.fp != fp)
		p->fp = live.fp;
	return room;
}

/*
 * If the sample has interrupted the second half of context_switch, `current' is
 * the next thread already, but only some of its registers have been loaded. Its
 * struct has all of them. A new thread returns to thread_first, which is no
 * caller.
 */
static void
find_switched(struct place *p, const struct thread *t)
{
	if (within(p->pc, switch_loads, switch_end))
		*p = (struct place){p->pc, t->ctx.ra, t->ctx.s0, t->ctx.sp};
	if (p->ra == (unsigned long)thread_first)
		p->ra = 0;
}

/* May fp be the frame pointer of a frame further out than `before'? top is the
 * end of the stack. Frames are followed only outwards, so the walk ends. */
static bool
on_stack(unsigned long fp, unsigned long before, unsigned long top)
{
	return fp % 16 == 0 && fp - before - 1 < top - before;
}

/*
 * Record a return address. fp is the frame pointer of the function there. If
 * that is the code of trap.S for a trap of the kernel, its fp is the end of the
 * trap frame: *p becomes what was interrupted, and the result is AT_TRAP.
 */
static int
add_return(struct chain *c, struct place *p, unsigned long address,
	   unsigned long fp, unsigned long top)
{
	if (!in_text(address))
		return address == 0 ? STACK_WHOLE : STACK_BROKEN;
	if (!add(c, address))
		return STACK_FULL;
	if (!within(address, trap_vector, stack_overflow))
		return GOES_ON;
	if (in_entry(address))
		return STACK_WHOLE;
	if (!on_stack(fp, p->sp, top))
		return STACK_BROKEN;
	return add_trap(c, p, fp) ? AT_TRAP : STACK_FULL;
}

/*
 * Record the callers of the place *p, out to the next trap or to the end. At a
 * trap, *p becomes what was interrupted.
 *
 * First a leaf's frame is skipped: it has no return address, which is in ra. A
 * frame is a leaf's if at fp - 8 it has what may be a frame pointer.
 *
 * Then ra is recorded. If the frame at fp has the same return address, the
 * caller's fp is at fp - 16: the loop comes to the address again, with that fp.
 */
static int
add_calls(struct chain *c, struct place *p)
{
	unsigned long top = ((p->sp - 1) | (KSTACK_SLOT - 1)) + 1;
	unsigned long fp = p->fp, before = p->sp;
	const unsigned long *frame = (const unsigned long *)fp;
	int end = GOES_ON;

	if (on_stack(fp, before, top) && on_stack(frame[-1], fp, top)) {
		before = fp;
		fp = frame[-1];
		frame = (const unsigned long *)fp;
	}
	if (in_text(p->ra)) { /* else 0, in the first function of a thread */
		bool again = on_stack(fp, before, top) && frame[-1] == p->ra;

		if (!again)
			end = add_return(c, p, p->ra, fp, top);
		else if (!add(c, p->ra))
			end = STACK_FULL;
	}
	while (end == GOES_ON) {
		if (!on_stack(fp, before, top))
			return fp == 0 ? STACK_WHOLE : STACK_BROKEN;
		frame = (const unsigned long *)fp;
		end = add_return(c, p, frame[-1], frame[-2], top);
		before = fp;
		fp = frame[-2];
	}
	return end;
}

/* Record the kernel's part. *p becomes what the outermost trap of the kernel
 * has interrupted, as far as the calls are known. */
static unsigned int
add_kernel(struct chain *c, struct place *p)
{
	int end = AT_TRAP;

	while (end == AT_TRAP)
		if (in_entry(p->pc))
			end = STACK_WHOLE;
		else if (!in_kernel_trap(p->pc))
			end = add_calls(c, p);
		else if (!add_own_trap(c, p))
			end = STACK_FULL;
	return end;
}

/* --- The user's part --- */

/*
 * Is the hart still on its way into the kernel? The entry in trap.S saves most
 * registers with interrupts on. Until it has, the user's ra and s0 are in the
 * registers, and the trap frame has those of an earlier trap. Once ra is an
 * address of the kernel, all have been saved.
 */
static bool
entering(const struct place *kernel)
{
	return !in_text(kernel->ra) &&
	       (within(kernel->pc, trap_vector, exit_user) ||
		within(kernel->pc, user_interrupt, exit_interrupted));
}

/* Where user mode was left. kernel is the outermost place in the kernel that is
 * known. sepc and, in scratch, sp are saved before the entry sets SIE. */
static struct place
user_place(const struct thread *t, const struct place *kernel)
{
	if (entering(kernel))
		return (struct place){t->tf.sepc, kernel->ra, kernel->fp,
				      t->scratch};
	return (struct place){t->tf.sepc, t->tf.ra, t->tf.s0, t->tf.sp};
}

/* Is the instruction before pc a call: jal ra or jalr ra, of four bytes, or
 * c.jalr, of two? The two words that are read contain the four bytes. */
static bool
after_call(unsigned long pc)
{
	unsigned long at = pc - 4, code[2];
	unsigned int full, half;

	if (pc % 2 != 0 || peek(code, at & -8UL) < 0)
		return false;
	memcpy(&full, (char *)code + at % 8, sizeof(full));
	half = full >> 16;
	return (full & 0xfff) == 0x0ef || (full & 0xfff) == 0x0e7 ||
	       (half & 0xf07f) == 0x9002;
}

static bool
in_span(unsigned long pc, const struct span *span)
{
	return pc - span->start < span->end - span->start;
}

/* Record a return address of user mode. The caller of code without frame
 * pointers can't be found: s0 may have been used for something else there. */
static int
add_user_return(struct chain *c, const struct aspace *as, unsigned long address)
{
	if (address == 0)
		return STACK_WHOLE;
	if (address == USER_SIGRETURN)
		return GOES_ON; /* a handler's: to nobody who called it */
	if (!in_span(address, &as->text))
		return STACK_BROKEN;
	if (!add(c, address))
		return STACK_FULL;
	if (address % 2 != 0)
		return AT_TRAP;
	return in_span(address, &as->frameless) ? STACK_FRAMELESS : GOES_ON;
}

/* Go on with what a signal has interrupted. frame is the link at the end of the
 * frame that proc/signal_frame.c has made: the pc with bit 0 set, and s0. ra is
 * next to them, at fp - 24. */
static int
at_signal(struct place *p, const unsigned long frame[2], unsigned long fp)
{
	unsigned long saved[2];

	if (peek(saved, fp - 32) < 0)
		return STACK_ABSENT;
	*p = (struct place){frame[1] - 1, saved[1], frame[0], fp};
	return AT_TRAP;
}

/*
 * Record the callers of the place *p, out to a signal's frame or to the end. A
 * user's frames are like the kernel's. Only the first can be a leaf's. That one
 * is recognized by its word at fp - 8: text lies below all stacks, so a word
 * greater than fp is no return address, but the caller's fp.
 *
 * Code without frame pointers (as->frameless) may have anything in s0. As long
 * as it has called nothing, s0 is most likely its caller's fp. So that is a
 * guess, believed only if the frame lies above sp and has a return address that
 * follows a call. (Once it has called something, ra lies in that code itself,
 * which ends the walk.)
 */
static int
add_user_calls(struct chain *c, struct place *p, const struct aspace *as)
{
	bool guess = in_span(p->pc, &as->frameless), first = true;
	unsigned long fp = p->fp, before = guess ? p->sp : 0;
	unsigned long frame[2]; /* of [fp - 16, fp) */
	int end = GOES_ON;

	if (in_span(p->ra, &as->text))
		end = add_user_return(c, as, p->ra & -2UL);
	while (end == GOES_ON) {
		if (fp == 0 && !guess)
			return STACK_WHOLE;
		if (fp % 16 != 0 || fp <= before || fp > USER_TOP)
			return guess ? STACK_FRAMELESS : STACK_BROKEN;
		if (peek(frame, fp - 16) < 0)
			return STACK_ABSENT;
		if (guess && !after_call(frame[1]))
			return STACK_FRAMELESS;
		before = fp;
		fp = frame[0];
		if (first && frame[1] > before)
			fp = frame[1];
		else
			end = add_user_return(c, as, frame[1]);
		guess = first = false;
	}
	return end == AT_TRAP ? at_signal(p, frame, before) : end;
}

/*
 * Record the user's part. If the kernel was interrupted, it begins with the pc
 * at which the thread is to return to user mode. While the trap frame is being
 * changed, it has registers of two moments: nothing can be said. Only memory of
 * the address space that is loaded can be read. That need not be the thread's:
 * sched loads the next thread's before it switches to that thread.
 */
static unsigned int
add_user(struct chain *c, const struct thread *t, bool in_kernel,
	 const struct place *kernel)
{
	const struct aspace *as = t->proc->as;
	struct place p = user_place(t, kernel);
	int end;

	if (t->tf_changing)
		return STACK_AWAY;
	if (in_kernel && !add(c, p.pc))
		return STACK_FULL;
	if (as == NULL || !aspace_is_loaded(as)) {
		if (as != NULL && in_span(p.ra, &as->text))
			add(c, p.ra);
		return STACK_AWAY;
	}
	do
		end = add_user_calls(c, &p, as);
	while (end == AT_TRAP);
	return end;
}

/*
 * See pcslog.h. s->kf is NULL if user mode or the exit to it was interrupted:
 * then there is no kernel's part. An even number of addresses is followed by a
 * 0, as the record's size must be a multiple of 8.
 */
size_t
log_stack(const struct sample *s, struct STKSAMPLE *record)
{
	struct chain c = {.pc = record->pc};
	unsigned int kernel = STACK_WHOLE, user = STACK_WHOLE;
	struct place p = {s->pc, 0, 0, 0};

	if (s->thread == NULL)
		return 0; /* a synthetic sample */
	if (s->kf != NULL) {
		p = (struct place){s->pc, s->kf->ra, s->kf->s0,
				   (unsigned long)(s->kf + 1)};
		find_switched(&p, s->thread);
		kernel = add_kernel(&c, &p);
	}
	record->type = STACK;
	record->nkernel = c.n;
	if (kernel == STACK_FULL)
		user = STACK_FULL;
	else if (s->thread->proc != NULL)
		user = add_user(&c, s->thread, s->mode != SAMPLE_USER, &p);
	record->n = c.n;
	record->cut = kernel << 4 | user;
	if (c.n % 2 == 0)
		record->pc[c.n] = 0;
	return STACK_BYTES(c.n);
}

/*
 * See waits.c. The thread has called sched, or code that is to be left out:
 * the first address recorded is the return address of the frame at fp. The
 * place itself isn't recorded; its pc may be any in kernel text that is none of
 * trap.S.
 */
void
log_path(const struct thread *t, unsigned long fp, struct STKSAMPLE *record)
{
	struct chain c = {.pc = record->pc};
	struct place p = {(unsigned long)log_path, 0, fp, fp - 16};
	unsigned int kernel = add_kernel(&c, &p), user = STACK_FULL;

	record->nkernel = c.n;
	if (kernel != STACK_FULL)
		user = add_user(&c, t, true, &p);
	record->n = c.n;
	record->cut = kernel << 4 | user;
}

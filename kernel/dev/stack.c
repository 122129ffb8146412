/*
 * Call stacks for pcs: who called the code that a sample interrupted. The
 * sampler's part: it follows frame pointers, of which anything may be wrong,
 * for so many frames, reads only what is there, and waits for nothing.
 *
 * Where the interrupted function has no frame, or none yet, or no more, its
 * caller is only in register ra; else ra may hold any return address that was
 * there last. So it is recorded first, and the reader, who has symbols, leaves
 * it out if it lies in the function itself or is the next one again.
 *
 * A part that ends before the outermost call says so, and why: what is recorded
 * are callers, with none left out between.
 */
#include <string.h>

#include "../proc/proc.h"
#include "../sample.h"
#include "../trap.h"
#include "pcslog.h"

/* switch.S */
extern char switch_loads[], switch_end[], thread_first[];

/* What may come after some calls, beside one of STACK_WHOLE and the like. */
enum { GOES_ON = -1, AT_TRAP = -2 };

/* A chain being recorded. */
struct chain {
	unsigned int *pc;
	unsigned int n;
};

/* Where code was interrupted, and what its callers are found by. */
struct place {
	unsigned long pc, ra, fp, sp;
};

static bool
within(unsigned long pc, const void *start, const void *end)
{
	return pc - (unsigned long)start <
	       (unsigned long)end - (unsigned long)start;
}

/* False: there is no room. */
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

/* In the ways from and to user mode, where the stack begins. */
static bool
in_entry(unsigned long pc)
{
	return within(pc, trap_vector, from_kernel) &&
	       !within(pc, trap_return_user, user_interrupt);
}

static bool
in_kernel_trap(unsigned long pc)
{
	return within(pc, from_kernel, stack_overflow);
}

/* What a trap of the kernel interrupted: its frame, which ends at fp, has that.
 * An address that is odd says that nobody was called there. */
static bool
add_trap(struct chain *c, struct place *p, unsigned long fp)
{
	const struct ktrapframe *kf = (const struct ktrapframe *)fp - 1;

	*p = (struct place){kf->sepc, kf->ra, kf->s0, fp};
	return add(c, kf->sepc | 1);
}

/*
 * In the ways in and out of a trap of the kernel's, its frame is at sp; but
 * what isn't saved yet, or is restored already, is in the registers.
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

/* Where a context switch goes on with another thread it has no registers yet
 * but those in its struct; and no one has called where a new one begins. */
static void
find_switched(struct place *p, const struct thread *t)
{
	if (within(p->pc, switch_loads, switch_end))
		*p = (struct place){p->pc, t->ctx.ra, t->ctx.s0, t->ctx.sp};
	if (p->ra == (unsigned long)thread_first)
		p->ra = 0;
}

/* May fp be a frame pointer, further out than what is before? The stack ends
 * at top. Anything may be in a register that isn't one. */
static bool
on_stack(unsigned long fp, unsigned long before, unsigned long top)
{
	return fp % 16 == 0 && fp - before - 1 < top - before;
}

/* A return address, of a function whose caller's frame pointer is fp. Gives
 * GOES_ON, or how the calls end there: *p is the place, at a trap. */
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
 * The calls from one trap to the one before, at which *p is then, or to the
 * end. A leaf's frame has the caller's fp where others have the return address.
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
	if (on_stack(fp, before, top) && frame[-1] == p->ra)
		end = add(c, p->ra) ? GOES_ON : STACK_FULL; /* comes again */
	else if (in_text(p->ra))
		end = add_return(c, p, p->ra, fp, top);
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

/* *p is then where the outermost trap was, if the calls are known so far. */
static unsigned int
add_kernel(struct chain *c, const struct sample *s, struct place *p)
{
	int end = AT_TRAP;

	find_switched(p, s->thread);
	while (end == AT_TRAP)
		if (in_entry(p->pc))
			end = STACK_WHOLE;
		else if (!in_kernel_trap(p->pc))
			end = add_calls(c, p);
		else if (!add_own_trap(c, p))
			end = STACK_FULL;
	return end;
}

/* --- The user's --- */

/* Until the way into the kernel has saved them the user's registers are where
 * they were, and what the trap frame has is an earlier trap's. When it returns
 * there from C, ra isn't the user's. */
static bool
entering(const struct place *kernel)
{
	return !in_text(kernel->ra) &&
	       (within(kernel->pc, trap_vector, exit_user) ||
		within(kernel->pc, user_interrupt, exit_interrupted));
}

/* Where the user was: kernel is the outermost place in the kernel. */
static struct place
user_place(const struct thread *t, const struct place *kernel)
{
	if (entering(kernel))
		return (struct place){t->tf.sepc, kernel->ra, kernel->fp,
				      t->scratch};
	return (struct place){t->tf.sepc, t->tf.ra, t->tf.s0, t->tf.sp};
}

/* Is the instruction before this address a call? */
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

/* A return address of the user's: GOES_ON, or how the calls end there. */
static int
add_user_return(struct chain *c, const struct aspace *as, unsigned long address)
{
	if (address == 0)
		return STACK_WHOLE;
	if (!in_span(address, &as->text))
		return STACK_BROKEN;
	if (!add(c, address))
		return STACK_FULL;
	if (address % 2 != 0)
		return AT_TRAP;
	return in_span(address, &as->frameless) ? STACK_FRAMELESS : GOES_ON;
}

/* What a signal interrupted: ra is at fp - 24. */
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
 * The calls from where p is. A user's frame is as the kernel's are: the return
 * address at fp - 8, the caller's fp at fp - 16, but a leaf's has that at
 * fp - 8; only the first can be one. Text lies below all stacks, so an address
 * above fp is no return address. Where a signal interrupted it is odd.
 *
 * Code without frame pointers has anything in s0: as long as it has called
 * nothing, most likely its caller's fp, so that one is looked at closely.
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

/* Only in the address space that is loaded can anything be looked at: sched and
 * exec load the next before the thread is the next, or begins anew. */
static unsigned int
add_user(struct chain *c, const struct sample *s, const struct place *kernel)
{
	const struct aspace *as = s->thread->proc->as;
	struct place p = user_place(s->thread, kernel);
	int end;

	if (s->thread->tf_changing)
		return STACK_AWAY;
	if (s->mode != SAMPLE_USER && !add(c, p.pc))
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

size_t
log_stack(const struct sample *s, struct STKSAMPLE *record)
{
	struct chain c = {.pc = record->pc};
	unsigned int kernel = STACK_WHOLE, user = STACK_WHOLE;
	struct place p = {s->pc, 0, 0, 0};

	if (s->thread == NULL)
		return 0; /* a made-up sample */
	if (s->kf != NULL) {
		p = (struct place){s->pc, s->kf->ra, s->kf->s0,
				   (unsigned long)(s->kf + 1)};
		kernel = add_kernel(&c, s, &p);
	}
	record->type = STACK;
	record->nkernel = c.n;
	if (kernel == STACK_FULL)
		user = STACK_FULL;
	else if (s->thread->proc != NULL)
		user = add_user(&c, s, &p);
	record->n = c.n;
	record->cut = kernel << 4 | user;
	if (c.n % 2 == 0)
		record->pc[c.n] = 0;
	return STACK_BYTES(c.n);
}

/*
 * Call stacks for pcs: who called the code that a sample interrupted. The
 * sampler's part: it follows frame pointers, of which anything may be wrong,
 * for so many frames, reads only what is there, and waits for nothing.
 *
 * Where the interrupted function has no frame, or none yet, or no more, its
 * caller is only in register ra; else ra may hold any return address that was
 * there last. So it is recorded first, unless the first frame has it, and the
 * reader, who has symbols, leaves it out if it lies in the function itself.
 */
#include "../frames.h"
#include "../proc/proc.h"
#include "../sample.h"
#include "../trap.h"
#include "pcslog.h"

/* A chain being recorded. */
struct chain {
	unsigned int *pc;
	unsigned int n, max;
};

static void
add(struct chain *c, unsigned long pc)
{
	if (c->n < c->max)
		c->pc[c->n++] = pc;
}

static bool
in_text(unsigned long pc)
{
	return pc >= (unsigned long)text_start && pc < (unsigned long)etext;
}

static void
add_kernel(struct chain *c, const struct ktrapframe *kf)
{
	unsigned long pc[STACK_MAX];
	unsigned int n = kernel_frames(kf->s0, pc, STACK_MAX);

	if (in_text(kf->ra) && (n == 0 || pc[0] != kf->ra))
		add(c, kf->ra);
	for (unsigned int i = 0; i < n; i++)
		add(c, pc[i]);
}

/*
 * A user's frame is as the kernel's are: the return address at fp - 8, the
 * caller's fp at fp - 16, but a leaf's has that at fp - 8; only the first can
 * be one. Text lies below all stacks, so an address above fp is no return
 * address.
 */
static void
add_user(struct chain *c, unsigned long fp, unsigned long ra)
{
	unsigned long frame[2]; /* of [fp - 16, fp) */
	bool first = true;

	while (c->n < c->max && fp % 16 == 0 && peek(frame, fp - 16) == 0) {
		bool leaf = first && frame[1] > fp;
		unsigned long next = leaf ? frame[1] : frame[0];

		if (first && (leaf || frame[1] != ra))
			add(c, ra);
		first = false;
		if (!leaf)
			add(c, frame[1]);
		if (next <= fp)
			break;
		fp = next;
	}
}

/* Until the way into the kernel has saved them the user's registers are where
 * they were, and what the trap frame has is an earlier trap's. When it returns
 * there from C, ra isn't the user's. */
static bool
entering(const struct sample *s)
{
	return s->kf != NULL && s->pc >= (unsigned long)trap_vector &&
	       s->pc < (unsigned long)exit_user && !in_text(s->kf->ra);
}

size_t
log_stack(const struct sample *s, struct STKSAMPLE *record)
{
	struct chain c = {.pc = record->pc, .max = STACK_MAX};

	if (s->thread == NULL)
		return 0; /* a made-up sample */
	if (s->kf != NULL)
		add_kernel(&c, s->kf);
	record->type = STACK;
	record->nkernel = c.n;
	if (s->thread->proc != NULL) {
		if (s->mode != SAMPLE_USER)
			add(&c, s->thread->tf.sepc);
		if (entering(s))
			add_user(&c, s->kf->s0, s->kf->ra);
		else
			add_user(&c, s->thread->tf.s0, s->thread->tf.ra);
	}
	record->n = c.n;
	if (c.n % 2 == 0)
		record->pc[c.n] = 0;
	return c.n > 0 ? STACK_BYTES(c.n) : 0;
}

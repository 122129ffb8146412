/*
 * Counts each executed instruction at the place at which a sampler that can't
 * interrupt code with SIE=0 would see it.
 */
#include "follow.h"

struct window windows[WINDOWS];
struct site elsewhere;
struct taken taken;

static bool counting;
/* Instructions executed from when a hart yields the machine until another hart,
 * the owner then, continues: samples that fall due in between are the owner's.
 * Others may still execute a few instructions before they sleep. */
static uint64_t handed;
static struct hart *owner;
/* The hart that executed last, except to yield the machine or to get it. */
static struct hart *latest;

/* --- Counting --- */

static void
count_site(struct hart *h, struct site *s, uint64_t n, bool out)
{
	if (out) {
		s->left_out += n;
	} else {
		s->counted += n;
		h->thread->in_kernel += n;
	}
}

/* Now it is known whether the instructions since the trap are left out. */
static void
decide(struct hart *h, bool out)
{
	h->undecided = false;
	for (unsigned int i = 0; i < h->n; i++)
		count_site(h, h->waiting[i].site, h->waiting[i].n, out);
	h->n = 0;
}

static bool
left_out(struct thread *t)
{
	return t->pays || (t->traps > 0 && innermost(t)->left_out);
}

/* Was what the innermost trap interrupted left out? */
static bool
left_out_below(const struct thread *t)
{
	return t->traps > 1 && t->trap[t->traps - 2].left_out;
}

/* Samplers can't see what the innermost trap executes. */
static void
leave_out(struct thread *t)
{
	if (t->traps > 0)
		innermost(t)->left_out = true;
}

/* Samplers can see it, if they could see what it interrupted. */
static void
take_in(struct thread *t)
{
	if (t->traps > 0)
		innermost(t)->left_out = left_out_below(t);
}

/* What an instruction with SIE=0 adds to. */
static uint64_t *
carried_by(struct hart *h)
{
	if (h->state == EXECUTES)
		return &h->carried;
	if (owner == NULL || owner == h || owner->state != EXECUTES)
		return &handed;
	return &owner->carried;
}

static void
count_kernel(struct hart *h, struct site *s)
{
	h->executed = s;
	if (!counting)
		return;
	if (h->masked) {
		*carried_by(h) += 1;
		return;
	}
	if (!h->undecided) {
		count_site(h, s, 1 + h->carried, left_out(h->thread));
	} else if (h->n < UNDECIDED) {
		h->waiting[h->n].site = s;
		h->waiting[h->n++].n = 1 + h->carried;
	} else {
		die("a trap is neither the timer's nor another's");
	}
	h->carried = 0;
}

void
kernel_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executing();

	(void)vcpu;
	h->masked_for += h->masked;
	if (h->state == EXECUTES)
		latest = h;
	count_kernel(h, udata);
}

/* The firmware's time is its caller's. */
void
firmware_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executing();

	(void)vcpu;
	(void)udata;
	if (h->executed != NULL)
		count_kernel(h, h->executed);
}

void
user_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executing();
	struct thread *t = h->thread;
	struct place *p = udata;
	uint64_t n = 1 + h->carried;
	struct site *s;

	(void)vcpu;
	if (p->in[t->program] == NULL) /* it has executed another program */
		t->program = p->first;
	s = t->executed = p->in[t->program];
	latest = h;
	h->carried = 0;
	if (!counting)
		return;
	s->counted += n;
	s->charged += t->in_kernel + n;
	t->in_kernel = 0;
}

/* --- Stretches with SIE=0 --- */

static void
mask(struct hart *h, uint64_t from)
{
	h->masked = true;
	h->sampler = false;
	h->sampled = false;
	h->masked_for = 0;
	h->masked_from = from;
}

/* Where the samples are taken that fell due while SIE was 0. After one that was
 * taken then, none has. */
static void
carry(struct hart *h)
{
	struct thread *t = h->thread;
	bool before = h->sampler || h->state == WAITS || h->enters;

	/* If this trap has had a sample, that is long over. */
	if (h->state == WAITS)
		take_in(t);
	if (h->state != EXECUTES) {
		h->carried += handed;
		handed = 0;
		owner = h;
		h->state = EXECUTES;
	}
	if (before && t->traps == 1 && t->exit != NULL && !h->sampled)
		count_site(h, t->exit, counting ? h->carried : 0, false);
	else if (before && t->traps > 0 && !h->sampled)
		innermost(t)->carried += h->carried;
	if (before)
		h->carried = 0;
	h->enters = false;
}

static void
unmasked(struct hart *h, uint64_t at)
{
	struct window *w = windows;

	if (!h->masked)
		return;
	h->masked = false;
	carry(h);
	if (h->sampler && !h->sampled)
		take_in(h->thread);
	while (w->times && (w->from != h->masked_from || w->to != at ||
			    w->sampler != h->sampler))
		if (++w == windows + WINDOWS)
			die("too many stretches with SIE=0");
	w->from = h->masked_from;
	w->to = at;
	w->sampler = h->sampler;
	w->times += counting;
	if (counting && w->longest < h->masked_for)
		w->longest = h->masked_for;
}

/* --- Landmarks --- */

/* hold_or_go: called for hold, go, and hold again. */
static void
at_hold(struct hart *h)
{
	static unsigned int calls;

	(void)h;
	counting = ++calls == 2;
}

/* trap_vector */
static void
at_trap(struct hart *h)
{
	struct thread *t = h->thread;
	bool out = left_out(t);
	struct trap *trap = follow_trap(h);

	h->before = latest;
	if (h->undecided) /* an interrupted trap isn't the timer's */
		decide(h, false);
	t->interrupted = h->executed;
	trap->carried = h->carried;
	trap->left_out = out;
	h->carried = 0;
	h->undecided = !out;
	mask(h, 0);
}

/* exit_interrupted: the interrupted exit doesn't continue, a new one begins. */
static void
at_in_exit(struct hart *h)
{
	struct thread *t = h->thread;
	struct trap *trap = innermost(t);

	if (counting && t->traps > 1 && !left_out_below(t))
		t->interrupted->counted += trap->carried;
	trap->carried = t->traps > 1 ? t->trap[0].carried : 0;
	t->exit = t->interrupted;
	follow_in_exit(h);
}

/* Only a trap, or work on the exit, that the timer didn't cause comes here. */
static void
at_not_timer(struct hart *h)
{
	if (h->undecided)
		decide(h, false);
}

/* exit_user */
static void
at_exit(struct hart *h)
{
	h->thread->pays = false;
	at_not_timer(h);
	follow_exit(h);
}

static void
at_exit_work(struct hart *h)
{
	h->undecided = !left_out(h->thread);
}

/* profil_pay */
static void
at_pay(struct hart *h)
{
	if (h->undecided)
		decide(h, true);
	h->thread->pays = true;
}

/* signal_deliver: the time before it isn't the signal handler's. */
static void
at_signal(struct hart *h)
{
	struct thread *t = h->thread;

	at_not_timer(h);
	t->pays = false; /* a signal would come without a sample, too */
	if (t->executed != NULL)
		t->executed->charged += t->in_kernel;
	t->in_kernel = 0;
}

/* clock_interrupt */
static void
at_timer(struct hart *h)
{
	if (h->state != EXECUTES) /* nothing before this is for the sample */
		carry(h);
	h->sampler = true;
	if (!h->undecided)
		return;
	leave_out(h->thread);
	decide(h, true);
}

/* sample: the rest of the trap is executed because of it, whatever caused the
 * trap. */
static void
at_sample(struct hart *h)
{
	if (counting) {
		taken.all++;
		taken.wrong += h->before != h && h->before->state == EXECUTES;
	}
	h->sampled = true;
	leave_out(h->thread);
}

/* The store of where a new thread begins */
static void
created(struct hart *h, uint64_t thread)
{
	struct thread *t = thread_of(thread);

	t->traps = 0;
	t->program = h->thread->program;
	t->exit = NULL;
	t->pays = false;
	t->in_kernel = 0;
	t->executed = NULL;
}

/* The exit's sret */
static void
at_user_return(struct hart *h, uint64_t at)
{
	struct thread *t = h->thread;

	unmasked(h, at);
	if (t->traps > 0)
		h->carried += t->trap[0].carried;
	t->exit = NULL;
	follow_user_return(h);
}

static void
at_kernel_return(struct hart *h, uint64_t at)
{
	struct trap *trap;

	unmasked(h, at); /* of a trap that was masked to its end */
	trap = follow_kernel_return(h);
	if (trap != NULL)
		h->carried += trap->carried;
}

/* An instruction that clears SIE. */
static void
at_masked(struct hart *h, uint64_t at)
{
	if (!h->masked)
		mask(h, at);
}

/* An interrupt that isn't the timer's sets SIE. A sample that fell due before
 * is of the interrupted code. */
static void
at_entered(struct hart *h, uint64_t at)
{
	h->enters = true;
	unmasked(h, at);
}

/* SIE is cleared where another hart may execute instead: in icount_wait, which
 * a trap calls whether the timer is due or not, */
static void
at_waits(struct hart *h, uint64_t at)
{
	at_not_timer(h);
	at_masked(h, at);
	h->state = WAITS;
}

/* in clock_nap, */
static void
at_naps(struct hart *h, uint64_t at)
{
	at_masked(h, at);
	h->state = NAPS;
}

/* and in doze, within a trap that lasts too long (icount_insist). If that trap
 * took a sample, no other sample is due for what it executed before. */
static void
at_dozes(struct hart *h)
{
	if (h->state != EXECUTES)
		return;
	if (h->sampled)
		h->carried = 0;
	h->sampled = false;
	h->state = WAITS;
}

const struct landmark counts_landmarks[] = {
    {.name = "hold", .before = at_hold},
    {.name = "trap", .before = at_trap},
    {.name = "in_exit", .before = at_in_exit},
    {.name = "not_timer", .before = at_not_timer},
    {.name = "exit", .before = at_exit},
    {.name = "exit_work", .before = at_exit_work},
    {.name = "pay", .before = at_pay},
    {.name = "signal", .before = at_signal},
    {.name = "timer", .before = at_timer},
    {.name = "sample", .before = at_sample},
    {.name = "user_return", .after = at_user_return},
    {.name = "kernel_return", .after = at_kernel_return},
    {.name = "unmasked", .after = unmasked},
    {.name = "entered", .after = at_entered},
    {.name = "masked", .after = at_masked},
    {.name = "waits", .after = at_waits},
    {.name = "naps", .after = at_naps},
    {.name = "dozes", .before = at_dozes},
    {.name = "created", .accessed = created},
    {0},
};

/*
 * What each instruction that is executed counts for.
 */
#include "counter.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 4096
#define NESTED  32 /* traps within traps */
/* Instructions until a trap is known for what it is: it may spin for a lock. */
#define UNDECIDED 8192

/* What a thread is in: its traps, the outermost first. */
struct thread {
	uint64_t name; /* where the kernel saves its registers */
	unsigned int program;
	unsigned int depth;
	bool left_out[NESTED];        /* what is executed at this depth */
	uint64_t carried[NESTED + 1]; /* to what each of them interrupted */
	struct site *interrupted;     /* the last before a trap */
	struct site *exit; /* the same, if that is in the exit; or NULL */
	bool pays;         /* profil's share of a timer interrupt's work */
	uint64_t kernel;   /* counted since it left user mode */
	struct site *last; /* in user mode */
};

struct hart {
	struct thread *thread;
	struct thread first; /* until it switches for the first time */
	struct site *last;   /* in the kernel: who called the firmware */
	/* A trap, or work on the exit, that isn't yet known to be the timer's
	 * or not. */
	bool undecided;
	unsigned int n;
	struct {
		struct site *site;
		uint64_t n;
	} executed[UNDECIDED];
	/* The instructions since SIE became 0. */
	bool masked;
	bool sampler; /* the timer is being served, */
	bool sampled; /* with a sample */
	uint64_t masked_from;
	unsigned int masked_for;
	/* A sample that falls due while SIE is 0 is taken later. So what is
	 * executed then counts for the instruction at which it is taken: the
	 * next one; or the one that a trap has interrupted. */
	uint64_t carried;
	enum { GOES_ON, WAITS, NAPS } state; /* for another hart (icount.c) */
	bool enters;         /* an interrupt's first instructions */
	struct hart *before; /* who executed before its latest trap */
};

struct window windows[WINDOWS];
struct site elsewhere;
struct taken taken;

static struct thread threads[THREADS];
static struct hart harts[HARTS];
static unsigned int hart_now;
static bool counting;
/* From the moment a hart gives the machine away, until another goes on, samples
 * that fall due are that one's: the owner then. Others may still execute a few
 * instructions before they sleep. */
static uint64_t handed;
static struct hart *owner;
/* Who has executed last, except to give the machine away, or to get it. */
static struct hart *latest;

/* --- Counting --- */

static void
count_site(struct hart *h, struct site *s, uint64_t n, bool out)
{
	if (out) {
		s->left_out += n;
	} else {
		s->counted += n;
		h->thread->kernel += n;
	}
}

/* What was not decided: is it to be left out? */
static void
decide(struct hart *h, bool out)
{
	h->undecided = false;
	for (unsigned int i = 0; i < h->n; i++)
		count_site(h, h->executed[i].site, h->executed[i].n, out);
	h->n = 0;
}

static bool
left_out(const struct thread *t)
{
	return t->pays || (t->depth > 0 && t->left_out[t->depth - 1]);
}

/* What its innermost trap has interrupted. */
static bool
is_left_out_below(const struct thread *t)
{
	return t->depth > 1 && t->left_out[t->depth - 2];
}

/* What an instruction with SIE=0 adds to. */
static uint64_t *
carried_by(struct hart *h)
{
	if (h->state == GOES_ON)
		return &h->carried;
	if (owner == NULL || owner == h || owner->state != GOES_ON)
		return &handed;
	return &owner->carried;
}

static void
count_kernel(struct hart *h, struct site *s)
{
	h->last = s;
	if (!counting)
		return;
	if (h->masked) {
		*carried_by(h) += 1;
		return;
	}
	if (!h->undecided) {
		count_site(h, s, 1 + h->carried, left_out(h->thread));
	} else if (h->n < UNDECIDED) {
		h->executed[h->n].site = s;
		h->executed[h->n++].n = 1 + h->carried;
	} else {
		die("a trap is neither the timer's nor another's");
	}
	h->carried = 0;
}

void
kernel_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = &harts[hart_now];

	(void)vcpu;
	h->masked_for += h->masked;
	if (h->state == GOES_ON)
		latest = h;
	count_kernel(h, udata);
}

/* The firmware's time is its caller's. */
void
firmware_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = &harts[hart_now];

	(void)vcpu;
	(void)udata;
	if (h->last != NULL)
		count_kernel(h, h->last);
}

void
user_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = &harts[hart_now];
	struct thread *t = h->thread;
	struct place *p = udata;
	uint64_t n = 1 + h->carried;
	struct site *s;

	(void)vcpu;
	if (p->in[t->program] == NULL) /* it has executed another program */
		t->program = p->first;
	s = t->last = p->in[t->program];
	latest = h;
	h->carried = 0;
	if (!counting)
		return;
	s->counted += n;
	s->charged += t->kernel + n;
	t->kernel = 0;
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
	if (h->state == WAITS && t->depth > 0)
		t->left_out[t->depth - 1] = is_left_out_below(t);
	if (h->state != GOES_ON) {
		h->carried += handed;
		handed = 0;
		owner = h;
		h->state = GOES_ON;
	}
	if (before && t->depth == 1 && t->exit != NULL && !h->sampled)
		count_site(h, t->exit, counting ? h->carried : 0, false);
	else if (before && t->depth > 0 && !h->sampled)
		t->carried[t->depth - 1] += h->carried;
	if (before)
		h->carried = 0;
	h->enters = false;
}

static void
unmasked(struct hart *h, uint64_t at)
{
	struct window *w = windows;
	struct thread *t = h->thread;

	if (!h->masked)
		return;
	h->masked = false;
	carry(h);
	if (h->sampler && !h->sampled && t->depth > 0)
		t->left_out[t->depth - 1] = is_left_out_below(t);
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

	h->before = latest;
	if (h->undecided) /* the trap before lets others in: no timer's */
		decide(h, false);
	if (t->depth == NESTED)
		die("traps nest too deep");
	t->interrupted = h->last;
	t->carried[t->depth] = h->carried;
	h->carried = 0;
	t->left_out[t->depth++] = out;
	h->undecided = !out;
	mask(h, 0);
}

/* exit_interrupted: another exit begins, the one before won't be gone on with.
 */
static void
at_in_exit(struct hart *h)
{
	struct thread *t = h->thread;

	if (counting && t->depth > 1 && !t->left_out[t->depth - 2])
		t->interrupted->counted += t->carried[t->depth - 1];
	t->carried[t->depth - 1] = 0;
	t->exit = t->interrupted;
	if (t->depth > 1) {
		t->left_out[0] = t->left_out[t->depth - 1];
		t->depth = 1;
	}
}

/* What a trap, or work on the exit, comes to that isn't the timer's. */
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
	t->pays = false; /* this would have come without a sample, too */
	if (t->last != NULL)
		t->last->charged += t->kernel;
	t->kernel = 0;
}

/* clock_interrupt */
static void
at_timer(struct hart *h)
{
	struct thread *t = h->thread;

	if (h->state != GOES_ON) /* up to here nothing is the sample's */
		carry(h);
	h->sampler = true;
	if (!h->undecided)
		return;
	if (t->depth > 0)
		t->left_out[t->depth - 1] = true;
	decide(h, true);
}

/* What follows it in the same trap never comes without it, whatever the trap
 * was for. */
static void
at_sample(struct hart *h)
{
	struct thread *t = h->thread;

	if (counting) {
		taken.all++;
		taken.wrong += h->before != h && h->before->state == GOES_ON;
	}
	h->sampled = true;
	if (t->depth > 0)
		t->left_out[t->depth - 1] = true;
}

/* thread_first */
static void
at_new_thread(struct hart *h)
{
	h->thread->depth = 0;
	h->thread->kernel = 0;
	h->thread->pays = false;
}

/* After a trap: what it carries to what it has interrupted. */
static void
go_on(struct hart *h)
{
	struct thread *t = h->thread;

	h->carried += t->carried[t->depth];
	t->carried[t->depth] = 0;
}

/* The exit's sret */
static void
at_user_return(struct hart *h, uint64_t at)
{
	unmasked(h, at);
	h->thread->depth = 0;
	h->thread->exit = NULL;
	go_on(h);
}

static void
at_kernel_return(struct hart *h, uint64_t at)
{
	unmasked(h, at); /* of a trap that was masked to its end */
	if (h->thread->depth > 0)
		h->thread->depth--;
	go_on(h);
}

/* An instruction that clears SIE. */
static void
at_masked(struct hart *h, uint64_t at)
{
	if (!h->masked)
		mask(h, at);
}

/* An interrupt that isn't the timer's sets SIE. A sample that fell due until
 * then is of what it has interrupted. */
static void
at_entered(struct hart *h, uint64_t at)
{
	h->enters = true;
	unmasked(h, at);
}

/* SIE is cleared where another hart may be let execute: in icount_wait, to
 * which a trap comes whether the timer will be due after it or not; */
static void
at_waits(struct hart *h, uint64_t at)
{
	at_not_timer(h);
	at_masked(h, at);
	h->state = WAITS;
}

/* and in clock_nap. */
static void
at_naps(struct hart *h, uint64_t at)
{
	at_masked(h, at);
	h->state = NAPS;
}

/* doze: and in the middle of a trap that lasts too long (icount_insist). If a
 * sample was taken in that trap, what came before is of no other. */
static void
at_dozes(struct hart *h)
{
	if (h->state != GOES_ON)
		return;
	if (h->sampled)
		h->carried = 0;
	h->sampled = false;
	h->state = WAITS;
}

static const struct landmark {
	const char *name;
	void (*before)(struct hart *h); /* NULL: nothing */
	void (*after)(struct hart *h, uint64_t at);
} landmarks[] = {
    {"hold", at_hold, NULL},
    {"trap", at_trap, NULL},
    {"in_exit", at_in_exit, NULL},
    {"not_timer", at_not_timer, NULL},
    {"exit", at_exit, NULL},
    {"exit_work", at_exit_work, NULL},
    {"pay", at_pay, NULL},
    {"signal", at_signal, NULL},
    {"timer", at_timer, NULL},
    {"sample", at_sample, NULL},
    {"new_thread", at_new_thread, NULL},
    {"user_return", NULL, at_user_return},
    {"kernel_return", NULL, at_kernel_return},
    {"unmasked", NULL, unmasked},
    {"entered", NULL, at_entered},
    {"masked", NULL, at_masked},
    {"waits", NULL, at_waits},
    {"naps", NULL, at_naps},
    {"dozes", at_dozes, NULL},
    {"switch", NULL, NULL},
};

const struct landmark *
landmark_find(const char *name)
{
	for (size_t i = 0; i < sizeof(landmarks) / sizeof(landmarks[0]); i++)
		if (strcmp(landmarks[i].name, name) == 0)
			return &landmarks[i];
	return NULL;
}

bool
landmark_switches(const struct landmark *l)
{
	return l->before == NULL && l->after == NULL;
}

void
before_executed(unsigned int vcpu, void *udata)
{
	struct mark *m = udata;

	(void)vcpu;
	if (m->what->before)
		m->what->before(&harts[hart_now]);
}

void
after_executed(unsigned int vcpu, void *udata)
{
	struct mark *m = udata;

	(void)vcpu;
	if (m->what->after)
		m->what->after(&harts[hart_now], m->address);
}

/* A hart goes on with another thread: the one whose registers are here. */
void
switched(unsigned int vcpu, uint32_t info, uint64_t address, void *udata)
{
	struct thread *t = &threads[address / 64 % THREADS];

	(void)vcpu;
	(void)info;
	(void)udata;
	while (t->name != 0 && t->name != address)
		if (++t == threads + THREADS)
			t = threads;
	t->name = address;
	harts[hart_now].thread = t;
}

void
follow_init(void)
{
	for (int i = 0; i < HARTS; i++)
		harts[i].thread = &harts[i].first;
}

void
follow_hart(unsigned int hart)
{
	if (hart >= HARTS)
		die("there are too many harts");
	hart_now = hart;
}

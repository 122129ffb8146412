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
	bool left_out[NESTED];       /* what is executed at this depth */
	uint64_t waited[NESTED + 1]; /* for what each of them interrupted */
	struct site *interrupted;    /* the last before a trap */
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
		uint64_t waited;
	} executed[UNDECIDED];
	/* The instructions since SIE became 0. */
	bool masked;
	bool sampler; /* the timer is being served, */
	bool sampled; /* with a sample */
	uint64_t masked_from;
	unsigned int masked_for;
	/*
	 * QEMU runs several harts in turns. Between its turns a hart is at the
	 * instruction that it has come to, and there a sample finds it. So that
	 * time is counted for this instruction, in instructions of the others,
	 * once it is executed: after the interrupts that come before it. With
	 * SIE=0 a sample waits too, until SIE is set again.
	 */
	uint64_t left; /* when its last turn ended */
	uint64_t waited;
	bool asleep; /* in a wfi, with nothing to do */
};

struct window windows[WINDOWS];
struct site elsewhere;

static struct thread threads[THREADS];
static struct hart harts[HARTS];
static unsigned int hart_now;
static uint64_t executed_by_all;
static bool counting;

/* --- Counting --- */

/* Each instruction, before it is counted. */
static struct hart *
executes(void)
{
	struct hart *h = &harts[hart_now];

	executed_by_all++;
	h->asleep = false;
	return h;
}

static void
count_site(struct hart *h, struct site *s, uint64_t waited, bool out)
{
	if (out) {
		s->left_out += 1 + waited;
	} else {
		s->counted += 1 + waited;
		h->thread->kernel += 1 + waited;
	}
}

/* What was not decided: is it to be left out? */
static void
decide(struct hart *h, bool out)
{
	h->undecided = false;
	for (unsigned int i = 0; i < h->n; i++)
		count_site(h, h->executed[i].site, h->executed[i].waited, out);
	h->n = 0;
}

static bool
left_out(const struct thread *t)
{
	return t->pays || (t->depth > 0 && t->left_out[t->depth - 1]);
}

static void
count_kernel(struct hart *h, struct site *s)
{
	uint64_t waited = h->masked && counting ? 0 : h->waited;

	h->last = s;
	h->waited -= waited;
	if (!counting)
		return;
	if (!h->undecided) {
		count_site(h, s, waited, left_out(h->thread));
	} else if (h->n < UNDECIDED) {
		h->executed[h->n].site = s;
		h->executed[h->n++].waited = waited;
	} else {
		die("a trap is neither the timer's nor another's");
	}
}

void
kernel_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executes();

	(void)vcpu;
	h->masked_for += h->masked;
	count_kernel(h, udata);
}

/* The firmware's time is its caller's. */
void
firmware_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executes();

	(void)vcpu;
	(void)udata;
	if (h->last != NULL)
		count_kernel(h, h->last);
}

void
user_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executes();
	struct thread *t = h->thread;
	struct place *p = udata;
	uint64_t waited;
	struct site *s;

	(void)vcpu;
	if (p->in[t->program] == NULL) /* it has executed another program */
		t->program = p->first;
	s = t->last = p->in[t->program];
	waited = h->waited;
	h->waited = 0;
	if (!counting)
		return;
	s->counted += 1 + waited;
	s->charged += t->kernel + 1 + waited;
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

static void
unmasked(struct hart *h, uint64_t at)
{
	struct window *w = windows;

	if (!h->masked)
		return;
	h->masked = false;
	if (h->sampler) /* the next sample is not yet due */
		h->waited = 0;
	if (h->sampler && !h->sampled && h->thread->depth > 0)
		h->thread->left_out[h->thread->depth - 1] =
		    h->thread->depth > 1 &&
		    h->thread->left_out[h->thread->depth - 2];
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

	if (h->undecided) /* the trap before lets others in: no timer's */
		decide(h, false);
	if (t->depth == NESTED)
		die("traps nest too deep");
	t->interrupted = h->last;
	t->waited[t->depth] = h->waited;
	h->waited = 0;
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
		t->interrupted->counted += t->waited[t->depth - 1];
	t->waited[t->depth - 1] = 0;
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

	h->sampler = true;
	if (!h->undecided)
		return;
	if (t->depth > 0)
		t->left_out[t->depth - 1] = true;
	decide(h, true);
}

static void
at_sample(struct hart *h)
{
	h->sampled = true;
}

/* thread_first */
static void
at_new_thread(struct hart *h)
{
	h->thread->depth = 0;
	h->thread->kernel = 0;
	h->thread->pays = false;
}

/* A wfi, but clock_nap's, which waits for a lock's holder: that is work. */
static void
at_sleep(struct hart *h, uint64_t at)
{
	(void)at;
	h->asleep = true;
}

/* After a trap: what had been waited for before it. */
static void
go_on(struct hart *h)
{
	struct thread *t = h->thread;

	h->waited += t->waited[t->depth];
	t->waited[t->depth] = 0;
}

/* The exit's sret */
static void
at_user_return(struct hart *h, uint64_t at)
{
	h->thread->depth = 0;
	go_on(h);
	unmasked(h, at);
}

static void
at_kernel_return(struct hart *h, uint64_t at)
{
	if (h->thread->depth > 0)
		h->thread->depth--;
	go_on(h);
	unmasked(h, at);
}

/* An instruction that clears SIE. */
static void
at_masked(struct hart *h, uint64_t at)
{
	if (!h->masked)
		mask(h, at);
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
    {"sleep", NULL, at_sleep},
    {"user_return", NULL, at_user_return},
    {"kernel_return", NULL, at_kernel_return},
    {"unmasked", NULL, unmasked},
    {"masked", NULL, at_masked},
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
	harts[hart_now].waited = 0;
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
	struct hart *h;

	if (hart >= HARTS)
		die("there are too many harts");
	if (hart == hart_now)
		return;
	harts[hart_now].left = executed_by_all;
	hart_now = hart;
	h = &harts[hart];
	if (!h->asleep)
		h->waited += executed_by_all - h->left;
}

/*
 * What each instruction that is executed counts for.
 */
#include "counter.h"

#include <stdlib.h>
#include <string.h>

#define THREADS   4096
#define NESTED    32  /* traps within traps */
#define UNDECIDED 512 /* instructions until a trap is known for what it is */

/* What a thread is in: its traps, the outermost first. */
struct thread {
	uint64_t name; /* where the kernel saves its registers */
	unsigned int program;
	unsigned int depth;
	bool left_out[NESTED]; /* what is executed at this depth */
	bool pays;             /* profil's share of a timer interrupt's work */
	uint64_t kernel;       /* counted since it left user mode */
	struct site *last;     /* in user mode */
};

/*
 * QEMU runs several harts in turns. A hart waits for its next turn at the
 * instruction that it has come to, and that is where a sample finds it; the
 * instructions of a turn share the time of the wait, each of them alike.
 * Times are counted in instructions of all harts.
 */
struct turn {
	uint64_t began;
	uint64_t length; /* instructions executed, counted or not */
	struct site **sites;
	size_t n, room;
};

struct hart {
	struct thread *thread;
	struct thread first; /* until it switches for the first time */
	struct site *last;   /* in the kernel: who called the firmware */
	/* A trap, or work on the exit, that isn't yet known to be the timer's
	 * or not. */
	bool undecided;
	unsigned int n;
	struct site *sites[UNDECIDED];
	/* The instructions since SIE became 0. */
	bool masked;
	bool sampler; /* the timer is being served, */
	bool sampled; /* with a sample */
	uint64_t masked_from;
	unsigned int masked_for;
	struct turn turn;
	struct site *naps; /* in a wfi that a lock's holder is waited for in */
	uint64_t asleep;   /* since so many instructions of all harts */
};

struct window windows[WINDOWS];
struct site elsewhere;

static struct thread threads[THREADS];
static struct hart harts[HARTS];
static unsigned int hart_now;
static uint64_t executed_by_all;
static bool in_turns; /* there are several harts */
static bool counting;

/* --- Counting --- */

static void
count(struct hart *h, struct site *s)
{
	struct turn *t = &h->turn;

	if (!in_turns) {
		s->counted++;
		return;
	}
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 4096;
		t->sites = realloc(t->sites, t->room * sizeof(*t->sites));
		if (t->sites == NULL)
			die("no memory");
	}
	t->sites[t->n++] = s;
}

/* A turn is over, and what it lasted with the wait after it is known. */
static void
turn_over(struct turn *t, uint64_t lasted)
{
	for (size_t i = 0; i < t->n; i++)
		t->sites[i]->counted += (double)lasted / t->length;
	t->n = 0;
	t->length = 0;
	t->began = executed_by_all;
}

/* Each instruction, before it is counted. */
static struct hart *
executes(void)
{
	struct hart *h = &harts[hart_now];

	if (h->naps != NULL && counting)
		h->naps->counted += executed_by_all - h->asleep;
	h->naps = NULL;
	executed_by_all++;
	h->turn.length++;
	return h;
}

static void
count_site(struct hart *h, struct site *s, bool out)
{
	if (out) {
		s->left_out++;
	} else {
		count(h, s);
		h->thread->kernel++;
	}
}

/* What was not decided: is it to be left out? */
static void
decide(struct hart *h, bool out)
{
	h->undecided = false;
	for (unsigned int i = 0; i < h->n; i++)
		count_site(h, h->sites[i], out);
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
	h->last = s;
	if (!counting)
		return;
	if (!h->undecided)
		count_site(h, s, left_out(h->thread));
	else if (h->n < UNDECIDED)
		h->sites[h->n++] = s;
	else
		die("a trap is neither the timer's nor another's");
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
	struct site *s;

	(void)vcpu;
	if (p->in[t->program] == NULL) /* it has executed another program */
		t->program = p->first;
	s = t->last = p->in[t->program];
	if (!counting)
		return;
	count(h, s);
	s->charged += t->kernel + 1;
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

/* sample_hold: called for hold, go, and hold again. */
static void
at_hold(struct hart *h)
{
	static unsigned int calls;

	(void)h;
	counting = ++calls == 2;
	for (int i = 0; i < HARTS; i++)
		turn_over(&harts[i].turn, harts[i].turn.length);
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
	t->left_out[t->depth++] = out;
	h->undecided = !out;
	mask(h, 0);
}

/* exit_interrupted: another exit begins: the one before won't be gone on with. */
static void
at_in_exit(struct hart *h)
{
	struct thread *t = h->thread;

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

/* A wfi: what it waits for isn't its turn. */
static void
at_sleep(struct hart *h, uint64_t at)
{
	(void)at;
	turn_over(&h->turn, h->turn.length);
}

/* That in clock_nap. */
static void
at_nap(struct hart *h, uint64_t at)
{
	at_sleep(h, at);
	h->naps = h->last;
	h->asleep = executed_by_all;
}

/* The exit's sret */
static void
at_user_return(struct hart *h, uint64_t at)
{
	h->thread->depth = 0;
	unmasked(h, at);
}

static void
at_kernel_return(struct hart *h, uint64_t at)
{
	if (h->thread->depth > 0)
		h->thread->depth--;
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
    {"nap", NULL, at_nap},
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
	struct turn *t;

	if (hart >= HARTS)
		die("there are too many harts");
	if (hart == hart_now)
		return;
	in_turns = true;
	hart_now = hart;
	t = &harts[hart].turn;
	if (t->length)
		turn_over(t, executed_by_all - t->began);
	t->began = executed_by_all;
}

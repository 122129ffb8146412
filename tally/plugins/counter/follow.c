/* See follow.h. */
#include "follow.h"

#define THREADS 4096

static struct thread threads[THREADS];
static struct hart harts[HARTS];

unsigned int hart_now;

struct hart *
executing(void)
{
	return &harts[hart_now];
}

void
follow_hart(unsigned int hart)
{
	if (hart >= HARTS)
		die("there are too many harts");
	hart_now = hart;
}

void
follow_init(void)
{
	for (int i = 0; i < HARTS; i++)
		harts[i].thread = &harts[i].first;
}

struct thread *
thread_of(uint64_t name)
{
	struct thread *t = &threads[name / 64 % THREADS];

	while (t->name != 0 && t->name != name)
		if (++t == threads + THREADS)
			t = threads;
	t->name = name;
	return t;
}

/* --- Traps --- */

struct trap *
innermost(struct thread *t)
{
	return t->traps > 0 ? &t->trap[t->traps - 1] : NULL;
}

/* trap_vector */
struct trap *
follow_trap(struct hart *h)
{
	struct thread *t = h->thread;
	struct trap *trap = &t->trap[t->traps];

	if (t->traps == NESTED)
		die("traps nest too deep");
	t->traps++;
	*trap = (struct trap){.user = h->in_user};
	h->in_user = false;
	return trap;
}

/* The sret of a trap in the kernel. */
struct trap *
follow_kernel_return(struct hart *h)
{
	struct thread *t = h->thread;

	return t->traps > 0 ? &t->trap[--t->traps] : NULL;
}

/* The exit's sret */
void
follow_user_return(struct hart *h)
{
	h->thread->traps = 0;
	h->in_user = true;
}

/* exit_interrupted: no other trap returns, so this one is the outermost. */
void
follow_in_exit(struct hart *h)
{
	struct thread *t = h->thread;

	t->trap[0] = *innermost(t);
	t->traps = 1;
}

/* exit_user: now nothing in the kernel is left to return to. */
void
follow_exit(struct hart *h)
{
	struct thread *t = h->thread;

	if (t->traps == 0) /* a new thread */
		return;
	t->traps = 1;
	t->trap[0].user = true;
	t->trap[0].exits = false;
}

/* --- Switches --- */

/* The store of a register of the thread that the hart leaves. */
static void
this_thread(struct hart *h, uint64_t thread)
{
	if (h->thread != &h->first)
		return;
	h->thread = thread_of(thread);
	*h->thread = h->first;
	h->thread->name = thread;
}

/* The store of the next thread's hart, just before it is the current one. */
static void
next_thread(struct hart *h, uint64_t thread)
{
	h->next = thread_of(thread);
}

/* The next thread is now the current one, though its registers are not yet
 * loaded. */
static void
at_switch(struct hart *h, uint64_t at)
{
	(void)at;
	h->thread = h->next;
}

const struct landmark follow_landmarks[] = {
    {.name = "this_thread", .accessed = this_thread},
    {.name = "next_thread", .accessed = next_thread},
    {.name = "switch", .after = at_switch},
    {0},
};

/* --- Landmarks --- */

void
follow_before(unsigned int vcpu, void *udata)
{
	const struct mark *m = udata;

	(void)vcpu;
	m->what->before(executing());
}

void
follow_after(unsigned int vcpu, void *udata)
{
	const struct mark *m = udata;

	(void)vcpu;
	m->what->after(executing(), m->address);
}

void
follow_accessed(unsigned int vcpu, uint32_t info, uint64_t address, void *udata)
{
	const struct mark *m = udata;

	(void)vcpu;
	(void)info;
	m->what->accessed(executing(), address - m->offset);
}

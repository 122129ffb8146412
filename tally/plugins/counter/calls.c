/* See calls.h. */
#include "follow.h"

#include <stdlib.h>
#include <string.h>

unsigned int unfollowed;

/* --- Lists of calls --- */

/* A call was made to what returns to this address. */
static void
push(struct calls *c, uint64_t address)
{
	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		c->entry = realloc(c->entry, c->room * sizeof(*c->entry));
		if (c->entry == NULL)
			die("no memory");
	}
	c->entry[c->n++] = (struct call){address, c->now};
}

static void
enter(struct calls *c, uint64_t site)
{
	c->now.site = site;
	c->now.enters = true;
}

/* Until there are no more than so many. */
static void
pop(struct calls *c, size_t n)
{
	if (c->n > n) {
		c->n = n;
		c->now = c->entry[n].from;
	}
}

static void
copy(struct calls *to, const struct calls *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++) {
		to->now = from->entry[i].from;
		push(to, from->entry[i].address);
	}
	to->now = from->now;
}

static void
begin(struct calls *c)
{
	c->n = 0;
	c->now = (struct cursor){.enters = true};
}

/* The site of what comes after a trap. */
static uint64_t
interrupted_at(const struct step *last)
{
	return (last ? last->at : 0) | 1;
}

/* --- Calls and returns --- */

/* A return went elsewhere: to a caller further out, by a longjmp that wasn't
 * recognized. */
static void
unwind(struct thread *t, uint64_t at)
{
	size_t n = t->user.n;

	while (n > 0 && t->user.entry[n - 1].address != at)
		n--;
	if (n > 0)
		pop(&t->user, n - 1);
	else
		unfollowed++;
}

bool
calls_arrive(struct hart *h, const struct step *s)
{
	struct thread *t = h->thread;
	bool again;

	if (s->kernel) {
		again = h->repeats && h->last && h->last->at == s->at;
		h->repeats = false;
		return again;
	}
	if (t->expected != 0 && t->expected != HANDLER && t->expected != s->at)
		unwind(t, s->at);
	t->expected = 0;
	again = t->faulted && t->last && t->last->at == s->at &&
		t->last->kind != SYSCALL;
	t->faulted = false;
	return again;
}

/* A return from a signal's handler leads to a page of the kernel's, from which
 * nobody called. */
static void
return_user(struct thread *t)
{
	struct calls *c = &t->user;

	if (t->jumping != NULL) {
		c->n = t->jumping->calls;
		c->now = t->jumping->now;
		t->jumping = NULL;
	} else if (c->n > 0) {
		t->expected = c->entry[c->n - 1].address;
		pop(c, c->n - 1);
	}
}

void
calls_leave(struct hart *h, const struct step *s)
{
	struct thread *t = h->thread;
	struct calls *c = s->kernel ? &t->kernel : &t->user;

	if (s->kind == CALL) {
		push(c, s->at + s->size);
		enter(c, s->at + s->size);
	} else if (s->kind == RETURN && !s->kernel) {
		return_user(t);
	} else if (s->kind == RETURN) {
		size_t least = t->traps ? innermost(t)->calls : 0;

		if (c->n > least)
			pop(c, c->n - 1);
	}
	h->in_firmware = false;
	h->last = s;
	if (!s->kernel)
		t->last = s;
}

struct step *
step_new(uint64_t at, unsigned int size, uint32_t code, bool kernel)
{
	struct step *s = calloc(1, sizeof(*s));
	unsigned int rd = code >> 7 & 31, rs1 = code >> 15 & 31;

	if (s == NULL)
		die("no memory");
	*s = (struct step){.at = at, .size = size, .kernel = kernel};
	if (size == 2) {
		code &= 0xffff;
		if ((code & 0xe003) == 0xa001 || (code & 0xc003) == 0xc001)
			s->kind = JUMP; /* c.j; c.beqz, c.bnez */
		if ((code & 0xe07f) == 0x8002 && rd != 0)
			s->kind = code & 0x1000 ? CALL
				  : rd == 1     ? RETURN
						: JUMP;
		return s;
	}
	switch (code & 0x7f) {
	case 0x6f: /* jal */
		s->kind = rd == 1 ? CALL : JUMP;
		break;
	case 0x67: /* jalr */
		s->kind = rd == 1 ? CALL : rs1 == 1 ? RETURN : JUMP;
		break;
	case 0x63:
		s->kind = JUMP;
		break;
	case 0x73:
		if (code == 0x73)
			s->kind = SYSCALL;
	}
	return s;
}

/* --- Landmarks, before each is executed --- */

/* The kernel's stack is empty: what comes next stands on the user's calls. */
static void
empty_kernel(struct thread *t)
{
	t->kernel.n = 0;
	t->kernel.now.node = t->user.now.node;
	enter(&t->kernel, interrupted_at(t->last));
}

/* trap_vector */
static void
at_trap(struct hart *h)
{
	struct thread *t = h->thread;
	struct trap *trap = follow_trap(h);

	if (trap->user) {
		empty_kernel(t);
		return;
	}
	trap->last = h->last;
	trap->calls = t->kernel.n;
	trap->now = t->kernel.now;
	enter(&t->kernel, interrupted_at(h->last));
}

/* trap_user: unless it's a system call. */
static void
at_fault(struct hart *h)
{
	h->thread->faulted = true;
}

/* kernel_exception */
static void
at_kernel_fault(struct hart *h)
{
	struct thread *t = h->thread;

	if (t->traps > 0)
		innermost(t)->faulted = true;
}

/* exit_interrupted: nothing in the kernel is left to return to. */
static void
at_in_exit(struct hart *h)
{
	struct thread *t = h->thread;

	follow_in_exit(h);
	t->trap[0].calls = 0;
	t->trap[0].exits = true;
	empty_kernel(t);
}

/* exit_user */
static void
at_exit(struct hart *h)
{
	struct thread *t = h->thread;

	follow_exit(h);
	if (t->kernel.n > 0)
		empty_kernel(t);
}

/* An instruction on the way to it, when the kernel's stack is empty */
static void
at_way_to_exit(struct hart *h, uint64_t at)
{
	(void)at;
	at_exit(h);
}

/* The exit's sret */
static void
at_user_return(struct hart *h, uint64_t at)
{
	(void)at;
	follow_user_return(h);
}

static void
at_kernel_return(struct hart *h, uint64_t at)
{
	struct thread *t = h->thread;
	struct trap *trap = follow_kernel_return(h);

	(void)at;
	if (trap == NULL)
		return;
	t->kernel.n = trap->calls;
	t->kernel.now = trap->now;
	h->last = trap->last;
	h->repeats = trap->faulted;
}

/* tf_change_end in signal_push_frame: a handler will run. */
static void
at_handler(struct hart *h)
{
	struct thread *t = h->thread;
	struct cursor before = t->user.now;

	push(&t->user, (uint64_t)t->last | INTERRUPTED);
	t->user.now = (struct cursor){before.node, interrupted_at(t->last),
				      true};
	push(&t->user, HANDLER);
	t->last = NULL;
	t->expected = 0;
}

/* sigreturn */
static void
at_sigreturn(struct hart *h)
{
	struct thread *t = h->thread;

	while (t->user.n > 0) {
		uint64_t address = t->user.entry[t->user.n - 1].address;

		pop(&t->user, t->user.n - 1);
		if (address & INTERRUPTED) {
			t->last = (const struct step *)(address & ~INTERRUPTED);
			t->expected = 0;
			return;
		}
	}
	unfollowed++;
}

/* exec */
static void
at_exec(struct hart *h)
{
	struct thread *t = h->thread;

	begin(&t->user);
	t->execs = true;
	t->last = NULL;
	t->expected = 0;
	t->jumps = 0;
}

/* The store of where a new thread begins */
static void
created(struct hart *h, uint64_t thread)
{
	struct thread *t = thread_of(thread);

	begin(&t->user);
	begin(&t->kernel);
	t->process = h->thread->process;
	t->traps = 0;
	t->execs = t->faulted = false;
	t->expected = 0;
	t->last = NULL;
	t->jumps = 0;
	t->jumping = NULL;
}

/* The store of a new process's 0 from fork */
static void
forked(struct hart *h, uint64_t thread)
{
	struct thread *child = thread_of(thread), *parent = h->thread;

	copy(&child->user, &parent->user);
	child->process = process_forked(parent->process);
	child->last = parent->last;
	child->jumps = parent->jumps;
	memcpy(child->jump, parent->jump, sizeof(child->jump));
}

/* --- longjmp --- */

/* The innermost call is setjmp's own, whose caller a longjmp comes back to. */
void
calls_setjmp(unsigned int vcpu, uint32_t info, uint64_t buffer, void *udata)
{
	struct thread *t = executing()->thread;
	unsigned int i = 0;

	(void)vcpu, (void)info, (void)udata;
	if (t->user.n == 0)
		return;
	while (i < JUMPS && i < t->jumps && t->jump[i].buffer != buffer)
		i++;
	if (i == t->jumps || i == JUMPS)
		i = t->jumps++ % JUMPS;
	t->jump[i] = (struct jump){buffer, t->user.n - 1,
				   t->user.entry[t->user.n - 1].from};
}

void
calls_longjmp(unsigned int vcpu, uint32_t info, uint64_t buffer, void *udata)
{
	struct thread *t = executing()->thread;

	(void)vcpu, (void)info, (void)udata;
	for (unsigned int i = 0; i < JUMPS && i < t->jumps; i++)
		if (t->jump[i].buffer == buffer)
			t->jumping = &t->jump[i];
}

/* --- What plugin.c calls --- */

const struct landmark calls_landmarks[] = {
    {.name = "trap", .before = at_trap},
    {.name = "fault", .before = at_fault},
    {.name = "kernel_fault", .before = at_kernel_fault},
    {.name = "in_exit", .before = at_in_exit},
    {.name = "exit", .before = at_exit},
    {.name = "user_return", .after = at_user_return},
    {.name = "to_exit", .after = at_way_to_exit},
    {.name = "kernel_return", .after = at_kernel_return},
    {.name = "handler", .before = at_handler},
    {.name = "sigreturn", .before = at_sigreturn},
    {.name = "exec", .before = at_exec},
    {.name = "stack", .before = stacks_write},
    {.name = "begin", .before = tree_begin},
    {.name = "end", .before = tree_pause},
    {.name = "created", .accessed = created},
    {.name = "child", .accessed = forked},
    {0},
};

void
calls_init(void)
{
	struct thread *t;

	for (unsigned int i = 0; i < HARTS; i++) {
		follow_hart(i);
		t = executing()->thread;
		begin(&t->user);
		begin(&t->kernel);
	}
	follow_hart(0);
}

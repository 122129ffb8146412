/*
 * The calls in progress, by following each call and return, trap and switch:
 * what the call stacks that pcs records are compared with.
 *
 * A line for each sample that gets a stack, in the order in which a hart takes
 * them: the hart, and words, the innermost first. A number is a return address;
 * @ and a number the last instruction before a trap, with a * behind it if that
 * may jump; !, the return from a signal's handler. K comes before the kernel's
 * part, U before the user's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"

#define THREADS 4096
#define NESTED  32

/* An instruction, as far as it matters here. */
struct step {
	uint64_t at;
	unsigned int size;
	enum { OTHER, CALL, RETURN, JUMP } kind;
	bool kernel;
};

/* Where something was interrupted, in an entry of a list of calls. */
#define INTERRUPTED 1UL /* beside a struct step's address */
#define HANDLER     2UL

/* Calls in progress, the outermost first. */
struct calls {
	uint64_t *entry;
	size_t n, room;
};

struct thread {
	uint64_t name; /* its struct, 0: not known yet */
	struct calls user, kernel;
	const struct step *last; /* in user mode; NULL: it begins */
	uint64_t expected;       /* where a return leads to */
	bool exits;              /* the outermost trap was of the exit stub */
	unsigned int traps;      /* of the kernel, and what each interrupted */
	struct {
		const struct step *last;
		size_t calls;
	} trap[NESTED];
};

static struct hart {
	struct thread *thread, first;
	const struct step *last;
	bool in_user;  /* what is executed next, if no trap comes */
	uint64_t next; /* the thread that is switched to */
} harts[HARTS];

static struct thread threads[THREADS];
static unsigned int hart_now;
static FILE *out;
static unsigned int unfollowed;

static void
push(struct calls *c, uint64_t entry)
{
	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		c->entry = realloc(c->entry, c->room * sizeof(*c->entry));
		if (c->entry == NULL)
			die("no memory");
	}
	c->entry[c->n++] = entry;
}

static void
copy(struct calls *to, const struct calls *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		push(to, from->entry[i]);
}

static struct thread *
thread_of(uint64_t name)
{
	struct thread *t = &threads[name / 64 % THREADS];

	while (t->name != 0 && t->name != name)
		if (++t == threads + THREADS)
			t = threads;
	t->name = name;
	return t;
}

/* --- Calls and returns --- */

/* A return went elsewhere: to a caller further out, by longjmp. */
static void
unwind(struct thread *t, uint64_t at)
{
	size_t n = t->user.n;

	while (n > 0 && t->user.entry[n - 1] != at)
		n--;
	if (n > 0)
		t->user.n = n - 1;
	else
		unfollowed++;
}

static void
step_user(struct hart *h, const struct step *s)
{
	struct thread *t = h->thread;

	if (t->expected != 0 && t->expected != HANDLER && t->expected != s->at)
		unwind(t, s->at);
	t->expected = 0;
	if (s->kind == CALL)
		push(&t->user, s->at + s->size);
	else if (s->kind == RETURN && t->user.n > 0)
		t->expected = t->user.entry[--t->user.n];
	t->last = s;
}

static void
step_kernel(struct hart *h, const struct step *s)
{
	struct thread *t = h->thread;
	size_t least = t->traps > 0 ? t->trap[t->traps - 1].calls : 0;

	if (s->kind == CALL)
		push(&t->kernel, s->at + s->size);
	else if (s->kind == RETURN && t->kernel.n > least)
		t->kernel.n--;
}

void
stacks_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = &harts[hart_now];
	const struct step *s = udata;

	(void)vcpu;
	if (s->kernel)
		step_kernel(h, s);
	else
		step_user(h, s);
	h->in_user = !s->kernel;
	h->last = s;
}

void *
stacks_step(uint64_t at, unsigned int size, uint32_t code, bool kernel)
{
	struct step *s = malloc(sizeof(*s));
	unsigned int rd = code >> 7 & 31, rs1 = code >> 15 & 31;

	if (s == NULL)
		die("no memory");
	*s = (struct step){at, size, OTHER, kernel};
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
	}
	return s;
}

/* --- Landmarks, before each is executed --- */

/* trap_vector */
static void
at_trap(struct hart *h)
{
	struct thread *t = h->thread;

	if (h->in_user) {
		t->exits = false;
		t->traps = 0;
		t->kernel.n = 0;
		return;
	}
	if (t->traps == NESTED)
		die("traps nest too deep");
	t->trap[t->traps].last = h->last;
	t->trap[t->traps++].calls = t->kernel.n;
}

/* exit_interrupted: below this trap there is nothing. */
static void
at_in_exit(struct hart *h)
{
	struct thread *t = h->thread;

	if (t->traps > 0)
		t->trap[0].last = t->trap[t->traps - 1].last;
	t->trap[0].calls = 0;
	t->traps = 1;
	t->exits = true;
	t->kernel.n = 0;
}

/* exit_user */
static void
at_exit(struct hart *h)
{
	h->thread->exits = false;
	h->thread->traps = 0;
	h->thread->kernel.n = 0;
}

/* The exit's sret */
static void
at_user_return(struct hart *h)
{
	h->in_user = true;
}

static void
at_kernel_return(struct hart *h)
{
	struct thread *t = h->thread;

	if (t->traps > 0)
		t->kernel.n = t->trap[--t->traps].calls;
	h->last = t->trap[t->traps].last;
}

/* It is the one that runs, though its registers are not yet loaded. */
static void
at_switch(struct hart *h)
{
	h->thread = thread_of(h->next);
}

/* tf_change_end in signal_push_frame: a handler will run. */
static void
at_handler(struct hart *h)
{
	struct thread *t = h->thread;

	push(&t->user, (uint64_t)t->last | INTERRUPTED);
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
		uint64_t entry = t->user.entry[--t->user.n];

		if (entry & INTERRUPTED) {
			t->last = (const struct step *)(entry & ~INTERRUPTED);
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
	h->thread->user.n = 0;
	h->thread->last = NULL;
	h->thread->expected = 0;
}

/* --- What is written --- */

static void
write_place(const struct step *s)
{
	if (s == NULL)
		fputs(" @0*", out);
	else
		fprintf(out, " @%lx%s", s->at, s->kind == OTHER ? "" : "*");
}

static void
write_calls(const struct calls *c, size_t from, size_t to)
{
	while (to-- > from) {
		uint64_t entry = c->entry[to];

		if (entry == HANDLER)
			fputs(" !", out);
		else if (entry & INTERRUPTED)
			write_place(
			    (const struct step *)(entry & ~INTERRUPTED));
		else
			fprintf(out, " %lx", entry);
	}
}

/* log_stack */
static void
at_stack(struct hart *h)
{
	const struct thread *t = h->thread;

	fprintf(out, "%u K", hart_now);
	for (unsigned int i = t->traps; i-- > 0;) {
		if (i > 0 || !t->exits || t->traps == 1)
			write_place(t->trap[i].last);
		write_calls(&t->kernel, i > 0 ? t->trap[i - 1].calls : 0,
			    t->trap[i].calls);
	}
	fputs(" U", out);
	write_place(t->last);
	write_calls(&t->user, 0, t->user.n);
	fputc('\n', out);
}

/* The store of the thread's hart, just before it is the current one. */
static void
named_next(struct hart *h, uint64_t thread)
{
	h->next = thread;
}

/* That of a register of the thread that is left. */
static void
named_this(struct hart *h, uint64_t thread)
{
	if (h->thread != &h->first)
		return;
	h->thread = thread_of(thread);
	copy(&h->thread->kernel, &h->first.kernel);
	h->thread->traps = h->first.traps;
	memcpy(h->thread->trap, h->first.trap, sizeof(h->first.trap));
}

/* That of where a new thread begins. */
static void
named_created(struct hart *h, uint64_t thread)
{
	struct thread *t = thread_of(thread);

	(void)h;
	t->user.n = t->kernel.n = 0;
	t->traps = 0;
	t->exits = false;
	t->expected = 0;
	t->last = NULL;
}

/* That of a new process's 0 from fork. */
static void
named_child(struct hart *h, uint64_t thread)
{
	struct thread *child = thread_of(thread);

	copy(&child->user, &h->thread->user);
	child->last = h->thread->last;
}

struct stack_mark {
	const char *name;
	void (*before)(struct hart *h);
	void (*after)(struct hart *h);
	void (*named)(struct hart *h, uint64_t thread); /* by an access */
};

static const struct stack_mark landmarks[] = {
    {"trap", at_trap, NULL, NULL},
    {"in_exit", at_in_exit, NULL, NULL},
    {"exit", at_exit, NULL, NULL},
    {"user_return", NULL, at_user_return, NULL},
    {"to_exit", NULL, at_exit, NULL},
    {"kernel_return", NULL, at_kernel_return, NULL},
    {"switch", NULL, at_switch, NULL},
    {"handler", at_handler, NULL, NULL},
    {"sigreturn", at_sigreturn, NULL, NULL},
    {"exec", at_exec, NULL, NULL},
    {"stack", at_stack, NULL, NULL},
    {"next_thread", NULL, NULL, named_next},
    {"this_thread", NULL, NULL, named_this},
    {"created", NULL, NULL, named_created},
    {"child", NULL, NULL, named_child},
};

const struct stack_mark *
stacks_landmark(const char *name)
{
	for (size_t i = 0; i < sizeof(landmarks) / sizeof(landmarks[0]); i++)
		if (strcmp(landmarks[i].name, name) == 0)
			return &landmarks[i];
	return NULL;
}

void
stacks_before(unsigned int vcpu, void *udata)
{
	const struct mark *m = udata;

	(void)vcpu;
	if (m->stack->before)
		m->stack->before(&harts[hart_now]);
}

void
stacks_after(unsigned int vcpu, void *udata)
{
	const struct mark *m = udata;

	(void)vcpu;
	if (m->stack->after)
		m->stack->after(&harts[hart_now]);
}

void
stacks_accessed(unsigned int vcpu, uint32_t info, uint64_t address, void *udata)
{
	const struct mark *m = udata;

	(void)vcpu;
	(void)info;
	if (m->stack->named)
		m->stack->named(&harts[hart_now], address - m->offset);
}

void
stacks_init(const char *file)
{
	out = fopen(file, "w");
	if (out == NULL)
		die("the stacks can't be written");
	for (int i = 0; i < HARTS; i++)
		harts[i].thread = &harts[i].first;
}

void
stacks_hart(unsigned int hart)
{
	if (hart >= HARTS)
		die("there are too many harts");
	hart_now = hart;
}

void
stacks_end(void)
{
	fprintf(out, "unfollowed %u\n", unfollowed);
	if (fclose(out) != 0)
		die("the stacks can't be written");
}

/*
 * Counts instructions by call path: a tree whose nodes are functions, each
 * below its caller. A node counts its calls, and how often each of its
 * instructions was executed.
 *
 * A function that ends with a jump to another is replaced by that below the
 * caller, as on the machine's stack. A trap's functions are below the function
 * that it interrupted; a new process continues at its parent's node.
 */
#include <stdio.h>
#include <stdlib.h>

#include "follow.h"

/* The depth of a path; beyond it a callee replaces its caller. */
#define DEEPEST  500
#define BUCKETS  (1 << 16)
#define ANY_SITE 2 /* not a return address */

struct node {
	struct node *parent; /* NULL: a program's root */
	const struct function *function;
	uint64_t site; /* as in a cursor */
	unsigned long id;
	unsigned int depth;
	uint64_t calls;
	uint64_t by_hart[HARTS];
	struct node *next;
	uint64_t count[]; /* for each two bytes of the function */
};

/* A process, as long as it runs one program. */
struct process {
	int program;
	uint64_t user, kernel; /* instructions */
	struct process *next;
};

static struct function nothing = {.program = NO_PROGRAM};
static struct function elsewhere_function = {.program = ELSEWHERE};
static struct function firmware = {.program = FIRMWARE_PROGRAM,
				   .interrupts = true};

/* Leads from a node to the function that is called from a site in it. */
struct edge {
	struct node *from, *to;
	const struct function *function;
	uint64_t site;
	struct edge *same_bucket;
};

static struct edge *buckets[BUCKETS];
static struct node *first, **last = &first;
static struct process *processes, **last_process = &processes;
static bool counting;
static bool waits; /* counting begins at a landmark */

/* --- Nodes --- */

static struct node *
node_new(struct node *parent, const struct function *f, uint64_t site)
{
	size_t n = (f->end - f->start) / 2 + 1;
	struct node *new = calloc(1, sizeof(*new) + n * sizeof(new->count[0]));
	static unsigned long nodes;

	if (new == NULL)
		die("no memory");
	new->parent = parent;
	new->function = f;
	new->site = site;
	new->depth = parent ? parent->depth + 1 : 0;
	new->id = nodes++;
	*last = new;
	last = &new->next;
	return new;
}

static struct edge *
edge_of(struct node *from, const struct function *f, uint64_t site)
{
	uint64_t hash = (uint64_t)from * 31 + (uint64_t)f * 17 + site;
	struct edge **bucket = &buckets[hash * 0x9e3779b97f4a7c15 >> 48];
	struct edge *e = *bucket;

	while (e && (e->from != from || e->function != f || e->site != site))
		e = e->same_bucket;
	if (e != NULL)
		return e;
	e = malloc(sizeof(*e));
	if (e == NULL)
		die("no memory");
	*e = (struct edge){from, NULL, f, site, *bucket};
	*bucket = e;
	return e;
}

/*
 * The node of a function that parent calls at site. If the function is already
 * in progress, all sites of parent share one node: a function that calls itself
 * at two sites, as a sort does, would have 2^n paths at depth n.
 */
static struct node *
node_of(struct node *parent, const struct function *f, uint64_t site)
{
	struct edge *e = edge_of(parent, f, site), *any = e;
	struct node *above = parent;

	if (e->to != NULL)
		return e->to;
	while (above != NULL && above->function != f)
		above = above->parent;
	if (above != NULL)
		any = edge_of(parent, f, ANY_SITE);
	if (any->to == NULL)
		any->to = node_new(parent, f, site);
	return e->to = any->to;
}

/* The root of a process's program; the site is the program's number. */
static struct node *
root_of(const struct process *p)
{
	return node_of(NULL, &nothing, p ? p->program : NO_PROGRAM);
}

/* The node that a call or a trap leads to. Interrupts can come anywhere: all
 * those in one function share a site. So do traps outside of the function: one
 * directly after a return belongs to the caller. */
static struct node *
below(struct node *parent, const struct function *f, uint64_t site)
{
	const struct function *caller;

	if (parent->depth >= DEEPEST)
		parent = parent->parent;
	caller = parent->function;
	if (caller != &nothing && site & 1 &&
	    (f->interrupts || site < caller->start || site >= caller->end))
		site = caller->start | 1;
	return node_of(parent, f, site);
}

/* Is it in a dynamic loader? A jump from there enters the program. */
static bool
loads_program(const struct node *n)
{
	if (n->function != &elsewhere_function)
		return false;
	while (n->parent != NULL)
		n = n->parent;
	return n->site == (uint64_t)ELSEWHERE;
}

/* Move a cursor to the executed instruction. */
static void
arrive(struct cursor *c, const struct process *p, const struct function *f,
       uint64_t at)
{
	struct node *from = c->node;

	if (c->enters)
		c->node = below(from ? from : root_of(p), f, c->site);
	else if (from->function != f)
		c->node = below(loads_program(from) ? root_of(p) : from->parent,
				f, from->site);
	else
		return;
	if (c->enters || at == f->start)
		c->node->calls += counting;
	c->enters = false;
}

static void
count(struct node *n, struct process *p, uint64_t at, bool in_kernel)
{
	if (!counting)
		return;
	n->count[(at - n->function->start) / 2]++;
	n->by_hart[hart_now]++;
	if (p != NULL)
		*(in_kernel ? &p->kernel : &p->user) += 1;
}

/* --- Processes --- */

static struct process *
process_new(int program)
{
	struct process *p = calloc(1, sizeof(*p));

	if (p == NULL)
		die("no memory");
	p->program = program;
	*last_process = p;
	last_process = &p->next;
	return p;
}

struct process *
process_forked(const struct process *parent)
{
	return parent ? process_new(parent->program) : NULL;
}

/* The function that a thread executes; several programs may have the same bytes
 * there. The second program after boot, after init, is the command's shell:
 * counting begins there. */
static const struct function *
function_of(struct thread *t, const struct step *s)
{
	struct function *f = s->nfunctions ? s->functions[0]
					   : &elsewhere_function;
	static unsigned int executed;

	if (t->execs || t->process == NULL) {
		counting |= !waits && executed++ > 0;
		t->process = process_new(f->program);
		t->execs = false;
	}
	for (unsigned int i = 0; i < s->nfunctions; i++)
		if (s->functions[i]->program == t->process->program)
			return s->functions[i];
	if (f != &elsewhere_function)
		t->process->program = f->program;
	return f;
}

void
tree_wait(void)
{
	waits = true;
}

void
tree_begin(struct hart *h)
{
	(void)h;
	counting = waits;
}

void
tree_pause(struct hart *h)
{
	(void)h;
	counting = false;
	waits = true;
}

/* --- What plugin.c calls --- */

void
tree_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executing();
	const struct step *s = udata;
	struct thread *t = h->thread;
	bool again = calls_arrive(h, s);
	struct cursor *c = s->kernel ? &t->kernel.now : &t->user.now;
	const struct function *f = s->kernel ? s->functions[0]
					     : function_of(t, s);

	(void)vcpu;
	arrive(c, t->process, f, s->at);
	if (!again)
		count(c->node, t->process, f->end ? s->at : f->start,
		      s->kernel);
	calls_leave(h, s);
}

/* The firmware's node is below the function that called it, or that its
 * interrupt came to. */
void
tree_firmware(unsigned int vcpu, void *udata)
{
	struct hart *h = executing();
	struct thread *t = h->thread;
	struct node *from = h->in_user ? t->user.now.node : t->kernel.now.node;
	bool *called = &h->in_firmware;

	(void)vcpu;
	(void)udata;
	if (!counting || from == NULL)
		return;
	from = below(from, &firmware, 1);
	from->calls += !*called;
	*called = true;
	count(from, t->process, 0, true);
}

/* --- The result --- */

static void
write_node(FILE *f, const struct node *n)
{
	const struct function *fn = n->function;

	fprintf(f, "node %ld %lx %d %lx %lu",
		n->parent ? (long)n->parent->id : -1, n->site, fn->program,
		fn->start, n->calls);
	for (unsigned int i = 0; i < HARTS; i++)
		if (n->by_hart[i])
			fprintf(f, " %u:%lu", i, n->by_hart[i]);
	fputc('\n', f);
	for (uint64_t at = fn->start; at <= fn->end; at += 2)
		if (n->count[(at - fn->start) / 2])
			fprintf(f, "%lx %lu\n", at,
				n->count[(at - fn->start) / 2]);
}

void
tree_end(const char *file)
{
	FILE *f = fopen(file, "w");

	if (f == NULL)
		die("the result can't be written");
	fprintf(f, "unfollowed %u\n", unfollowed);
	for (struct process *p = processes; p; p = p->next)
		if (p->user || p->kernel)
			fprintf(f, "process %d %lu %lu\n", p->program, p->user,
				p->kernel);
	for (struct node *n = first; n; n = n->next)
		write_node(f, n);
	if (fclose(f) != 0)
		die("the result can't be written");
}

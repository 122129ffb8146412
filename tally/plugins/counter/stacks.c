/*
 * Writes the calls in progress at each sample with a stack, to compare them
 * with the call stacks that pcs records.
 *
 * Each hart's lines are in the order of its samples: the hart, then words, the
 * innermost first. A number is a return address; @ and a number are the last
 * instruction before a trap, with a * after it if the instruction may jump. K
 * comes before the kernel's part, U before the user's.
 */
#include <stdio.h>

#include "follow.h"

static FILE *out;

void
stacks_executed(unsigned int vcpu, void *udata)
{
	struct hart *h = executing();

	(void)vcpu;
	calls_arrive(h, udata);
	calls_leave(h, udata);
}

static void
write_place(const struct step *s)
{
	if (s == NULL)
		fputs(" @0*", out);
	else
		fprintf(out, " @%lx%s", s->at, s->kind < CALL ? "" : "*");
}

static void
write_calls(const struct calls *c, size_t from, size_t to)
{
	while (to-- > from) {
		uint64_t address = c->entry[to].address;

		if (address == HANDLER)
			continue; /* not a call */
		if (address & INTERRUPTED)
			write_place(
			    (const struct step *)(address & ~INTERRUPTED));
		else
			fprintf(out, " %lx", address);
	}
}

/* Called at log_stack. */
void
stacks_write(struct hart *h)
{
	const struct thread *t = h->thread;

	if (out == NULL) /* another mode */
		return;
	fprintf(out, "%u K", hart_now);
	for (unsigned int i = t->traps; i-- > 0 && !t->trap[i].user;) {
		if (!t->trap[i].exits || t->traps == 1)
			write_place(t->trap[i].last);
		write_calls(&t->kernel, i > 0 ? t->trap[i - 1].calls : 0,
			    t->trap[i].calls);
	}
	fputs(" U", out);
	write_place(t->last);
	write_calls(&t->user, 0, t->user.n);
	fputc('\n', out);
}

void
stacks_init(const char *file)
{
	out = fopen(file, "w");
	if (out == NULL)
		die("the stacks can't be written");
}

void
stacks_end(void)
{
	fprintf(out, "unfollowed %u\n", unfollowed);
	if (fclose(out) != 0)
		die("the stacks can't be written");
}

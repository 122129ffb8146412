/* pcstat: the state of the sampling device pcs, laid out to be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmdlib/cmd.h"

#define SYNOPSIS       "[-i [SECONDS]]"
#define DEVICE         "/dev/pcstat"
#define HOME_AND_ERASE "\033[H\033[2J"
#define TEXT_MAX       4096

/* What /dev/pcstat says: a name and its values on each line. */
enum name {
	OWNER,
	CLOCK,
	REQUESTS,
	GROUP,
	LIST,
	BUFFERS,
	HARTS,
	FULL,
	FILLING,
	EMPTY,
	SEEN,
	RECORDED,
	MERGED,
	PENDING,
	LOST,
	UNREAD,
	THROWN,
	SKIPPED,
	NAMES,
};

static const char *const names[NAMES] = {
    "owner",  "clock",   "requests", "group",  "list",   "buffers",
    "harts",  "full",    "filling",  "empty",  "seen",   "recorded",
    "merged", "pending", "lost",     "unread", "thrown", "skipped",
};

struct state {
	char text[TEXT_MAX];
	const char *value[NAMES]; /* in text */
};

static void
keep(struct state *s, const char *name, const char *value)
{
	for (int i = 0; i < NAMES; i++)
		if (strcmp(name, names[i]) == 0)
			s->value[i] = value;
}

static void
load(struct state *s)
{
	int fd = cmd_open(DEVICE);
	ssize_t n = fd < 0 ? -1 : cmd_read(fd, s->text, TEXT_MAX - 1, DEVICE);
	char *rest = s->text, *line;

	if (n < 0)
		exit(cmd_status);
	close(fd);
	s->text[n] = '\0';
	memset(s->value, 0, sizeof(s->value));
	while ((line = cmd_piece(&rest, "\n"))) {
		const char *name = cmd_piece(&line, " ");

		keep(s, name, line ? line : "");
	}
	for (int i = 0; i < NAMES; i++) {
		if (!s->value[i]) {
			cmd_error(DEVICE ": has no line for %s", names[i]);
			exit(cmd_status);
		}
	}
}

static void
print_requests(const struct state *s)
{
	char requests[TEXT_MAX], *rest = strcpy(requests, s->value[REQUESTS]);
	const char *word, *before = " ";

	out_string("requests ");
	if (!*requests)
		out_string(" none");
	while (*requests && (word = cmd_piece(&rest, " "))) {
		out_printf("%s%s", before, word);
		if (strcmp(word, "group") == 0)
			out_printf(" %s", s->value[GROUP]);
		if (strcmp(word, "list") == 0)
			out_printf(" %s", s->value[LIST]);
		before = ", ";
	}
	out_char('\n');
}

static unsigned long
number(const struct state *s, enum name name)
{
	return strtoul(s->value[name], NULL, 10);
}

/* So many samples, and their part of those seen. */
static void
print_part(const struct state *s, enum name name, const char *what)
{
	unsigned long seen = number(s, SEEN), n = number(s, name);
	unsigned long permille = seen ? n * 1000 / seen : 0;

	out_printf("%10lu %5lu.%lu %%  %s\n", n, permille / 10, permille % 10,
		   what);
}

static void
print(const struct state *s)
{
	if (strcmp(s->value[OWNER], "0") == 0)
		out_string("device    free\n");
	else
		out_printf("device    open by process %s, clock %s\n",
			   s->value[OWNER], s->value[CLOCK]);
	print_requests(s);
	out_printf(
	    "buffers   %lu, %s per hart: %s full, %s filling, %s empty\n\n",
	    number(s, BUFFERS) * number(s, HARTS), s->value[BUFFERS],
	    s->value[FULL], s->value[FILLING], s->value[EMPTY]);
	out_printf("%10s          samples seen, of which\n", s->value[SEEN]);
	print_part(s, RECORDED, "recorded one by one");
	print_part(s, MERGED, "recorded as counts");
	print_part(s, PENDING, "counted but not yet recorded");
	print_part(s, LOST, "lost: no buffer was free");
	out_printf("\n%10s          recorded but not yet read\n",
		   s->value[UNREAD]);
	out_printf("%10s          discarded by the last close\n",
		   s->value[THROWN]);
	out_printf(
	    "%10s          skipped by the sampling clock, so never seen\n",
	    s->value[SKIPPED]);
}

int
main(int argc, char **argv)
{
	static struct state s;
	unsigned long seconds = 1;
	bool screen = isatty(STDOUT_FILENO);

	cmd_start(argc, argv, "pcstat", SYNOPSIS);
	cmd_flags("i");
	cmd_operands(0, cmd_given['i'] ? 1 : 0);
	if (cmd_argc > 0)
		seconds = cmd_number(cmd_argv[0], "a number of seconds", 1,
				     INT_MAX);
	for (;;) {
		load(&s);
		if (cmd_given['i'] && screen)
			out_string(HOME_AND_ERASE);
		print(&s);
		if (!cmd_given['i'])
			return cmd_done();
		if (!screen)
			out_char('\n');
		out_flush();
		sleep(seconds);
	}
}

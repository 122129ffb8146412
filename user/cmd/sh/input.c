/*
 * Where commands come from, a line at a time: a string, a file, or someone
 * at the terminal.
 *
 * Standard input is read a byte at a time, because the commands run from it
 * may read it too, and must find what follows their own line. A file that a
 * script was named by is nobody else's and is read in blocks.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sh.h"

#define BLOCK_BYTES 1024

void
input_string(struct input *in, const char *text)
{
	*in = (struct input){.kind = INPUT_STRING, .p = "", .rest = text};
}

void
input_file(struct input *in, int fd)
{
	*in = (struct input){.kind = INPUT_FILE, .p = "", .fd = fd};
	if (fd != STDIN_FILENO)
		in->block = xmalloc(BLOCK_BYTES);
}

void
input_terminal(struct input *in)
{
	*in = (struct input){.kind = INPUT_TERMINAL, .p = ""};
}

void
input_close(struct input *in)
{
	if (in->kind == INPUT_FILE && in->fd != STDIN_FILENO)
		close(in->fd);
	free(in->block);
	buf_free(&in->text);
}

/* The next byte of a file; false: there is none. */
static bool
file_byte(struct input *in, char *c)
{
	ssize_t n;

	if (in->next < in->have) {
		*c = in->block[in->next++];
		return true;
	}
	do {
		n = in->block ? read(in->fd, in->block, BLOCK_BYTES)
			      : read(in->fd, c, 1);
		/* A signal: it may have a trap, which should run now. */
		if (n < 0 && errno == EINTR && trap_caught)
			trap_run();
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	if (in->block) {
		in->have = n;
		in->next = 1;
		*c = in->block[0];
	}
	return true;
}

static bool
file_line(struct input *in)
{
	char c = '\0';

	while (c != '\n' && file_byte(in, &c)) {
		if (c != '\0')
			buf_put(&in->text, c);
	}
	return in->text.len > 0;
}

static bool
string_line(struct input *in)
{
	size_t n = strcspn(in->rest, "\n");

	if (in->rest[n] == '\n')
		n++;
	if (n == 0)
		return false;
	buf_add(&in->text, in->rest, n);
	in->rest += n;
	return true;
}

/* PS1 or PS2, in which $name is replaced; in scratch. */
static const char *
prompt_text(struct input *in)
{
	const char *text = var_get(in->continued ? "PS2" : "PS1");
	struct parser p = {.in = in, .arena = scratch};
	struct part *parts = word_text(&p, text ? text : "");
	const char *prompt = p.failed ? NULL : expand_string(parts);

	sh.flow = FLOW_NONE;
	return prompt ? prompt : "$ ";
}

static bool
terminal_line(struct input *in)
{
	struct mark m = scratch_mark();
	const char *prompt = prompt_text(in);
	bool ok;

	if (!in->continued)
		job_report();
	if (!isatty(STDIN_FILENO)) { /* sh -i */
		out_error(prompt, strlen(prompt));
		ok = file_line(in);
	} else {
		enum edited e = edit_line(prompt, in->plain, &in->text);

		in->interrupted = e == EDIT_INTERRUPTED;
		ok = e == EDIT_LINE;
	}
	scratch_release(m);
	return ok;
}

size_t
input_left(struct input *in, const char *p)
{
	return *p ? in->text.s + in->text.len - p : 0;
}

unsigned long input_lines;

bool
input_line(struct input *in)
{
	bool ok;

	if (in->at_eof || in->interrupted)
		return false;
	in->text.len = 0;
	in->copy = NULL;
	switch (in->kind) {
	case INPUT_STRING:
		ok = string_line(in);
		break;
	case INPUT_FILE:
		ok = file_line(in);
		break;
	default:
		ok = terminal_line(in);
		break;
	}
	in->continued = true;
	in->at_eof = !ok;
	in->p = ok ? in->text.s : "";
	in->line += ok;
	input_lines++;
	if (ok && sh.opt_verbose)
		out_error(in->text.s, in->text.len);
	return ok;
}

bool
input_ends(struct input *in)
{
	const char *s;

	if (in->kind != INPUT_STRING)
		return false;
	for (s = in->p; isspace((unsigned char)*s); s++)
		;
	return *s == '\0' && in->rest[strspn(in->rest, " \t\n")] == '\0';
}

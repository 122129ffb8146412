/*
 * The table of builtins, and those that have to do with variables and the
 * process: cd, read, export, umask...
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sh.h"

#define MODE_BITS 0777

static int
builtin_true(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

static int
builtin_false(int argc, char **argv)
{
	(void)argc, (void)argv;
	return STATUS_ERROR;
}

static int
builtin_pwd(int argc, char **argv)
{
	char *cwd = getcwd(NULL, 0);

	(void)argc;
	if (!cwd) {
		shell_warn("%s: %s", argv[0], strerror(errno));
		return STATUS_ERROR;
	}
	out_str(cwd);
	out_char('\n');
	free(cwd);
	return 0;
}

static int
builtin_cd(int argc, char **argv)
{
	bool back = argc > 1 && strcmp(argv[1], "-") == 0;
	const char *to = argc > 1 ? argv[1] : var_get("HOME");
	char *cwd;
	bool set;

	if (back)
		to = var_get("OLDPWD");
	if (!to) {
		shell_warn("cd: %s isn't set", back ? "OLDPWD" : "HOME");
		return STATUS_ERROR;
	}
	if (chdir(to) < 0) {
		shell_warn("cd: %s: %s", to, strerror(errno));
		return STATUS_ERROR;
	}
	if (var_get("PWD") && !var_set("OLDPWD", var_get("PWD")))
		return STATUS_ERROR;
	cwd = getcwd(NULL, 0);
	if (!cwd) {
		shell_warn("cd: PWD isn't set: %s", strerror(errno));
		return STATUS_ERROR;
	}
	set = var_set("PWD", cwd);
	free(cwd);
	if (!set)
		return STATUS_ERROR;
	if (back)
		return builtin_pwd(1, argv);
	return 0;
}

/* NAME or NAME=value for export, readonly and local. */
static int
declare(const char *command, const char *arg, int flag, bool local)
{
	size_t n = strcspn(arg, "=");
	char *name = arena_strndup(scratch, arg, n);

	if (!is_name(name, n)) {
		shell_abort(STATUS_USAGE, "%s: %s: bad name", command, name);
		return STATUS_USAGE;
	}
	if (local && !var_local(name)) {
		shell_warn("local: not in a function");
		return STATUS_ERROR;
	}
	if (arg[n] && !var_set(name, arg + n + 1))
		return STATUS_USAGE;
	if (flag)
		var_flag(name, flag);
	return 0;
}

static int
declare_all(int argc, char **argv, int flag)
{
	int i, status = 0;

	for (i = 1; i < argc && sh.flow == FLOW_NONE; i++)
		status |= declare(argv[0], argv[i], flag, flag == 0);
	return status;
}

/* export and readonly. */
static int
builtin_export(int argc, char **argv)
{
	int flag = argv[0][0] == 'e' ? VAR_EXPORT : VAR_READONLY;

	if (argc > 1 && strcmp(argv[1], "-p") != 0)
		return declare_all(argc, argv, flag);
	var_print(flag, flag == VAR_EXPORT ? "export " : "readonly ");
	return 0;
}

static int
builtin_local(int argc, char **argv)
{
	return declare_all(argc, argv, 0);
}

static int
builtin_unset(int argc, char **argv)
{
	bool functions = argc > 1 && strcmp(argv[1], "-f") == 0;
	int i = 1;

	if (functions || (argc > 1 && strcmp(argv[1], "-v") == 0))
		i++;
	for (; i < argc; i++) {
		if (functions)
			function_unset(argv[i]);
		else if (!var_unset(argv[i]))
			return STATUS_USAGE;
	}
	return 0;
}

/*
 * A line from standard input, a byte at a time so that what follows is left
 * for others. Unless raw, a backslash hides the character after it, and is
 * kept before it here. false: the input ended first.
 */
static bool
read_line(struct buf *line, bool raw)
{
	bool hidden = false;
	ssize_t n;
	char c;

	buf_add(line, "", 0);
	for (;;) {
		n = read(STDIN_FILENO, &c, 1);
		if (n < 0 && errno == EINTR && !trap_caught)
			continue;
		if (n <= 0)
			return false;
		if (hidden && c == '\n') {
			line->s[--line->len] = '\0'; /* a joined line */
			hidden = false;
			continue;
		}
		if (c == '\n')
			return true;
		if (c == '\0')
			continue;
		hidden = !raw && !hidden && c == '\\';
		buf_put(line, c);
	}
}

/* The length of the field at s, before a delimiter. */
static size_t
field_length(const char *s, const char *ifs, bool raw)
{
	size_t n = 0;

	while (s[n] && !strchr(ifs, s[n]))
		n += !raw && s[n] == '\\' && s[n + 1] ? 2 : 1;
	return n;
}

/* Set name to n bytes at s, without backslashes. */
static bool
read_set(const char *name, const char *s, size_t n, bool raw)
{
	char *value = arena_strndup(scratch, s, n);

	return var_set(name, raw ? value : glob_unescape(value));
}

/* Drop blanks of IFS at the end. */
static size_t
trimmed(const char *s, size_t n, const char *blank, bool raw)
{
	while (n > 0 && strchr(blank, s[n - 1]) &&
	       (raw || n < 2 || s[n - 2] != '\\'))
		n--;
	return n;
}

/* Share a line out among variables; the last gets all that is left. */
static bool
read_fields(const char *s, char **names, bool raw)
{
	const char *ifs = var_get("IFS");
	char blank[8] = ""; /* those of ifs, once: there are 6 */
	size_t i, n = 0;

	if (!ifs)
		ifs = " \t\n";
	for (i = 0; ifs[i]; i++)
		if (isspace((unsigned char)ifs[i]) && !strchr(blank, ifs[i]))
			blank[n++] = ifs[i];
	s += strspn(s, blank);
	for (; *names; names++) {
		size_t gap;

		n = field_length(s, ifs, raw);
		gap = strspn(s + n, blank);
		if (s[n + gap] && strchr(ifs, s[n + gap]))
			gap += 1 + strspn(s + n + gap + 1, blank);
		if (!names[1] && s[n + gap]) /* more than one field is left */
			n = trimmed(s, strlen(s), blank, raw);
		if (!read_set(*names, s, n, raw))
			return false;
		s += n + (names[1] ? gap : 0);
	}
	return true;
}

static int
builtin_read(int argc, char **argv)
{
	bool raw = argc > 1 && strcmp(argv[1], "-r") == 0, complete;
	static char *reply[] = {"REPLY", NULL};
	struct buf line = {0};
	char **names = argv + 1 + raw;
	bool ok;

	(void)argc;
	complete = read_line(&line, raw);
	ok = read_fields(line.s, *names ? names : reply, raw);
	buf_free(&line);
	if (!ok)
		return STATUS_USAGE;
	if (trap_caught)
		return STATUS_SIGNAL + trap_signal();
	return !complete;
}

static int
builtin_umask(int argc, char **argv)
{
	mode_t mask;
	long n;

	if (argc > 1) {
		if (!number_read(argv[1], 8, 0, MODE_BITS, &n)) {
			shell_warn("umask: %s: bad mask", argv[1]);
			return STATUS_USAGE;
		}
		umask(n);
		return 0;
	}
	mask = umask(0);
	umask(mask);
	out_format("%04o\n", (unsigned int)mask);
	return 0;
}

static int builtin_help(int argc, char **argv);

/* Sorted by name: bsearch looks here. */
static const struct builtin builtins[] = {
    {".", builtin_dot, true, ". FILE"},
    {":", builtin_true, true, ": [WORD...]"},
    {"[", builtin_test, false, "[ EXPRESSION ]"},
    {"alias", builtin_alias, false, "alias [NAME[=TEXT]...]"},
    {"bg", builtin_bg, false, "bg [%JOB]"},
    {"break", builtin_break, true, "break [N]"},
    {"cd", builtin_cd, false, "cd [DIR | -]"},
    {"command", builtin_command, false, "command [-v | -V] NAME [WORD...]"},
    {"continue", builtin_break, true, "continue [N]"},
    {"echo", builtin_echo, false, "echo [-ne] [WORD...]"},
    {"eval", builtin_eval, true, "eval [WORD...]"},
    {"exec", builtin_exec, true, "exec [COMMAND [WORD...]]"},
    {"exit", builtin_exit, true, "exit [STATUS]"},
    {"export", builtin_export, true, "export [-p | NAME[=VALUE]...]"},
    {"false", builtin_false, false, "false"},
    {"fg", builtin_fg, false, "fg [%JOB]"},
    {"getopts", builtin_getopts, false, "getopts OPTIONS NAME [WORD...]"},
    {"help", builtin_help, false, "help [NAME]"},
    {"history", builtin_history, false, "history"},
    {"jobs", builtin_jobs, false, "jobs [-p]"},
    {"kill", builtin_kill, false, "kill [-SIGNAL] PID | %JOB..., kill -l"},
    {"local", builtin_local, false, "local NAME[=VALUE]..."},
    {"pwd", builtin_pwd, false, "pwd"},
    {"read", builtin_read, false, "read [-r] [NAME...]"},
    {"readonly", builtin_export, true, "readonly [-p | NAME[=VALUE]...]"},
    {"return", builtin_return, true, "return [STATUS]"},
    {"set", builtin_set, true,
     "set [-aCefnuvx] [-o [OPTION]] [--] [WORD...], or + for -"},
    {"shift", builtin_shift, true, "shift [N]"},
    {"test", builtin_test, false, "test EXPRESSION"},
    {"times", builtin_times, true, "times"},
    {"trap", builtin_trap, true, "trap [ACTION | -] [SIGNAL...]"},
    {"true", builtin_true, false, "true"},
    {"type", builtin_type, false, "type NAME..."},
    {"ulimit", builtin_ulimit, false, "ulimit [-acdfnstv] [LIMIT]"},
    {"umask", builtin_umask, false, "umask [MASK]"},
    {"unalias", builtin_unalias, false, "unalias -a | NAME..."},
    {"unset", builtin_unset, true, "unset [-v | -f] NAME..."},
    {"wait", builtin_wait, false, "wait [PID | %JOB...]"},
};

#define BUILTINS (sizeof(builtins) / sizeof(builtins[0]))

static int
compare(const void *name, const void *b)
{
	return strcmp(name, ((const struct builtin *)b)->name);
}

const struct builtin *
builtin_find(const char *name)
{
	return bsearch(name, builtins, BUILTINS, sizeof(builtins[0]), compare);
}

const struct builtin *
builtin_next(const struct builtin *b)
{
	b = b ? b + 1 : builtins;
	return b < builtins + BUILTINS ? b : NULL;
}

static int
builtin_help(int argc, char **argv)
{
	const struct builtin *b = NULL;

	if (argc > 1) {
		b = builtin_find(argv[1]);
		if (!b) {
			shell_warn("help: %s: not a builtin; try man %s",
				   argv[1], argv[1]);
			return STATUS_ERROR;
		}
		out_str(b->usage);
		out_char('\n');
		return 0;
	}
	out_str("The shell's own commands:\n");
	while ((b = builtin_next(b)))
		out_format("  %s\n", b->usage);
	out_str(
	    "\nAll other commands are programs: ls /bin lists them,\n"
	    "man NAME describes one, and man sh describes the shell.\n"
	    "Ctrl-D or exit leaves the shell; poweroff stops the machine.\n");
	return 0;
}

/* Running other programs from one's own: system, popen, exec along PATH; and
 * how a program ends. */
#include <signal.h>

#include "helpers.h"

static char buf[4096];

/* What a command says and its status; -1: it couldn't be run. */
static int
output_of(const char *command, char *out, size_t size)
{
	FILE *f = popen(command, "r");
	size_t n;
	int status;

	if (f == NULL)
		return -1;
	n = fread(out, 1, size - 1, f);
	out[n] = '\0';
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
test_popen(void)
{
	FILE *f, *g;

	CHECK(output_of("echo hello; exit 3", buf, sizeof(buf)) == 3 &&
		  strcmp(buf, "hello\n") == 0,
	      "popen reads a command's output, pclose gives its status");
	f = popen("cat >out", "w");
	fputs("to cat\n", f);
	CHECK(pclose(f) == 0 && file_holds("out", "to cat\n"),
	      "popen writes a command's input");
	f = popen("cat >out", "w");
	g = popen("cat >out2", "w");
	fputs("1", f);
	fputs("2", g);
	CHECK(pclose(f) == 0 && pclose(g) == 0 && file_holds("out", "1") &&
		  file_holds("out2", "2"),
	      "two at once, and the first sees its end");
	CHECK(popen("true", "x") == NULL && errno == EINVAL, "a bad mode");
	CHECK(output_of("nosuchcommand 2>/dev/null", buf, sizeof(buf)) == 127,
	      "a command that isn't there is 127");
	CHECK(pclose(stdin) == -1 && errno == ECHILD,
	      "pclose of what popen didn't open");
	unlink("out");
	unlink("out2");
}

static volatile sig_atomic_t interrupts;

static void
on_signal(int sig)
{
	(void)sig;
	interrupts++;
}

static void
test_system(void)
{
	int status = system("exit 42");

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42,
	      "system gives the status");
	status = system("kill -9 $$");
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "or the signal that killed it");
	CHECK(system(NULL) != 0, "there is a shell");
	signal(SIGINT, on_signal);
	sprintf(buf, "kill -INT %d", getpid());
	system(buf);
	CHECK(interrupts == 0, "SIGINT is ignored meanwhile");
	raise(SIGINT);
	CHECK(interrupts == 1, "and as it was after");
	signal(SIGINT, SIG_DFL);
}

static int
run_found(void)
{
	dup2(open("/dev/null", O_WRONLY), 1);
	execlp("found", "found", "arg", NULL);
	return errno;
}

static void
test_path(void)
{
	mkdir("a", 0777);
	mkdir("b", 0777);
	file_make("a/found", "not a program");
	file_make("b/found", "#!/bin/sh\necho $0 $#\nexit 7\n");
	chmod("b/found", 0777);
	setenv("PATH", "none:b/found:a:b:/bin", 1);
	CHECK(output_of("found x y", buf, sizeof(buf)) == 7 &&
		  strstr(buf, "found 2\n") != NULL,
	      "a script is run by its interpreter, with arguments");
	CHECK(child_run(run_found) == 7,
	      "execlp finds it along PATH, past one that can't be run");
	setenv("PATH", "none:a:/bin", 1);
	CHECK(child_run(run_found) == EACCES, "of which it tells at the end");
	setenv("PATH", "none:/bin", 1);
	CHECK(child_run(run_found) == ENOENT, "or finds none");
	setenv("PATH", "a", 1);
	chmod("a/found", 0777);
	CHECK(child_run(run_found) == ENOEXEC, "what is none is ENOEXEC");
	chdir("b");
	setenv("PATH", ":/bin", 1);
	CHECK(child_run(run_found) == 7,
	      "an empty part is the folder one's in");
	unsetenv("PATH");
	CHECK(child_run(run_found) == ENOENT, "without PATH there's /bin");
	chdir("..");
	setenv("PATH", "/bin", 1);
	unlink("b/found");
	unlink("a/found");
	rmdir("a");
	rmdir("b");
}

static int
show_environ(void)
{
	char *const argv[] = {"env", NULL};
	char *const envp[] = {"A=1", "B=two words", NULL};

	dup2(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
	execve("/bin/env", argv, envp);
	return 1;
}

static void
test_environ(void)
{
	CHECK(child_run(show_environ) == 0 &&
		  file_holds("out", "A=1\nB=two words\n"),
	      "exec hands over an environment");
	setenv("TALLY_B", "b", 1);
	CHECK(output_of("echo $TALLY_B", buf, sizeof(buf)) == 0 &&
		  strcmp(buf, "b\n") == 0,
	      "a shell has ours");
	unlink("out");
}

static void
say_first(void)
{
	fputs("first ", stdout);
}

static void
say_second(void)
{
	fputs("second\n", stdout);
}

/* End, with something still in stdout, one way or the other. */
static void
end_by(int way)
{
	freopen("out", "w", stdout);
	atexit(say_second);
	atexit(say_first);
	fputs("held ", stdout);
	if (way == 0)
		exit(5);
	if (way == 1)
		_exit(6);
	fflush(stdout);
	abort();
}

static int
end_of(int way)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		end_by(way);
	waitpid(pid, &status, 0);
	return status;
}

static void
test_exit(void)
{
	int status = end_of(0);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5, "exit's status");
	CHECK(file_holds("out", "held first second\n"),
	      "it calls what atexit was told, the last first, then flushes");
	status = end_of(1);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6 &&
		  file_holds("out", ""),
	      "_exit does neither");
	status = end_of(2);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
		  file_holds("out", "held "),
	      "abort is SIGABRT");
	unlink("out");
}

int
main(void)
{
	scratch_enter("commands.d");
	test_popen();
	test_system();
	test_path();
	test_environ();
	test_exit();
	scratch_leave("commands.d");
	return check_done();
}

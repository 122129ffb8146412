/* posix_spawn, which wants its child's memory to be its own: why the child
 * couldn't exec is stored there. And what the auxiliary vector says. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "promise.h"

extern char **environ;

static void
spawn(const char *path, char **argv, posix_spawn_file_actions_t *actions)
{
	int status = -1;
	pid_t pid = -1;
	int r = posix_spawn(&pid, path, actions, NULL, argv, environ);

	if (r == 0)
		waitpid(pid, &status, 0);
	printf("%s: %s, status %x\n", argv[0], r ? strerrorname_np(r) : "good",
	       status);
	fflush(stdout);
}

static void
test_spawn(void)
{
	char *true_argv[] = {"true", NULL}, *none[] = {"none", NULL};
	char *folder[] = {"folder", NULL};
	char *shell[] = {"sh", "-c", "echo shell; exit 7", NULL};
	posix_spawn_file_actions_t actions;
	int fd[2];
	char got[16] = "";

	spawn("/bin/true", true_argv, NULL);
	spawn("/bin/none", none, NULL);
	spawn("/bin", folder, NULL);
	spawn("/bin/sh", shell, NULL);
	pipe(fd);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	spawn("/bin/sh", shell, &actions);
	printf("%zd bytes", read(fd[0], got, sizeof(got)));
	printf(": %s", got);
	printf("system: %x\n", (unsigned int)system("exit 9"));
	FILE *f = popen("echo popen", "r");
	printf("%s", fgets(got, sizeof(got), f));
	printf("pclose: %d\n", pclose(f));
}

static void
test_vector(char **argv)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	const uint8_t *random = (const uint8_t *)getauxval(AT_RANDOM);
	int zeroes = 0;

	for (int i = 0; i < 16; i++)
		zeroes += random[i] == 0;
	printf("random: %d\n", zeroes < 8);
	printf("name: %d\n", strcmp(name, argv[0]) == 0);
	printf("page: %lu, clock: %lu\n", getauxval(AT_PAGESZ),
	       getauxval(AT_CLKTCK));
	printf("headers: %d of %lu\n", getauxval(AT_PHNUM) > 3,
	       getauxval(AT_PHENT));
	const Elf64_Phdr *s = (const Elf64_Phdr *)getauxval(AT_PHDR);
	int loads = 0;
	for (size_t i = 0; i < getauxval(AT_PHNUM); i++)
		loads += s[i].p_type == PT_LOAD;
	printf("loaded: %d\n", loads >= 2);
	printf("user: %lu, secure: %lu, flags: %lu\n", getauxval(AT_UID),
	       getauxval(AT_SECURE), getauxval(AT_FLAGS));
	printf("entry: %d, machine: %d\n", getauxval(AT_ENTRY) != 0,
	       getauxval(AT_HWCAP) != 0);
}

int
main(int argc, char **argv)
{
	(void)argc;
	PROMISE("posix_spawn(3): a child that can't exec is told of");
	test_spawn();
	PROMISE("getauxval(3): what the auxiliary vector says");
	test_vector(argv);
	return 0;
}

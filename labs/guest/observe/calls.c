/* System calls as they are: requests of devices, and calls that the library
 * doesn't know. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "observe.h"

#define SPRAYED 0x5a
#define BEHIND  16 /* bytes shown behind those that a call may write */

static void
do_ioctl(void)
{
	int file = files[number()];
	unsigned long request = number();

	answer_number(ioctl(file, request, number()));
}

/* ioctl-with SLOT REQUEST NUMBER...: the argument is the address of these. */
static void
do_ioctl_with(void)
{
	int file = files[number()];
	unsigned long request = number(), argument[8] = {0};

	for (int i = 0; i < 8 && *text() != '\0'; i++)
		argument[i] = number();
	answer_number(ioctl(file, request, argument));
}

/* Make a system call without the library, which might check the arguments or
 * change the result. */
static long
ecall(long nr, long a, long b, long c)
{
	register long a0 asm("a0") = a;
	register long a1 asm("a1") = b;
	register long a2 asm("a2") = c;
	register long a7 asm("a7") = nr;

	asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	errno = a0 < 0 ? -a0 : 0;
	return a0;
}

/* Linux's calls. A hand-out has a call of the lab's among Tally's, but must
 * take as many instructions as the course's checkout, which has no such call.
 */
static const struct {
	const char *name;
	long number;
} calls[] = {
#define SYSCALL(number, name) {#name, number},
#define TALLY_CALL(number, name)
#include <sys/syscalls.h>
#undef TALLY_CALL
#undef SYSCALL
};

/* Take the name of one of Linux's calls, or a call's number; return the number.
 */
static long
call_number(void)
{
	const char *name;

	if ('0' <= *text() && *text() <= '9')
		return number();
	name = word();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	return -1;
}

/* Make a call with its arguments. The word `buffer' stands for the address of
 * the buffer. */
static long
call(void)
{
	long nr = call_number(), arg[3] = {0};

	for (int i = 0; i < 3; i++) {
		if (word_is("buffer"))
			arg[i] = (long)buffer;
		else
			arg[i] = number();
	}
	return ecall(nr, arg[0], arg[1], arg[2]);
}

static void
do_call(void)
{
	answer_number(call());
}

static bool sprays; /* The next call-into sprays before its call. */

static void
do_spray(void)
{
	sprays = true;
	answer_number(0);
}

/* Fill the kernel's stack with a byte that can be recognized later. These calls
 * fail, but only after they have copied their paths to the stack, each to
 * another depth. */
static void
spray(void)
{
	static char path[1024];

	memset(path, SPRAYED, sizeof(path) - 1);
	rename(path, path);
	symlink(path, path);
	execl(path, path, NULL);
}

/* call-into SIZE CALL ARGUMENT...: the answer also has the bytes of the buffer,
 * and BEHIND more: if these have changed, the call has written too much. */
static void
do_call_into(void)
{
	size_t size = number() + BEHIND;

	memset(buffer, FILLED, size);
	if (sprays)
		spray();
	sprays = false;
	answer_bytes(call(), size);
}

const struct operation call_operations[] = {
    {"ioctl", do_ioctl}, {"ioctl-with", do_ioctl_with},
    {"call", do_call},   {"call-into", do_call_into},
    {"spray", do_spray}, {NULL, NULL},
};

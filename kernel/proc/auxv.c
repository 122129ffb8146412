/*
 * The auxiliary vector: pairs of a kind (AT_) and a value, after the
 * environment of a new program. Linux's C libraries find in it where the
 * program headers are, which tell of thread-local storage; 16 random bytes for
 * their canaries; and what they would otherwise have to ask of the kernel.
 */
#include <elf.h>

#include "base/layout.h"
#include "base/random.h"
#include "machine/machine.h"
#include "sched/clock.h"

#include "exec.h"

#define MIN_SIGNAL_STACK 2048 /* bytes */

void
auxv_fill(uintptr_t *to, const struct image *image, uintptr_t name,
	  uintptr_t random)
{
	const uintptr_t auxv[AUXV_WORDS] = {
	    /* clang-format off */
	    AT_HWCAP, machine.extensions,
	    AT_PAGESZ, PAGE_SIZE,
	    AT_CLKTCK, HZ,
	    AT_PHDR, image->headers,
	    AT_PHENT, sizeof(Elf64_Phdr),
	    AT_PHNUM, image->nheaders,
	    AT_BASE, image->base,
	    AT_FLAGS, 0,
	    AT_ENTRY, image->entry,
	    AT_UID, 0,
	    AT_EUID, 0,
	    AT_GID, 0,
	    AT_EGID, 0,
	    AT_SECURE, 0,
	    AT_RANDOM, random,
	    AT_EXECFN, name,
	    AT_MINSIGSTKSZ, MIN_SIGNAL_STACK,
	    AT_NULL, 0,
	    /* clang-format on */
	};

	__builtin_memcpy(to, auxv, sizeof(auxv));
}

/*
 * Nobody is kept from guessing them: they are the same in each run, as the
 * whole machine is on demand. Each program has others.
 */
void
auxv_random(uint64_t bytes[RANDOM_BYTES / 8])
{
	static uint64_t programs; /* atomic */
	uint64_t n = __atomic_add_fetch(&programs, 1, __ATOMIC_RELAXED);
	uint64_t state = (n * RANDOM_SPREAD) | 1;

	for (unsigned int i = 0; i < RANDOM_BYTES / sizeof(*bytes); i++)
		bytes[i] = random_next(&state);
}

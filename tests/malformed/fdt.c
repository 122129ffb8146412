/*
 * kernel/machine/fdt.c and machine.c with damaged device trees: either there is
 * a machine that makes sense, or a panic that says that the tree is wrong.
 */
#include "host.h"

#include "kernel/base/layout.h"
#include "kernel/machine/fdt.c"

/* The kernel's place isn't this program's. */
#define va_to_pa(va) ((void)(va), UINT64_C(0x80200000))
char text_start[1], boot_dtb_end[1];

#include "kernel/machine/machine.c"

static void
put_be32(char *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = v >> (24 - 8 * i);
}

/* Damage size bytes of a tree, whose last ones may be cut off. */
static size_t
damage(char *tree, size_t size)
{
	uint32_t structure = be32(tree + 4 * HDR_OFF_STRUCT);
	size_t words = size / 4;

	switch (random_below(8)) {
	case 0: /* the header */
		put_be32(tree + 4 * random_below(10), random_number());
		break;
	case 1:
		tree[random_below(size)] ^= 1 << random_below(8);
		break;
	case 2: /* a token, a length, a name or a value */
		if (structure < size)
			words = (size - structure) / 4;
		put_be32(tree + size - 4 * (1 + random_below(words)),
			 random_number());
		break;
	case 3:
		put_be32(tree + 4 * random_below(words), random_below(12));
		break;
	case 4: /* a part of it elsewhere, too */
		memmove(tree + 4 * random_below(words - 16),
			tree + 4 * random_below(words - 16),
			4 * random_below(16));
		break;
	case 5:
		memset(tree + random_below(size - 64), random_64(),
		       random_below(64));
		break;
	case 6:
		return random_below(16) == 0 ? 64 + random_below(size - 64)
					     : size;
	}
	return size;
}

/* What the rest of the kernel relies on. */
static void
check_result(void)
{
	const uint64_t end = UINT64_C(1) << 32;

	EXPECT(machine.nharts >= 1 && machine.nharts <= HART_MAX);
	EXPECT(machine.nvirtio <= VIRTIO_MAX);
	for (unsigned int i = 0; i < machine.nvirtio; i++)
		EXPECT(machine.virtio[i].address < end);
	EXPECT(machine.memory_start <= 0x80200000);
	EXPECT(machine.memory_end > 0x80200000 && machine.memory_end <= end);
	EXPECT(machine.initrd_start <= machine.initrd_end);
	EXPECT(machine.initrd_end <= machine.memory_end);
	EXPECT(machine.timebase >= 100000 && machine.timebase < end);
	EXPECT(machine.uart > 0 && machine.uart < end);
	EXPECT(machine.plic > 0 && machine.plic < end);
	EXPECT(machine.rtc < end && machine.test < end);
	EXPECT(memchr(machine.bootargs, '\0', sizeof(machine.bootargs)));
	bootarg_present("framed");
	bootarg_number("limit", 0);
}

/* As the kernel starts. */
static void
forget(void)
{
	memset(&machine, 0, sizeof(machine));
	memset(intc, 0, sizeof(intc));
	next_intc = NULL;
	memset(&plic_targets, 0, sizeof(plic_targets));
	all_sstc = true;
}

/* As machine_read does, but of a tree that ends where its memory does. */
static void
read_tree(const char *tree, size_t size)
{
	struct node n;

	fdt_open(tree, size);
	while (fdt_next(&n))
		found_node(&n);
	check_machine();
	for (unsigned int i = 0; i < machine.nharts; i++)
		machine.plic_context[i] = plic_context(i);
}

int
main(int argc, char **argv)
{
	long rounds = strtol(argv[1], NULL, 0), good = 0;
	size_t size;
	char *whole = file_contents(argv[argc - 1], &size);

	random_state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	for (round_number = 0; round_number < rounds; round_number++) {
		static size_t left;
		static char *tree;
		/* The first is whole. */
		int damages = round_number > 0 ? 1 + random_below(6) : 0;

		left = size;
		tree = memcpy(malloc(size), whole, size);
		while (damages-- > 0)
			left = damage(tree, left);
		tree = realloc(tree, left);
		forget();
		if (__builtin_setjmp(panicked) == 0) {
			read_tree(tree, left);
			check_result();
			good++;
		} else {
			EXPECT(strstr(panic_text, "device tree") != NULL);
			EXPECT(round_number > 0);
		}
		free(tree);
	}
	free(whole);
	printf("%ld of %ld were good enough\n", good, rounds);
	EXPECT(good > rounds / 20);
	return 0;
}

/*
 * Programs whose headers are damaged at random, by the thousand. Each attempt
 * to run one ends in an errno of execve, or in the program's own end; and all
 * the memory that it took is back.
 */

#include "hostile.h"
#include "image.h"

#define CONSTANT 0x20000
#define WRITABLE 0x30000
#define REFUSED  100 /* exit status: it didn't run; and the errno */

struct image {
	union {
		struct {
			Elf64_Ehdr header;
			Elf64_Phdr text, constant, data;
			uint32_t code[3];
		};
		char page[PAGE];
	};
	char more[2 * PAGE + 100];
};

#define HEADERS offsetof(struct image, code)

static const struct image good = {
    .header = IMAGE_HEADER(3),
    .text = {.p_type = PT_LOAD,
	     .p_flags = PF_R | PF_X,
	     .p_vaddr = TEXT,
	     .p_filesz = PAGE,
	     .p_memsz = PAGE},
    .constant = {.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_offset = PAGE,
		 .p_vaddr = CONSTANT,
		 .p_filesz = PAGE,
		 .p_memsz = PAGE},
    .data = {.p_type = PT_LOAD,
	     .p_flags = PF_R | PF_W,
	     .p_offset = 2 * PAGE,
	     .p_vaddr = WRITABLE,
	     .p_filesz = PAGE + 100,
	     .p_memsz = 4 * PAGE},
    .code = IMAGE_CODE,
};

/* Change a field's worth of the headers. */
static void
damage(struct image *image)
{
	static const size_t sizes[] = {1, 2, 4, 8};
	size_t size = sizes[random_below(4)];
	size_t at = random_below(HEADERS / size) * size;
	uint64_t value = random_number();

	if (random_below(3) == 0)
		memcpy(&value, &((char *)image)[random_below(HEADERS / 8) * 8],
		       8);
	memcpy((char *)image + at, &value, size);
}

/* Its wait status. */
static int
image_run(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(1);
		execl("./mutant", "mutant", NULL);
		_exit(REFUSED + errno);
	}
	return status_of(pid, 0);
}

/* Is that how a damaged program may end? */
static bool
fair_end(int status)
{
	if (status < 0)
		return false;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == ANSWER ||
		       WEXITSTATUS(status) == REFUSED + ENOEXEC ||
		       WEXITSTATUS(status) == REFUSED + ENOMEM;
	return WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGILL ||
	       WTERMSIG(status) == SIGBUS || WTERMSIG(status) == SIGTRAP;
}

int
main(int argc, char **argv)
{
	long ran = 0, refused = 0, unfair = 0, before;
	int first = 0;
	struct image image = good;

	scratch_enter("damaged.d");
	alarm(0);
	hostile_start(argc, argv, 2000);
	image_write("mutant", &good, sizeof(good));
	CHECK(WEXITSTATUS(image_run()) == ANSWER, "whole, it runs");
	before = pages_free();
	for (long i = 0; i < rounds; i++) {
		int status;

		image = good;
		for (int n = random_below(4); n >= 0; n--)
			damage(&image);
		image_write("mutant", &image,
			    random_below(8) == 0 ? random_below(sizeof(image))
						 : sizeof(image));
		status = image_run();
		ran += status == ANSWER << 8;
		refused += status == (REFUSED + ENOEXEC) << 8;
		if (!fair_end(status) && unfair++ == 0)
			first = status;
	}
	CHECK(unfair == 0, "each ends in an errno or as programs do (%x)",
	      first);
	CHECK(ran > rounds / 20 && refused > rounds / 5,
	      "many run, many are refused");
	image_write("mutant", &good, sizeof(good));
	CHECK(AWAIT(pages_free() >= before), "no page is lost (%ld)",
	      before - pages_free());
	CHECK(WEXITSTATUS(image_run()) == ANSWER, "whole, it still runs");
	unlink("mutant");
	scratch_leave("damaged.d");
	return check_done();
}

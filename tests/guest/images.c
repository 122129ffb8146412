/*
 * What execve runs and what it refuses: programs whose headers are damaged in
 * every way, scripts, and names of other things. The interpreter of the
 * scripts is this program, in a mode that the environment names.
 */
#include <signal.h>

#include "children.h"
#include "image.h"

#define SELF     "/bin/images"
#define FAILED   99 /* exit status: not even started.. */
#define NOT_EXEC 98 /* ..because of ENOEXEC */

/* --- Images --- */

#define STACK_LOW 0x7f800000 /* no stack goes below */

/* A whole program: it exits with ANSWER. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr text, data;
	uint32_t code[3];
};

static const struct image good = {
    .header = IMAGE_HEADER(2),
    .text = IMAGE_TEXT,
    .data =
	{
	    .p_type = PT_LOAD,
	    .p_flags = PF_R | PF_W,
	    .p_vaddr = DATA,
	    .p_filesz = sizeof(struct image),
	    .p_memsz = 3 * PAGE,
	},
    .code = IMAGE_CODE,
};

/* Run it: its wait status, or that of what couldn't. Not for long: what is
 * damaged may do anything. */
static int
image_run(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(1);
		execl("./image", "image", NULL);
		_exit(errno == ENOEXEC ? NOT_EXEC : FAILED);
	}
	return status_of(pid, 0);
}

static bool
image_gives(int code)
{
	int status = image_run();

	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

#define FIELD(member) \
	offsetof(struct image, member), sizeof(((struct image *)NULL)->member)

/* The field at offset gets another value, and the file is none to run. */
static const struct damage {
	const char *name;
	size_t offset, size;
	uint64_t value;
} damages[] = {
    {"no magic", FIELD(header.e_ident[0]), 0},
    {"for 32 bits", FIELD(header.e_ident[EI_CLASS]), 1},
    {"big-endian", FIELD(header.e_ident[EI_DATA]), 2},
    {"of no version", FIELD(header.e_ident[EI_VERSION]), 0},
    {"to be linked", FIELD(header.e_type), ET_REL},
    {"for another machine", FIELD(header.e_machine), 62},
    {"no segments", FIELD(header.e_phnum), 0},
    {"too many segments", FIELD(header.e_phnum), 0xffff},
    {"small segment headers", FIELD(header.e_phentsize), 32},
    {"segment headers past the end", FIELD(header.e_phoff), 1UL << 20},
    {"segment headers far away", FIELD(header.e_phoff), -1UL},
    {"segment headers cut off", FIELD(header.e_phoff), 200},
    {"entry nowhere", FIELD(header.e_entry), 0},
    {"entry in the kernel", FIELD(header.e_entry), 0xffffffff80200000},
    {"entry in the data", FIELD(header.e_entry), DATA},
    {"entry past the text", FIELD(header.e_entry), TEXT + sizeof(good)},
    {"an interpreter with a long path", FIELD(data.p_type), PT_INTERP},
    {"text not to be executed", FIELD(text.p_flags), PF_R},
    {"text to be written", FIELD(text.p_flags), PF_R | PF_W | PF_X},
    {"text past the file's end", FIELD(text.p_offset), PAGE},
    {"text far past it", FIELD(text.p_offset), -1UL << 12},
    {"text not as the page is", FIELD(text.p_vaddr), TEXT + 8},
    {"text at null", FIELD(text.p_vaddr), 0},
    {"text in the kernel", FIELD(text.p_vaddr), 0xffffffff80200000},
    {"data below all programs", FIELD(data.p_vaddr), TEXT - 4 * PAGE},
    {"text in the stack", FIELD(data.p_vaddr), 0x7ffff000},
    {"text longer than its file", FIELD(text.p_filesz), 2 * PAGE},
    {"text with a huge part of it", FIELD(text.p_filesz), -1UL},
    {"memory less than the file's", FIELD(text.p_memsz), 16},
    {"huge memory", FIELD(data.p_memsz), 0x7fff0000},
    {"memory around the world", FIELD(data.p_memsz), -1UL},
    {"segments that overlap", FIELD(data.p_vaddr), TEXT},
    {"segments that overlap in part", FIELD(data.p_vaddr), TEXT - 2 * PAGE},
};

static void
test_images(void)
{
	struct image image;

	image_write("image", &good, sizeof(good));
	CHECK(image_gives(ANSWER), "a small program");
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *d = &damages[i];

		image = good;
		memcpy((char *)&image + d->offset, &d->value, d->size);
		image_write("image", &image, sizeof(image));
		CHECK(image_gives(NOT_EXEC), "ENOEXEC: %s", d->name);
	}
}

/* A file that ends early is never run, and never harms. */
static void
test_cut_images(void)
{
	size_t refused = 0;

	for (size_t size = 0; size < sizeof(good); size++) {
		image_write("image", &good, size);
		refused += image_gives(NOT_EXEC);
	}
	CHECK(refused == sizeof(good), "ENOEXEC: cut off anywhere");
}

/*
 * Any byte of the headers is wrong: the file is refused with ENOEXEC, or for
 * want of memory, or runs, and ends somehow.
 */
static void
test_wrong_bytes(void)
{
	const size_t headers = offsetof(struct image, code);
	static const unsigned char values[] = {0, 0x5a, 0xff};
	size_t refused = 0, run = 0, strange = 0;

	for (size_t i = 0; i < headers * sizeof(values); i++) {
		struct image image = good;
		int status;

		((char *)&image)[i % headers] = values[i / headers];
		image_write("image", &image, sizeof(image));
		status = image_run();
		if (!WIFEXITED(status) || WEXITSTATUS(status) == ANSWER)
			run++;
		else if (WEXITSTATUS(status) == NOT_EXEC)
			refused++;
		else
			strange++;
	}
	CHECK(strange == 0, "a wrong byte: ENOEXEC, or it runs");
	CHECK(refused > headers / 2 && run > headers / 2, "both are common");
	image_write("image", &good, sizeof(good));
	CHECK(image_gives(ANSWER), "and none of it matters to the next");
	unlink("image");
}

/* --- Interpreters: dynamic linkers --- */

/* A program that names one, which is at its place at the end. */
struct linked {
	struct image image;
	char interpreter[12];
};

/* The errno of a program with this interpreter, or 0. */
static int
linked_error(const char interpreter[12])
{
	struct linked linked = {.image = good};
	pid_t pid;

	memcpy(linked.interpreter, interpreter, sizeof(linked.interpreter));
	linked.image.data.p_type = PT_INTERP;
	linked.image.data.p_offset = offsetof(struct linked, interpreter);
	linked.image.data.p_filesz = sizeof(linked.interpreter);
	image_write("image", &linked, sizeof(linked));
	pid = fork();
	if (pid == 0) {
		execl("./image", "image", NULL);
		_exit(errno);
	}
	return child_wait(pid);
}

/* Where a program and its interpreter lie is none of their business. */
static void
test_interpreters(void)
{
	struct image image = good;

	image.header.e_type = ET_DYN;
	image.header.e_entry -= TEXT;
	image.text.p_vaddr -= TEXT;
	image.data.p_vaddr -= TEXT;
	image_write("image", &image, sizeof(image));
	CHECK(image_gives(ANSWER), "a program that may lie anywhere");
	image.code[1] += 1 << 20;
	image_write("interpreter", &image, sizeof(image));
	CHECK(linked_error("interpreter") == ANSWER + 1,
	      "a program's interpreter runs");
	CHECK(linked_error("not/here/ei") == ENOENT, "there is none");
	CHECK(linked_error("\0\0\0\0\0\0\0\0\0\0\0") == ENOENT,
	      "nor one without a name");
	CHECK(linked_error("interpreter/") == ENOEXEC, "its path has no end");
	image.text.p_flags |= PF_W;
	image_write("interpreter", &image, sizeof(image));
	CHECK(linked_error("interpreter") == ENOEXEC, "a bad interpreter");
	image.text.p_flags &= ~PF_W;
	image.text.p_vaddr = -(uintptr_t)TEXT;
	image_write("interpreter", &image, sizeof(image));
	CHECK(linked_error("interpreter") == ENOEXEC, "its entry is nowhere");
	chmod("interpreter", 0);
	CHECK(linked_error("interpreter") == EACCES, "one not to be run");
	unlink("interpreter");
	unlink("image");
}

/* --- Scripts --- */

static int
mode_script(int argc, char **argv)
{
	static const char *const wanted[] = {SELF, "option", "./script", "x y"};

	if (argc != 4)
		return 1;
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], wanted[i]) != 0)
			return 2;
	return strcmp(info_of(getpid()).name, "script") == 0 ? 0 : 3;
}

static int
mode_bare_script(int argc, char **argv)
{
	return argc == 3 && strcmp(argv[1], "./script") == 0 &&
		       strcmp(argv[2], "x y") == 0
		   ? 0
		   : 1;
}

static int
exec_script(const char *mode)
{
	char *argv[] = {"ignored", "x y", NULL};
	char *envp[] = {(char *)mode, NULL};

	return execve("./script", argv, envp);
}

/* The exit status of a script that holds this. */
static int
run_script(const char *text, const char *mode)
{
	pid_t pid;

	file_make("script", text);
	chmod("script", 0755);
	pid = fork();
	if (pid == 0) {
		exec_script(mode);
		_exit(FAILED);
	}
	return child_wait(pid);
}

static void
test_scripts(void)
{
	CHECK(run_script("#!" SELF " option\nrest", "MODE=script") == 0,
	      "a script's interpreter gets its argument, path, arguments");
	CHECK(run_script("#! \t" SELF " \t option \t \n", "MODE=script") == 0,
	      "there can be spaces and tabs");
	CHECK(run_script("#!" SELF "\n", "MODE=bare_script") == 0,
	      "the argument may be missing");
	CHECK(run_script("#!/bin/sh\nexit 7\n", "") == 7,
	      "a script of the shell");
}

static void
test_bad_scripts(void)
{
	static const struct {
		const char *name, *text;
		int error;
	} bad[] = {
	    {"without a name", "#!\n", ENOEXEC},
	    {"with nothing but spaces", "#!  \n", ENOEXEC},
	    {"without a newline", "#!/bin/sh", ENOEXEC},
	    {"whose interpreter is missing", "#!/bin/none\n", ENOENT},
	    {"whose interpreter is a folder", "#!/bin\n", EACCES},
	    {"whose interpreter can't be run", "#!plain\n", EACCES},
	    {"whose interpreter is a script", "#!script\n", ENOEXEC},
	    {"that has no first line", "echo hello\n", ENOEXEC},
	    {"that is empty", "", ENOEXEC},
	};
	char line[400];

	file_make("plain", "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		file_make("script", bad[i].text);
		CHECK_ERRNO(exec_script(""), bad[i].error, "a script %s",
			    bad[i].name);
	}
	memset(line, 'x', sizeof(line));
	memcpy(line, "#!/", 3);
	line[sizeof(line) - 1] = '\0';
	file_make("script", line);
	CHECK_ERRNO(exec_script(""), ENOEXEC, "a script's line is too long");
	unlink("script");
	unlink("plain");
}

/* --- Errors --- */

static void
test_path_errors(void)
{
	static char name[2000];

	memset(name, 'x', sizeof(name) - 1);
	file_make("plain", "#!/bin/sh\n");
	CHECK_ERRNO(execl("none", "x", NULL), ENOENT, "no such program");
	CHECK_ERRNO(execl("", "x", NULL), ENOENT, "an empty name");
	CHECK_ERRNO(execl("plain/x", "x", NULL), ENOTDIR, "below a file");
	CHECK_ERRNO(execl("plain", "x", NULL), EACCES,
		    "a file that isn't executable");
	CHECK_ERRNO(execl("/bin", "x", NULL), EACCES, "a folder");
	CHECK_ERRNO(execl("/dev/null", "x", NULL), EACCES, "a device");
	CHECK_ERRNO(execl(name, "x", NULL), ENAMETOOLONG, "a long name");
	CHECK_FAULTS_IN("the path", execl(bad, "x", NULL));
	unlink("plain");
}

static int
run_mode(const char *mode, int argc, char **argv)
{
	if (strcmp(mode, "script") == 0)
		return mode_script(argc, argv);
	return mode_bare_script(argc, argv);
}

/* The program is of so many bytes: those after the image are its code. */
static void
image_extend(struct image *image, size_t size)
{
	image->header.e_entry = TEXT + sizeof(*image);
	image->text.p_filesz = image->text.p_memsz = size;
}

/* A file with a hole, from which the program takes what it adds to ANSWER. */
static void
test_hole(void)
{
	struct {
		struct image image;
		uint32_t code[5];
	} holed = {
	    .image = good,
	    .code =
		{
		    DATA | 0x537,           /* lui a0, DATA */
		    0x00052503,             /* lw a0, (a0) */
		    ANSWER << 20 | 0x50513, /* addi a0, a0, ANSWER */
		    0x05e00893,             /* li a7, 94: exit */
		    0x00000073,             /* ecall */
		},
	};

	image_extend(&holed.image, sizeof(holed));
	holed.image.data.p_offset = holed.image.data.p_filesz = PAGE;
	image_write("image", &holed, sizeof(holed));
	truncate("image", 2 * PAGE);
	CHECK(image_run() == ANSWER << 8, "a hole in a program is zero");
	unlink("image");
}

/* A program that changes its data: what it is given is added up. */
static void
test_own_data(void)
{
	static char file[2 * PAGE];
	struct {
		struct image image;
		uint32_t code[6];
	} adder = {
	    .image = good,
	    .code =
		{
		    DATA | 0x5b7, /* lui a1, DATA */
		    0x0005a503,   /* lw a0, (a1) */
		    0x00150613,   /* addi a2, a0, 1 */
		    0x00c5a023,   /* sw a2, (a1) */
		    0x05e00893,   /* li a7, 94: exit */
		    0x00000073,   /* ecall */
		},
	};

	image_extend(&adder.image, sizeof(adder));
	adder.image.data.p_offset = adder.image.data.p_filesz = PAGE;
	memcpy(file, &adder, sizeof(adder));
	file[PAGE] = ANSWER;
	image_write("image", file, sizeof(file));
	CHECK(image_run() == ANSWER << 8 && image_run() == ANSWER << 8,
	      "a program's data is its own");
	unlink("image");
}

/* Does brk(end), in a program whose heap begins a page below the stack's
 * lowest, give a page whose number ends in that byte? It's the program's exit
 * status. */
static bool
brk_gives(uintptr_t end, int byte)
{
	struct {
		struct image image;
		uint32_t code[6];
	} grower = {
	    .image = good,
	    .code =
		{
		    end | 0x537, /* lui a0, end */
		    0x0d600893,  /* li a7, 214: brk */
		    0x00000073,  /* ecall */
		    0x00c55513,  /* srli a0, a0, 12 */
		    0x05e00893,  /* li a7, 94: exit */
		    0x00000073,  /* ecall */
		},
	};

	image_extend(&grower.image, sizeof(grower));
	grower.image.data.p_vaddr = STACK_LOW - 2 * PAGE;
	grower.image.data.p_memsz = PAGE;
	image_write("image", &grower, sizeof(grower));
	return image_gives(byte);
}

/* There is memory for it, but the addresses are the stack's. */
static void
test_heap_below_stack(void)
{
	CHECK(brk_gives(STACK_LOW, 0), "the heap may reach the stack");
	CHECK(brk_gives(STACK_LOW + PAGE, 0xff), "but not grow into it");
	unlink("image");
}

int
main(int argc, char **argv)
{
	const char *mode = getenv("MODE");

	if (mode != NULL)
		return run_mode(mode, argc, argv);
	scratch_enter("images");
	test_images();
	test_cut_images();
	test_wrong_bytes();
	test_interpreters();
	test_hole();
	test_own_data();
	test_heap_below_stack();
	test_scripts();
	test_bad_scripts();
	test_path_errors();
	scratch_leave("images");
	return check_done();
}

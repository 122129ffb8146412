# Tally's build. Everything it makes goes to build/.
#
#   make              the kernel and the initrd
#   make qemu         boot to a shell; HARTS=4 (or CPUS=4), MEM=256M, EXTRA=DIR
#   make qemu-gdb     the same, but wait for gdb: run make gdb in another terminal
#   make test         all tests
#   make stress       a stress test of ten minutes; STRESS_S=, SEED=
#   make fuzz         hostile system calls at random; SEED=1, CALLS=10000000,
#                     HARTS=4, ICOUNT=6 (ICOUNT= for no icount), ROUND=, V=1
#   make races        RUN=COMMAND on harts that QEMU switches at random moments:
#                     SEEDS=5 boots, EXTRA=DIR, HARTS=4
#   make labs         check that the labs' graders are right; ONLY='NAME..'
#   make mutants      check that tests fail on wrong kernels; ONLY=, SAMPLE=10,
#                     SEED=, CHANGED=COMMIT, MINUTES=, LIST=1, CHECK=1
#   make explore      all random tests, for MINUTES=60; SEED=, ONLY='KIND..'
#   make coverage     measure which lines of the kernel tests reach; TESTS='FILE..',
#                     or other arguments of scripts/test; QEMU=
#   make truth        check profiles against the executed instructions; QEMU=
#   make truth-table  the same, and write the tables of docs/truth.md
#   make tlb-check    check that no stale TLB entry is used; QEMU=,
#                     PROGRAMS='NAME..', or MUTANT='NAME..' (or all)
#   make bench        measure what operations cost, in instructions
#   make bench-check  check that a change made no operation slower
#   make bench-host   measure the host's scripts, a build and a boot; ONLY='WHAT..'
#   make test-viewers open profiles in gprof, pprof, speedscope and a browser
#   make DEBUG=1 GOAL build a kernel that checks itself, in build-debug/
#   make size         how many lines each part of the kernel has
#   make compile_commands.json    how each source is compiled, for clangd
#   make tags         where each name is defined, for editors
#   make fmt          format the sources
#   make check        run the checkers of sources, scripts and manuals
#   make locks        Clang's analysis of which locks are held, in the kernel
#   make analyze      the compiler's own analysis, of kernel and library
#   make hostile      the tests with random input, with ten times the usual amount
#   make overlay      EXTRA=DIR OVERLAY=FILE.tar: pack DIR's programs for a boot
#   make clean        remove what was built; make help shows this text
#
# CROSS=prefix- names the compiler, PICOLIBC=DIR a C library's prefix (with
# include/ and lib/), BUILD=DIR another place to build; V=1 shows commands, WERROR=1
# turns warnings into errors.

MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

# The debug build is beside the other.
BUILD ?= $(if $(filter 1,$(DEBUG)),build-debug,build)
CPUS ?= 4
HARTS ?= $(CPUS)
MEM ?= 256M
EXTRA ?=
OVERLAY ?= $(BUILD)/extra.tar

# Blanks end names here.
blank := $(strip $(foreach v,BUILD EXTRA OVERLAY,$(if $(word 2,$($v)),$v)))
ifneq ($(blank),)
  $(error make can't work with a blank in $(firstword $(blank)): scripts/run \
	--extra can)
endif

# $(call say,WORD,WHAT) announces a command, unless all are shown.
ifeq ($(V),1)
  Q :=
  say =
else
  Q := @
  say = @printf '  %-4s %s\n' '$1' '$2';
endif

# --- What must be installed, for the goals that use it -----------------------

goals := $(or $(MAKECMDGOALS),all)
building := $(filter-out clean fmt check% size help gdb hostile mutants tags, \
	$(goals))
running := $(filter qemu qemu-gdb test test-viewers stress fuzz races,$(goals))

# A make that has nothing to do starts no process to find that out.
found = $(firstword $(wildcard $(if $(findstring /,$1),$1,$(path:=/$1))))
path := $(subst :, ,$(PATH))

ifndef CROSS
  CROSS := $(firstword $(foreach p,riscv64-unknown-elf- riscv64-elf- \
	riscv64-none-elf- riscv64-linux-gnu-,$(if $(call found,$pgcc),$p)))
endif
CC := $(CROSS)gcc
STRIP := $(CROSS)strip
READELF := $(CROSS)readelf
AR := $(CROSS)ar

ifneq ($(building),)
  ifeq ($(CROSS),)
    $(error no RISC-V compiler: install gcc-riscv64-unknown-elf, or set \
	CROSS=prefix-)
  endif
  ifeq ($(call found,$(CC)),)
    $(error there is no $(CC): install it, or set CROSS=prefix-)
  endif
  ifdef PICOLIBC
    ifeq ($(wildcard $(PICOLIBC)/include/picolibc.h),)
      $(error no picolibc in $(PICOLIBC): it has no include/picolibc.h)
    endif
  else
    # Debian's picolibc comes in two builds, small and fast.
    libc = $(eval libc := $(find_libc))$(or $(libc),$(error no C library for \
	$(CC): install picolibc-riscv64-unknown-elf, or set PICOLIBC=DIR))
    find_libc = $(shell for t in --picolibc-buildtype=release ''; do \
	echo '\#include <picolibc.h>' | $(CC) --specs=picolibc.specs $$t -E -x c - \
		>/dev/null 2>&1 && echo found $$t && break; done)
  endif
endif

ifneq ($(running),)
  QEMU ?= qemu-system-riscv64
  qemu_version := $(shell $(QEMU) --version 2>/dev/null | \
	sed -n 's/.*version \([0-9]*\.[0-9]*\).*/\1/p')
  ifeq ($(qemu_version),)
    $(error no $(QEMU): install qemu-system-misc, or qemu-system-riscv where \
	there is one)
  endif
  ifneq ($(shell printf '%s\n' 7.2 $(qemu_version) | sort -V | head -n 1),7.2)
    $(error $(QEMU) is version $(qemu_version): install 7.2 or newer)
  endif
endif

# --- Flags -------------------------------------------------------------------

ifdef PICOLIBC
  libc_include := -isystem $(PICOLIBC)/include -ftls-model=local-exec
  libc_link := -nostdlib -L$(PICOLIBC)/lib/rv64imafdc/lp64d -L$(PICOLIBC)/lib
else ifneq ($(building),)
  libc_include = --specs=picolibc.specs $(filter --%,$(libc))
  libc_link = $(libc_include) -nostartfiles
endif

version := $(strip $(file <VERSION))

# GCC 14 refuses what these name. What one compiler takes, all do.
mistakes := -Werror=implicit-function-declaration -Werror=implicit-int \
	-Werror=int-conversion -Werror=incompatible-pointer-types

# Compilers made for hosted systems have habits to be broken of:
# position-independent code, stack protectors, unwind tables. Of what is done
# around a call they must not change the order: wherever the frame pointer is a
# function's own, its return address is in the frame.
common = -std=gnu11 -O2 -g -Wall -Wextra $(mistakes) -fno-common \
	-fno-omit-frame-pointer -fno-schedule-insns2 -falign-functions=8 -fno-strict-aliasing -fno-pic \
	-fno-stack-protector -fno-asynchronous-unwind-tables \
	-mcmodel=medany $(libc_include) -Iinclude \
	$(if $(filter 1,$(WERROR)),-Werror)

# Libraries are picked by the architecture's plain name: compiling names the
# parts that became extensions of their own since, linking must not.
# A kernel stack has 16 KiB, and as much of a guard below it. A sixth of that in
# one frame is a mistake; with the compiler's own checks frames are larger. And
# no frame may be of a size that only running it tells, or one could step over
# the guard.
frame_max := $(if $(filter 1,$(DEBUG)),3072,2560)
frame_checks := -Werror=frame-larger-than=$(frame_max) -Werror=vla -Werror=alloca
kernel_flags = $(common) $(frame_checks) -march=rv64imac_zicsr_zifencei -mabi=lp64 \
	-ffreestanding -msmall-data-limit=0 -I. -Ikernel \
	-DTALLY_VERSION='"$(version)"'
kernel_link := -march=rv64imac -mabi=lp64 -nostdlib -static -T linker.ld

user_flags = $(common) -march=rv64imafdc_zicsr_zifencei -mabi=lp64d \
	-ffunction-sections -fdata-sections
user_link = $(libc_link) -march=rv64imafdc -mabi=lp64d -static \
	-Wl,--gc-sections -Wl,--wrap=vfprintf -T user/user.ld

ld_flags := -Wl,-z,max-page-size=4096 -Wl,--build-id=none

# What others may be reading is replaced, never rewritten. For a file that is compiled
# the shell starts as little else as can be: what an object depends on comes on
# standard output, and the shell writes it in one piece.
put = -o $@.$$$$ && mv $@.$$$$ $@
folder = { [ -d $(@D) ] || mkdir -p $(@D); }
compile = $(call say,CC,$<)$(folder) && \
	on=$$($(CC) $(flags) -MMD -MP -MF - -MT $@ -c $< -o $@.$$$$) && \
	printf '%s\n' "$$on" >$(@:.o=.d) && mv $@.$$$$ $@
link_user = $(call say,LD,$@)$(folder) && $(CC) $(user_link) \
	$(ld_flags) $(filter %.o,$^) $(filter %.a,$^) -Wl,--start-group -lm -lc -lgcc \
	-Wl,--end-group $(flags) $(put)

# --- The kernel --------------------------------------------------------------

# The debug build has checks of its own, and the compiler's.
check_src := $(wildcard kernel/*/check_*.c)
kernel_src := $(filter-out $(check_src),$(wildcard boot/*.S boot/*.c kernel/*.c \
	kernel/*.S kernel/*/*.c kernel/*/*.S lib/*.c lib/*.S))
ifeq ($(DEBUG),1)
  kernel_flags += -DCHECKS
  kernel_src += $(check_src)
  sanitize := -fsanitize=undefined
endif
kernel_obj := $(kernel_src:%=$(BUILD)/%.o)
kernel := $(BUILD)/kernel.elf
# An archive, so that only who needs it has it: nothing here does.
kernel_lib := $(BUILD)/lib/atomic.a

# A library of this machine, if there are a compiler and headers for that; once it
# is there nobody asks, as that takes as long as all else make does then.
main_loop := $(BUILD)/main_loop.so
ifeq ($(wildcard $(main_loop)),)
  main_loop := $(if $(shell cc -E -include dlfcn.h -x c /dev/null 2>&- | \
	tail -n 1),$(main_loop))
endif

.PHONY: all
all: $(kernel) $(BUILD)/initrd.tar $(main_loop) $(if $(EXTRA),overlay)

$(kernel_lib): $(BUILD)/lib/atomic.c.o
# Beside it the linker says, in kernel.map, which file each byte is of.
$(kernel): $(kernel_obj) $(kernel_lib) linker.ld
	$(call say,LD,$@)$(CC) $(kernel_link) $(ld_flags) \
		$(filter-out $(BUILD)/lib/atomic.c.o,$(kernel_obj)) $(kernel_lib) \
		-lgcc -Wl,-Map=$@.$$$$.map -o $@.$$$$ || \
		{ rm -f $@.$$$$.map; exit 1; } && \
		mv $@.$$$$.map $(@:.elf=.map) && mv $@.$$$$ $@

# Beside each object the compiler says, in a .ci file, how much stack each
# function takes and whom it calls: tests/test_stack_depth.py adds that up.
$(BUILD)/boot/%.o $(BUILD)/kernel/%.o $(BUILD)/lib/%.o: \
	flags = $(kernel_flags) -fcallgraph-info=su $(sanitize)
$(check_src:%=$(BUILD)/%.o): flags = $(kernel_flags)
$(BUILD)/kernel/dev/check_words.c.o: flags = $(kernel_flags) $(sanitize)
# One file says which version this is; these two tell it.
versioned := kernel/main.c kernel/syscall/info.c
$(versioned:%=$(BUILD)/%.o): VERSION
$(BUILD)/boot/%.o: boot/% Makefile
	$(compile)
$(BUILD)/kernel/%.o: kernel/% Makefile
	$(compile)
$(BUILD)/lib/%.o: lib/% Makefile
	$(compile)

# --- For QEMU ----------------------------------------------------------------

$(main_loop): tally/boot/main_loop.c Makefile
	$(call say,CC,$@)$(folder) && cc -O2 -Wall -Wextra -shared -fPIC $< $(put)

# --- User programs -----------------------------------------------------------

# They are the same on the debug kernel: build-debug gets copies of build's.
user_out := $(if $(filter build-debug,$(BUILD)),build,$(BUILD))

# A program is one file of user/cmd or of user, or one folder of user/cmd; all
# commands share user/cmdlib. The user library has memcpy and its kin from lib,
# as the kernel, commands have UTF-8 from there.
lib_obj := $(patsubst %,$(user_out)/%.o,$(wildcard user/lib/*.[cS])) \
	$(user_out)/user/shared/string.S.o $(user_out)/user/shared/atomic.c.o
cmdlib_obj := $(patsubst %,$(user_out)/%.o,$(wildcard user/cmdlib/*.c)) \
	$(user_out)/user/shared/utf8.c.o
cmdlib := $(if $(cmdlib_obj),$(user_out)/user/cmdlib.a)
# An archive, so that only who needs it has it: _mcount begins by itself.
libmon := $(user_out)/user/libmon.a
libmon_obj := $(patsubst %,$(user_out)/%.o,$(wildcard user/libmon/*.c))

cmd_files := $(wildcard user/cmd/*.c)
user_files := $(wildcard user/*.c)
cmd_folders := $(patsubst %/,%,$(wildcard user/cmd/*/))
programs := $(patsubst user/cmd/%.c,$(user_out)/bin/%,$(cmd_files)) \
	$(patsubst user/%.c,$(user_out)/bin/%,$(user_files)) \
	$(patsubst user/cmd/%,$(user_out)/bin/%,$(cmd_folders))

$(user_out)/user/%.o: flags = $(user_flags)
$(user_out)/user/%.o: user/% Makefile
	$(compile)
$(user_out)/user/shared/%.o: lib/% Makefile
	$(compile)

$(cmdlib): $(cmdlib_obj)
$(libmon): $(libmon_obj)
$(cmdlib) $(libmon) $(kernel_lib):
	$(call say,AR,$@)rm -f $@.$$$$ && $(AR) rcs $@.$$$$ $^ && \
		mv $@.$$$$ $@

$(cmd_files:user/cmd/%.c=$(user_out)/bin/%): $(user_out)/bin/%: \
	$(user_out)/user/cmd/%.c.o
$(user_files:user/%.c=$(user_out)/bin/%): $(user_out)/bin/%: $(user_out)/user/%.c.o
define folder_program
$(user_out)/bin/$(notdir $1): $(patsubst %,$(user_out)/%.o,$(wildcard $1/*.c))
endef
$(foreach f,$(cmd_folders),$(eval $(call folder_program,$f)))

$(programs): flags =
$(programs): $(lib_obj) $(cmdlib) $(libmon) user/user.ld
	$(link_user)

copies :=
ifneq ($(user_out),$(BUILD))
copies := $(programs:$(user_out)/%=$(BUILD)/%)
$(copies): $(BUILD)/%: $(user_out)/%
	$(call say,CP,$@)$(folder) && cp $< $@.$$$$ && mv $@.$$$$ $@
endif

# --- The initrd --------------------------------------------------------------

# The same for the same sources: sorted, and without times or owners.
# Without zeros at the end but those of the end itself: others are added.
tar := tar --format=ustar --blocking-factor=1 --sort=name --mtime=@0 \
	--owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX

sources := $(sort $(wildcard Makefile linker.ld README.md docs/*.md \
	$(foreach d,boot kernel kernel/* lib include include/* \
	user user/* user/cmd/* examples examples/*,$(addprefix $d/,*.c *.h *.S *.ld))))
manuals := $(sort $(wildcard man/*.[1-9]))

# A folder is filled and packed afresh, so that nothing stale stays in.
$(BUILD)/initrd.tar: $(programs) $(copies) $(kernel) $(sources) $(manuals) \
	scripts/mkroot
	$(call say,TAR,$@)STRIP=$(STRIP) READELF=$(READELF) \
		scripts/mkroot $@.$$$$.d --kernel $(kernel) \
		--programs $(programs) --manuals $(manuals) \
		--sources $(sources) && \
	$(tar) -C $@.$$$$.d -cf $@.$$$$ . && \
	mv $@.$$$$ $@; s=$$?; rm -rf $@.$$$$.d; exit $$s

# --- Programs of the user's own ----------------------------------------------

# Each .c file of EXTRA is a program; each folder is one of all its .c files.
# A file `flags' beside .c files is for the compiler. The rest goes to /extra.
# Everything is made beside OVERLAY, so that several can be made at once.
ifneq ($(EXTRA),)
  ifeq ($(wildcard $(EXTRA)/.),)
    $(error EXTRA=$(EXTRA): there is no such folder)
  endif
endif
extra := $(OVERLAY:.tar=).d
extra_files := $(if $(EXTRA),$(wildcard $(EXTRA)/*.c))
extra_folders := $(if $(EXTRA),$(patsubst %/,%,$(dir \
	$(wildcard $(addsuffix /*.c,$(wildcard $(EXTRA)/*))))))
extra_folders := $(sort $(extra_folders))
extra_programs := $(patsubst $(EXTRA)/%.c,$(extra)/bin/%,$(extra_files)) \
	$(patsubst $(EXTRA)/%,$(extra)/bin/%,$(extra_folders))

$(extra)/obj/%.o: flags = $(user_flags) $(file <$(EXTRA)/flags)
$(extra)/obj/%.c.o: $(EXTRA)/%.c Makefile $(wildcard $(EXTRA)/flags)
	$(compile)

$(extra_files:$(EXTRA)/%.c=$(extra)/bin/%): $(extra)/bin/%: $(extra)/obj/%.c.o
define extra_program
$(extra)/bin/$(notdir $1): $(patsubst $(EXTRA)/%,$(extra)/obj/%.o,\
	$(wildcard $1/*.c))
$(extra)/bin/$(notdir $1): flags = $(file <$1/flags)
$(patsubst $(EXTRA)/%,$(extra)/obj/%.o,$(wildcard $1/*.c)): \
	flags = $(user_flags) $(file <$1/flags)
$(patsubst $(EXTRA)/%,$(extra)/obj/%.o,$(wildcard $1/*.c)): \
	$(wildcard $1/flags)
endef
$(foreach f,$(extra_folders),$(eval $(call extra_program,$f)))

$(extra_programs): flags =
$(extra_programs): $(lib_obj) $(libmon) user/user.ld
	$(link_user)

.PHONY: overlay
overlay: $(extra_programs)
	$(call say,TAR,$(OVERLAY))STRIP=$(STRIP) \
		scripts/mkroot $(extra).$$$$ --programs $(extra_programs) \
		--extra $(EXTRA) && \
	$(tar) -C $(extra).$$$$ -cf $(OVERLAY).$$$$ . && \
	mv $(OVERLAY).$$$$ $(OVERLAY); s=$$?; rm -rf $(extra).$$$$; exit $$s

# --- Another kernel ----------------------------------------------------------

# What the guest finds under /boot of a kernel that wasn't built here, KERNEL=FILE,
# whose name may have any characters.
.PHONY: boot-files
boot-files:
	$(call say,TAR,$(OVERLAY))STRIP=$(STRIP) READELF=$(READELF) \
		scripts/mkroot $(extra).$$$$ --kernel "$$KERNEL" && \
	$(tar) -C $(extra).$$$$ -cf $(OVERLAY).$$$$ . && \
	mv $(OVERLAY).$$$$ $(OVERLAY); s=$$?; rm -rf $(extra).$$$$; exit $$s

# --- Running -----------------------------------------------------------------

GDB ?= $(notdir $(firstword $(call found,gdb-multiarch) \
	$(call found,$(CROSS)gdb) gdb))
GDB_PORT ?= 1234
run := scripts/run --harts $(HARTS) --mem $(MEM) $(if $(EXTRA),--extra $(EXTRA))

.PHONY: qemu qemu-gdb gdb test test-viewers stress
qemu: all
	$(Q)$(run)

qemu-gdb: all
	$(Q)echo "Waiting: 'make gdb' in another terminal."
	$(Q)$(run) --gdb $(GDB_PORT)

ifneq ($(filter gdb,$(goals)),)
  ifeq ($(call found,$(firstword $(GDB))),)
    $(error no $(GDB): install gdb-multiarch, or set GDB to gdb's name)
  endif
  ifeq ($(wildcard $(kernel)),)
    $(error no $(kernel) to debug: first `make qemu-gdb' in another terminal)
  endif
endif
gdb:
	$(Q)$(GDB) -q -ex 'set $$port = $(GDB_PORT)' -x scripts/tally.gdb \
		$(kernel)

test:
	$(Q)scripts/test

test-viewers:
	$(Q)scripts/test-viewers

STRESS_S ?= 600
SEED ?= $(shell date +%s)
stress: all
	$(Q)scripts/run --harts 8 --extra tests/hostile \
		--timeout $$(($(STRESS_S) * 2 + 100)) -- 'stress $(STRESS_S) $(SEED)'

.PHONY: labs
labs: all
	$(Q)labs/selftest $(ONLY)

# Any status but 0 is a finding, which its seed repeats.
SEEDS ?= 5
.PHONY: races
races: all
	$(if $(RUN),,$(error make races needs RUN=COMMAND))
	$(Q)for seed in $$(seq $(SEEDS)); do \
		$(run) --races $$seed -- '$(RUN)' || { \
		status=$$?; echo "again: $(strip $(run)) --races $$seed -- '$(RUN)'"; \
		exit $$status; }; done

# A case that was found: the same SEED, HARTS and ICOUNT; or only its ROUND.
fuzz: SEED := $(if $(filter file,$(origin SEED)),1,$(SEED))
CALLS ?= $(if $(ROUND),1,10000000)
ICOUNT ?= 6
.PHONY: fuzz
fuzz:
	$(Q)scripts/run --harts $(HARTS) --mem $(MEM) \
		$(if $(ICOUNT),--icount $(ICOUNT)) --extra tests/hostile -- \
		'fuzz -s $(SEED) -n $(CALLS) $(if $(ROUND),-r $(ROUND)) \
		$(if $(V),-v)'

# Names, files, folders, lists or clauses in ONLY; COMMIT as git has it.
.PHONY: mutants
mutants: SEED := $(if $(filter file,$(origin SEED)),1,$(SEED))
mutants:
	$(Q)scripts/mutants $(ONLY) $(if $(SAMPLE),--sample $(SAMPLE)) \
		--seed $(SEED) $(if $(CHANGED),--changed $(CHANGED)) \
		$(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(LIST),--list) $(if $(CHECK),--check)

# --- Looking after the sources -----------------------------------------------

c_files = $(shell find boot kernel lib include user examples labs \
	tests tally -name '*.[ch]')
shell_files = $(shell for f in scripts/* scripts/*/* labs/* .ci/*; do \
	sed -n '1s,^\#! */bin/sh,&,p;q' "$$f" 2>/dev/null | sed "s,.*,$$f,"; done)

.PHONY: coverage truth truth-table tlb-check bench bench-check bench-host print-CC size fmt clean help
coverage:
	$(Q)scripts/coverage $(TESTS)

truth:
	$(Q)scripts/truth

truth-table:
	$(Q)scripts/truth --table

tlb-check:
	$(Q)scripts/tlb-check $(if $(MUTANT),--mutants \
		$(filter-out all,$(MUTANT)),$(PROGRAMS))

bench:
	$(Q)scripts/bench

bench-host:
	$(Q)scripts/bench-host $(ONLY)

bench-check:
	$(Q)scripts/bench --check tests/bench-baseline.json

print-CC:
	@echo $(CC)

size:
	$(Q)scripts/size

# What make would do to build all of it; the debug build has some sources more.
# Clang doesn't know all of GCC's flags: the script leaves those out.
.PHONY: compile_commands.json tags
compile_commands.json:
	$(call say,JSON,$@){ $(MAKE) -Bn V=1 DEBUG= BUILD=build all && \
		$(MAKE) -Bn V=1 DEBUG=1 BUILD=build-debug all; } | \
		python3 tally/build/compile_commands.py >$@.$$$$ && \
		mv $@.$$$$ $@ || { rm -f $@.$$$$; exit 1; }

ifneq ($(filter tags,$(goals)),)
  ifeq ($(findstring Ctags,$(shell ctags --version 2>/dev/null)),)
    $(error no ctags that knows C and assembly: install universal-ctags)
  endif
endif
tags:
	$(Q)ctags -f $@.$$$$ $(c_files) $$(find boot kernel lib user -name '*.S') && \
		mv $@.$$$$ $@

fmt:
	$(Q)clang-format -i $(c_files)
	$(Q)black -q $(python_files)

# tests/test_style.py runs each of these, so there is one definition of what is clean.
# A missing tool is an error: `scripts/setup check' installs all. Those that differ
# from version to version look only where theirs is the one that has been answered.
checks := check-format check-python check-types check-cppcheck check-shell \
	check-manuals locks check-analyze
.PHONY: check $(checks)
check: $(checks)

check-format:
	$(Q)version=$$(clang-format --version) || exit; \
	case $$version in *' version 14.'*) \
	clang-format --dry-run -Werror $(c_files) ;; \
	*) echo "no clang-format 14: the layout was not checked" ;; esac

# The package's Python and the labs'.
python_files = tally scripts/lib $(wildcard labs/*/*.py)
check-python:
	$(Q)version=$$(black --version) || exit; \
	case $$version in 'black, 23.'*) black -q --check $(python_files) || \
	{ echo "black would change files: make fmt" >&2; exit 1; } ;; \
	*) echo "no black 23: the layout of Python was not checked" ;; esac

# The package's (pyproject.toml).
check-types:
	$(Q)version=$$(mypy --version) || exit; \
	case $$version in 'mypy 1.0.'*) mypy --no-error-summary ;; \
	*) echo "no mypy 1.0: the types of Python were not checked" ;; esac

# It doesn't see what inline assembly and functions write, which the compilers do,
# nor that the linker's symbols mark two ends of one thing, nor that a list's
# initializer takes its address and not its value (the compilers warn of sequence
# points).
cppcheck_off = missingIncludeSystem uninitvar ctuuninitvar comparePointers \
	unknownEvaluationOrder
check-cppcheck:
	$(Q)cppcheck -q --error-exitcode=1 \
		--std=c11 --enable=warning,portability --inline-suppr \
		$(cppcheck_off:%=--suppress=%) -U__ASSEMBLER__ \
		-Iinclude -I. -Ikernel \
		kernel lib user examples

check-shell:
	$(Q)shellcheck -x $(shell_files)

check-manuals:
	$(Q)mandoc -T lint -W warning $(manuals)

check-analyze:
	$(Q)case $$($(CC) -dumpversion) in 12*) $(MAKE) analyze ;; \
	*) echo "no GCC 12: its analysis was not run" ;; esac

# Optimized code confuses GCC's analyzer: what it says of that isn't so.
analyzed := $(filter %.c,$(kernel_src) $(wildcard user/lib/*.c user/libmon/*.c \
	user/cmdlib/*.c))
analyze := $(addprefix analyze/,$(analyzed))
.PHONY: analyze $(analyze)
analyze: $(analyze)
$(filter-out analyze/user/%,$(analyze)): flags = $(kernel_flags)
$(filter analyze/user/%,$(analyze)): flags = $(user_flags)
$(analyze): analyze/%: %
	$(Q)$(CC) $(flags) -O0 -fanalyzer -Werror -S -o /dev/null $<

# Clang's analysis of which locks are held (kernel/base/compiler.h). It gets
# what GCC's preprocessor makes of the debug build, in which must_hold stands.
locks := $(sort $(patsubst %,locks/%,$(filter %.c,$(kernel_src)) $(check_src)))
.PHONY: locks $(locks)
locks: $(locks)
$(locks): locks/%: %
	$(Q)$(CC) $(kernel_flags) -DCHECKS -DCHECK_LOCKS -E $< | \
		clang --target=riscv64 -std=gnu11 -x cpp-output \
		-Wthread-safety -Werror -Wno-unknown-attributes \
		-Wno-c2x-extensions -fsyntax-only -

.PHONY: explore
explore:
	$(Q)scripts/explore --seed $(SEED) $(if $(MINUTES),--minutes $(MINUTES)) $(ONLY)

HOSTILE ?= 10
.PHONY: hostile
hostile:
	$(Q)HOSTILE=$(HOSTILE) scripts/test tests/test_malformed.py \
		tests/test_hostile.py

clean:
	$(Q)rm -rf build build-debug

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

-include $(kernel_obj:.o=.d) $(lib_obj:.o=.d) $(cmdlib_obj:.o=.d) \
	$(libmon_obj:.o=.d) \
	$(wildcard $(user_out)/user/*.d $(user_out)/user/cmd/*.d \
	$(user_out)/user/cmd/*/*.d \
	$(extra)/obj/*.d $(extra)/obj/*/*.d)

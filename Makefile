# Tally's build: everything goes to build/, nothing else is written.
#
#   make              the kernel and the initrd
#   make qemu         boot to a shell; HARTS=4 (or CPUS=4), MEM=256M, EXTRA=DIR
#   make qemu-gdb     the same, waiting for a debugger: make gdb, elsewhere
#   make test         all tests
#   make size         the line budget
#   make fmt, check   format the sources; look for mistakes
#   make overlay EXTRA=DIR OVERLAY=FILE.tar
#                     DIR's programs as an archive to boot with
#
# CROSS=prefix- names the compiler, PICOLIBC=DIR a C library's prefix (with
# include/ and lib/), BUILD=DIR another place to build; V=1 shows commands.

MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

BUILD ?= build
CPUS ?= 4
HARTS ?= $(CPUS)
MEM ?= 256M

# say WORD: a quiet line for each command that makes something.
ifeq ($(V),1)
  Q :=
  say =
else
  Q := @
  say = @printf '  %-7s %s\n' '$1' '$@';
endif

# --- What must be installed, for the goals that use it -----------------------

goals := $(or $(MAKECMDGOALS),all)
building := $(filter-out clean fmt check size gdb,$(goals))
running := $(filter qemu qemu-gdb test,$(goals))

CROSS ?= $(firstword $(foreach p,riscv64-unknown-elf- riscv64-elf- \
	riscv64-none-elf- riscv64-linux-gnu-,\
	$(if $(shell command -v $pgcc 2>/dev/null),$p)))
CC := $(CROSS)gcc

ifneq ($(building),)
  ifeq ($(shell command -v $(CC) 2>/dev/null)$(CROSS),)
    $(error no RISC-V compiler: install gcc-riscv64-unknown-elf, \
	or set CROSS=prefix-)
  else ifeq ($(shell command -v $(CC) 2>/dev/null),)
    $(error no compiler $(CC): install it, or set CROSS=prefix-)
  endif
  ifdef PICOLIBC
    ifeq ($(wildcard $(PICOLIBC)/include/picolibc.h),)
      $(error no picolibc in $(PICOLIBC): it lacks include/picolibc.h)
    endif
  else ifeq ($(wildcard $(shell $(CC) -print-file-name=picolibc.specs)),)
    $(error no C library for $(CC): install picolibc-riscv64-unknown-elf, \
	or set PICOLIBC=DIR)
  endif
endif

ifneq ($(running),)
  QEMU := qemu-system-riscv64
  qemu_version := $(shell $(QEMU) --version 2>/dev/null | \
	sed -n 's/.*version \([0-9]*\)\.\([0-9]*\).*/\1.\2/p')
  ifeq ($(qemu_version),)
    $(error no $(QEMU): install qemu-system-misc (7.2 or newer))
  else ifneq ($(shell printf '7.2\n%s\n' $(qemu_version) | sort -V | head -1),7.2)
    $(error $(QEMU) is $(qemu_version): install 7.2 or newer \
	(Debian 12 and Ubuntu 24.04 have it))
  endif
endif

# --- Flags -------------------------------------------------------------------

# The library is picked by the plain name of the architecture, so compiling
# and linking name it differently.
ifdef PICOLIBC
  libc_include := -isystem $(PICOLIBC)/include -ftls-model=local-exec
  libc_link = -nostdlib -L$(PICOLIBC)/lib/rv64imafdc/lp64d -L$(PICOLIBC)/lib
  libc_libs := -Wl,--start-group -lc -lgcc -Wl,--end-group
else
  libc_include := --specs=picolibc.specs
  libc_link := --specs=picolibc.specs -nostartfiles
endif

# Some compilers are set up for a hosted system: no position-independent
# code, stack protector or unwind tables, please.
common := -std=gnu11 -O2 -g -Wall -Wextra -fno-common \
	-fno-omit-frame-pointer -fno-strict-aliasing -fno-pic \
	-fno-stack-protector -fno-asynchronous-unwind-tables \
	$(libc_include) -Iinclude -MMD -MP

kernel_flags := $(common) -march=rv64imac_zicsr_zifencei -mabi=lp64 \
	-mcmodel=medany -ffreestanding -msmall-data-limit=0 -Ikernel
kernel_link := -march=rv64imac -mabi=lp64 -nostdlib -nostartfiles -static \
	-Wl,-z,max-page-size=4096 -Wl,--build-id=none -T linker.ld

user_flags := $(common) -march=rv64imafdc_zicsr_zifencei -mabi=lp64d \
	-mcmodel=medany -ffunction-sections -fdata-sections
user_link := $(libc_link) -march=rv64imafdc -mabi=lp64d -static \
	-Wl,-z,max-page-size=4096 -Wl,--build-id=none -Wl,--gc-sections \
	-T user/user.ld

# --- The kernel --------------------------------------------------------------

kernel_src := $(wildcard boot/*.S boot/*.c kernel/*.c kernel/*.S \
	kernel/*/*.c kernel/*/*.S)
kernel_obj := $(kernel_src:%=$(BUILD)/%.o)
kernel := $(BUILD)/kernel.elf

.PHONY: all
all: $(kernel) $(BUILD)/initrd.tar

$(kernel): $(kernel_obj) linker.ld
	$(call say,LD)$(CC) $(kernel_link) $(kernel_obj) -lgcc -o $@.$$$$ && \
		mv $@.$$$$ $@

$(BUILD)/boot/%.o $(BUILD)/kernel/%.o: flags := $(kernel_flags)
$(BUILD)/user/%.o: flags := $(user_flags)

compile = $(call say,CC)mkdir -p $(@D) && $(CC) $(flags) -c $< -o $@

$(BUILD)/%.c.o: %.c Makefile
	$(compile)
$(BUILD)/%.S.o: %.S Makefile
	$(compile)

.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)

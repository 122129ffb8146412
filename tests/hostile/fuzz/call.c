/*
 * Calls made up. Each argument is drawn from what its kind has of good, bad
 * and worse values; now and then from those of another kind.
 *
 * Some things are left out, since they would end the test and not show a
 * mistake: poweroff, /dev/ktest, signals to processes of others, control words
 * and console output that are not text (script.c writes those), files that are
 * not the test's own, and heaps and files so big that memory runs out: there
 * the innocent are killed, as docs/limits.md says.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pcs.h>
#include <sys/prf.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

struct self self;

#define USER_BASE 0x10000
#define MAP_AREA  0x2000000000ul /* where pages are mapped */
#define TID_WORDS \
	(CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)
#define BREAK_MAX (64 * PAGE) /* of the heap, past the arena */

#define LONG_NAME                                                          \
	"0123456789012345678901234567890123456789012345678901234567890123" \
	"0123456789012345678901234567890123456789012345678901234567890123"

/* The first OWN are the test's own, or devices: those may be changed. */
static const char *const paths[] = {
    "f0",
    "f1",
    "d/f",
    "d",
    "d/d",
    "d/../f0",
    "./d/",
    "f0/",
    "",
    "x/y",
    "l",
    "l/f0",
    ".",
    "s",
    LONG_NAME LONG_NAME, /* 256 bytes: too long a name */
    LONG_NAME "/" LONG_NAME "/" LONG_NAME "/f",
    "/dev/prf",
    "/dev/prf0",
    "/dev/prf1",
    "/dev/prf255",
    "/dev/prf77",
    "/dev/pcs",
    "/dev/pcstat",
    "/dev/kpdata",
    "/dev/null",
    "/dev/zero",
    "/dev/nothing",
    "/dev/full",
    "/dev/random",
#define OWN 29
    "/dev/kpctl",
    "/dev/profclock",
    "/dev/console",
    "/dev/tty",
    "/dev/hostout",
    "/dev/stdin",
    "/dev/fd/3",
    "/proc/self",
    "/proc/self/maps",
    "/proc/self/cwd",
    "/proc/self/exe",
    "/proc/self/fd",
    "/proc/self/fd/4",
    "/proc/1/status",
    "/proc/2/maps",
    "/proc",
    "/sys/devices/system/cpu/online",
    "/dev",
    "/bin/true",
    "/boot/kernel",
    "/bin/true/x",
};

static const unsigned long values[] = {
    0,          1,          2,          3,
    7,          8,          15,         63,
    64,         65,         127,        255,
    256,        511,        512,        513,
    4095,       4096,       4097,       32767,
    32768,      65535,      65536,      1000000,
    0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
    1ul << 32,  1ul << 39,  1ul << 62,  (1ul << 63) - 1,
    1ul << 63,  -4096ul,    -2ul,       -1ul,
    999999999,  1000000000, 0x10000,    0xffff0000ffff,
};

/* Addresses that aren't the process's, or not to be written. */
static const unsigned long addresses[] = {
    0,
    1,
    8,
    4095,
    0xffff, /* below the program */
    0x10000,
    0x70000000, /* between heap and stack */
    0x7f7ffff8, /* below the stack */
    0x7ffffff8,
    0x7fffffff,
    0x80000000, /* the end of user memory */
    0x80001000,
    1ul << 38, /* the least address that is none */
    0x4000000000000000,
    0xffffffbfffffffff,
    0xfffffffec0004000, /* kernel stacks */
    0xffffffff0c000000, /* the interrupt controller */
    0xffffffff10000000, /* the serial port */
    0xffffffff80000000, /* the firmware */
    0xffffffff80200000, /* the kernel */
    0xffffffff80300000,
    0xffffffff88000000,
    0xfffffffffffff000,
    0xfffffffffffffff8,
    0xffffffffffffffff,
};

unsigned long
any_value(struct rng *r)
{
	switch (below(r, 4)) {
	case 0:
		return below(r, 16);
	case 1:
		return rng_next(r) >> below(r, 64);
	case 2:
		return values[below(r, countof(values))] + below(r, 3) - 1;
	default:
		return values[below(r, countof(values))];
	}
}

unsigned long
any_length(struct rng *r)
{
	return one_in(r, 3) ? any_value(r) : below(r, 600);
}

unsigned long
any_fd(struct rng *r)
{
	return one_in(r, 8) ? any_value(r) : below(r, 24);
}

/* Some words to be found at an address that calls may change. */
static void
with_words(struct rng *r, char *at)
{
	unsigned int n = below(r, 2 * ARGS);

	if (one_in(r, 3))
		n = 0;
	for (; n > 0; n--, at += sizeof(long)) {
		unsigned long word = any_value(r);

		if (one_in(r, 6))
			word = (uintptr_t)paths[below(r, OWN)];
		else if (one_in(r, 6))
			word = addresses[below(r, countof(addresses))];
		else if (one_in(r, 3)) /* as in struct pollfd */
			word = any_fd(r) | (rng_next(r) & 0x3f) << 32;
		memcpy(at, &word, sizeof(word));
	}
}

unsigned long
any_pointer(struct rng *r)
{
	char *room = arena + below(r, ARENA_SIZE - 3 * PAGE);
	uintptr_t aligned = (uintptr_t)room & -sizeof(long);

	switch (below(r, 16)) {
	case 0: /* not aligned */
		with_words(r, room);
		return (uintptr_t)room;
	case 1: /* over the end of a page */
		return ((uintptr_t)room | (PAGE - 1)) - below(r, 32);
	case 2: /* and of memory */
		return (uintptr_t)(arena + ARENA_SIZE) - below(r, 64);
	case 3: /* text */
		return (uintptr_t)call_make + below(r, 256);
	case 4:
		return addresses[below(r, countof(addresses))];
	case 5:
		return addresses[below(r, countof(addresses))] + any_value(r);
	case 6: /* the stack, where it was never touched */
		return 0x7fa00000 - below(r, 64 * PAGE);
	case 7: /* what the witnesses have, too */
		return (uintptr_t)pattern + below(r, PATTERN_SIZE);
	case 8:
		return any_value(r);
	default:
		with_words(r, (char *)aligned);
		return aligned;
	}
}

static unsigned long
any_path(struct rng *r, unsigned int n)
{
	return one_in(r, 8) ? any_pointer(r) : (uintptr_t)paths[below(r, n)];
}

static unsigned long
any_flags(struct rng *r)
{
	static const int flags[] = {O_CREAT, O_EXCL,      O_TRUNC,  O_APPEND,
				    O_CREAT, O_DIRECTORY, O_CLOEXEC};
	unsigned long f = below(r, 3) | O_NONBLOCK;

	for (unsigned int i = 0; i < countof(flags); i++)
		if (one_in(r, 4))
			f |= flags[i];
	return one_in(r, 16) ? any_value(r) : f;
}

static unsigned long
any_request(struct rng *r)
{
	static const unsigned int requests[] = {
	    PRF_GETSTATUS, PRF_GETSIZE, PRF_SETSTATE, PRF_GETMAX, PROF_KERNEL,
	    PROF_ALL,      PROF_GROUP,  PROF_LIST,    PROF_STACK, BUF_INCR,
	    PCS_STAT,      PCS_END,     TCGETS,       TCSETS,     TCSETSW,
	    TCSETSF,       TIOCGPGRP,   TIOCSPGRP,    TIOCGWINSZ, TIOCSWINSZ,
	    FIONREAD,      FIONBIO,     FIOCLEX,      FIONCLEX,   TCSBRK,
	    TCFLSH,        TIOCGSID,    TIOCSCTTY,
	};

	return one_in(r, 8) ? any_value(r)
			    : requests[below(r, countof(requests))];
}

/* One of the family's, or one that isn't there. */
static unsigned long
any_pid(struct rng *r)
{
	switch (below(r, 4)) {
	case 0:
		return self.pid;
	case 1:
		return -self.pid;
	case 2:
		return LATER_PIDS + below(r, 1000);
	default:
		return 0;
	}
}

/* SIGKILL and SIGSTOP seldom: others aren't noticed after them. */
static unsigned long
any_signal(struct rng *r)
{
	unsigned long sig = one_in(r, 6) ? any_value(r) : below(r, NSIG + 2);

	if (((int)sig == SIGKILL || (int)sig == SIGSTOP) && !one_in(r, 16))
		sig = SIGUSR1;
	return sig;
}

/*
 * What each call takes: a letter for an argument, as `argument` has them.
 * What isn't here gets any values.
 */
static const char *const kinds[] = {
    [SYS_exit_group] = "v",
    [SYS_exit] = "v",
    [SYS_set_tid_address] = "p",
    [SYS_waitid] = "zdpwp",
    [SYS_getsid] = "d",
    [SYS_personality] = "v",
    [SYS_setreuid] = "zz",
    [SYS_getresuid] = "ppp",
    [SYS_getgroups] = "lp",
    [SYS_getrlimit] = "zp",
    [SYS_setrlimit] = "zp",
    [SYS_getrusage] = "zp",
    [SYS_prctl] = "vp",
    [SYS_linux_sysinfo] = "p",
    [SYS_prlimit64] = "dzpp",
    [SYS_sched_setparam] = "dp",
    [SYS_sched_setscheduler] = "dzp",
    [SYS_sched_getparam] = "dp",
    [SYS_sched_setaffinity] = "dlp",
    [SYS_sched_getaffinity] = "dlp",
    [SYS_getcpu] = "pp",
    [SYS_set_robust_list] = "pl",
    [SYS_get_robust_list] = "zpp",
    [SYS_clone] = "kzpvp",
    [SYS_execve] = "Spp",
    [SYS_wait4] = "dpwp",
    [SYS_getpgid] = "v",
    [SYS_setpgid] = "dd",
    [SYS_brk] = "b",
    [SYS_mmap] = "mlwtfz",
    [SYS_munmap] = "ml",
    [SYS_mremap] = "mllwm",
    [SYS_mprotect] = "mlw",
    [SYS_madvise] = "mlv",
    [SYS_msync] = "plv",
    [SYS_mlock] = "pl",
    [SYS_mlock2] = "plv",
    [SYS_munlock] = "pl",
    [SYS_mlockall] = "v",
    [SYS_munlockall] = "",
    [SYS_riscv_flush_icache] = "ppv",
    [SYS_times] = "p",
    [SYS_uname] = "p",
    [SYS_sysinfo] = "pl",
    [SYS_psinfo] = "pl",
    [SYS_umask] = "v",
    [SYS_futex] = "pxvvpv",
    [SYS_profil] = "plpv",
    [SYS_aix_profil] = "plpv",
    [SYS_pcsample] = "pl",
    [SYS_kill] = "dg",
    [SYS_tkill] = "dg",
    [SYS_tgkill] = "ddg",
    [SYS_sigaltstack] = "pp",
    [SYS_rt_sigaction] = "gpp8",
    [SYS_rt_sigprocmask] = "wpp8",
    [SYS_rt_sigpending] = "p8",
    [SYS_rt_sigsuspend] = "p8",
    [SYS_rt_sigtimedwait] = "ppp8",
    [SYS_rt_sigqueueinfo] = "dgp",
    [SYS_rt_tgsigqueueinfo] = "ddgp",
    [SYS_setitimer] = "wpp",
    [SYS_getitimer] = "wp",
    [SYS_nanosleep] = "pp",
    [SYS_clock_gettime] = "wp",
    [SYS_clock_getres] = "wp",
    [SYS_timer_create] = "wpp",
    [SYS_timer_gettime] = "wp",
    [SYS_timer_getoverrun] = "w",
    [SYS_timer_settime] = "wwpp",
    [SYS_timer_delete] = "w",
    [SYS_clock_nanosleep] = "wwpp",
    [SYS_openat] = "Dsov",
    [SYS_close] = "f",
    [SYS_read] = "fpl",
    [SYS_write] = "fpl",
    [SYS_pread64] = "fpla",
    [SYS_pwrite64] = "fpla",
    [SYS_lseek] = "faw",
    [SYS_getrandom] = "plz",
    [SYS_eventfd2] = "vo",
    [SYS_epoll_create1] = "z",
    [SYS_epoll_ctl] = "fwfp",
    [SYS_epoll_pwait] = "fplvpz",
    [SYS_timerfd_create] = "wo",
    [SYS_timerfd_settime] = "fwpp",
    [SYS_timerfd_gettime] = "fp",
    [SYS_dup] = "f",
    [SYS_dup3] = "ffz",
    [SYS_fcntl] = "fwv",
    [SYS_ioctl] = "fcp",
    [SYS_newfstatat] = "DSpz",
    [SYS_fstat] = "fp",
    [SYS_getdents64] = "fpl",
    [SYS_mkdirat] = "Dsv",
    [SYS_unlinkat] = "Dsu",
    [SYS_renameat2] = "DsDsz",
    [SYS_chdir] = "s",
    [SYS_getcwd] = "pl",
    [SYS_ftruncate] = "fa",
    [SYS_pipe2] = "po",
    [SYS_pselect6] = "lppppp",
    [SYS_ppoll] = "plppz",
    [SYS_faccessat] = "DSw",
    [SYS_fchmodat] = "Dsv",
    [SYS_utimensat] = "Dspz",
    [SYS_fsync] = "f",
    [SYS_flock] = "fw",
    [SYS_close_range] = "ffz",
    [SYS_statfs] = "Sp",
    [SYS_fstatfs] = "fp",
    [SYS_statx] = "DSzvp",
    [SYS_truncate] = "sa",
    [SYS_fchdir] = "f",
    [SYS_fchmod] = "fv",
    [SYS_fchown] = "fvv",
    [SYS_fchownat] = "Dsvvz",
    [SYS_faccessat2] = "DSwz",
    [SYS_fdatasync] = "f",
    [SYS_syncfs] = "f",
    [SYS_fadvise64] = "faaw",
    [SYS_readahead] = "fal",
    [SYS_fallocate] = "fzaa",
    [SYS_readv] = "fpw",
    [SYS_writev] = "fpw",
    [SYS_preadv] = "fpwa",
    [SYS_pwritev] = "fpwa",
    [SYS_preadv2] = "fpwavz",
    [SYS_pwritev2] = "fpwavz",
    [SYS_sendfile] = "ffpl",
    [SYS_copy_file_range] = "fpfplz",
    [SYS_symlinkat] = "sDs",
    [SYS_linkat] = "DsDsz",
    [SYS_readlinkat] = "DSpl",
};

/* All numbers that there are, and some beside them. */
#define SYSCALL(number, name) number,
static const long numbers[] = {
#include <sys/syscalls.h>
    0, 16, 222, 277, 999, 1008,
};
#undef SYSCALL

static const struct timespec no_time;

static unsigned long
argument(struct rng *r, char kind)
{
	switch (kind) {
	case 'a': /* an offset */
	case 'v':
		return any_value(r);
	case 'b': /* the break */
		return (uintptr_t)arena + ARENA_SIZE + below(r, BREAK_MAX);
	case 'c':
		return any_request(r);
	case 'd':
		return any_pid(r);
	case 'D': /* a directory to start at */
		return one_in(r, 4) ? any_fd(r) : (unsigned long)AT_FDCWD;
	case 'k': /* flags of clone */
		return one_in(r, 8) ? any_value(r)
				    : SIGCHLD | (any_value(r) & TID_WORDS);
	case 'u': /* flags of unlinkat */
		return one_in(r, 8) ? any_value(r) : below(r, 2) * AT_REMOVEDIR;
	case 'x': /* an operation of futex */
		return one_in(r, 8) ? any_value(r)
				    : below(r, 12) + below(r, 2) * 128;
	case 'z': /* flags that are mostly 0 */
		return one_in(r, 8) ? any_value(r) : 0;
	case 'f':
		return any_fd(r);
	case 'g':
		return any_signal(r);
	case 'l':
		return any_length(r);
	case '8': /* a set's size */
		return one_in(r, 16) ? any_value(r) : 8;
	case 'm': /* a page to be mapped */
		return one_in(r, 8) ? any_value(r)
				    : MAP_AREA + below(r, 64) * PAGE;
	case 't': /* how it is */
		return one_in(r, 8) ? any_value(r)
				    : below(r, 4) | below(r, 4) << 4;
	case 'o':
		return any_flags(r);
	case 's':
		return any_path(r, OWN);
	case 'S':
		return any_path(r, countof(paths));
	case 'w': /* which, how, where from */
		return one_in(r, 8) ? any_value(r) : below(r, 6);
	default:
		return any_pointer(r);
	}
}

/* Numbers that end a process, or cost much, come seldom; poweroff never, and
 * sigreturn only in a script. */
static long
any_number(struct rng *r)
{
	long n = one_in(r, 64) ? (long)any_value(r)
			       : numbers[below(r, countof(numbers))];

	switch (n) {
	case SYS_poweroff:
	case SYS_rt_sigreturn:
		return SYS_getpid;
	case SYS_exit_group:
	case SYS_execve:
	case SYS_exit:
	case SYS_clone:
		return one_in(r, 150) ? n : SYS_getppid;
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
		return one_in(r, 50) ? n : SYS_gettid;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_wait4:
		return one_in(r, 5) ? n : SYS_gettid;
	default:
		return n;
	}
}

/* An offset at which a file isn't written: its table alone would be as large
 * as memory. */
static unsigned long
tame_offset(unsigned long offset)
{
	return offset >> 40 == 0 ? offset & 0xffffff : offset;
}

static bool
is_ours(int pid)
{
	return pid == 0 || pid == self.pid || pid == -self.pid ||
	       pid >= LATER_PIDS || pid <= -LATER_PIDS;
}

/* Leave out what is said above. */
static void
tame(struct rng *r, struct call *c)
{
	unsigned long *arg = c->arg;

	switch (c->number) {
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		if (!is_ours(arg[1]))
			arg[1] = self.pid;
		/* fallthrough */
	case SYS_kill:
	case SYS_tkill:
	case SYS_rt_sigqueueinfo:
		if (!is_ours(arg[0]))
			arg[0] = self.pid;
		break;
	case SYS_setpgid:
		if (!is_ours(arg[1]))
			arg[1] = 0;
		break;
	case SYS_clone:
		if (self.depth > 1 || self.kids > 3)
			c->number = SYS_getpid;
		break;
	case SYS_brk:
		if (arg[0] - (uintptr_t)arena - ARENA_SIZE > BREAK_MAX &&
		    arg[0] <= 0x80000000)
			arg[0] = (uintptr_t)arena + ARENA_SIZE;
		break;
	case SYS_mmap: /* nothing of the test's own is unmapped */
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_madvise:
		if (arg[0] < MAP_AREA && arg[0] + arg[1] > USER_BASE)
			arg[0] += MAP_AREA;
		if (c->number == SYS_mremap && arg[4] < MAP_AREA)
			arg[4] += MAP_AREA;
		break;
	case SYS_lseek:
	case SYS_truncate:
	case SYS_ftruncate:
		arg[1] = tame_offset(arg[1]);
		break;
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_pwrite64:
		arg[3] = tame_offset(arg[3]);
		break;
	case SYS_ppoll: /* not for long, and with the mask as it is */
		if (!one_in(r, 8))
			arg[2] = (uintptr_t)&no_time;
		if (!one_in(r, 8))
			arg[3] = 0;
		break;
	case SYS_epoll_pwait:
		if (!one_in(r, 8))
			arg[3] = arg[4] = 0;
		break;
	case SYS_pselect6:
		if (!one_in(r, 8))
			arg[5] = 0;
		break;
	}
	for (int i = 0; i < 2; i++) /* a descriptor, or no matter */
		if ((int)arg[i] >= FAIL_FD && (int)arg[i] <= REPORT_FD)
			arg[i] = 0;
}

void
call_make(struct rng *r, struct call *c)
{
	static const char all[] = "vbcdDfgklowspuxz";
	bool wild = one_in(r, 16);
	const char *kind = "";

	c->number = any_number(r);
	if (c->number >= 0 && c->number < (long)countof(kinds) &&
	    kinds[c->number] != NULL)
		kind = kinds[c->number];
	for (int i = 0; i < ARGS; i++) {
		if (*kind != '\0' && !wild)
			c->arg[i] = argument(r, *kind++);
		else if (wild)
			c->arg[i] = argument(r, all[below(r, sizeof(all) - 1)]);
		else
			c->arg[i] = any_value(r);
	}
	/* What isn't the test's own is opened for reading only. */
	if (c->number == SYS_openat && !wild && one_in(r, 4)) {
		c->arg[1] = (uintptr_t)
		    paths[OWN + below(r, countof(paths) - OWN)];
		c->arg[2] = O_NONBLOCK;
	}
	tame(r, c);
}

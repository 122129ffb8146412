/*
 * The system calls, once: SYSCALL(number, name) for each. The kernel makes
 * its table from this file, the user library its stubs (user/lib/stubs.S).
 *
 * Called with the number in a7 and the arguments in a0..a5; a0 returns the
 * result, or -errno in -4095..-1. Everything else is preserved.
 */
/* Processes */
SYSCALL(1, exit)         /* int status */
SYSCALL(2, fork)         /* */
SYSCALL(3, execve)       /* path, argv, envp */
SYSCALL(4, waitpid)      /* pid, int *status, options */
SYSCALL(5, getpid)       /* */
SYSCALL(6, getppid)      /* */
SYSCALL(7, getpgid)      /* pid */
SYSCALL(8, setpgid)      /* pid, pgid */
SYSCALL(9, brk)          /* address, 0 asks; gives the break */
SYSCALL(10, sched_yield) /* */
SYSCALL(11, times)       /* struct tms *; gives ticks since boot */
SYSCALL(12, uname)       /* struct utsname * */
SYSCALL(13, sysinfo)     /* struct sysinfo *, size: <sys/sysinfo.h> */
SYSCALL(14, psinfo)      /* struct psinfo *, count: <sys/sysinfo.h> */
SYSCALL(15, poweroff)    /* int status */
SYSCALL(16, umask)       /* mode */

/* Threads: see <pthread.h> */
SYSCALL(17, thread_create) /* entry, sp, tp, a0; gives the tid */
SYSCALL(18, thread_exit)   /* int *gone, or 0: set to 1, and woken */
SYSCALL(19, gettid)        /* */
SYSCALL(31, futex_wait)    /* const int *, value, const timespec *until */
SYSCALL(32, futex_wake)    /* int *, count; gives how many were woken */

/* Profiling */
SYSCALL(33, profil)     /* buffer, bytes, offset, scale: <unistd.h> */
SYSCALL(34, aix_profil) /* the same, or ranges, -1, 0, 0: <mon.h> */
SYSCALL(35, pcsample)   /* uintptr_t *samples, nsamples: <pcsample.h> */

/* Signals and time */
SYSCALL(20, kill)          /* pid, sig */
SYSCALL(21, sigaction)     /* sig, const struct sigaction *, old, restorer */
SYSCALL(22, sigprocmask)   /* how, const sigset_t *, old */
SYSCALL(23, sigpending)    /* sigset_t * */
SYSCALL(24, sigsuspend)    /* const sigset_t * */
SYSCALL(25, sigreturn)     /* */
SYSCALL(26, setitimer)     /* which, const struct itimerval *, old */
SYSCALL(27, getitimer)     /* which, struct itimerval * */
SYSCALL(28, nanosleep)     /* const struct timespec *, remaining */
SYSCALL(29, clock_gettime) /* clock, struct timespec * */
SYSCALL(30, clock_getres)  /* clock, struct timespec * */

/* Files */
SYSCALL(40, open)      /* path, flags, mode */
SYSCALL(41, close)     /* fd */
SYSCALL(42, read)      /* fd, buf, size */
SYSCALL(43, write)     /* fd, buf, size */
SYSCALL(44, pread)     /* fd, buf, size, offset */
SYSCALL(45, pwrite)    /* fd, buf, size, offset */
SYSCALL(46, lseek)     /* fd, offset, whence */
SYSCALL(47, dup)       /* fd */
SYSCALL(48, dup2)      /* old, new */
SYSCALL(49, fcntl)     /* fd, cmd, arg */
SYSCALL(50, ioctl)     /* fd, cmd, arg */
SYSCALL(51, stat)      /* path, struct stat * */
SYSCALL(52, fstat)     /* fd, struct stat * */
SYSCALL(53, getdents)  /* fd, struct dirent *, bytes; gives bytes */
SYSCALL(54, mkdir)     /* path, mode */
SYSCALL(55, rmdir)     /* path */
SYSCALL(56, unlink)    /* path */
SYSCALL(57, rename)    /* old, new */
SYSCALL(58, chdir)     /* path */
SYSCALL(59, getcwd)    /* buf, size; gives the length with the NUL */
SYSCALL(60, ftruncate) /* fd, size */
SYSCALL(61, pipe)      /* int fd[2] */
SYSCALL(62, select)    /* n, fd_set *r, *w, *x, struct timeval * */
SYSCALL(63, poll)      /* struct pollfd *, n, milliseconds */
SYSCALL(64, access)    /* path, mode */
SYSCALL(65, chmod)     /* path, mode */
SYSCALL(66, utimens)   /* path, const struct timespec [2] */
SYSCALL(67, fsync)     /* fd */

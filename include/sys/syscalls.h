/*
 * The system calls, once: SYSCALL(number, name) for each that is one of Linux's
 * for riscv64, and has its number, its arguments and its errors as far as
 * docs/linux.md says; and TALLY_CALL(number, name) for Tally's own. The kernel
 * makes its tables from this file, the user library its stubs
 * (user/lib/stubs.S).
 *
 * Called with the number in a7 and the arguments in a0..a5; a0 returns the
 * result, or -errno in -4095..-1. Everything else is preserved.
 */
#ifndef TALLY_CALL
#define TALLY_CALL SYSCALL
#define TALLY_CALL_IS_OURS
#endif

/* Files. dir is the descriptor of a directory, or AT_FDCWD */
SYSCALL(17, getcwd)     /* buf, size; gives the length with the NUL */
SYSCALL(23, dup)        /* fd */
SYSCALL(24, dup3)       /* old, new, flags */
SYSCALL(25, fcntl)      /* fd, cmd, arg */
SYSCALL(29, ioctl)      /* fd, cmd, arg */
SYSCALL(32, flock)      /* fd, operation */
SYSCALL(34, mkdirat)    /* dir, path, mode */
SYSCALL(35, unlinkat)   /* dir, path, flags */
SYSCALL(36, symlinkat)  /* target, dir, path */
SYSCALL(37, linkat)     /* dir, path, dir, new path, flags */
SYSCALL(43, statfs)     /* path, struct statfs * */
SYSCALL(44, fstatfs)    /* fd, struct statfs * */
SYSCALL(45, truncate)   /* path, size */
SYSCALL(46, ftruncate)  /* fd, size */
SYSCALL(47, fallocate)  /* fd, mode, offset, size */
SYSCALL(48, faccessat)  /* dir, path, mode */
SYSCALL(49, chdir)      /* path */
SYSCALL(50, fchdir)     /* fd */
SYSCALL(52, fchmod)     /* fd, mode */
SYSCALL(53, fchmodat)   /* dir, path, mode */
SYSCALL(54, fchownat)   /* dir, path, uid, gid, flags */
SYSCALL(55, fchown)     /* fd, uid, gid */
SYSCALL(56, openat)     /* dir, path, flags, mode */
SYSCALL(57, close)      /* fd */
SYSCALL(59, pipe2)      /* int fd[2], flags */
SYSCALL(61, getdents64) /* fd, struct dirent *, bytes; gives bytes */
SYSCALL(62, lseek)      /* fd, offset, whence */
SYSCALL(63, read)       /* fd, buf, size */
SYSCALL(64, write)      /* fd, buf, size */
SYSCALL(65, readv)      /* fd, const struct iovec *, n */
SYSCALL(66, writev)     /* fd, const struct iovec *, n */
SYSCALL(67, pread64)    /* fd, buf, size, offset */
SYSCALL(68, pwrite64)   /* fd, buf, size, offset */
SYSCALL(69, preadv)     /* fd, const struct iovec *, n, offset */
SYSCALL(70, pwritev)    /* fd, const struct iovec *, n, offset */
SYSCALL(71, sendfile)   /* out, in, off_t *, size */
SYSCALL(72, pselect6)   /* n, fd_set *r, *w, *x, timespec *, {mask, size} * */
SYSCALL(73, ppoll)      /* struct pollfd *, n, timespec *, mask, size */
SYSCALL(78, readlinkat) /* dir, path, buf, size; gives bytes */
SYSCALL(79, newfstatat) /* dir, path, struct stat *, flags */
SYSCALL(80, fstat)      /* fd, struct stat * */
SYSCALL(81, sync)       /* */
SYSCALL(82, fsync)      /* fd */
SYSCALL(83, fdatasync)  /* fd */
SYSCALL(88, utimensat)  /* dir, path, const struct timespec [2], flags */
SYSCALL(213, readahead) /* fd, offset, size */
SYSCALL(223, fadvise64) /* fd, offset, size, advice */
SYSCALL(267, syncfs)    /* fd */
SYSCALL(276, renameat2) /* dir, old, dir, new, flags */
SYSCALL(285, copy_file_range) /* in, off_t *, out, off_t *, size, 0 */
SYSCALL(286, preadv2)         /* fd, const struct iovec *, n, offset, -, 0 */
SYSCALL(287, pwritev2)        /* fd, const struct iovec *, n, offset, -, 0 */
SYSCALL(291, statx)           /* dir, path, flags, mask, struct statx * */
SYSCALL(436, close_range)     /* first, last, flags */
SYSCALL(439, faccessat2)      /* dir, path, mode, flags */

/* Files that are made to be waited for, and waiting for several */
SYSCALL(19, eventfd2)        /* count, flags; gives fd */
SYSCALL(20, epoll_create1)   /* flags; gives fd */
SYSCALL(21, epoll_ctl)       /* epoll, op, fd, struct epoll_event * */
SYSCALL(22, epoll_pwait)     /* epoll, events, n, ms, mask, size; gives n */
SYSCALL(85, timerfd_create)  /* clock, flags; gives fd */
SYSCALL(86, timerfd_settime) /* fd, flags, new, struct itimerspec *old */
SYSCALL(87, timerfd_gettime) /* fd, struct itimerspec * */

/* Random numbers */
SYSCALL(278, getrandom) /* buf, size, flags; gives bytes */

/* Processes and threads */
SYSCALL(93, exit)             /* int status: of the thread */
SYSCALL(94, exit_group)       /* int status */
SYSCALL(95, waitid)           /* P_, id, siginfo_t *, options, rusage * */
SYSCALL(96, set_tid_address)  /* int *: zeroed at its end; gives the tid */
SYSCALL(98, futex)            /* int *, op, value, timespec *, int *, bits */
SYSCALL(99, set_robust_list)  /* struct robust_list_head *, size */
SYSCALL(100, get_robust_list) /* tid, struct robust_list_head **, size_t * */
SYSCALL(124, sched_yield)     /* */
SYSCALL(154, setpgid)         /* pid, pgid */
SYSCALL(155, getpgid)         /* pid */
SYSCALL(156, getsid)          /* pid */
SYSCALL(157, setsid)          /* */
SYSCALL(160, uname)           /* struct utsname * */
SYSCALL(166, umask)           /* mode */
SYSCALL(172, getpid)          /* */
SYSCALL(173, getppid)         /* */
SYSCALL(178, gettid)          /* */
SYSCALL(220, clone)           /* flags, stack, int *parent, tp, int *child */
SYSCALL(221, execve)          /* path, argv, envp */
SYSCALL(260, wait4)           /* pid, int *status, options, struct rusage * */

/* Who a process is, and what it may: all may the same */
SYSCALL(92, personality)    /* 0, or 0xffffffff to ask */
SYSCALL(143, setregid)      /* gid, effective; -1: as it is */
SYSCALL(144, setgid)        /* gid */
SYSCALL(145, setreuid)      /* uid, effective; -1: as it is */
SYSCALL(146, setuid)        /* uid */
SYSCALL(147, setresuid)     /* uid, effective, saved; -1: as it is */
SYSCALL(148, getresuid)     /* uid_t *, effective, saved */
SYSCALL(149, setresgid)     /* gid, effective, saved; -1: as it is */
SYSCALL(150, getresgid)     /* gid_t *, effective, saved */
SYSCALL(158, getgroups)     /* count, gid_t *; gives how many */
SYSCALL(159, setgroups)     /* 0, - */
SYSCALL(163, getrlimit)     /* which, {now, most} * */
SYSCALL(164, setrlimit)     /* which, const {now, most} * */
SYSCALL(165, getrusage)     /* who, struct rusage * */
SYSCALL(167, prctl)         /* PR_SET_NAME or PR_GET_NAME, char [16] */
SYSCALL(174, getuid)        /* */
SYSCALL(175, geteuid)       /* */
SYSCALL(176, getgid)        /* */
SYSCALL(177, getegid)       /* */
SYSCALL(179, linux_sysinfo) /* Linux's struct sysinfo * */
SYSCALL(261, prlimit64)     /* pid, which, const {now, most} *, {..} *old */

/* Scheduling: equal shares, on all harts */
SYSCALL(118, sched_setparam)         /* tid, const struct sched_param * */
SYSCALL(119, sched_setscheduler)     /* tid, 0, const struct sched_param * */
SYSCALL(120, sched_getscheduler)     /* tid */
SYSCALL(121, sched_getparam)         /* tid, struct sched_param * */
SYSCALL(122, sched_setaffinity)      /* tid, bytes, const long * */
SYSCALL(123, sched_getaffinity)      /* tid, bytes, long *; gives bytes */
SYSCALL(125, sched_get_priority_max) /* policy */
SYSCALL(126, sched_get_priority_min) /* policy */
SYSCALL(140, setpriority)            /* kind, who, 0 */
SYSCALL(141, getpriority)            /* kind, who; gives 20 */
SYSCALL(168, getcpu)                 /* unsigned *hart, unsigned *node */

/* Time */
SYSCALL(101, nanosleep)        /* const struct timespec *, remaining */
SYSCALL(102, getitimer)        /* which, struct itimerval * */
SYSCALL(103, setitimer)        /* which, const struct itimerval *, old */
SYSCALL(107, timer_create)     /* clock, struct sigevent *, int *id */
SYSCALL(108, timer_gettime)    /* id, struct itimerspec * */
SYSCALL(109, timer_getoverrun) /* id */
SYSCALL(110, timer_settime)    /* id, flags, struct itimerspec *, old */
SYSCALL(111, timer_delete)     /* id */
SYSCALL(113, clock_gettime)    /* clock, struct timespec * */
SYSCALL(114, clock_getres)     /* clock, struct timespec * */
SYSCALL(115, clock_nanosleep)  /* clock, flags, struct timespec *, remaining */
SYSCALL(153, times)            /* struct tms *; gives ticks since boot */

/* Memory */
SYSCALL(214, brk)                /* address; gives the break as it is then */
SYSCALL(215, munmap)             /* address, size */
SYSCALL(216, mremap)             /* old, old size, size, flags, new */
SYSCALL(222, mmap)               /* address, size, prot, flags, fd, offset */
SYSCALL(226, mprotect)           /* address, size, prot */
SYSCALL(227, msync)              /* address, size, flags */
SYSCALL(228, mlock)              /* address, size */
SYSCALL(229, munlock)            /* address, size */
SYSCALL(230, mlockall)           /* flags */
SYSCALL(231, munlockall)         /* */
SYSCALL(233, madvise)            /* address, size, advice */
SYSCALL(259, riscv_flush_icache) /* start, end, flags */
SYSCALL(284, mlock2)             /* address, size, flags */

/* Signals. A set's size is 8 bytes */
SYSCALL(129, kill)              /* pid, sig */
SYSCALL(130, tkill)             /* tid, sig */
SYSCALL(131, tgkill)            /* pid, tid, sig */
SYSCALL(132, sigaltstack)       /* const stack_t *, old */
SYSCALL(133, rt_sigsuspend)     /* const sigset_t *, size */
SYSCALL(134, rt_sigaction)      /* sig, const struct sigaction *, old, size */
SYSCALL(135, rt_sigprocmask)    /* how, const sigset_t *, old, size */
SYSCALL(136, rt_sigpending)     /* sigset_t *, size */
SYSCALL(137, rt_sigtimedwait)   /* sigset_t *, siginfo_t *, timespec *, size */
SYSCALL(138, rt_sigqueueinfo)   /* pid, sig, const siginfo_t * */
SYSCALL(139, rt_sigreturn)      /* */
SYSCALL(240, rt_tgsigqueueinfo) /* pid, tid, sig, const siginfo_t * */

/* Tally's own. Profiling */
TALLY_CALL(1024, profil)     /* buffer, bytes, offset, scale: <unistd.h> */
TALLY_CALL(1025, aix_profil) /* the same, or ranges, -1, 0, 0: <mon.h> */
TALLY_CALL(1026, pcsample)   /* uintptr_t *samples, nsamples: <pcsample.h> */

/* The machine: <sys/sysinfo.h> */
TALLY_CALL(1027, sysinfo)  /* struct sysinfo *, size */
TALLY_CALL(1028, psinfo)   /* struct psinfo *, count */
TALLY_CALL(1029, poweroff) /* int status */

#ifdef TALLY_CALL_IS_OURS
#undef TALLY_CALL
#undef TALLY_CALL_IS_OURS
#endif

"""Kernel stacks are deep enough for whatever nests on one: docs/trap.md.

What is added up: a system call or an exception of user mode; a page fault in
its copy of user memory; an interrupt's handler, or what is owed when the level
is lowered, at level 5; a timer that interrupts that, with SIE=0; and a fault
of the sampler's look at user memory. An interrupt that comes at level 0 after
these is one of the same, not one more.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.guest import Images
from harness.stackuse import CallGraph
from tally.build import image

ROOT = Path(__file__).resolve().parent.parent
KIB = 1024
BOUND = 14 * KIB  # of the 16 that a stack has

# What ends the machine may take the rest. level_pending runs at level 0 only,
# and is added for itself. ktest_recurse overflows on purpose.
CUT = {"panic", "panic_trap", "panic_limit", "deadlock", "level_pending",
       "ktest_recurse"}
# vnode_read refuses all but regular files, whose operations these are.
REGULAR = {"ramfile_read", "hostfile_read"}
# A wake-up wakes those who poll, and a signal's end of a child signals its
# parent: neither goes any further. A file of /proc lets go of its folder, which
# lets go of the one above: /proc/sys/kernel/NAME has three. A file that was hidden in
# /host lets go of its folder, and no folder is hidden. An epoll watches no other.
OFTEN = {"wake_all": 2, "signal_post": 2, "procfs_free": 4, "hostfs_free": 2,
         "epoll_poll": 1}


@pytest.fixture(scope="module")
def graph(images: Images) -> CallGraph:
    found = CallGraph(image.BUILD, ROOT)
    found.calls["vnode_read"] &= REGULAR
    # It calls a file's own function, which is no operation of a vnode's.
    procfs_follow = "kernel/procfs/procfs.c:procfs_follow"
    found.calls[procfs_follow].discard(procfs_follow)
    assembly = "".join(file.read_text() for file in ROOT.glob("[bkl]*/**/*.S"))
    for name in re.findall(r"^FUNCTION (\w+)", assembly, re.M):
        found.frames.setdefault(name, 0)  # it has none
    called = set().union(*found.calls.values())
    for name in called - set(found.frames):
        assert name.startswith("__"), f"{name}: neither C nor assembly"
        found.frames[name] = 0  # the compiler's own, without a frame
    return found


@pytest.mark.skipif(image.DEBUG, reason="its checks take what they need")
def test_the_deepest_nesting_fits(graph: CallGraph) -> None:
    """14 KiB, so that other compilers' frames and what is new have room."""
    offsets = (ROOT / "kernel/sched/offsets.h").read_text()
    trap_frame = int(re.search(r"#define KF_SIZE +(\d+)", offsets)[1])
    parts = []

    def deepest(what: str, *starts: str, cut: frozenset[str] = frozenset()) -> None:
        chains = [graph.deepest(s, CUT - {s} | cut, OFTEN) for s in starts]
        chain = max(chains, key=graph.size)
        parts.append((graph.size(chain), what, chain))

    def trap(what: str, *starts: str, cut: frozenset[str] = frozenset()) -> None:
        deepest(what, *starts, cut=cut)
        parts[-1] = (parts[-1][0] + trap_frame, *parts[-1][1:])

    sampler = frozenset({"clock_interrupt"})
    handlers = frozenset({"clock_tick", "plic_interrupt"})
    deepest("from user mode", "trap_user", "thread_work")
    trap("a page fault of a copy", "trap_kernel")
    trap("a handler", "trap_interrupt", cut=sampler)
    deepest("what is owed", "clock_tick", "thread_resched")
    trap("a timer in it", "trap_interrupt", cut=handlers)
    trap("its look at user memory", "trap_kernel", cut=frozenset({"aspace_fault"}))
    for size, what, chain in parts:
        print(f"{size:6} {what}: {' > '.join(chain)}")
    assert sum(size for size, _, _ in parts) <= BOUND

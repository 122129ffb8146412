"""Ends that the kernel makes itself: a panic, and the time limit.

/dev/ktest makes the kernel do what it never should.
"""

from __future__ import annotations

import pexpect
import re
from typing import Callable

import pytest

from harness.console import Console
from harness.guest import BootResult, Guest
from tally.verify.machines import Machines

HART = (
    r"hart {}: 0x[0-9a-f]+( [\w.]+\+0x[0-9a-f]+)?( \(last known: it did not stop\))?"
    r"\n(  waits for lock [\w ]+, which hart \d took at [\w.]+\+0x[0-9a-f]+\n)?"
)
SLEEPER = r"thread \d+ \(\w+\) sleeps on [\w ]+ for \d+ ms\n"
CALL = r"  0x[0-9a-f]{16} ([\w.]+)\+0x[0-9a-f]+\n"

# What /dev/ktest is told, the message, and who is in the backtrace, in order.
PANICS = {
    "panic on purpose": (
        "panic: requested by a test: on purpose\n",
        ["run_panic", "ctl_write", "sys_write", "syscall", "trap_vector"],
    ),
    "fault": (
        r"panic: load page fault: a NULL pointer, scause 13 sepc 0x[0-9a-f]+ "
        r"stval 0x8\n",
        ["run_fault", "ctl_write", "sys_write", "syscall", "trap_vector"],
    ),
    "fault 0x10100": (
        r"panic: load page fault: a user's address, for copy_in and copy_out only, "
        r"scause 13 sepc 0x[0-9a-f]+ stval 0x10100\n",
        ["run_fault", "ctl_write", "sys_write", "syscall", "trap_vector"],
    ),
    "overflow": (
        r"panic: kernel stack overflow, scause \d+ sepc 0x\w+ stval 0x\w+\n",
        ["ktest_recurse"] * 15,
    ),
    "deadlock": (
        r"panic: deadlock: ktest, taken at run_deadlock\+0x\w+, "
        r"wanted again at run_deadlock\+0x\w+\n",
        ["spin_lock", "run_deadlock", "ctl_write", "sys_write", "syscall"],
    ),
    "sleeplock": (
        "panic: sleep under a spinlock: at level 1, waiting for ktest\n",
        ["wait_common", "run_sleeplock", "ctl_write", "sys_write", "syscall"],
    ),
    **{
        word: (
            r"panic: freed twice: 0x\w+\n",
            ["kfree", "run_freetwice", "ctl_write", "sys_write", "syscall"],
        )
        # Among others in a page; alone, so that the page is freed, too; and large.
        for word in ("freetwice", "freetwice 2000", "freetwice 70000")
    },
}


def last_words(result: BootResult) -> str:
    return result.last_words.decode().replace("\r", "")


def assert_panic(
    guest: Guest, result: BootResult, message: str, callers: list[str]
) -> None:
    """The panic's text: message, hart and process, backtrace, all harts.

    Nothing else: no other hart has said anything.
    """
    harts = "".join(HART.format(i) for i in range(guest.machine.harts))
    whose = r"hart \d, process \d+ \(sh\)\n"
    text = last_words(result)
    pattern = rf"{message}{whose}((?:{CALL})+)(?:  \.\.\.\n)?{harts}"
    found = re.fullmatch(pattern, text)
    assert found, text
    names = iter(re.findall(CALL, found[1]))
    assert all(name in names for name in callers), text  # in this order


@pytest.mark.machines(Machines(("4", "free"), ("1", "8")))
@pytest.mark.parametrize("what", PANICS)
def test_panic(guest: Guest, what: str) -> None:
    """Status 125, and a message that says what, where and how it came there."""
    result = guest(f"echo before; echo {what} >/dev/ktest; echo after", "panic")
    assert (result.out, result.outcome.status) == ("before\n", 125)
    assert_panic(guest, result, *PANICS[what])


@pytest.mark.machines("free")
@pytest.mark.parametrize("round", range(6))
def test_panic_while_others_print(guest: Guest, round: int) -> None:
    """On every hart someone is in the middle of printing."""
    noise = "yes out & yes err >&2 & yes >/dev/console & "
    noise += "while :; do echo unknown >/dev/kpctl; done 2>/dev/null & "
    result = guest(
        f"{noise} sleep 0.{round}1; echo panic on purpose >/dev/ktest",
        "panic",
    )
    assert_panic(guest, result, *PANICS["panic on purpose"])


def test_a_name_in_a_panic_is_only_text(guest: Guest) -> None:
    """Neither a terminal nor scripts/run obeys its bytes."""
    name = r"/tmp/$(printf 'a\033[2J\020kb\177')"
    result = guest(
        f"cp /bin/sh {name}; {name} -c 'echo panic on purpose >/dev/ktest'", "panic"
    )
    assert re.search(r"process \d+ \(a\?\[2J\?kb\?\)\n", last_words(result))


def test_panic_at_a_terminal(console: Console) -> None:
    """QEMU's own exit status says so."""
    console.send("echo panic on purpose >/dev/ktest\r")
    console.expect(r"\npanic: requested by a test: on purpose\r+\n")
    console.tty.expect(pexpect.EOF)
    console.tty.close()
    assert console.tty.exitstatus == 125


def at_limit(
    guest: Guest, command: str, shown: Callable[[BootResult], object], **changes: object
) -> BootResult:
    """What is shown at a limit of a second. Free harts have the host's time: if it is
    over before the command has come so far, it gets more."""
    for limit in [1.0] if guest.machine.icount is not None else [1.0, 5.0, 25.0]:
        result = guest(command, "limit", limit=limit, **changes)
        assert result.outcome.status == 124
        if shown(result):
            break
    return result


@pytest.mark.machines(Machines(("4", "free"), ("1", "8")))
def test_limit(guest: Guest) -> None:
    """Status 124, where each hart is, and who sleeps on what."""
    spin = "while :; do :; done"
    result = at_limit(guest, f"echo before; {spin} & {spin}", lambda result: result.out)
    assert result.out == "before\n"
    harts = "".join(HART.format(i) for i in range(guest.machine.harts))
    sleepers = f"({SLEEPER}({CALL})+)+"
    assert re.fullmatch(rf"time limit reached\n{harts}{sleepers}", last_words(result))


#: What never comes to level 0, and what the limit must say of it.
HUNG = {
    "embrace 0 >/dev/ktest & echo embrace 1": (
        r"  waits for lock ktest one, which hart \d took at run_embrace\+",
        r"  waits for lock ktest zero, which hart \d took at run_embrace\+",
    ),
    "hang >/dev/ktest & echo hang": (
        r"hart \d: 0x\w+ run_hang\+",
        r"  waits for lock ktest, which hart \d took at run_hang\+",
    ),
}


@pytest.mark.machines("4", "free")
@pytest.mark.parametrize("words", HUNG)
def test_limit_names_a_deadlock(guest: Guest, words: str) -> None:
    """Though no hart is ever at level 0: there are only the two."""
    found = [re.compile(rf"(?m)^{line}") for line in HUNG[words]]
    result = at_limit(
        guest, f"echo {words} >/dev/ktest",
        lambda result: all(line.search(last_words(result)) for line in found), harts=2,
    )
    if guest.machine.icount:  # else it depends on the host when a hart answers
        assert "did not stop" not in last_words(result)
    for line in found:
        assert line.search(last_words(result)), last_words(result)


#: Threads that nobody wakes, and what the limit says of them.
ASLEEP = {
    "forget": r"thread (\d+) \(sh\) sleeps on ktest for \d+ ms\n"
    r"  \w+ run_forget\+",
    "keep >/dev/ktest & wait; echo keep": r"thread (\d+) \(sh\) sleeps on mutex ktest "
    r"for \d+ ms\n  held by thread \d+\n(  \w+ mutex_lock\+\w+\n)?"
    r"  \w+ run_keep\+",
}


@pytest.mark.parametrize("words", ASLEEP)
def test_limit_names_a_lost_wake_up(guest: Guest, words: str) -> None:
    """The queue or the mutex, since when, and the calls that led there."""
    result = guest(f"echo {words} >/dev/ktest", "limit", limit=1.0)
    assert result.outcome.status == 124
    assert re.search(ASLEEP[words], last_words(result)), last_words(result)


@pytest.mark.machines("1")
def test_limit_at_a_raised_level(guest: Guest) -> None:
    """The tick ends it at once, whatever it interrupts."""
    result = guest("echo spin 5 3000000 >/dev/ktest", "limit", limit=1.0)
    assert result.outcome.status == 124
    assert re.search(r"hart 0: 0x\w+ ktest_spin_level5\+", last_words(result))

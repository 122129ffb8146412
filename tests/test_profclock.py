"""/dev/profclock: its words and what it shows.

That the clock keeps what it is told is checked by guest/profclock.c, and by
guest/jitter.c when single samples fall.
"""

from __future__ import annotations

import re

import pytest

from harness.guest import Guest

SHOW = "grep -v late /dev/profclock"  # how many samples were late varies
DEFAULTS = "hz 100\njitter off\nseed 1\ngo\n"

BAD_LINES = [
    "hz",
    "hz 0",
    "hz 20001",
    "hz -1",
    "hz 1.5",
    "hz 100x",
    "hz 0x",
    "hz 18446744073709551716",
    "hz 100 100",
    "jitter",
    "jitter 1",
    "jitter ON",
    "jitter on off",
    "seed",
    "seed x",
    "seed 18446744073709551616",
    "hold on",
    "go on",
    "late 0",
    "sample",
    "sample user 0 1 0",
    "sample nobody 0 1 0 0",
    "sample kernel 0 0 0 pc",
    "sample kernel 0 0 0 0 1000001",
    "sample kernel 0 0 8 0",
    "sample kernel 4 0 0 0",
    "sample kernel 0 32768 0 0",
    "sample kernel 0 0 0 0 1 1",
    "frequency 100",
    "HZ 100",
    "",
]


def test_reading_says_what_is_set(guest: Guest) -> None:
    command = SHOW
    for line in ("hz 1000", "jitter on", "seed 0x7fffffffffffffff", "hold"):
        command += f"; echo {line} >/dev/profclock"
    changed = "hz 1000\njitter on\nseed 9223372036854775807\nhold\n"
    assert guest(f"{command}; {SHOW}").out == DEFAULTS + changed


def test_late_samples_are_counted(guest: Guest) -> None:
    """A sample whose deadline has passed by a whole interval."""
    late = guest("grep late /dev/profclock").out
    assert re.fullmatch(r"late \d+\n", late)


@pytest.mark.parametrize("line", ["hz 1", "hz 20000", "seed 0", "hold", "hz 0x64"])
def test_the_limits_are_good(guest: Guest, line: str) -> None:
    result = guest(f"echo {line} >/dev/profclock")
    assert (result.err, result.status) == ("", 0)


def test_bad_lines_change_nothing(guest: Guest) -> None:
    """Each is EINVAL."""
    set_up = "echo hz 200 >/dev/profclock; echo startclr >/dev/kpctl"
    try_all = [f"echo '{line}' >/dev/profclock; exit $?" for line in BAD_LINES]
    show = f"{SHOW}; kprof -n 0 | cut -f 3"
    hold = "echo hold >/dev/profclock"
    first, *results, last = guest.batch([f"{hold}; {set_up}", *try_all, show])
    accepted = [
        line
        for line, result in zip(BAD_LINES, results)
        if (result.status, result.err) != (1, "sh: echo: Invalid argument\n")
    ]
    assert (first.status, accepted) == (0, [])
    settings = "hz 200\njitter off\nseed 1\nhold\n"
    assert last.out == settings + "outside kernel text: 0\n"


def test_what_is_wrong_is_on_the_console(guest: Guest) -> None:
    boot = guest("echo frequency 1 >/dev/profclock; echo hz >/dev/profclock").boot
    assert b"frequency: unknown control word\r\n" in boot
    assert b"hz: wrong number of arguments\r\n" in boot

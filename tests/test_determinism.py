"""Under icount two runs are the same, to the byte."""

from __future__ import annotations

import pytest

from harness.guest import Guest

# A real pipeline on all harts, with background jobs, and with what it shows
# depending on when each instruction was executed and each sample taken.
COMMAND = """
echo jitter on >/dev/profclock
echo hz 1000 >/dev/profclock
echo startclr >/dev/kpctl
(sleep 0.1; ps; cat /dev/profclock) &
sort /usr/share/words | uniq -c | sort -rn | head -n 20
seq 2000 | while read n; do test $n -lt 300 || break; done &
grep -c e /usr/share/words
wait
echo stop >/dev/kpctl
kprof
date
cat /dev/kpdata
"""


@pytest.mark.machines("1", "2", "4", "8", "no-sstc")
def test_two_runs_are_the_same(guest: Guest) -> None:
    """Output, the kernel's messages, and every counter of the profile."""
    first, second = guest(COMMAND), guest(COMMAND)
    assert first.stdout == second.stdout
    assert (first.stderr, first.boot) == (second.stderr, second.boot)
    assert b"total: " in first.stdout


def test_a_shift_makes_another_run(guest: Guest) -> None:
    """So the comparison sees when things happen."""
    other = guest(COMMAND, icount=7)
    assert guest(COMMAND).stdout != other.stdout

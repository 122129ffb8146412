"""Under icount two runs are the same, to the byte."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.guest import BootResult, Guest
from tally.verify.machines import Machines

# A real pipeline, with other jobs beside it. What it shows depends on when
# each instruction is executed, and on where each sample falls.
COMMAND = """
echo jitter on >/dev/profclock
echo hz 300 >/dev/profclock
head -n 20000 /usr/share/words >/tmp/words
echo startclr >/dev/kpctl
(sleep 0.1; ps; cat /dev/profclock) &
sort /tmp/words | uniq -c | sort -rn | head -n 20
seq 5000 | grep -c 7 &
grep -c e /tmp/words
wait
echo stop >/dev/kpctl
kprof
date
cat /dev/kpdata
"""


def twice(guest: Guest, **changes: object) -> list[BootResult]:
    """Two runs at once: the host is busy, and gives neither the same time."""
    with ThreadPoolExecutor() as executor:
        runs = [executor.submit(guest, COMMAND, **changes) for _ in range(2)]
    return [run.result() for run in runs]


@pytest.mark.machines(Machines(("1", "4", "no-sstc"), ("2", "8")))
def test_two_runs_are_the_same(guest: Guest) -> None:
    """Output, the kernel's messages, and every counter of the profile."""
    first, second = twice(guest)
    assert b"total: " in first.stdout
    assert first.stdout == second.stdout
    assert (first.stderr, first.boot) == (second.stderr, second.boot)


def test_another_speed_makes_another_run(guest: Guest) -> None:
    """So the comparison does see when things happen."""
    assert guest(COMMAND).stdout != guest(COMMAND, icount=7).stdout


# Harts that sleep, and wake each other up, at moments of a random order.
MEETINGS = """
echo hz 1000 >/dev/profclock
echo startclr >/dev/kpctl
for i in 1 2 3 4 5 6; do
	(for j in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		sleep 0.00$i
		seq $i$j | wc -l
	done | cat) &
done
wait
cat /dev/profclock /dev/kpdata
"""
REPLAYS = 6


def test_random_turns_repeat(guest: Guest) -> None:
    """--races: "a race that was found once is found again". QEMU's main loop must not
    be what decides which hart is the next (tally/boot/main_loop.c)."""
    runs = [guest(MEETINGS, icount=5, races=3) for _ in range(REPLAYS)]
    assert {(run.stdout, run.stderr) for run in runs} == {(runs[0].stdout, b"")}
    assert len(runs[0].stdout.splitlines()) > 120

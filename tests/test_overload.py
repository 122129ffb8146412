"""No rate of the sampling clock overruns a machine: profclock(4).

Other work keeps half of each hart's time, with all four profilers and call
stacks on, and what was due and not taken is counted: guest/overload.c. On a
machine that runs free, shares would be the host's: there only the account is
checked, and that it goes on at all.
"""

from __future__ import annotations

import pytest

from harness.checks import assert_checks
from harness.guest import Guest, Images
from tally.verify.machines import ALL, MACHINES, Machines

# Harts, and the icount shift: the larger, the fewer instructions a second has, and
# the longer it takes until as much has been tried.
SHARED = [(1, 0), (4, 7), (16, 7)]
SHARED += [(1, 7), (2, 5), (3, 6), (4, 3), (8, 6)] if ALL else []


@pytest.mark.parametrize("harts, icount", SHARED)
def test_other_work_has_its_half(images: Images, harts: int, icount: int) -> None:
    work = {0: "50 20000", 3: "100 1000 20000"}.get(icount, "500 1000 20000")
    guest = Guest(images, MACHINES["4"])
    assert_checks(guest(f"overload shares {work}", harts=harts, icount=icount))


@pytest.mark.parametrize("harts", [1, 4] if ALL else [1])
def test_payments_count(images: Images, harts: int) -> None:
    """What profil pays on the way to user mode is part of a sample's cost."""
    guest = Guest(images, MACHINES["4"])
    assert_checks(guest("overload ranges 100 5000", harts=harts, icount=6))


@pytest.mark.parametrize("harts", [4, *([2, 8] if ALL else [])])
def test_a_payment_is_no_longer_than_it_executes(images: Images, harts: int) -> None:
    """While it is made other harts may have their turns, and other threads run."""
    guest = Guest(images, MACHINES["4"])
    assert_checks(guest("overload all 200 1000 2000", harts=harts, icount=5))


def test_a_change_takes_back_what_was_skipped_in_advance(images: Images) -> None:
    guest = Guest(images, MACHINES["1"])
    assert_checks(guest("overload changes 20000"))


@pytest.mark.machines(Machines(("free-1", "free-8"), ("free",)))
def test_free_harts_account_for_all(guest: Guest) -> None:
    assert_checks(guest("overload account 200 1000 20000"))


@pytest.mark.parametrize("harts", [1, 4])
def test_a_rate_that_does_not_divide_the_timers(images: Images, harts: int) -> None:
    """509.97 counts: what is over adds up, and none too many falls due."""
    guest = Guest(images, MACHINES["4"])
    assert_checks(guest("overload account 500 19609", harts=harts, icount=6))


@pytest.mark.parametrize("harts, makers, busy", [(8, 4, 4), (16, 6, 9), (16, 2, 14)])
def test_no_hart_keeps_a_locks_holder_from_its_turn(
    images: Images, harts: int, makers: int, busy: int
) -> None:
    """Where instructions are few, those who wait for a lock once set timers so
    near that its holder executed nothing for seconds."""
    guest = Guest(images, MACHINES["4"])
    assert_checks(guest(f"forks {makers} {busy}", harts=harts, icount=7))


@pytest.mark.parametrize("harts, icount", [(6, 7), (8, 6), (16, 6)])
def test_whoever_is_asked_answers(images: Images, harts: int, icount: int) -> None:
    """Idle harts once came not so far as to flush, since one that spins went on: for
    ever, if the ticks fell so."""
    assert_checks(Guest(images, MACHINES["4"])("growth", harts=harts, icount=icount))


@pytest.mark.parametrize("harts", [3, 4])
def test_a_pipeline_ends(images: Images, harts: int) -> None:
    """At the highest rate; the kernel's stack once overflowed here."""
    command = "echo hz 20000 >/dev/profclock; seq 3000 | sort | wc -l"
    result = Guest(images, MACHINES["4"])(command, harts=harts)
    assert (result.out.strip(), result.status) == ("3000", 0)

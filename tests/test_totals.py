"""All four profilers at once: their totals agree, at 5000 samples a second too.

At 100 a second tests/guest/totals.c runs with the other guest programs.
"""

from __future__ import annotations

import pytest

from harness.checks import assert_checks
from harness.guest import Guest
from tally.verify.machines import Machines

FAST = "/bin/totals 5000"


@pytest.mark.machines(
    Machines(("fine-1", "fine-8", "fine-no-sstc"), ("fine-2", "fine-4"))
)
def test_fast_and_the_same_again(guest: Guest) -> None:
    first, again = guest(FAST), guest(FAST)
    assert_checks(first)
    assert (again.out, again.err) == (first.out, first.err)


@pytest.mark.machines("free-1", "free", "free-8")
def test_fast_and_free(guest: Guest) -> None:
    assert_checks(guest(FAST))

"""Calls at random: whatever they call, the kernel stands, and loses nothing.

hostile/fuzz makes system calls at random. Here it runs for seconds; for longer,
with other seeds, by `make fuzz` (docs/testing.md).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.guest import Guest
from tally.verify.machines import ALL, Machines
from tally.verify.patience import WHOLE

PROGRAMS = Path(__file__).parent / "hostile"
CALLS = 60_000 if ALL else 20_000
LIMITS = {"limit": 1200.0, "timeout": WHOLE}


@pytest.mark.machines(Machines(("1", "free"), ("2", "4")))
def test_fuzz(guest: Guest) -> None:
    result = guest(f"fuzz -s 1 -n {CALLS}", extra=PROGRAMS, **LIMITS)
    assert result.status == 0, result.out + result.err
    last = re.fullmatch(r"seed 1: (\d+) calls in .*: good", result.out.splitlines()[-1])
    assert last and int(last[1]) >= CALLS, result.out


def test_the_same_seed_makes_the_same_calls(guest: Guest) -> None:
    calls = [guest("fuzz -v -n 1 -r 7", extra=PROGRAMS).out for _ in range(2)]
    assert calls[0] == calls[1]
    assert calls[0].count("(") > 50

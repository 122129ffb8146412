"""Everything at once, free-running: hostile/stress. `make stress` is longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.checks import assert_checks
from harness.guest import Guest, Images
from tally.verify.machines import ALL, MACHINES

PROGRAMS = Path(__file__).parent / "hostile"
SEED = 1


@pytest.mark.parametrize(
    "name, seconds",
    [("free-8", 60), ("free", 10), ("free-2", 10)] if ALL else [("free-8", 2)],
    ids=lambda value: str(value),
)
def test_all_at_once(images: Images, name: str, seconds: int) -> None:
    guest = Guest(images, MACHINES[name])
    assert_checks(guest(f"/bin/stress {seconds} {SEED}", extra=PROGRAMS))


def test_scarce_memory(images: Images) -> None:
    """What runs out of memory fails; the kernel stands, and gets it all back."""
    guest = Guest(images, MACHINES["free-32M"])
    assert_checks(guest(f"/bin/stress -s {10 if ALL else 2} {SEED}", extra=PROGRAMS))

"""What guests make up at random, more of it than the ordinary tests do.

HOSTILE=N, as `make hostile` sets it: N seeds, from HOSTILE_SEED on; the ordinary
suite has the first, in test_guest.py.
"""

from __future__ import annotations

import os

import pytest

from harness.checks import assert_checks
from harness.guest import Guest, Images
from tally.verify.machines import MACHINES

FIRST = int(os.environ.get("HOSTILE_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("HOSTILE", "1")))[1:]
ROUNDS = {"damaged": 5000, "words": 2000}


@pytest.mark.skipif(not SEEDS, reason="make hostile has these")
@pytest.mark.parametrize("name", ["4", "free"])
@pytest.mark.parametrize("seed", SEEDS or [0])
@pytest.mark.parametrize("program", ROUNDS)
def test_more(images: Images, program: str, seed: int, name: str) -> None:
    command = f"/bin/{program} {ROUNDS[program]} {seed}"
    assert_checks(Guest(images, MACHINES[name])(command))

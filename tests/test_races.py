"""scripts/run --races: harts take turns at random moments, the same ones for the
same seed. So a race is lost within a few seeds, and lost again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.checks import assert_checks
from harness.guest import Guest, Images
from tally import ROOT
from tally.verify.guests import machines_of
from tally.verify.machines import MACHINES

PROGRAMS = Path(__file__).parent / "races"


@pytest.fixture(scope="module")
def guest(images: Images) -> Guest:
    return Guest(images, MACHINES["4"])


def lost(guest: Guest, seed: int, **changes: object) -> int:
    """How many plain additions of several threads were lost; no atomic one is."""
    options = {"icount": 5, **changes}
    result = guest("lost", extra=PROGRAMS, races=seed, **options)
    plain, atomic = map(int, result.out.split())
    assert atomic == 0
    return plain


@pytest.mark.parametrize("harts", [2, 4, 8])
def test_each_seed_finds_it(guest: Guest, harts: int) -> None:
    """Each in another way."""
    found = [lost(guest, seed, harts=harts) for seed in range(1, 4)]
    assert all(found) and len(set(found)) > 1


def test_a_seed_finds_it_again(guest: Guest) -> None:
    assert lost(guest, 5) == lost(guest, 5)


#: Programs that have several processes or threads at the same thing.
SEVERAL = ("t_cow", "threads", "pipes", "select", "pcs_shared", "pcs_lists",
           "prf_ticks", "halts")


#: This seed is that of the machine `races`, on which test_guest.py has some.
SEED = int(os.environ.get("RACES_SEED", "1"))


@pytest.mark.parametrize("program", [
    p for p in SEVERAL if SEED != 1 or "races" not in machines_of(p).chosen
])
def test_the_kernel_stands(guest: Guest, program: str) -> None:
    """With another seed if RACES_SEED is in the environment, to look further."""
    assert_checks(guest(program, icount=5, races=SEED))


def test_without_it_all_boots_are_one(guest: Guest) -> None:
    """That is why it's there: whether that one loses any is up to QEMU."""
    boots = {guest("lost", extra=PROGRAMS, icount=5).out for _ in range(2)}
    assert len(boots) == 1


def test_one_hart_has_none(guest: Guest) -> None:
    """An addition in memory is several instructions, but no thread's turn ends
    in between: only at a tick."""
    assert guest("true", harts=1, icount=5, races=1).status == 0


def make(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["make", "-C", str(ROOT), "races", *words],
        capture_output=True, text=True,
    )


def test_make_races() -> None:
    """A status but 0 is a finding, and is shown with the command that repeats it."""
    done = make("RUN=echo hello", "SEEDS=2", "HARTS=2")
    assert (done.returncode, done.stdout.count("hello\n")) == (0, 2)
    done = make("RUN=exit 3", "HARTS=2")
    assert done.returncode != 0
    assert "again: scripts/run --harts 2 --mem 256M --races 1 -- 'exit 3'" in done.stdout
    assert "needs RUN=COMMAND" in make().stderr

"""Which machines a test is tried on, and how much it is given.

`scripts/test` tries each promise where it is most likely to break; `scripts/test
--all` also everywhere else where it could. Which come first, mutants judge: one that
is found elsewhere only is a reason to change the table. (Not all have been tried since
the table was made: docs/testing.md.)
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tally.boot.machine import Machine
from tally.build import image
from tally.verify.patience import HANG, WHOLE

ALL = os.environ.get("TEST_ALL") == "1"


def words(n: int) -> str:
    """The command that gives so many lines of /usr/share/words; with --all each."""
    return f"head -n {10**6 if ALL else n} /usr/share/words"


class Machines(NamedTuple):
    """By the names of MACHINES."""

    first: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.all if ALL else self.first

    @property
    def all(self) -> tuple[str, ...]:
        return self.first + self.others


#: One process does all: harts make no difference, but for where it sleeps.
ONE = Machines(("4",), ("1", "free"))

#: A parent waits for its children: on one hart none runs beside it, on harts that
#: run free each does, and not in step with instructions.
CHILDREN = Machines(("1", "free"), ("4",))

#: Threads and processes do something at once, or harts are counted: turns that end
#: at random moments, and more harts than the host has.
TOGETHER = Machines(("races", "free-8"), ("1", "2", "4", "8", "free"))

#: The clock's own samples count, so it matters how it is programmed.
CLOCK = Machines(("8", "1", "no-sstc", "free"), ("2", "4"))

#: Samples are made, so the clock doesn't matter; but all harts count.
MADE = Machines(("4", "free"), ("1", "8", "no-sstc"))

#: Records are taken from logs while ticks of all harts add to them.
TAKEN = Machines(("8", "free"), ("1", "2", "4", "no-sstc"))

# Deadlines that a sound guest never meets: for one that waits for ever, which
# virtual time soon shows (where there is none it is the host's), and for one that
# does not even get that far. Mutants, of which many wait for ever, have a shorter
# one.
_LIMIT, _TIMEOUT = float(os.environ.get("TEST_LIMIT", HANG)), WHOLE / 2

# The debug build executes more instructions for the same: it gets more of them
# from tick to tick.
_COARSE, _FINE = (4, 1) if image.DEBUG else (6, 3)

#: The machines that tests boot, by the names that their marker gives.
MACHINES = {
    name: machine._replace(limit=_LIMIT, timeout=_TIMEOUT)
    for name, machine in {
        "1": Machine(harts=1, icount=_COARSE),
        "2": Machine(harts=2, icount=_COARSE),
        "4": Machine(harts=4, icount=_COARSE),
        "8": Machine(harts=8, icount=_COARSE),
        "free": Machine(harts=4),
        "no-sstc": Machine(harts=4, icount=_COARSE, cpu="sstc=off"),
        # Whose turns end at random moments, the same ones each time: without that all
        # icount machines of QEMU 7.2 are nearly one, as a turn is a millisecond.
        "races": Machine(harts=4, icount=_FINE + 2, races=1),
        # With registers that the kernel doesn't know of.
        "vector": Machine(harts=4, icount=_COARSE, cpu="v=true"),
        # With more instructions from tick to tick, for fast sampling clocks.
        "fine-1": Machine(harts=1, icount=_FINE),
        "fine-2": Machine(harts=2, icount=_FINE),
        "fine-4": Machine(harts=4, icount=_FINE),
        "fine-8": Machine(harts=8, icount=_FINE),
        "fine-no-sstc": Machine(harts=8, icount=_FINE, cpu="sstc=off"),
        "free-1": Machine(harts=1),
        "free-2": Machine(harts=2),
        "free-8": Machine(harts=8),
        "free-32M": Machine(harts=8, mem="32M"),
        "32M": Machine(harts=4, icount=_COARSE, mem="32M"),
        "2G": Machine(harts=4, icount=_COARSE, mem="2G"),
    }.items()
}

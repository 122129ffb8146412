"""The machines on which a test runs, and its amount of input.

`scripts/test' runs each test on the machine where it is most likely to fail;
`scripts/test --all' also on all others where it could fail. Mutants show whether the
table is right: if one is found only on another machine, change the table. (Not all
have been tried with this table: docs/testing.md.)
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tally.boot.machine import Machine
from tally.build import image
from tally.verify.patience import HANG, WHOLE

ALL = os.environ.get("TEST_ALL") == "1"


def words(n: int) -> str:
    """Returns a command that prints n lines of /usr/share/words; with --all, each."""
    return f"head -n {10**6 if ALL else n} /usr/share/words"


class Machines(NamedTuple):
    """Names in MACHINES."""

    first: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.all if ALL else self.first

    @property
    def all(self) -> tuple[str, ...]:
        return self.first + self.others


#: A single process: the number of harts matters only where it sleeps.
ONE = Machines(("4",), ("1", "free"))

#: A parent waits for its children: on one hart none runs at the same time; on harts
#: without -icount all do, at speeds of their own.
CHILDREN = Machines(("1", "free"), ("4",))

#: Threads and processes run at the same time, or harts are counted: turns that end at
#: random moments, and more harts than the host has.
TOGETHER = Machines(("races", "free-8"), ("1", "2", "4", "8", "free"))

#: Real samples of the clock: it matters how the clock is programmed.
CLOCK = Machines(("8", "1", "no-sstc", "free"), ("2", "4"))

#: Synthetic samples: the clock doesn't matter, but the number of harts does.
MADE = Machines(("4", "free"), ("1", "8", "no-sstc"))

#: Records are read from logs while the ticks of all harts add more.
TAKEN = Machines(("8", "free"), ("1", "2", "4", "no-sstc"))

# Deadlines that a correct guest never reaches. The limit is in virtual time, which
# passes fast in a guest that waits for ever (without -icount it is the host's time);
# the timeout ends all others. Mutants, of which many wait for ever, have a shorter one.
_LIMIT, _TIMEOUT = float(os.environ.get("TEST_LIMIT", HANG)), WHOLE / 2

# The debug build executes more instructions for the same work, so it gets more of them
# for each tick.
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
        # Turns end at random moments, the same in each run. Otherwise turns last a
        # millisecond in QEMU 7.2, and all icount machines find nearly the same.
        "races": Machine(harts=4, icount=_FINE + 2, races=1),
        # This machine has registers that the kernel doesn't know.
        "vector": Machine(harts=4, icount=_COARSE, cpu="v=true"),
        # More instructions for each tick, for fast sampling clocks.
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

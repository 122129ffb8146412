"""Which machines a test is tried on, and how much it is given.

`scripts/test` tries each promise where it is most likely to break; `scripts/test
--all` also everywhere else where it could. Which come first, mutants judge: one that
is found elsewhere only is a reason to change the table. (Not all have been tried since
the table was made: docs/testing.md.)
"""

from __future__ import annotations

import os
from typing import NamedTuple

ALL = os.environ.get("TEST_ALL") == "1"


def words(n: int) -> str:
    """The command that gives so many lines of /usr/share/words; with --all each."""
    return f"head -n {10**6 if ALL else n} /usr/share/words"


class Machines(NamedTuple):
    """By the names of guest.py."""

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

"""Samples of work whose shares are known: on any number of harts, which wait for each
other, and with any QEMU, also one that can't tell which hart executes.

docs/truth.md compares profiles with what was executed; here nothing is counted.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest

from harness import pcstream
from harness.guest import Guest
from tally.build import image
from tally.plugins.landmarks import Code
from tally.verify.machines import Machines
from tally.verify.truth.compare import P_LEAST, chi_square

pytestmark = pytest.mark.skipif(image.DEBUG, reason="of the ordinary kernel")

PROGRAMS = Path(__file__).parent / "shares"
# Of each group, how often its functions go round the same loop, in proportion.
GROUPS = {
    "one lock": {"one_locked": 3, "one_free": 1},
    "two locks": {"two_locked_even": 2, "two_free_even": 2, "two_locked_odd": 3,
                  "two_free_odd": 1},
    "handlers": {"handler": 1, "after_handler": 2, "between_signals": 3},
    "processes": {"child": 3, "grandchild": 1},
}
LEAST = 1000  # samples of each group


@pytest.mark.machines(Machines(("2", "8"), ("1", "4")))
def test_shares_are_those_of_the_work(guest: Guest) -> None:
    """Threads that queue for a lock were sampled where they stood while others ran: the
    three quarters under the lock came out as 58 %."""
    stream = guest(
        "echo hz 2000 >/dev/profclock; echo jitter on >/dev/profclock\n"
        "getpc -m -o /tmp/pc.out shares 4; cat /tmp/pc.out", extra=PROGRAMS
    ).stdout
    getpc, _, stream = stream.partition(b"\n")
    program = Code(image.overlay_bin(PROGRAMS) / "shares")
    samples: Counter[str] = Counter()
    for record in pcstream.records(stream):
        kind, _, pid, pc = struct.unpack_from("<BBHI", record)
        if kind == pcstream.USER and pid > int(getpc):
            samples[program.function(pc)] += 1
    for group, parts in GROUPS.items():
        of_group = {name: samples[name] for name in parts}
        assert sum(of_group.values()) >= LEAST, group
        whole = sum(parts.values())
        true = {name: part / whole for name, part in parts.items()}
        assert chi_square(of_group, true) >= P_LEAST, (group, of_group)

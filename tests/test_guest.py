"""Every program of tests/guest, on the machines where what it checks matters.

They are found by listing the folder: a new one runs on four harts, unless the
table says more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.checks import assert_checks
from harness.guest import MACHINES, Guest, Images

FOLDER = Path(__file__).parent / "guest"
PROGRAMS = sorted(
    {file.stem for file in FOLDER.glob("*.c")} - {"forks", "overload"}  # test_overload.py's
    | {file.parent.name for file in FOLDER.glob("*/*.c")}
)

# One process does all, or waits for the other: what differs is whether a child
# can run beside its parent, and whether in step with instructions.
FEW = ("1", "4", "free")
# Threads and processes do something at once, or harts are counted.
EVERYWHERE = ("1", "2", "4", "8", "free")
# The clock's own samples count, so it matters how it is programmed.
CLOCK = (*EVERYWHERE, "no-sstc")
TABLE = {
    **dict.fromkeys(
        (
            "descriptors",
            "dirs",
            "faults",
            "fresh",
            "gmon",
            "images",
            "leaks",
            "mutants",
            "paths",
            "programs",
            "system",
            "words",
            # With synthetic samples.
            "kprof_device",
            "pcs_records",
            "profil_aix",
            "profil_aix_ranges",
            "profil_headers",
            "profil_solaris",
        ),
        FEW,
    ),
    **dict.fromkeys(
        (
            "epoll",
            "interrupted",
            "levels",
            "monitor",
            "pcs_device",
            "pcs_end",
            "pcsample",
            "pipes",
            "prf_device",
            "processes",
            "procfs",
            "registers",
            "select",
            "signals",
            "t_cow",
            "threads",
            "waits",
        ),
        EVERYWHERE,
    ),
    **dict.fromkeys(
        (
            "kprof_ticks",
            "pcs_events",
            "pcs_frames",
            "pcs_live",
            "pcs_stacks",
            "prf_ticks",
            "profclock",
            "profil_ticks",
            "totals",
        ),
        CLOCK,
    ),
    "isolation": (*EVERYWHERE, "no-sstc", "vector"),
    "limits": ("4", "free"),
    "costs": ("1",),
    "pids": ("1",),
    # What another hart does meanwhile.
    "alarms": ("2", "4", "free"),
    "halts": ("2", "4", "8", "free"),
    "pcs_lists": ("2", "4", "8", "free"),
    "pcs_pingpong": ("1", "2", "4", "free"),
    "moments": ("2", "4", "8"),
    "races": ("2", "4", "8", "free"),
    # Where the host's load doesn't matter.
    "fairness": ("1", "2", "4", "8"),
    "wakeups": ("1", "2", "4", "8"),
    # Where only one's own interrupts take time away.
    "jitter": ("1",),
    # The less memory there is, the sooner it is used up.
    "exhaust": ("32M", "free-32M"),
    "kstacks": ("32M", "free-32M"),
    "prf_memory": ("32M",),
    "profil_memory": ("32M",),
    "reclaim": ("32M",),
    "space": ("32M",),
}


@pytest.mark.parametrize(
    "program, name",
    [(program, name) for program in PROGRAMS for name in TABLE.get(program, ("4",))],
)
def test_guest(images: Images, program: str, name: str) -> None:
    guest = Guest(images, MACHINES[name])
    assert_checks(guest(f"/bin/{program}"))


def test_the_table_names_programs() -> None:
    assert set(TABLE) <= set(PROGRAMS)

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
    {file.stem for file in FOLDER.glob("*.c")}
    | {file.parent.name for file in FOLDER.glob("*/*.c")}
    - {"overload"}  # which test_overload.py runs
)

EVERYWHERE = ("1", "2", "4", "8", "free")
PROFILERS = (*EVERYWHERE, "no-sstc")  # the clauses of the manuals hold on all
TABLE = {
    # What depends on the number of harts, or on what they do at once.
    "alarms": EVERYWHERE,
    "descriptors": EVERYWHERE,
    "dirs": EVERYWHERE,
    "faults": EVERYWHERE,
    "fresh": ("1", "4", "free"),
    "gmon": EVERYWHERE,
    "halts": ("2", "4", "8", "free"),
    "images": EVERYWHERE,
    "interrupted": EVERYWHERE,
    "isolation": (*EVERYWHERE, "no-sstc", "vector"),
    "leaks": ("1", "4", "free"),
    "levels": EVERYWHERE,
    "limits": ("4", "free"),
    "monitor": EVERYWHERE,
    "mutants": ("1", "4", "free"),
    "paths": EVERYWHERE,
    "pipes": EVERYWHERE,
    "processes": EVERYWHERE,
    "programs": EVERYWHERE,
    "select": EVERYWHERE,
    "signals": EVERYWHERE,
    "system": EVERYWHERE,
    "t_cow": EVERYWHERE,
    "threads": EVERYWHERE,
    "words": ("1", "4", "free"),
    **dict.fromkeys(
        (
            "kprof_device",
            "kprof_ticks",
            "pcs_device",
            "pcs_end",
            "pcs_frames",
            "pcs_live",
            "pcs_pingpong",
            "pcs_records",
            "pcs_stacks",
            "pcsample",
            "prf_device",
            "prf_ticks",
            "profclock",
            "profil_aix",
            "profil_aix_ranges",
            "profil_headers",
            "profil_solaris",
            "profil_ticks",
            "totals",
        ),
        PROFILERS,
    ),
    # What another hart does meanwhile.
    "kstacks": ("32M", "free-32M"),
    "pcs_lists": ("2", "4", "8", "free"),
    "races": ("2", "4", "8", "free"),
    # Where the host's load doesn't matter.
    "fairness": ("1", "2", "4", "8"),
    "wakeups": ("1", "2", "4", "8"),
    # Where only one's own interrupts take time away.
    "jitter": ("1",),
    # The less memory there is, the sooner it is used up.
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

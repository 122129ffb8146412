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
)

EVERYWHERE = ("1", "2", "4", "8", "free")
TABLE = {
    # What depends on the number of harts, or on what they do at once.
    "descriptors": EVERYWHERE,
    "dirs": EVERYWHERE,
    "faults": EVERYWHERE,
    "images": EVERYWHERE,
    "interrupted": EVERYWHERE,
    "kprof_ticks": EVERYWHERE,
    "levels": EVERYWHERE,
    "paths": EVERYWHERE,
    "pcs_device": EVERYWHERE,
    "pcs_live": EVERYWHERE,
    "pcs_records": EVERYWHERE,
    "pcsample": EVERYWHERE,
    "pipes": EVERYWHERE,
    "prf_ticks": EVERYWHERE,
    "processes": EVERYWHERE,
    "profclock": EVERYWHERE,
    "profil_aix": EVERYWHERE,
    "profil_solaris": EVERYWHERE,
    "profil_ticks": EVERYWHERE,
    "programs": EVERYWHERE,
    "select": EVERYWHERE,
    "signals": EVERYWHERE,
    "t_cow": EVERYWHERE,
    "threads": EVERYWHERE,
    # Where the host's load doesn't matter.
    "fairness": ("1", "2", "4", "8"),
    "prf_device": ("1", "4", "8"),
    # Where only one's own interrupts take time away.
    "jitter": ("1",),
    # The less memory there is, the sooner it is used up.
    "prf_memory": ("32M",),
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

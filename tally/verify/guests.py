"""The programs of tests/guest, and the machines on which each should run.

The programs are found by listing the folder: a new one runs on four harts, unless the
table has an entry.
"""

from __future__ import annotations

from tally import ROOT
from tally.verify.machines import CHILDREN, CLOCK, ONE, TAKEN, TOGETHER, Machines

FOLDER = ROOT / "tests" / "guest"
PROGRAMS = sorted(
    {file.stem for file in FOLDER.glob("*.c")}
    - {"exhaust", "forks", "overload"}  # test_memory.py's, test_overload.py's
    | {file.parent.name for file in FOLDER.glob("*/*.c")}
)


def only(*names: str) -> Machines:
    return Machines(names)


TABLE: dict[str, Machines] = {
    **dict.fromkeys(
        (
            "descriptors",
            "dirs",
            "gmon",
            "paths",
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
        ONE,
    ),
    **dict.fromkeys(
        ("damaged", "faults", "fresh", "images", "leaks", "programs"),
        CHILDREN,
    ),
    **dict.fromkeys(
        (
            "epoll",
            "interrupted",
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
        TOGETHER,
    ),
    **dict.fromkeys(
        (
            "kprof_ticks",
            "prf_ticks",
            "profclock",
            "profil_ticks",
            "totals",
        ),
        CLOCK,
    ),
    **dict.fromkeys(("pcs_events", "pcs_frames", "pcs_stacks"), TAKEN),
    # On one hart a tick can come while an account is read.
    "pcs_live": Machines(("1", "free"), ("2", "4", "8", "no-sstc")),
    "isolation": Machines(
        ("4", "free-8", "vector"), ("1", "2", "8", "free", "no-sstc")
    ),
    # A tick in a trap's last instructions waits longest where there is no other hart.
    "levels": Machines(("1", "races"), ("2", "4", "8", "free")),
    "limits": only("4", "free"),
    "costs": only("1"),
    "pids": only("1"),
    # These depend on what another hart does at the same time.
    "alarms": Machines(("races", "free"), ("2", "4")),
    "halts": Machines(("races", "free"), ("2", "4", "8")),
    "pcs_lists": Machines(("races", "free"), ("2", "4", "8")),
    "pcs_pingpong": Machines(("1", "free"), ("2", "4")),
    "moments": Machines(("4",), ("2", "8")),
    "races": Machines(("races", "free-8"), ("2", "4", "8", "free")),
    # Machines on which the host's load doesn't matter.
    "fairness": Machines(("1", "4"), ("2", "8")),
    "wakeups": Machines(("1", "4"), ("2", "8")),
    # Machines on which only the program's own interrupts take time from it.
    "jitter": only("1"),
    # With little memory it is soon used up.
    "kstacks": Machines(("32M",), ("free-32M",)),
    "prf_memory": only("32M"),
    "profil_memory": only("32M"),
    "reclaim": only("32M"),
    "space": only("32M"),
}


def machines_of(program: str) -> Machines:
    return TABLE.get(program, only("4"))

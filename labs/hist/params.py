"""What the seed draws: what is counted where, and how the file shows it."""

from __future__ import annotations

import random
from typing import Any

#: Twice a prime: the size of the text is hardly ever a multiple, so the last
#: counter is for fewer bytes than the others.
BUCKETS = (58, 62, 74, 82, 86, 94, 106, 118)


def draw(r: random.Random) -> dict[str, Any]:
    limit = r.randrange(6, 15)  # small, so that harts often meet there
    return {
        "BUCKET": r.choice(BUCKETS),
        "WIDTH": r.choice((2, 4, 8)),
        "BIG": r.randrange(2),
        "ELSEWHERE_FIRST": r.randrange(2),
        "LIMIT": limit,
        "FULL": r.choice((0, 1, limit // 2)),
        "MODES": {
            "user": r.choice(("ELSEWHERE", "NOWHERE")),
            "kernel": "BY_PC",
            "intr": r.choice(("ELSEWHERE", "BY_PC")),
            "idle": r.choice(("ELSEWHERE", "NOWHERE", "BY_PC")),
        },
        "AGAIN_BUSY": r.randrange(2),
        "CLEAR_STOPS": r.randrange(2),
        "SHORT": r.randrange(2),
    }


WHERE = {
    "ELSEWHERE": "in the counter for elsewhere, whatever its pc",
    "NOWHERE": "not at all",
    "BY_PC": "by its pc",
}


# What becomes of a read that fails halfway; the second is what kprof does.
SHORT = """\
the result is the number of bytes stored, and the next read continues after them. This
  number may be up to 511 less than the size of the writable part; if that part has at
  most 511 bytes, EFAULT is also right."""
FAILS = """\
the read fails with EFAULT, too, though some bytes may have been stored."""


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    return {
        "BUCKET": p["BUCKET"],
        "WIDTH": p["WIDTH"],
        "BYTE": "most" if p["BIG"] else "least",
        "FIGURE": "[ elsewhere | text | text | text | .. | text ]"
        if p["ELSEWHERE_FIRST"]
        else "[ text | text | text | .. | text | elsewhere ]",
        "PLACE": "first" if p["ELSEWHERE_FIRST"] else "last",
        "LIMIT": p["LIMIT"],
        "FULL": p["FULL"],
        **{mode.upper(): WHERE[where] for mode, where in p["MODES"].items()},
        "AGAIN": "fails with EBUSY"
        if p["AGAIN_BUSY"]
        else "changes nothing, and is no error",
        "CLEAR": "and turns counting off"
        if p["CLEAR_STOPS"]
        else "and leaves counting on or off, as it was",
        "HALFWAY": SHORT if p["SHORT"] else FAILS,
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets: none, README.md says it all."""
    return {}


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        **{name: value for name, value in p.items() if name != "MODES"},
        **{mode.upper(): where for mode, where in p["MODES"].items()},
    }

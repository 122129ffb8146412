"""What the seed draws: the order of what is asked for, which counter a pc has, and
what becomes of samples and buffers that don't fit."""

from __future__ import annotations

import random
from typing import Any

FIELDS = ("buffer", "size", "low", "shift")
OUTSIDE = ("NOWHERE", "FIRST", "LAST")


def draw(r: random.Random) -> dict[str, Any]:
    order = list(FIELDS)
    r.shuffle(order)
    return {
        "NUMBER": r.randrange(1100, 1200),
        "ORDER": order,
        "SIZE_BYTES": r.randrange(2),
        "OUTSIDE": r.choice(OUTSIDE),
        "WRAPS": r.randrange(2),
        "KERNEL": 1 - r.randrange(2),
        "INHERITS": 1 - r.randrange(2),
        "GONE_OFF": r.randrange(2),
        "CHECKED": r.randrange(2),
        "NEAREST": r.randrange(2),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    return {
        "NUMBER": p["NUMBER"],
        "STRUCT": struct(p).replace("\t", "    ").replace("\n", "\n    "),
        "SIZE": "the buffer's size in bytes; if it isn't a multiple of 4, the last one to"
        " three bytes aren't used"
        if p["SIZE_BYTES"]
        else "the number of counters",
        "INDEX": "`(pc - low + (1 << shift) / 2) >> shift`, where"
        " 1 / 2 is 0 (an integer division)"
        if p["NEAREST"]
        else "`(pc - low) >> shift`",
        "OUTSIDE": {
            "NOWHERE": "is not counted",
            "FIRST": "is added to the first counter",
            "LAST": "is added to the last counter",
        }[p["OUTSIDE"]],
        "FULL": "wraps to 0" if p["WRAPS"] else "stays at its largest value",
        "KERNEL": "is charged to the instruction at which the program continues"
        if p["KERNEL"]
        else "isn't counted",
        "FORK": "has a histogram of its own, with the parent's settings. The histogram"
        " is in the child's copy of the memory, and no sample has been charged to it yet"
        if p["INHERITS"]
        else "has no histogram",
        "GONE": "the histogram is turned off, and samples not yet charged are lost"
        if p["GONE_OFF"]
        else "those samples are lost, and the histogram stays on",
        "CHECKED": "fails with EFAULT"
        if p["CHECKED"]
        else "succeeds, and the rule above applies when a sample is charged",
    }


def struct(p: dict[str, Any]) -> str:
    fields = "".join(f"\tuint64_t {name};\n" for name in p["ORDER"])
    return "struct profil32 {\n" + fields + "};"


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    return {
        "include/sys/profil32.h": f"""\
/* profil32: a histogram of 32-bit counters in the process's own memory. */
#ifndef _SYS_PROFIL32_H
#define _SYS_PROFIL32_H

#include <stdint.h>

{struct(p)}

/* long profil32(const struct profil32 *p); */

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "COUNTERS(size)": "((size) / 4)" if p["SIZE_BYTES"] else "(size)",
        "ROUND(shift)": "((1UL << (shift)) / 2)" if p["NEAREST"] else "0UL",
        "OUTSIDE(n)": {
            "NOWHERE": "(n)",
            "FIRST": "0",
            "LAST": "((n) - 1)",
        }[p["OUTSIDE"]],
        "WRAPS": p["WRAPS"],
        "KERNEL": p["KERNEL"],
        "INHERITS": p["INHERITS"],
        "GONE_OFF": p["GONE_OFF"],
        "CHECKED": p["CHECKED"],
    }

"""What the seed draws: how a range is said, what is wrong with one, and where the
counters are."""

from __future__ import annotations

import random
from typing import Any

END = {
    "last": "uint64_t last; /* the last address */",
    "end": "uint64_t end; /* the address after the last one */",
    "size": "uint64_t size; /* bytes */",
}
LAST = {
    "last": "(r)->last",
    "end": "((r)->end - 1)",
    "size": "((r)->from + (r)->size - 1)",
}
NONE = {
    "last": "(r)->last < (r)->from",
    "end": "(r)->end <= (r)->from",
    "size": "(r)->size == 0 || LAB_LAST(r) < (r)->from",
}
USER = ("BY_PC", "MISSED", "NOWHERE")


def draw(r: random.Random) -> dict[str, Any]:
    return {
        "RANGES": 8192 - r.randrange(100),
        "END": r.choice(list(END)),
        "FROM_FIRST": r.randrange(2),
        "NONE": r.choice(("ERANGE", "ENXIO", "EINVAL")),
        "TWICE": r.choice(("EEXIST", "EBUSY")),
        "CLEARS": r.randrange(2),
        "WIDTH": r.choice((4, 8)),
        "MISSED_FIRST": r.randrange(2),
        "USER": r.choice(USER),
    }


def struct(p: dict[str, Any]) -> str:
    fields = ["uint64_t from; /* the first address */", END[p["END"]]]
    if not p["FROM_FIRST"]:
        fields.reverse()
    return "struct range_record {\n" + "".join(f"\t{f}\n" for f in fields) + "};"


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    return {
        "RANGES": p["RANGES"],
        "STRUCT": struct(p),
        "NONE": p["NONE"],
        "TWICE": p["TWICE"],
        "EMPTY": "removes all ranges, so all samples are counted as missed"
        if p["CLEARS"]
        else "fails with EINVAL",
        "WIDTH": p["WIDTH"],
        "FIGURE": "[ missed | range 0 | range 1 | .. ]"
        if p["MISSED_FIRST"]
        else "[ range 0 | range 1 | .. | missed ]",
        "USER": {
            "BY_PC": "is counted in the same way",
            "MISSED": "is counted as missed, whatever its pc",
            "NOWHERE": "isn't counted at all",
        }[p["USER"]],
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    return {
        "kernel/dev/range.h": f"""\
/* /dev/range: see the lab's README.md. */
#ifndef KERNEL_RANGE_H
#define KERNEL_RANGE_H

#include <stdint.h>

#define RANGES {p["RANGES"]} /* records of a table, at most */

{struct(p)}

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "LAST(r)": LAST[p["END"]],
        "NO_ADDRESS(r)": f"({NONE[p['END']]})",
        "NONE": p["NONE"],
        "TWICE": p["TWICE"],
        "CLEARS": p["CLEARS"],
        "COUNTER": f"uint{8 * p['WIDTH']}_t",
        "MISSED_FIRST": p["MISSED_FIRST"],
        "USER": USER.index(p["USER"]),
    }

"""What the seed draws: how the call looks, and what it means."""

from __future__ import annotations

import random
from typing import Any

MODES = ("user", "kernel", "intr", "idle")


def draw(r: random.Random) -> dict[str, Any]:
    order = list(MODES)
    r.shuffle(order)
    return {
        "NUMBER": r.randrange(1100, 1200),
        "ORDER": order,
        "TYPE": r.choice(("uint8_t", "uint16_t", "uint32_t")),
        "HART_FIRST": r.randrange(2),
        "BUFFER_FIRST": r.randrange(2),
        "RESETS": r.randrange(2),
        "EINVAL_FIRST": r.randrange(2),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    buffer, hart = "struct hart_ticks *to", "unsigned long hart"
    first, second = (buffer, hart) if p["BUFFER_FIRST"] else (hart, buffer)
    return {
        "NUMBER": p["NUMBER"],
        "CALL": f"long hart_ticks({first}, {second});",
        "STRUCT": struct(p),
        "ORDER": ", ".join(p["ORDER"]),
        "SINCE": "since the last call about this hart, or since boot if there was none"
        if p["RESETS"]
        else "since boot",
        "FIRST": "EINVAL" if p["EINVAL_FIRST"] else "EFAULT",
    }


def struct(p: dict[str, Any]) -> str:
    hart = f"\t{p['TYPE']} hart;"
    mode = "\tuint64_t mode[4];"
    fields = (hart, mode) if p["HART_FIRST"] else (mode, hart)
    return "struct hart_ticks {\n" + "\n".join(fields) + "\n};"


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    said = words(p)
    return {
        "include/sys/hart_ticks.h": f"""\
/* hart_ticks: how many samples of each mode a hart has had. */
#ifndef _SYS_HART_TICKS_H
#define _SYS_HART_TICKS_H

#include <stdint.h>

/* mode: {said["ORDER"]}. */
{said["STRUCT"]}

/* {said["CALL"]} */

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        **{f"AT_{mode.upper()}": p["ORDER"].index(mode) for mode in MODES},
        "TO": 0 if p["BUFFER_FIRST"] else 1,
        "HART": 1 if p["BUFFER_FIRST"] else 0,
        "RESETS": p["RESETS"],
        "EINVAL_FIRST": p["EINVAL_FIRST"],
    }

"""What the seed draws: what a priority is worth."""

from __future__ import annotations

import random
from typing import Any


def draw(r: random.Random) -> dict[str, Any]:
    return {
        "PRIORITIES": r.randrange(6, 10),
        "LOW_IS_URGENT": r.randrange(2),
        "AGE": r.choice((60, 80, 100)),
        "BONUS": r.randrange(3),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    last = p["PRIORITIES"] - 1
    urgent, patient = (0, last) if p["LOW_IS_URGENT"] else (last, 0)
    bonus = p["BONUS"]
    return {
        "LAST": last,
        "URGENT": urgent,
        "PATIENT": patient,
        "AGE": p["AGE"],
        "BONUS": f"{bonus} level{'s' if bonus > 1 else ''} above that of its priority"
        if bonus
        else "at the level of its priority",
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    said = words(p)
    return {
        "kernel/sched/priority.h": f"""\
/* Priorities: see the lab's README.md. */
#ifndef KERNEL_PRIORITY_H
#define KERNEL_PRIORITY_H

#define PRIORITIES       {p["PRIORITIES"]} /* {said["URGENT"]} is the most urgent */
#define PRIORITY_DEFAULT {p["PRIORITIES"] // 2}
#define PRIORITY_AGE     {p["AGE"]} /* ms of waiting raise the level by one */
#define PRIORITY_SET     1 /* the ioctl of /dev/priority */

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "LEVEL(priority)": "(PRIORITIES - 1 - (priority))"
        if p["LOW_IS_URGENT"]
        else "(priority)",
        "BONUS": p["BONUS"],
    }

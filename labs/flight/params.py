"""What the seed draws: the record, what happens when the ring is full, and what
the device says of that."""

from __future__ import annotations

import random
from typing import Any

FIELDS = {
    "pc": "uint64_t pc;",
    "pid": "uint32_t pid;",
    "where": "uint32_t where;",
}


def draw(r: random.Random) -> dict[str, Any]:
    order = list(FIELDS)
    r.shuffle(order)
    return {
        "RECORDS": r.choice((48, 56, 60, 72, 80)),
        "WAKE": r.randrange(2, 6),
        "ORDER": order,
        "LEVEL_HIGH": r.randrange(2),
        "SHIFT": r.choice((4, 8, 12, 16, 20)),
        "TWICE": r.choice(("EBUSY", "EACCES", "EAGAIN")),
        "END": r.randrange(2),
        "OLDEST_GOES": r.randrange(2),
        "LOST": r.randrange(0x4600, 0x4700),
        "LOST_RESETS": r.randrange(2),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    return {
        "RECORDS": p["RECORDS"],
        "WAKE": p["WAKE"],
        "STRUCT": struct(p),
        "WHERE": where(p, "level", "hart"),
        "TWICE": p["TWICE"],
        "EMPTY": "it returns 0" if p["END"] else "it fails with EAGAIN",
        "FULL": "the oldest record is removed, and the new one is stored"
        if p["OLDEST_GOES"]
        else "the new record isn't stored",
        "SINCE": "since the last such request, or since the open if there was none"
        if p["LOST_RESETS"]
        else "since the open",
    }


def where(p: dict[str, Any], level: str, hart: str) -> str:
    high, low = (level, hart) if p["LEVEL_HIGH"] else (hart, level)
    return f"{high} << {p['SHIFT']} | {low}"


def struct(p: dict[str, Any]) -> str:
    fields = "".join(f"\t{FIELDS[name]}\n" for name in p["ORDER"])
    return f"struct flight_record {{\n{fields}}} __attribute__((packed));"


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    return {
        "kernel/dev/flight.h": f"""\
/* /dev/flight: see the lab's README.md. */
#ifndef KERNEL_FLIGHT_H
#define KERNEL_FLIGHT_H

#include <stdint.h>

#define FLIGHT_RECORDS {p["RECORDS"]} /* size of the buffer, in records */
#define FLIGHT_WAKE {p["WAKE"]} /* a read waits for this many records */
#define FLIGHT_LOST {p["LOST"]:#x} /* ioctl: returns the number of lost records */

/* where: {words(p)["WHERE"]}. */
{struct(p)}

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "WHERE(s)": f"({where(p, '(s)->ipl', '(s)->hart')})",
        "TWICE": p["TWICE"],
        "END": p["END"],
        "OLDEST_GOES": p["OLDEST_GOES"],
        "LOST_RESETS": p["LOST_RESETS"],
    }

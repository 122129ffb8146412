"""What the seed draws: to whom a mutex is handed."""

from __future__ import annotations

import random
from typing import Any

#: The usual next owner: what README.md says, and how the solution compares two
#: that wait, t behind best.
RULES = {
    "last": ("that began to wait last", "true"),
    "low": ("with the lowest `tid`", "(t)->tid < (best)->tid"),
    "high": ("with the highest `tid`", "(t)->tid > (best)->tid"),
}


def draw(r: random.Random) -> dict[str, Any]:
    return {
        "RULE": r.choice(list(RULES)),
        "EVERY": r.randrange(2, 6),
        "OLDEST_BEGINS": r.randrange(2),
        "BEGINS_ANEW": r.randrange(2),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    first = 1 if p["OLDEST_BEGINS"] else p["EVERY"]
    turns = ", ".join(str(first + i * p["EVERY"]) for i in range(3))
    return {
        "RULE": RULES[p["RULE"]][0],
        "EVERY": p["EVERY"],
        "TURNS": f"hand-overs number {turns} and so on",
        "COUNT": "After a hand-over that leaves no thread waiting, the next hand-over is"
        " number 1 again."
        if p["BEGINS_ANEW"]
        else "Hand-overs are counted from boot on; the count isn't reset when no thread"
        " waits.",
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    return {}


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "SOONER(t, best)": f"({RULES[p['RULE']][1]})",
        "EVERY": p["EVERY"],
        "OLDEST": 0 if p["OLDEST_BEGINS"] else p["EVERY"] - 1,
        "BEGINS_ANEW": p["BEGINS_ANEW"],
    }

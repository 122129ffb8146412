"""What the seed draws: where strokes stand, and what becomes of those that are
missed."""

from __future__ import annotations

import random
from typing import Any

COUNTS = ("due", "taken", "skipped", "late", "longest")
#: Where the strokes are counted from: what README.md says, and a macro.
BASES = {
    "change": ("the moment of the change (`profclock.since`)", "(since)"),
    "tick": (
        "the last moment at which a tick was due (a multiple of 10 ms), at or before the"
        " change",
        "((since) - (since) % (tick))",
    ),
    "half": (
        "half a period before the change, `timebase / hz / 2` counts",
        "((since) - (period) / 2)",
    ),
}
#: By which jitter moves a stroke.
MOVES = {
    "later": ("to a later time", "((at) + (r))"),
    "earlier": ("to an earlier time", "((at) - (r))"),
    "both": (
        "to a later time, and then back by spread / 2 counts",
        "((at) + (r) - (s) / 2)",
    ),
}
UNITS = {
    "counts": ("timer counts", "(counts)"),
    "us": ("whole microseconds", "((counts) / (machine.timebase / 1000000))"),
    "ns": ("nanoseconds", "((counts) * (1000000000 / machine.timebase))"),
}


def draw(r: random.Random) -> dict[str, Any]:
    return {
        "BASE": r.choice(list(BASES)),
        "UP": r.randrange(2),
        "MOVE": r.choice(list(MOVES)),
        "PART": r.choice((2, 3, 4)),
        "FIRST": r.randrange(2),
        "LATE": r.choice((150, 200, 250)),
        "DROPPED": r.randrange(2),
        "REST": r.choice((120, 170, 230, 280)),
        "MADE_UP": r.randrange(2),
        "COUNTS": r.sample(COUNTS, len(COUNTS)),
        "UNIT": r.choice(list(UNITS)),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    return {
        "BASE": BASES[p["BASE"]][0],
        "ROUNDED": "rounded up" if p["UP"] else "rounded down",
        "MOVED": MOVES[p["MOVE"]][0],
        "PART": p["PART"],
        "STANDS": "the first" if p["FIRST"] else "the last",
        "LATE": p["LATE"],
        "DROPPED": "isn't taken: its stroke is skipped"
        if p["DROPPED"]
        else "is still taken",
        "REST": p["REST"],
        "MISSED_TICKS": "are counted, too: when the first is served, they are"
        " also added to `hart.ticks` and charged to the process"
        if p["MADE_UP"]
        else "aren't counted",
        "UNIT": UNITS[p["UNIT"]][0],
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    numbers = "\n".join(
        f"#define STROKES_{name.upper():12} {i}" for i, name in enumerate(p["COUNTS"])
    )
    return {
        "kernel/sched/strokes.h": f"""\
/* When samples fall due: see the lab's README.md. */
#ifndef KERNEL_STROKES_H
#define KERNEL_STROKES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

struct hart;

#define STROKES_LATE_US {p["LATE"]} /* us: a stroke noticed later is late */
#define STROKES_REST_US {p["REST"]} /* us: least time between strokes taken */

/* Indices of the counts that strokes_counts stores: those of hart h, since the
 * last start. */
#define STROKES_COUNTS 5
{numbers}

/*
 * strokes.c defines these functions. h is this hart, and SIE is 0.
 *
 * strokes_follow is called when the settings in profclock have changed, or are
 * used for the first time. Set next; then, as the last step, set generation to
 * that of the settings.
 * strokes_due is called when h->sampleclock.next has passed. Count the strokes,
 * set next, and return whether a sample is to be taken now.
 */
void strokes_follow(struct hart *h);
bool strokes_due(struct hart *h, uint64_t now);
void strokes_counts(const struct hart *h, uint64_t counts[STROKES_COUNTS]);

/* The random number for the jitter of stroke n. */
static inline uint64_t
stroke_random(uint64_t seed, uint64_t n)
{{
	uint64_t state = (seed * 1000003 + n) * RANDOM_SPREAD | 1;

	return random_next(&state);
}}

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "BASE(since, tick, period)": BASES[p["BASE"]][1],
        "DIVIDE(a, b)": "(((a) + (b) - 1) / (b))" if p["UP"] else "((a) / (b))",
        "MOVED(at, r, s)": MOVES[p["MOVE"]][1],
        "PART": p["PART"],
        "FIRST": p["FIRST"],
        "DROPPED": p["DROPPED"],
        "MADE_UP": p["MADE_UP"],
        "UNIT(counts)": UNITS[p["UNIT"]][1],
    }

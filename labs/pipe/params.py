"""What the seed draws: how much a pipe has room for, how much is written in one
piece, and what a reader's mark means."""

from __future__ import annotations

import random
from typing import Any

PAGE = 4096


def draw(r: random.Random) -> dict[str, Any]:
    pages, atomic = r.randrange(2, 5), 16 * r.randrange(20, 60)
    return {
        "PAGES": pages,
        "ATOMIC": atomic,
        "LOW_MAX": pages * PAGE - atomic,
        "COUNT": r.randrange(0x5000, 0x5080),
        "LOW": r.randrange(0x5080, 0x5100),
        "COUNT_OWN": r.randrange(2),
        "LOW_CAPPED": r.randrange(2),
        "LOW_TAKES": r.randrange(2),
        "NO_READER": r.choice(("EBADF", "EACCES", "EPERM")),
        "ANY_ROOM": r.randrange(2),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    return {
        "SIZE": p["PAGES"] * PAGE,
        "ATOMIC": p["ATOMIC"],
        "LOW_MAX": p["LOW_MAX"],
        "COUNT": "the number of unread bytes if it is called at the reader's end, and "
        "the number of bytes for which there is room if it is called at the writer's end"
        if p["COUNT_OWN"]
        else "the number of unread bytes, at either end",
        "CAPPED": ", or as many as the read asks for if that is less"
        if p["LOW_CAPPED"]
        else ", even if the read asks for less",
        "TAKES": "takes the bytes in the pipe, even fewer than the mark, and fails with "
        "EAGAIN only if there are none"
        if p["LOW_TAKES"]
        else "fails with EAGAIN if it would have to wait",
        "NO_READER": p["NO_READER"],
        "ROOM": "writes as many bytes as there is room for, if any"
        if p["ANY_ROOM"]
        else "writes as many bytes as there is room for, if that is at least"
        f" {p['ATOMIC']}",
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    return {
        "kernel/fs/pipelab.h": f"""\
/* The lab's pipes: see its README.md. */
#ifndef KERNEL_PIPELAB_H
#define KERNEL_PIPELAB_H

#define PIPE_PAGES {p["PAGES"]} /* size of a pipe, in pages */
#define PIPE_BUF   {p["ATOMIC"]} /* bytes: the largest atomic write */

/* ioctls */
#define PIPE_COUNT {p["COUNT"]:#x}
#define PIPE_LOW   {p["LOW"]:#x}

#define PIPE_LOW_MAX {p["LOW_MAX"]}

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        "COUNT(p, side)": "available(p, side)"
        if p["COUNT_OWN"]
        else "available(p, READER)",
        "ENOUGH(low, asked)": "((low) < (asked) ? (low) : (asked))"
        if p["LOW_CAPPED"]
        else "(low)",
        "TAKES": p["LOW_TAKES"],
        "NO_READER": p["NO_READER"],
        "ROOM": "1" if p["ANY_ROOM"] else "PIPE_BUF",
    }

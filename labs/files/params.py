"""What the seed draws: how large a file can be, what is written when a write ends
on the way, how data and holes are asked for, and what a punch takes away."""

from __future__ import annotations

import random
from typing import Any

PAGE = 4096

#: Forms of a range r: its two numbers; where it begins, and the byte behind it.
FORMS = (
    (
        "the offset of the first byte, and the number of bytes",
        "r[0]",
        "add_up(r[0], r[1])",
    ),
    ("the number of bytes, and the offset of the first", "r[1]", "add_up(r[0], r[1])"),
    (
        "the offset of the first byte, and the offset of the last",
        "r[0]",
        "add_up(r[1], 1)",
    ),
    ("the offset of the first byte, and the offset after the last", "r[0]", "r[1]"),
)


def draw(r: random.Random) -> dict[str, Any]:
    commands = [0x6000 + 0x40 * i + r.randrange(0x40) for i in range(4)]
    r.shuffle(commands)
    return {
        "MAX": PAGE * r.randrange(70_000, 200_000) + r.randrange(100, PAGE - 100),
        "TOO_LONG": r.choice(("EFBIG", "EINVAL", "ENOSPC")),
        "WHOLE": r.randrange(2),
        "BAD_FIRST": r.randrange(2),
        "FAULT": r.choice(("nothing", "bytes", "pages")),
        "COMMANDS": commands,
        "UNIT": r.choice(("bytes", "starts", "pages")),
        "OUTSIDE": r.choice(("ENXIO", "EINVAL")),
        "NO_DATA": r.randrange(2),
        "NO_HOLE": r.randrange(2),
        "FORM": r.randrange(len(FORMS)),
        "BEYOND": r.randrange(2),
        "PARTIAL": r.choice(("wiped", "kept")),
        "FREED": r.randrange(2),
        "EMPTY": r.randrange(2),
        "READ_ONLY": r.choice(("EBADF", "EPERM", "EACCES")),
        "ZEROES": r.randrange(2),
        "COUNT": r.choice(("pages", "holes", "runs")),
    }


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    pages = p["UNIT"] == "pages"
    end = "the number of pages up to the file's end" if pages else "the file's size"
    return {
        "MAX": p["MAX"],
        "TOO_LONG": p["TOO_LONG"],
        "CROSS": "fails with EFBIG, too, and writes nothing"
        if p["WHOLE"]
        else "writes the bytes before the limit, and returns their number",
        "BAD_FIRST": "EFAULT" if p["BAD_FIRST"] else "EFBIG",
        "FAULT": {
            "pages": "the write stops before the first page of the file for which some "
            "byte can't be read; earlier pages are written",
            "bytes": "all bytes before the bad address are written",
            "nothing": "nothing is written, and the write fails with EFAULT, wherever "
            "the bad address lies",
        }[p["FAULT"]],
        "DATA": p["COMMANDS"][0],
        "POSITION": "the number of a page" if pages else "an offset in bytes",
        "ANSWER": {
            "bytes": "The answer is the position itself if it lies in such a page or hole; "
            "otherwise, the offset where the page or hole that was found begins.",
            "starts": "The answer is the offset of the first byte of that page, present "
            "or missing, even if the position lies after this byte.",
            "pages": "The answer is the number of that page, present or missing.",
        }[p["UNIT"]],
        "OUTSIDE": p["OUTSIDE"],
        "NO_DATA": "fails with ENXIO" if p["NO_DATA"] else f"returns {end}",
        "NO_HOLE": "fails with ENXIO" if p["NO_HOLE"] else f"returns {end}",
        "RANGE": FORMS[p["FORM"]][0],
        "EMPTY": "EINVAL" if p["EMPTY"] else "the answer is 0, and nothing changes",
        "BEYOND": "EINVAL"
        if p["BEYOND"]
        else "no error, and the part inside the file is punched",
        "PARTIAL": "gets zeroes in the covered part"
        if p["PARTIAL"] == "wiped"
        else "stays unchanged",
        "FREED": "the number of pages freed" if p["FREED"] else "0",
        "READ_ONLY": p["READ_ONLY"],
        "ZEROES": "becomes a hole immediately"
        if p["ZEROES"]
        else "is kept; only a cut or a punch of the whole page frees it",
        "COUNT": {
            "pages": "pages that the file has",
            "holes": "pages that are missing up to the file's end",
            "runs": "runs of consecutive pages that the file has",
        }[p["COUNT"]],
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """Files that a student gets, by name."""
    data, hole, punch, count = p["COMMANDS"]
    return {
        "kernel/fs/fileslab.h": f"""\
/* The lab's files: see its README.md. */
#ifndef KERNEL_FILESLAB_H
#define KERNEL_FILESLAB_H

#define FILES_MAX {p["MAX"]} /* bytes that a file can have */

/* ioctls */
#define FILES_DATA  {data:#x}
#define FILES_HOLE  {hole:#x}
#define FILES_PUNCH {punch:#x}
#define FILES_COUNT {count:#x}

#endif
"""
    }


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    _, begin, end = FORMS[p["FORM"]]
    return {
        "TOO_LONG": p["TOO_LONG"],
        "WHOLE": p["WHOLE"],
        "BAD_FIRST": p["BAD_FIRST"],
        "FAULT_BYTES": int(p["FAULT"] == "bytes"),
        "FAULT_NOTHING": int(p["FAULT"] == "nothing"),
        "PAGE_OF(position)": "(position)"
        if p["UNIT"] == "pages"
        else "((position) / PAGE_SIZE)",
        "POSITION(from, index)": {
            "bytes": "((from) > (index) * PAGE_SIZE ? (from) : (index) * PAGE_SIZE)",
            "starts": "((index) * PAGE_SIZE)",
            "pages": "(index)",
        }[p["UNIT"]],
        "END(n)": "size_pages((n)->size)" if p["UNIT"] == "pages" else "(n)->size",
        "OUTSIDE": p["OUTSIDE"],
        "NO_DATA": p["NO_DATA"],
        "NO_HOLE": p["NO_HOLE"],
        "FROM(r)": begin,
        "TO(r)": end,
        "EMPTY": "-EINVAL" if p["EMPTY"] else "0",
        "BEYOND": p["BEYOND"],
        "WIPES": int(p["PARTIAL"] == "wiped"),
        "FREED": p["FREED"],
        "READ_ONLY": p["READ_ONLY"],
        "ZEROES": p["ZEROES"],
        "COUNTS_PAGES": int(p["COUNT"] == "pages"),
        "COUNTS_HOLES": int(p["COUNT"] == "holes"),
    }

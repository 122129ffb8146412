"""What the seed draws: what a lie costs, and where honesty ends."""

from __future__ import annotations

import random
from typing import Any

#: Lies, by the names that the solution has for them, in its order.
LIES = ("SHORT", "SIZE", "TAG", "TYPE", "ODD", "QID", "COUNT", "NAME")
ERRNOS = (
    "EIO",
    "EPROTO",
    "EBADMSG",
    "EINVAL",
    "EILSEQ",
    "EMSGSIZE",
    "EOVERFLOW",
    "ENODATA",
    "ERANGE",
    "ENXIO",
)
#: Bits of a qid's type. QEMU's server uses these two; any of the others may be
#: known, too.
USED = {"a directory": 0x80, "a symbolic link": 0x02}
OTHERS = {
    "append only": 0x40,
    "exclusive": 0x20,
    "a mount": 0x10,
    "authentication": 0x08,
    "temporary": 0x04,
}
WORDS = {
    "SHORT": "something cut short",
    "SIZE": "a wrong size",
    "TAG": "another request's tag",
    "TYPE": "a wrong type",
    "ODD": "an errno outside the list",
    "QID": "an unknown bit in a qid's type",
    "COUNT": "a count that is too large",
    "NAME": "an invalid name",
}


def draw(r: random.Random) -> dict[str, Any]:
    errnos = dict(zip(LIES, r.sample(ERRNOS, len(LIES))))
    return {
        **errnos,
        "CLOSES": sorted(r.sample(LIES[:-1], r.randrange(1, 4))),
        "STRIKES": r.randrange(3, 6),
        "FORGIVES": r.randrange(2),
        "EXACT": r.randrange(2),
        "TYPE_FIRST": r.randrange(2),
        "PASSES": r.randrange(2),
        "KNOWN": sorted(r.sample(sorted(OTHERS), r.randrange(1, 4))),
    }


def qids(p: dict[str, Any]) -> int:
    """The bits that a qid's type may have."""
    return sum(USED.values()) + sum(OTHERS[name] for name in p["KNOWN"])


def words(p: dict[str, Any]) -> dict[str, Any]:
    """What README.md says of them."""
    known = {**USED, **{name: OTHERS[name] for name in p["KNOWN"]}}
    return {
        **{lie: p[lie] for lie in LIES},
        "CLOSING": ", ".join(WORDS[lie] for lie in p["CLOSES"]),
        "STRIKES": p["STRIKES"],
        "COUNTED": "since the last honest reply"
        if p["FORGIVES"]
        else "from its beginning",
        "BETTER": "An honest reply, even one that reports an errno, sets the count back"
        " to 0."
        if p["FORGIVES"]
        else "The count never decreases.",
        "WRONG_SIZE": "not the number of bytes that came"
        if p["EXACT"]
        else "larger than the number of bytes that came",
        "BEHIND": ""
        if p["EXACT"]
        else " If more bytes came than the size says, ignore the"
        " rest: it contains neither fields nor data.",
        "FIRST": "type" if p["TYPE_FIRST"] else "tag",
        "THEN": "tag" if p["TYPE_FIRST"] else "type",
        "BAD_NAME": "is no lie: return an empty `name`, and the entry's other fields"
        if p["PASSES"]
        else f"is a lie, {p['NAME']}",
        "QIDS": ", ".join(f"{bit:#04x} ({name})" for name, bit in known.items()),
    }


def files(p: dict[str, Any]) -> dict[str, str]:
    """All that a student needs is in README.md."""
    return {}


def solution(p: dict[str, Any]) -> dict[str, Any]:
    """What kernel/lab.h defines, which only the solution has."""
    return {
        **{lie: p[lie] for lie in LIES},
        "CLOSES": sum(1 << LIES.index(lie) for lie in p["CLOSES"]),
        "STRIKES": p["STRIKES"],
        "FORGIVES": p["FORGIVES"],
        "EXACT": p["EXACT"],
        "TYPE_FIRST": p["TYPE_FIRST"],
        "PASSES": p["PASSES"],
        "QIDS": f"{qids(p):#x}",
    }

"""Text for people: names from untrusted files, and numbers of things."""

from __future__ import annotations

import zlib

NAME_MAX = 1000  # characters of a name that are shown


def clean(name: str) -> str:
    """Makes the name of a program or function, from an untrusted file, printable. A
    longer name than NAME_MAX ends with a mark and its checksum, so that different
    names stay different."""
    if len(name) > NAME_MAX:
        mark = f"…{zlib.crc32(name.encode(errors='surrogatepass')):08x}"
        name = name[: NAME_MAX - len(mark)] + mark
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else "?" for c in name)


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def in_program(function: str, program: str) -> str:
    """Returns a function's name with its program's, which the name of a function
    without a symbol already has."""
    own = function.startswith(f"[{program}] ")
    return function if own else f"{function} [{program}]"

"""Adds source lines to the places in a panic's text.

A panic names places as function+0x1c, most of them after their address. Most are
return addresses, which belong to the instruction before. Two kinds are exact: where a
hart is, and where a trap was taken.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Optional

from tally.base.errors import ConvertError

PLACE = re.compile(rb"(?:0x([0-9a-f]+) |\b)([A-Za-z_][\w.]*)\+0x([0-9a-f]+)")
HART = re.compile(rb"hart \d+: $")
TRAP = re.compile(rb"scause [^\n]*\nhart [^\n]*\n  $")


def with_lines(text: bytes, kernel: Path, most: Optional[int] = None) -> bytes:
    """Returns the text with source lines; unchanged if they can't be read. most: the
    most bytes of line numbers to read, for a kernel that isn't trusted."""

    from tally.formats.executable import Image  # few runs end with a panic

    def add_line(found: re.Match[bytes]) -> bytes:
        before = text[: found.start()]
        exact = HART.search(before) or TRAP.search(before)
        if found[1]:  # prefer the address: several functions may share the name
            address = int(found[1], 16)
        else:
            start = image.symbol(found[2].decode())
            if start is None:
                return found[0]
            address = start + int(found[3], 16)
        line = image.line(address - (0 if exact else 1))
        return found[0] + (f" ({line.file}:{line.number})".encode() if line else b"")

    try:
        image = Image(kernel)
        if most is not None and image.lines_size > most:
            return text
        return PLACE.sub(add_line, text)
    except ConvertError:
        return text

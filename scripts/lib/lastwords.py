"""Source lines for the places in a kernel's last words.

A panic names places as function+0x1c. All but two kinds are return addresses,
which belong to the instruction before: where a hart is, and where a trap was
taken, are addresses of their own.
"""

from __future__ import annotations

import re
from pathlib import Path

PLACE = re.compile(rb"\b([A-Za-z_][\w.]*)\+0x([0-9a-f]+)")
HART = re.compile(rb"hart \d+: 0x[0-9a-f]+ $")
TRAP = re.compile(rb"scause [^\n]*\nhart [^\n]*\n  0x[0-9a-f]+ $")


def with_lines(text: bytes, kernel: Path) -> bytes:
    """The text as it is if the kernel or the host can't tell lines."""
    try:
        from convert.elf import Image
        from convert.profile import ConvertError
    except ImportError:  # no pyelftools: only the converters ask for it
        return text

    def add_line(found: re.Match) -> bytes:
        before = text[: found.start()]
        exact = HART.search(before) or TRAP.search(before)
        start = image.symbol(found[1].decode())
        if start is None:
            return found[0]
        line = image.line(start + int(found[2], 16) - (0 if exact else 1))
        return found[0] + (f" ({line.file}:{line.number})".encode() if line else b"")

    try:
        image = Image(kernel)
        return PLACE.sub(add_line, text)
    except ConvertError:
        return text

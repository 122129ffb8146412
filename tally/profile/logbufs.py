"""Finds the buffers of a stream of pcs that are as getpc stored them.

In a sealed stream, which getpc makes unless -m is given, each buffer ends with a SEAL:
its checksum tells whether the buffer is whole, and its numbers tell how many buffers
and samples were stored before it. So if parts of a file are lost, the others can be
read in their order, wherever they begin, and what is missing between them is known.
"""

from __future__ import annotations

import operator
import re
import struct
from typing import Iterator, NamedTuple, Optional

from tally.formats.header import header

PCS = header("include/sys/pcs.h")
SIZE = PCS["BSIZE"]
HEAD = PCS.layout("LOGBUF_HDR")
SEAL = PCS.layout("SEAL_RECORD")
SUM = 4  # bytes, the last of a SEAL
WORDS = struct.Struct(f"<{SIZE // 4}I")
WEIGHTS = range(SIZE // 4, 0, -1)  # of the words in the sum
RECORD = 8  # bytes; the size of each record is a multiple
MARK = re.compile(re.escape(bytes([PCS["SEAL"], SEAL.size // 8])), re.DOTALL)
MODULUS = 1 << 32  # of the number of samples in a SEAL


class Seal(NamedTuple):
    recording: int  # the same in all buffers of a recording
    sequence: int  # buffers before this one
    hits: int  # samples in them


def _place(data: bytes, at: int) -> Optional[int]:
    """Returns where the seal of a buffer that begins here would be, if it may be one."""
    if at + SIZE > len(data):
        return None
    unused = data[at] | data[at + 1] << 8
    place = at + SIZE - unused - SEAL.size
    if place < at + HEAD.size or (place - at - HEAD.size) % RECORD:
        return None
    return place if MARK.match(data, place) else None


def seal_at(data: bytes, at: int) -> Optional[Seal]:
    """Returns the seal of the buffer that begins at this place, or None if there is no
    buffer as it was stored."""
    place = _place(data, at)
    if place is None:
        return None
    end = place + SEAL.size
    seal = SEAL.unpack(data[place:end])
    whole = data[at : end - SUM] + bytes(SUM) + data[end : at + SIZE]
    total = sum(map(operator.mul, WORDS.unpack(whole), WEIGHTS))
    if total % PCS["SEAL_MODULUS"] != seal.sum:
        return None
    return Seal(seal.recording, seal.sequence, seal.hits)


def _next(data: bytes, at: int) -> Optional[int]:
    """Returns where the next sealed buffer begins, which may be anywhere. Each place is
    tried once, however many marks there are."""
    for mark in MARK.finditer(data, at):
        last = mark.start() - HEAD.size
        for begin in range(max(at, mark.start() + SEAL.size - SIZE), last + 1):
            if seal_at(data, begin):
                return begin
        at = max(at, last + 1)
    return None


def is_sealed(data: bytes) -> bool:
    """Is any buffer sealed?"""
    return bool(seal_at(data, 0)) or _next(data, 0) is not None


def sealed(data: bytes) -> Iterator[tuple[Seal, bytes]]:
    """Yields the buffers that are left, in the order of the file."""
    at: Optional[int] = 0
    while at is not None:
        seal = seal_at(data, at)
        if seal is None:
            at = _next(data, at + 1)
            continue
        yield seal, data[at : at + SIZE]
        at += SIZE

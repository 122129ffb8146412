"""Finds the buffers of a stream of pcs that are as getpc stored them.

In a sealed stream, which getpc makes unless -m is given, each buffer ends with a SEAL:
its checksum tells whether the buffer is whole, and its numbers tell how many buffers
and samples were stored before it. So if parts of a file are lost, all others can be
read, wherever they are in the file, and what is missing between them is known.
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
MARK = re.compile(re.escape(bytes([PCS["SEAL"], SEAL.size // 8])), re.DOTALL)
MODULUS = 1 << 32  # of the numbers in a SEAL


class Seal(NamedTuple):
    sequence: int  # buffers before this one
    hits: int  # samples in them


def seal_at(data: bytes, at: int) -> Optional[Seal]:
    """Returns the seal of the buffer that begins at this place, or None if there is no
    buffer as it was stored."""
    buffer = data[at : at + SIZE]
    if len(buffer) < SIZE:
        return None
    place = SIZE - HEAD.unpack(buffer).h_unused - SEAL.size
    if place < HEAD.size or not MARK.match(buffer, place):
        return None
    seal = SEAL.unpack(buffer[place:])
    end = place + SEAL.size
    words = WORDS.unpack(buffer[: end - SUM] + bytes(SUM) + buffer[end:])
    total = sum(map(operator.mul, words, range(len(words), 0, -1)))
    if total % PCS["SEAL_MODULUS"] != seal.sum:
        return None
    return Seal(seal.sequence, seal.hits)


def _next(data: bytes, at: int) -> Optional[int]:
    """Returns where the next sealed buffer begins, which may be anywhere."""
    for mark in MARK.finditer(data, at):
        end = mark.start() + SEAL.size
        for begin in range(max(at, end - SIZE), mark.start() - HEAD.size + 1):
            unused = int.from_bytes(data[begin : begin + 2], "little")
            if begin + SIZE - unused == end and seal_at(data, begin):
                return begin
    return None


def is_sealed(data: bytes) -> bool:
    """Is any buffer sealed?"""
    return bool(seal_at(data, 0)) or _next(data, 0) is not None


def sealed(data: bytes) -> Iterator[tuple[Seal, bytes]]:
    """Yields the buffers of a sealed stream that are left, each once."""
    sequence = 0
    at: Optional[int] = 0
    while at is not None:
        seal = seal_at(data, at)
        if seal is None:
            at = _next(data, at + 1)
            continue
        if seal.sequence >= sequence:
            sequence = seal.sequence + 1
            yield seal, data[at : at + SIZE]
        at += SIZE

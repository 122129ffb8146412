"""Size and CRC of a guest's file, by which the host finds the same file."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from tally.formats.header import header

KERNEL = "/boot/kernel"  # the kernel's path in the guest
PCS = header("include/sys/pcs.h")
BLOCK, BLOCKS = PCS["FILE_BLOCK"], PCS["FILE_BLOCKS"]


class Digest(NamedTuple):
    size: int
    crc: int
    blocks: int = 0  # that the CRC is of, see FILE_RECORD; 0: of all


def digest(data: bytes) -> Digest:
    return Digest(len(data), zlib.crc32(data))


def digest_of_blocks(data: bytes) -> Digest:
    """Returns what getpc stores of a file while a command runs."""
    if len(data) < BLOCKS * BLOCK:
        return digest(data)
    starts = ((len(data) - BLOCK) * i // (BLOCKS - 1) for i in range(BLOCKS))
    blocks = b"".join(data[start : start + BLOCK] for start in starts)
    return Digest(len(data), zlib.crc32(blocks), BLOCKS)

"""The RISC-V instructions that profiles and plugins need."""

from __future__ import annotations

import struct
from typing import Optional

RA, SP, S0, T0, A0, A1 = 1, 2, 8, 5, 10, 11  # registers
LOAD, STORE, AUIPC, ADDI, JALR, JAL, SYSTEM = 0x03, 0x23, 0x17, 0x13, 0x67, 0x6F, 0x73
MOST_BYTES = 4  # of an instruction


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def gather(code: int, *fields: tuple[int, int, int]) -> int:
    """Assembles a number from fields of an instruction: from bit, count, to bit."""
    return sum((code >> at & (1 << n) - 1) << to for at, n, to in fields)


def instruction(data: bytes, at: int = 0) -> Optional[tuple[int, int]]:
    """Returns the code and size of the instruction at `at'; None if it is cut off."""
    if len(data) < at + 2:
        return None
    (code,) = struct.unpack_from("<H", data, at)
    if code & 3 != 3:
        return code, 2
    if len(data) < at + 4:
        return None
    (code,) = struct.unpack_from("<I", data, at)
    return code, 4


def jal_offset(code: int) -> int:
    return signed(gather(code, (31, 1, 20), (12, 8, 12), (20, 1, 11), (21, 10, 1)), 21)


def c_j_offset(code: int) -> int:
    pieces = (12, 1, 11), (11, 1, 4), (9, 2, 8), (8, 1, 10), (7, 1, 6), (6, 1, 7)
    return signed(gather(code, *pieces, (3, 3, 1), (2, 1, 5)), 12)

"""What code tells of a call stack: is a function's frame there already?

Tally's functions keep s0 as a frame pointer, from `addi s0, sp, N` near their
beginning to `ld s0, N(sp)` before they return. At an address between, the
caller stands in the frame, and register ra may hold any address. Elsewhere ra
is the caller. What the code does next shows which.
"""

from __future__ import annotations

import struct
from typing import Callable, Optional

MOST = 300  # instructions that are looked at
Read = Callable[[int], Optional[bytes]]  # some of the code from an address on


def _bits(code: int, *fields: tuple[int, int, int]) -> int:
    """Gather a number: from bit, how many, to bit."""
    return sum((code >> at & (1 << n) - 1) << to for at, n, to in fields)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _short(code: int) -> tuple[Optional[bool], int]:
    """Of an instruction of two bytes: what it shows, where it jumps to."""
    kind, op, register = code >> 13, code & 3, code >> 7 & 31
    if (kind, op) == (0, 0) and code and code >> 2 & 7 == 0:  # s0 = sp + N
        return False, 0
    if (kind, op) == (3, 2) and register in (1, 8):  # ld ra or s0, N(sp)
        return True, 0
    if (kind, op) == (7, 2) and code >> 2 & 31 in (1, 8):  # sd
        return False, 0
    if code & 0xF07F == 0x8002 and register:  # jr
        return register != 1, 0
    if code & 0xF07F == 0x9002:  # jalr, ebreak
        return True, 0
    if (kind, op) == (5, 1):  # j
        return None, _signed(
            _bits(
                code,
                (12, 1, 11),
                (11, 1, 4),
                (9, 2, 8),
                (8, 1, 10),
                (7, 1, 6),
                (6, 1, 7),
                (3, 3, 1),
                (2, 1, 5),
            ),
            12,
        )
    return None, 0


def _long(code: int) -> tuple[Optional[bool], int]:
    """Of one of four bytes."""
    op, kind, rd = code & 0x7F, code >> 12 & 7, code >> 7 & 31
    base, source = code >> 15 & 31, code >> 20 & 31
    if (op, kind, rd, base) == (0x13, 0, 8, 2):  # addi s0, sp, N
        return False, 0
    if (op, kind, base) == (0x03, 3, 2) and rd in (1, 8):  # ld
        return True, 0
    if (op, kind, base) == (0x23, 3, 2) and source in (1, 8):  # sd
        return False, 0
    if op == 0x17 and rd == 1:  # auipc ra, of a call
        return True, 0
    if op == 0x67:  # jalr
        return not (rd == 0 and base == 1), 0
    if op == 0x6F:  # jal
        if rd:
            return True, 0
        return None, _signed(
            _bits(code, (31, 1, 20), (12, 8, 12), (20, 1, 11), (21, 10, 1)), 21
        )
    return None, 0


def frame_is_set(read: Read, pc: int) -> bool:
    """Does s0 point behind the frame of the function at pc? Where that can't be
    told it does."""
    for _ in range(MOST):
        data = read(pc)
        if not data or len(data) < 2:
            break
        (code,) = struct.unpack_from("<H", data)
        size = 2
        if code & 3 == 3:
            if len(data) < 4:
                break
            (code,) = struct.unpack_from("<I", data)
            size = 4
        shows, jump = _long(code) if size == 4 else _short(code)
        if shows is not None:
            return shows
        pc += jump or size
    return True

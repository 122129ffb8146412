"""Decides from code whether a function has set up its stack frame.

Tally's functions use s0 as a frame pointer, from `addi s0, sp, N` near their beginning
to `ld s0, N(sp)` before they return. In between, the return address is in the frame,
and register ra may hold any address. Elsewhere ra is the return address. The next
instructions show which case it is.
"""

from __future__ import annotations

from typing import Callable, Optional

from tally.formats.riscv import (
    ADDI,
    AUIPC,
    JAL,
    JALR,
    LOAD,
    RA,
    S0,
    SP,
    STORE,
    c_j_offset,
    instruction,
    jal_offset,
)

MOST = 300  # instructions that are read at most
Read = Callable[[int], Optional[bytes]]  # returns some code at an address


def _short(code: int) -> tuple[Optional[bool], int]:
    """Decodes an instruction of two bytes: is the frame set (None: it doesn't show),
    and the offset of a jump, or 0."""
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
        return None, c_j_offset(code)
    return None, 0


def _long(code: int) -> tuple[Optional[bool], int]:
    """Decodes an instruction of four bytes; the result is that of _short."""
    op, kind, rd = code & 0x7F, code >> 12 & 7, code >> 7 & 31
    base, source = code >> 15 & 31, code >> 20 & 31
    if (op, kind, rd, base) == (ADDI, 0, S0, SP):
        return False, 0
    if (op, kind, base) == (LOAD, 3, SP) and rd in (RA, S0):  # ld
        return True, 0
    if (op, kind, base) == (STORE, 3, SP) and source in (RA, S0):  # sd
        return False, 0
    if op == AUIPC and rd == RA:  # of a call
        return True, 0
    if op == JALR:
        return not (rd == 0 and base == RA), 0
    if op == JAL:
        if rd:
            return True, 0
        return None, jal_offset(code)
    return None, 0


def frame_is_set(read: Read, pc: int) -> bool:
    """Does s0 point to the frame of the function at pc? If in doubt, yes."""
    for _ in range(MOST):
        found = instruction(read(pc) or b"")
        if not found:
            break
        code, size = found
        shows, jump = _long(code) if size == 4 else _short(code)
        if shows is not None:
            return shows
        pc += jump or size
    return True

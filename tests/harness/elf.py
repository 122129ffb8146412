"""Executables with symbols of one's choice, for tools that only look them up."""

from __future__ import annotations

import struct
from typing import Mapping

EXEC, RISCV = 2, 243  # types of file and machine
PROGBITS, SYMTAB, STRTAB = 1, 2, 3  # of sections
ALLOC_EXEC = 6  # flags
NOTYPE, FUNC = 0x10, 0x12  # of symbols, global ones
HEADER, SECTION, SYMBOL = 64, 64, 24  # bytes


def executable(functions: Mapping[str, int], labels: Mapping[str, int]) -> bytes:
    """An executable of no code, whose symbols have these addresses."""
    strings = b"\0"
    symbols = bytes(SYMBOL)
    for kind, names in ((FUNC, functions), (NOTYPE, labels)):
        for name, address in names.items():
            symbols += struct.pack("<IBBHQQ", len(strings), kind, 0, 1, address, 0)
            strings += name.encode() + b"\0"
    strings += bytes(-len(strings) % 8)
    at = HEADER + len(symbols)
    end = at + len(strings)

    def section(kind: int, flags: int, offset: int, size: int, *rest: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", 0, kind, flags, 0, offset, size, *rest)

    sections = bytes(SECTION)
    sections += section(PROGBITS, ALLOC_EXEC, HEADER, 0, 0, 0, 8, 0)
    sections += section(SYMTAB, 0, HEADER, len(symbols), 3, 1, 8, SYMBOL)
    sections += section(STRTAB, 0, at, len(strings), 0, 0, 1, 0)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", EXEC, RISCV, 1, 0, 0, end, 0, HEADER, 0, 0, SECTION, 4, 3
    )
    return header + symbols + strings + sections


def kernel(functions: Mapping[str, int]) -> bytes:
    """One that has the marks of a kernel, too."""
    addresses = list(functions.values())
    marks = {"text_start": min(addresses), "etext": max(addresses) + 8}
    return executable(functions, marks)

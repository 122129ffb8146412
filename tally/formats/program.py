"""The code and functions of a program for the guest, for exact profiles."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally.formats.elf import FUNCTION, UNDEFINED, BadElfError, Elf
from tally.formats.header import header
from tally.formats.riscv import AUIPC, JAL, JALR, RA, jal_offset, signed

CALL_RA = JALR | RA << 7 | RA << 15  # jalr ra, N(ra)


class Program(NamedTuple):
    name: str  # its path in the guest
    data: bytes
    start: int  # the address of its text
    text: bytes
    functions: dict[int, str]  # by address, in order
    file: Optional[Path]  # the file on the host, if it is the same file
    named: bool = True  # False: it has no symbols, and addresses are the names


# The page that the kernel maps into each program, to which signal handlers return
# (kernel/proc/signal_page.c): li a7, 139; ecall.
SIGRETURN = Program(
    "[sigreturn]",
    b"",
    header("kernel/base/layout.h")["USER_SIGRETURN"],
    struct.pack("<II", 139 << 20 | 0x893, 0x73),
    {},
    None,
)


def unnamed(program: str, address: int) -> str:
    """Returns the name of a function without a symbol."""
    return f"[{os.path.basename(program)}] {address:#x}"


def program(name: str, data: bytes, file: Optional[Path] = None) -> Optional[Program]:
    """Reads a program; returns None if the file is not one."""
    try:
        elf = Elf(data)
        segment = elf.code()
        if segment is None:
            return None
        code, start = elf.content(segment), elf.base + segment.address
        found = {elf.base + at: name for at, name in _functions(elf)}
    except BadElfError:
        return None
    place = range(start, start + len(code))
    functions = {at: found[at] for at in sorted(found) if at in place}
    named = bool(functions)
    if not named:
        starts = called(start, code) | {elf.base + elf.header.entry}
        functions = {at: unnamed(name, at) for at in sorted(starts) if at in place}
    return Program(name, data, start, code, functions, file, named)


def _functions(elf: Elf) -> Iterator[tuple[int, str]]:
    """Yields functions so that the first name of an address comes last, and counts."""
    found = (s for s in elf.symbols() if s.kind == FUNCTION and s.section != UNDEFINED)
    yield from sorted(((s.value, s.name) for s in found), reverse=True)


def called(start: int, code: bytes) -> set[int]:
    """Returns where functions of a program without symbols begin: at its start, and at
    the targets of its calls, by jal or by auipc and jalr; one more is at its entry. A
    function that is called only by pointers counts as a part of the function before."""
    found = {start}
    at = 0
    while at + 8 <= len(code):
        one, two = struct.unpack_from("<II", code, at)
        if one & 3 != 3:  # a short instruction
            at += 2
            continue
        if one & 0xFFF == JAL | RA << 7:
            found.add(start + at + jal_offset(one))
        elif one & 0xFFF == AUIPC | RA << 7 and two & 0xFFFFF == CALL_RA:
            found.add(start + at + signed(one & ~0xFFF, 32) + signed(two >> 20, 12))
        at += 4
    return {a for a in found if start <= a < start + len(code)}

"""The programs that a machine may run, by their text: all of its initrd's and of
the folder that is its /host."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Optional

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
Header = tuple[Any, ...]  # its fields, in order
SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
IDENT = b"\x7fELF\x02\x01"
RISCV, PT_LOAD, EXECUTABLE, SYMTAB, FUNCTION = 243, 1, 1, 2, 2
UNDEFINED = 0
DYNAMIC = 3
PROGRAM_BASE = 4 << 20  # where the kernel puts such a file: include/elf.h


class Program(NamedTuple):
    name: str  # its path in the guest
    data: bytes
    start: int  # of its text
    text: bytes
    functions: dict[int, str]  # by address, in order
    file: Optional[Path]  # on the host, if it is this very file
    named: bool = True  # its functions have the names of its symbols


# The kernel's own page in each program, to which handlers of signals return
# (kernel/proc/signal_page.c): li a7, 139; ecall.
SIGRETURN = Program(
    "[sigreturn]",
    b"",
    0x7F7F0000,
    struct.pack("<II", 139 << 20 | 0x893, 0x73),
    {},
    None,
)


def program(name: str, data: bytes, file: Optional[Path] = None) -> Optional[Program]:
    """None: the file is no program."""
    if not data.startswith(IDENT):
        return None
    with contextlib.suppress(struct.error, IndexError, ValueError):
        header = HEADER.unpack_from(data)
        text = _text(data, header)
        if header[2] == RISCV and text:
            base = base_of(header[1])
            start, code = base + text[0], text[1]
            found = sorted(_functions(data, header), reverse=True)
            functions = {
                base + at: name
                for at, name in found
                if start <= base + at < start + len(code)
            }
            named = bool(functions)
            if not named:
                functions = {at: f"{at:#x}" for at in called(start, code)}
            return Program(
                name, data, start, code, dict(sorted(functions.items())), file, named
            )
    return None


def called(start: int, code: bytes) -> set[int]:
    """Where functions begin, of a program without symbols: at its start, and where its
    code calls, by jal or by auipc and jalr. Who is called by a pointer alone belongs to
    the one before it."""
    found = {start}
    at = 0
    while at + 8 <= len(code):
        one, two = struct.unpack_from("<II", code, at)
        if one & 3 != 3:  # a short instruction
            at += 2
            continue
        if one & 0xFFF == 0x0EF:  # jal ra
            found.add(start + at + jump_offset(one))
        elif one & 0xFFF == 0x097 and two & 0xFFFFF == 0x080E7:  # auipc ra; jalr ra
            found.add(start + at + signed(one & ~0xFFF, 32) + signed(two >> 20, 12))
        at += 4
    return {a for a in found if start <= a < start + len(code)}


def jump_offset(jal: int) -> int:
    """As the instruction has its bits: 20, 10 to 1, 11, 19 to 12."""
    top, low = jal >> 31, jal >> 21 & 0x3FF
    middle, high = jal >> 20 & 1, jal >> 12 & 0xFF
    return signed(top << 20 | high << 12 | middle << 11 | low << 1, 21)


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def base_of(type: int) -> int:
    """What is added to all addresses of an ELF file of this type (e_type)."""
    return PROGRAM_BASE if type == DYNAMIC else 0


def _text(data: bytes, header: Header) -> Optional[tuple[int, bytes]]:
    at, size, count = header[5], header[9], header[10]
    for i in range(count):
        kind, flags, offset, address, _, length, _, _ = SEGMENT.unpack_from(
            data, at + i * size
        )
        if kind == PT_LOAD and flags & EXECUTABLE:
            return address, data[offset : offset + length]
    return None


def _functions(data: bytes, header: Header) -> Iterator[tuple[int, str]]:
    at, size, count = header[6], header[11], header[12]
    sections = [SECTION.unpack_from(data, at + i * size) for i in range(count)]
    for kind, offset, length, names in ((s[1], s[4], s[5], s[6]) for s in sections):
        if kind != SYMTAB:
            continue
        first = sections[names][4]
        for name, info, _, section, value, _ in SYMBOL.iter_unpack(
            data[offset : offset + length]
        ):
            if info & 15 == FUNCTION and section != UNDEFINED:
                start = first + name
                end = data.index(b"\0", start)
                yield value, data[start:end].decode(errors="replace")

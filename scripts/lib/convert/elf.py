"""An executable: its sections, its functions, and its addresses' lines."""

from __future__ import annotations

import bisect
import struct
import zlib
from pathlib import Path
from typing import NamedTuple, Optional

from .calls import frame_is_set
from .lines import Line, Lines
from .profile import ConvertError

INSTRUCTION = 4  # bytes, at most

# What comes of reading files that are not what they say they are.
DAMAGE = (struct.error, zlib.error, ValueError, LookupError, ArithmeticError)

# The few of ELF's structures and numbers that are needed here.
HEADER = struct.Struct("<4x2B12xH20xQ10x3H")
SECTION = struct.Struct("<2I4Q2I2Q")
SYMBOL = struct.Struct("<IBBHQQ")
COMPRESSION = struct.Struct("<I4x2Q")
LITTLE_64_RISCV = [2, 1, 243]
SYMTAB, DYNSYM, NOBITS = 2, 11, 8
EXECINSTR, COMPRESSED = 0x4, 0x800
FUNCTION, ZLIB = 2, 1


class Function(NamedTuple):
    start: int
    name: str


class Section(NamedTuple):
    name: int  # an offset in the section of names
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def string_at(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode(errors="replace")


class Image:
    """An ELF file for RISC-V, with symbols."""

    def __init__(self, path: Path, name: Optional[str] = None) -> None:
        self.path = path
        self.name = name or path.name
        try:
            self._data = path.read_bytes()
            self._read()
        except OSError as error:
            raise ConvertError(path, error.strerror or str(error)) from error
        except DAMAGE as error:
            raise ConvertError(path, "not a whole ELF file") from error
        if not self.functions:
            raise ConvertError(path, "no symbols")
        self._starts = [f.start for f in self.functions]
        self._lines: Optional[Lines] = None

    def _read(self) -> None:
        if not self._data.startswith(b"\x7fELF"):
            raise ConvertError(self.path, "not an ELF file")
        *kind, start, size, count, names = HEADER.unpack_from(self._data)
        if kind != LITTLE_64_RISCV:
            raise ConvertError(self.path, "not for a 64-bit RISC-V")
        table = [SECTION.unpack_from(self._data, start + i * size) for i in range(count)]
        self._sections = [Section(*fields) for fields in table]
        self._names = self._contents(self._sections[names])
        self._code = [
            range(s.address, s.address + s.size)
            for s in self._sections
            if s.flags & EXECINSTR and s.size
        ]
        self._symbols: dict[str, int] = {}
        self.functions: list[Function] = []
        for section in self._sections:
            if section.type in (SYMTAB, DYNSYM):
                self._read_symbols(section)

    def _contents(self, section: Section) -> bytes:
        if section.type == NOBITS:
            return b""
        end = section.offset + section.size
        if end > len(self._data):
            raise ValueError("cut off")
        data = self._data[section.offset : end]
        if section.flags & COMPRESSED:
            kind, _, _ = COMPRESSION.unpack_from(data)
            if kind != ZLIB:
                raise ValueError("unknown compression")
            data = zlib.decompress(data[COMPRESSION.size :])
        return data

    def _named(self, name: str) -> bytes:
        """A section's contents; nothing if there is none of that name."""
        for section in self._sections:
            if string_at(self._names, section.name) == name:
                return self._contents(section)
        return b""

    def _read_symbols(self, table: Section) -> None:
        """Functions; where several begin, the first name stands for all."""
        strings = self._contents(self._sections[table.link])
        found: dict[int, str] = {}
        for at, info, _, section, value, _ in SYMBOL.iter_unpack(self._contents(table)):
            name = string_at(strings, at)
            if section:
                self._symbols[name] = value
            if info & 0xF == FUNCTION and self.holds(value):
                found[value] = min(name, found.get(value, name))
        self.functions = [Function(a, found[a]) for a in sorted(found)]

    @property
    def text(self) -> tuple[int, int]:
        """From the first byte of code to the last one's end."""
        return min(r.start for r in self._code), max(r.stop for r in self._code)

    def symbol(self, name: str) -> Optional[int]:
        return self._symbols.get(name)

    def holds(self, address: int) -> bool:
        return any(address in code for code in self._code)

    def function(self, address: int) -> Optional[Function]:
        """The one at address: each goes on until the next begins."""
        i = bisect.bisect_right(self._starts, address) - 1
        return self.functions[i] if i >= 0 and self.holds(address) else None

    def frame_is_set(self, pc: int) -> bool:
        """See calls.py."""
        return frame_is_set(self._instruction, pc)

    def _instruction(self, address: int) -> Optional[bytes]:
        for s in self._sections:
            at = address - s.address
            if s.flags & EXECINSTR and 0 <= at < s.size:
                start = s.offset + at
                return self._data[start : start + INSTRUCTION]
        return None

    def charged(self, low: int, high: int) -> int:
        """The address that stands for a counter of [low, high).

        A counter belongs to the last function that begins before its end.
        """
        function = self.function(high - 1)
        return max(low, function.start) if function else low

    @property
    def has_lines(self) -> bool:
        return bool(self._line_table().starts)

    def line(self, address: int) -> Optional[Line]:
        return self._line_table().find(address) if self.holds(address) else None

    def _line_table(self) -> Lines:
        if self._lines is None:
            try:
                self._lines = Lines(self._named)
            except DAMAGE as error:
                raise ConvertError(self.path, "damaged line numbers") from error
        return self._lines

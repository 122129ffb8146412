"""Source lines of addresses, from an executable's section .debug_line.

That is a table for each file that was compiled, made by a program for a
machine whose registers are an address, a file and a line: DWARF, versions 2
to 5, section 6.2. It is read here without a library because those that build
objects of each instruction take seconds for a kernel.
"""

from __future__ import annotations

import bisect
from typing import Callable, Iterator, NamedTuple, Optional

DWARF64 = 0xFFFFFFFF  # in place of a length: what follows has 8 bytes
# The program's standard instructions that matter here, and extended ones.
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE = 1, 2, 3, 4
CONST_ADD_PC, FIXED_ADVANCE_PC = 8, 9
END_SEQUENCE, SET_ADDRESS, DEFINE_FILE = 1, 2, 3
# Version 5 says of its tables of names what they hold, in which forms.
PATH, FOLDER = 1, 2
STRING, BLOCK, STRP, UDATA, LINE_STRP = 0x08, 0x09, 0x0E, 0x0F, 0x1F
SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}  # data1 to data16


class Line(NamedTuple):
    file: str  # as the compiler was given it
    number: int


Section = Callable[[str], bytes]  # a section's contents by its name
Row = tuple[int, Optional[Line]]  # from an address on; None: a sequence's end


class Lines:
    """All of an executable's line numbers, by address."""

    def __init__(self, section: Section) -> None:
        rows: dict[int, Optional[Line]] = {}
        for address, line in _all_rows(section):
            # Where one sequence ends another may have begun.
            if line or address not in rows:
                rows[address] = line
        self.starts = sorted(rows)
        self._lines = [rows[start] for start in self.starts]

    def find(self, address: int) -> Optional[Line]:
        i = bisect.bisect_right(self.starts, address) - 1
        return self._lines[i] if i >= 0 else None


def _all_rows(section: Section) -> Iterator[Row]:
    reader = _Reader(section(".debug_line"))
    while reader.at < len(reader.data):
        yield from _Unit(reader.unit(), section).rows()


class _Reader:
    """Numbers and strings, one after another; beyond the end, a ValueError or
    an IndexError."""

    def __init__(self, data: bytes, at: int = 0, offset_size: int = 4) -> None:
        self.data = data
        self.at = at
        self.offset_size = offset_size

    def take(self, size: int) -> bytes:
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise ValueError("too short")
        return self.data[start : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def offset(self) -> int:
        return self.number(self.offset_size)

    def unit(self) -> "_Reader":
        """What the length that comes next is of."""
        offset_size, length = 4, self.number(4)
        if length == DWARF64:
            offset_size, length = 8, self.number(8)
        return _Reader(self.take(length), 0, offset_size)

    def string(self) -> bytes:
        end = self.data.index(b"\0", self.at)
        start, self.at = self.at, end + 1
        return self.data[start:end]

    def uleb(self) -> int:
        """Seven bits in each byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        start = self.at
        value, bits = self.uleb(), 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value


class _Unit:
    """The table of one file that was compiled."""

    def __init__(self, reader: _Reader, section: Section) -> None:
        self.reader = reader
        version = reader.number(2)
        if not 2 <= version <= 5:
            raise ValueError("another version of DWARF")
        if version == 5:
            reader.take(2)  # sizes of an address and a segment
        length = reader.offset()
        start = reader.at + length
        self.step = reader.number(1)  # bytes, the unit of addresses
        reader.take(2 if version >= 4 else 1)
        self.line_base = int.from_bytes(reader.take(1), "little", signed=True)
        self.line_range, self.opcode_base = reader.number(1), reader.number(1)
        self.operands = reader.take(self.opcode_base - 1)  # how many, of each
        self.folders: list[bytes] = []
        self.files: list[str] = []
        if version == 5:
            self._names_5(section)
        else:
            self._names()
        reader.at = start

    def _names(self) -> None:
        """Both tables count from 1: 0 is the compiler's own folder."""
        self.folders.append(b"")
        while folder := self.reader.string():
            self.folders.append(folder)
        self.files.append("")
        while name := self.reader.string():
            self._add_file(name)

    def _add_file(self, name: bytes) -> None:
        folder = self.reader.uleb()
        self.reader.uleb(), self.reader.uleb()  # its time, its size
        self.files.append(self._path(name, folder))

    def _names_5(self, section: Section) -> None:
        self.folders = [entry[PATH] for entry in self._entries(section)]
        for entry in self._entries(section):
            self.files.append(self._path(entry[PATH], entry.get(FOLDER, 0)))

    def _path(self, name: bytes, folder: int) -> str:
        """A file's name, below its folder if it isn't the compiler's own."""
        if folder and not name.startswith(b"/"):
            name = self.folders[folder] + b"/" + name
        return name.decode(errors="replace")

    def _entries(self, section: Section) -> list[dict]:
        reader = self.reader
        formats = [(reader.uleb(), reader.uleb()) for _ in range(reader.number(1))]
        count = reader.uleb()
        if count > len(reader.data):
            raise ValueError("too many names")
        return [
            {kind: self._value(form, section) for kind, form in formats}
            for _ in range(count)
        ]

    def _value(self, form: int, section: Section) -> object:
        reader = self.reader
        if form == STRING:
            return reader.string()
        if form in (STRP, LINE_STRP):
            name = ".debug_str" if form == STRP else ".debug_line_str"
            return _Reader(section(name), reader.offset()).string()
        if form == UDATA:
            return reader.uleb()
        return reader.number(reader.uleb() if form == BLOCK else SIZES[form])

    def rows(self) -> Iterator[Row]:
        """Run the program."""
        reader, data = self.reader, self.reader.data
        address, file, line = 0, 1, 1
        while reader.at < len(data):
            code = data[reader.at]
            reader.at += 1
            special = code - self.opcode_base
            if special >= 0 or code == COPY:
                if special >= 0:
                    address += special // self.line_range * self.step
                    line += self.line_base + special % self.line_range
                if address:  # 0: what the linker left out
                    yield address, Line(self.files[file], line)
            elif code == ADVANCE_PC:
                address += reader.uleb() * self.step
            elif code == ADVANCE_LINE:
                line += reader.sleb()
            elif code == SET_FILE:
                file = reader.uleb()
            elif code == CONST_ADD_PC:
                most = 255 - self.opcode_base
                address += most // self.line_range * self.step
            elif code == FIXED_ADVANCE_PC:
                address += reader.number(2)
            elif code:  # of no interest; or of a later version
                for _ in range(self.operands[code - 1]):
                    reader.uleb()
            else:
                size = reader.uleb()
                end = reader.at + size
                code = reader.number(1)
                if code == END_SEQUENCE:
                    if address:
                        yield address, None
                    address, file, line = 0, 1, 1
                elif code == SET_ADDRESS:
                    address = reader.number(size - 1)
                elif code == DEFINE_FILE:
                    self._add_file(reader.string())
                reader.at = end

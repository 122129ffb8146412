"""Reads ELF files for 64-bit RISC-V: the header and its tables.

The whole package reads ELF files with this module. It does not use pyelftools, which
is too slow for a boot: the import takes longer than everything else that scripts/run
does before QEMU starts, and reading the symbols of the initrd's programs takes two
seconds more. Only line numbers come from readelf and pyelftools (lines.py).
"""

from __future__ import annotations

import functools
import mmap
import os
import struct
from typing import Iterator, NamedTuple, Optional, Union

IDENT = b"\x7fELF\x02\x01"  # 64-bit, little-endian
RISCV = 243
DYNAMIC = 3  # the type of a file that may be loaded at any address
PROGRAM_BASE = 4 << 20  # where the kernel loads such a file: include/elf.h

PT_LOAD, PT_DYNAMIC, PT_INTERP, PF_EXECUTE = 1, 2, 3, 1
PROGBITS, SYMTAB, SHF_EXECUTE, SHF_COMPRESSED = 1, 2, 4, 1 << 11
UNDEFINED, OBJECT, FUNCTION = 0, 1, 2  # a symbol's section, and two kinds
NEEDED, STRTAB = 1, 5  # tags of a dynamic program

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
COMPRESSED = struct.Struct("<IIQQ")  # the third field is the uncompressed size
TAG = struct.Struct("<QQ")

CUT = "not a whole ELF file"


class BadElfError(ValueError):
    """Not an ELF file, not for 64-bit RISC-V, or damaged; the text says which."""


class Header(NamedTuple):
    ident: bytes
    type: int
    machine: int
    version: int
    entry: int
    segments_at: int
    sections_at: int
    flags: int
    size: int
    segment_size: int
    segments: int
    section_size: int
    sections: int
    names: int  # the section with the sections' names


class Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    size: int  # in the file
    memory: int
    align: int


class Section(NamedTuple):
    name: int  # in the names' section
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class Symbol(NamedTuple):
    name: str
    kind: int
    section: int
    value: int
    size: int


class Elf:
    def __init__(self, data: Union[bytes, mmap.mmap]) -> None:
        self._data = data
        if data[:4] != IDENT[:4]:
            raise BadElfError("not an ELF file")
        if len(data) < HEADER.size:
            raise BadElfError(CUT)
        self.header = Header(*HEADER.unpack_from(data))
        if data[:6] != IDENT or self.header.machine != RISCV:
            raise BadElfError("not for a 64-bit RISC-V")
        #: The difference between addresses in memory and those in the file.
        self.base = PROGRAM_BASE if self.header.type == DYNAMIC else 0

    @functools.cached_property
    def segments(self) -> list[Segment]:
        head = self.header
        table = self._entries(
            SEGMENT, head.segments_at, head.segments, head.segment_size
        )
        return [Segment(*fields) for fields in table]

    @functools.cached_property
    def sections(self) -> list[Section]:
        """All sections; empty if the file was stripped of them."""
        head = self.header
        table = self._entries(
            SECTION, head.sections_at, head.sections, head.section_size
        )
        return [Section(*fields) for fields in table]

    def _entries(
        self, form: struct.Struct, at: int, count: int, size: int
    ) -> list[tuple[int, ...]]:
        try:
            return [form.unpack_from(self._data, at + i * size) for i in range(count)]
        except (struct.error, OverflowError):
            raise BadElfError(CUT) from None

    def content(self, part: Union[Segment, Section]) -> bytes:
        """Returns the bytes that the file has of a segment or section."""
        data = self._data[part.offset : part.offset + part.size]
        if len(data) != part.size:
            raise BadElfError(CUT)
        return data

    def section(self, name: str) -> Optional[Section]:
        if not self.sections:
            return None
        names = self.content(self._section(self.header.names))
        wanted = name.encode()
        return next(
            (s for s in self.sections if _string(names, s.name) == wanted), None
        )

    def _section(self, number: int) -> Section:
        if number >= len(self.sections):
            raise BadElfError(CUT)
        return self.sections[number]

    def contents_size(self, section: Section) -> int:
        """Returns the uncompressed size of a section."""
        if not section.flags & SHF_COMPRESSED:
            return section.size
        (fields,) = self._entries(COMPRESSED, section.offset, 1, 0)
        return fields[2]

    @property
    def loads(self) -> list[Segment]:
        """The segments that a loader copies into memory."""
        return [s for s in self.segments if s.kind == PT_LOAD]

    def code(self) -> Optional[Segment]:
        """Returns the first executable segment."""
        return next((s for s in self.loads if s.flags & PF_EXECUTE), None)

    def symbols(self) -> Iterator[Symbol]:
        """Yields the symbols of the linker's table. The dynamic symbols are ignored, as
        they are too few to divide the code into functions."""
        for table in self.sections:
            if table.kind != SYMTAB:
                continue
            data, names = self.content(table), self.content(self._section(table.link))
            if table.entry_size != SYMBOL.size or len(data) % SYMBOL.size:
                raise BadElfError(CUT)
            for name, info, _, section, value, size in SYMBOL.iter_unpack(data):
                text = _string(names, name).decode(errors="replace")
                yield Symbol(text, info & 15, section, value, size)

    def interpreter(self) -> Optional[str]:
        """Returns the path of a dynamic program's loader."""
        for segment in self.segments:
            if segment.kind == PT_INTERP:
                return os.fsdecode(self.content(segment).rstrip(b"\0"))
        return None

    def needed(self) -> list[str]:
        """Returns the libraries that a dynamic program or a library needs."""
        found = []
        for segment in self.segments:
            if segment.kind == PT_DYNAMIC:
                count = segment.size // TAG.size
                tags = self._entries(TAG, segment.offset, count, TAG.size)
                names = self._loaded(next((at for t, at in tags if t == STRTAB), 0))
                found += [_string(names, at) for tag, at in tags if tag == NEEDED]
        return [os.fsdecode(name) for name in found]

    def _loaded(self, address: int) -> bytes:
        """Returns the bytes from an address to the end of its segment."""
        for s in self.loads:
            if s.address <= address < s.address + s.size:
                return self.content(s)[address - s.address :]
        raise BadElfError(CUT)


def _string(table: bytes, at: int) -> bytes:
    end = table.find(b"\0", at)
    if end < 0:
        raise BadElfError(CUT)
    return table[at:end]

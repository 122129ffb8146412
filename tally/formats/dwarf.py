"""Reads line numbers with pyelftools: for hosts without binutils, and for files about
which readelf warns. This takes seconds; readelf is much faster."""

from __future__ import annotations

import io
import struct
from typing import Any, Iterator, Optional

from elftools.common.exceptions import DWARFError, ELFError, ELFParseError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

# The exceptions that pyelftools raises for damaged files.
DAMAGE = (
    ELFError,
    ELFParseError,
    DWARFError,
    ConstructError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    AssertionError,
    UnicodeError,
    ArithmeticError,
    EOFError,
    MemoryError,
    struct.error,
)


def rows(data: bytes) -> Iterator[tuple[int, Optional[tuple[str, str, int]]]]:
    """Yields each address with its folder, file and line; None: a sequence ends."""
    elf = ELFFile(io.BytesIO(data))
    dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        places: dict[int, tuple[str, str]] = {}
        for entry in program.get_entries():
            state = entry.state
            if state is None or not state.address:
                continue
            if state.file not in places:
                places[state.file] = _place(program.header, state.file)
            end = state.end_sequence
            yield state.address, None if end else (*places[state.file], state.line)


def _place(header: Any, index: int) -> tuple[str, str]:
    """Returns the folder and name of a file."""
    old = header["version"] < 5  # counts from 1, and has no folder 0
    entry = header["file_entry"][index - 1 if old else index]
    folder = b""
    if entry.dir_index:
        folder = header["include_directory"][entry.dir_index - (1 if old else 0)]
    return folder.decode(errors="replace"), entry.name.decode(errors="replace")

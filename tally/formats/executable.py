"""An executable: its functions, variables, instructions and source lines."""

from __future__ import annotations

import bisect
from pathlib import Path
from typing import Iterable, NamedTuple, Optional, Union

from tally.base.errors import ConvertError
from tally.base.text import clean
from tally.formats.demangle import demangled
from tally.formats.elf import (
    FUNCTION,
    OBJECT,
    PF_EXECUTE,
    PROGBITS,
    SHF_EXECUTE,
    UNDEFINED,
    BadElfError,
    Elf,
    Section,
    Segment,
)
from tally.formats.inlines import Inlined, find_inlined
from tally.formats.lines import Line, Lines
from tally.formats.program import program, unnamed
from tally.formats.prologue import frame_is_set
from tally.formats.riscv import MOST_BYTES


class Function(NamedTuple):
    start: int
    symbol: str
    name: str  # demangled


class Image:
    """An ELF file for RISC-V. Addresses are those in memory: the file's plus `base'."""

    def __init__(
        self,
        path: Path,
        name: Optional[str] = None,
        unnamed: bool = False,
        origin: Optional[Path] = None,
    ) -> None:
        """unnamed: accept a file without symbols, and name its functions by the program
        and their addresses.
        origin: where the file was that is now at path."""
        self.path = path
        self.origin = origin or path
        self.name = clean(name or path.name)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConvertError(path, error.strerror or str(error)) from error
        try:
            self._read(data)
        except BadElfError as error:
            raise ConvertError(path, str(error)) from None
        self.named = bool(self.functions)
        if unnamed and not self.named:
            self._find_functions(data)
        if not self.functions:
            raise ConvertError(path, "no symbols")
        self._data = data  # the file may be gone when its lines are read
        self._starts = [f.start for f in self.functions]
        self._lines: Optional[Lines] = None
        self._frames_set: dict[int, bool] = {}
        self._inlined: dict[int, list[Inlined]] = {}

    def _read(self, data: bytes) -> None:
        elf = Elf(data)
        self.base = elf.base
        self._code: list[range] = []
        self._bytes: list[bytes] = []
        for part in _code(elf):
            start = self.base + part.address
            self._code.append(range(start, start + part.size))
            self._bytes.append(elf.content(part))
        self._symbols: dict[str, int] = {}
        self._variables: list[tuple[int, int, str]] = []
        self._read_symbols(elf)
        table = elf.section(".debug_line")
        #: Bytes of DWARF's line numbers, uncompressed.
        self.lines_size = elf.contents_size(table) if table else 0

    def _read_symbols(self, elf: Elf) -> None:
        """Reads functions and variables. Of several functions at one address, the first
        in alphabetical order names it."""
        found: dict[int, str] = {}
        for name, kind, section, value, size in elf.symbols():
            value += self.base
            if section != UNDEFINED:
                self._symbols[name] = value
            if kind == OBJECT and name:
                self._variables.append((value, size, clean(name)))
            if kind == FUNCTION and self.holds(value):
                found[value] = min(name, found.get(value, name))
        meant = demangled(found.values())
        #: False: c++filt is missing or failed, so mangled names stay as they are.
        self.demangled = meant is not None
        names = meant or {}
        self.functions = [
            Function(a, clean(s), clean(names.get(s, s)))
            for a, s in sorted(found.items())
        ]

    def _find_functions(self, data: bytes) -> None:
        """Lets functions begin where the code calls. The first begins with the code,
        so that each address is in a function."""
        found = program(self.name, data)
        starts = {*(found.functions if found else ()), *(c.start for c in self._code)}
        names = {at: clean(unnamed(self.name, at)) for at in sorted(starts)}
        self.functions = [
            Function(at, name, name) for at, name in names.items() if self.holds(at)
        ]

    @property
    def text(self) -> tuple[int, int]:
        """The range from the first byte of code to the end of the last."""
        return min(r.start for r in self._code), max(r.stop for r in self._code)

    def variable(self, address: int) -> Optional[str]:
        """Returns the name of the variable at an address."""
        for start, size, name in self._variables:
            if start <= address < start + size:
                return name
        return None

    def extents(self, name: str) -> list[range]:
        """Returns the memory of all variables of that name."""
        return [range(a, a + size) for a, size, n in self._variables if n == name]

    def symbol(self, name: str) -> Optional[int]:
        return self._symbols.get(name)

    def holds(self, address: int) -> bool:
        return any(address in code for code in self._code)

    def function(self, address: int) -> Optional[Function]:
        """Returns the function at an address: each extends to the next one."""
        i = bisect.bisect_right(self._starts, address) - 1
        return self.functions[i] if i >= 0 and self.holds(address) else None

    def end(self, function: Function) -> int:
        """Returns where the next function begins, or the code ends."""
        i = bisect.bisect_right(self._starts, function.start)
        after = self._starts[i] if i < len(self._starts) else self.text[1]
        code = next(c for c in self._code if function.start in c)
        return min(after, code.stop)

    def frame_is_set(self, pc: int) -> bool:
        """See prologue.py. Results are cached, as a stream repeats addresses."""
        if pc not in self._frames_set:
            self._frames_set[pc] = frame_is_set(self.instruction, pc)
        return self._frames_set[pc]

    def instruction(self, address: int) -> Optional[bytes]:
        """Returns the bytes of the instruction at an address, or more than those."""
        for place, code in zip(self._code, self._bytes):
            if address in place:
                at = address - place.start
                return code[at : at + MOST_BYTES]
        return None

    def charged(self, low: int, high: int) -> int:
        """Returns the address that gets the count of [low, high): in the last function
        that begins before high."""
        function = self.function(high - 1)
        return max(low, function.start) if function else low

    @property
    def has_lines(self) -> bool:
        table = self._line_table()
        return bool(table and table.starts)

    def line(self, address: int) -> Optional[Line]:
        table = self._line_table()
        return (
            table.find(address - self.base) if table and self.holds(address) else None
        )

    def find_inlined(self, addresses: Iterable[int]) -> None:
        """Reads what was inlined at these addresses, for the function below."""
        asked = {a - self.base for a in addresses if self.holds(a)}
        if asked and self.lines_size:
            found = find_inlined(self.path, asked)
            self._inlined.update((at + self.base, all) for at, all in found.items())

    def inlined(self, address: int) -> list[Inlined]:
        """Returns the functions that were inlined at an address, outermost first."""
        return self._inlined.get(address, [])

    def known(self, line: Line) -> Line:
        """Names the file of an inlined call as other lines do."""
        table = self._line_table()
        return line._replace(file=table.known(line.file)) if table else line

    def _line_table(self) -> Optional[Lines]:
        if self._lines is None and self.lines_size:
            self._lines = Lines(self.path, self._data)
        return self._lines


def _code(elf: Elf) -> list[Union[Section, Segment]]:
    """Returns the sections with code; if all sections were stripped, the segments."""
    sections: list[Union[Section, Segment]] = [
        s
        for s in elf.sections
        if s.kind == PROGBITS and s.flags & SHF_EXECUTE and s.size
    ]
    return sections or [s for s in elf.loads if s.flags & PF_EXECUTE and s.size]

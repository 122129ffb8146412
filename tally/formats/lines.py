"""Source lines of an executable's addresses, from DWARF's line tables.

readelf decodes them fast, pyelftools takes seconds (dwarf.py). So pyelftools is used
only without readelf, or if readelf warns or prints a statement that ROW doesn't match.
readelf's raw dump is read, because only this has the folders of files that share a
name.

The lines of executables in build/ are cached in a file: nearly each tool needs the
kernel's, and reading them would take longer than everything else that it does.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import marshal
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally import ROOT
from tally.base.errors import ConvertError

# The prefixes that the Makefile tries; the host's own binutils may know RISC-V, too.
PREFIXES = (
    "riscv64-unknown-elf-",
    "riscv64-elf-",
    "riscv64-none-elf-",
    "riscv64-linux-gnu-",
    "",
)
BUILDS = ("build", "build-debug")
LIMIT = 60  # seconds for a tool, which may hang on a damaged file

TABLE = r"^ The {} Table.*:\n((?:  .*\n)+)"
# Matches notes in an entry: how a field is stored, and where its string is.
FORM = re.compile(r"(?<=\t)\(\w+\)[\t ]|(?<=\t)\([\w ,]*offset: \w+\): ")

# Matches statements that set registers, up to one that makes a row of them. If several
# set the same register the last counts, as with a repeated group of the expression.
ROW = re.compile(
    r"""
    (?:\ \ \[0x\w+\]\ \ (?:
        Advance\ Line\ by\ -?\d+\ to\ (?P<line>\d+)
        | (?:Advance\ PC\ by\ [a-z ]*\d+|Extended\ opcode\ 2:\ set\ Address)
          \ to\ (?P<pc>\w+)(?:\ \(reset\ view\))?
        | Set\ (?:column|is_stmt|ISA)\ to\ \d+
        | Set\ (?:basic\ block|(?:prologue_end|epilogue_begin)\ to\ true)
        | Set\ File\ Name\ to\ entry\ (?P<file>\d+)\ in\ the\ File\ Name\ Table
        | Extended\ opcode\ 4:\ set\ Discriminator\ to\ \d+
    )\n+)*
    \ \ \[0x\w+\]\ \ (?:
        Copy(?:\ \(view\ \d+\))?
        | Special\ opcode\ \d+:\ advance\ Address\ by\ \d+\ to\ (?P<address>\w+)
          (?:\ \(reset\ view\))?\ and\ Line\ by\ -?\d+\ to\ (?P<special>\d+)
          (?:\ \(view\ \d+\))?
        | (?P<end>Extended\ opcode\ 1:\ End\ of\ Sequence)
    )\n+
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class Line(NamedTuple):
    file: str  # as given to the compiler
    number: int


Rows = dict[int, Optional[Line]]  # by address; None: a sequence ends


class Lines:
    """The line numbers of an executable, by address."""

    def __init__(self, path: Path, data: bytes) -> None:
        file = _kept_file(path)
        state = (_state(path), _state(Path(__file__))) if file else None
        table = _kept(file, state)
        if table is None:
            table = _table(by_readelf(path) or by_pyelftools(path, data))
            _keep(file, state, table)
        self.starts, self._files, self._places = table

    @functools.lru_cache(maxsize=None)
    def known(self, path: str) -> str:
        """Returns a file's name as it is in the table; the path begins with the folder
        where the compiler ran."""
        fitting = (f for f in self._files if path == f or path.endswith(f"/{f}"))
        return max(fitting, key=len, default=path)

    def find(self, address: int) -> Optional[Line]:
        i = bisect.bisect_right(self.starts, address) - 1
        place = self._places[i] if i >= 0 else None
        return Line(self._files[place[0]], place[1]) if place else None


#: Sorted addresses; names of files; and for each address a file and line, or None.
Table = tuple[list[int], list[str], list[Optional[tuple[int, int]]]]


def _table(rows: Rows) -> Table:
    starts = sorted(rows)
    files = sorted({line.file for line in rows.values() if line})
    number = {file: i for i, file in enumerate(files)}
    places = (
        (number[line.file], line.number) if line else None
        for line in map(rows.get, starts)
    )
    return starts, files, list(places)


#: The state of a file: inode, time and size.
State = tuple[int, int, int]


def _kept_file(path: Path) -> Optional[Path]:
    """Returns the cache file for an executable of the build; None for others, and for
    one that no longer exists."""
    place = path.resolve()
    if not place.is_relative_to(ROOT) or not place.is_file():
        return None
    build, *rest = place.relative_to(ROOT).parts
    return ROOT / build / "lines" / "-".join(rest) if build in BUILDS else None


def _state(file: Path) -> State:
    """Returns a file's state, which changes when make replaces the file."""
    status = file.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _kept(
    file: Optional[Path], state: Optional[tuple[State, State]]
) -> Optional[Table]:
    """Returns the cached table, if neither the executable nor this module changed."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        made, table = marshal.loads(file.read_bytes()) if file else (None, None)
        if made == state:
            kept: Optional[Table] = table
            return kept
    return None


def _keep(
    file: Optional[Path], state: Optional[tuple[State, State]], table: Table
) -> None:
    """Writes the table to the cache, if possible."""
    with contextlib.suppress(OSError):
        if file:
            file.parent.mkdir(exist_ok=True)
            new = file.with_name(f"{file.name}.{os.getpid()}")
            new.write_bytes(marshal.dumps((state, table)))
            new.replace(file)


def _by_address(rows: Iterator[tuple[int, Optional[Line]]]) -> Rows:
    found: Rows = {}
    for address, line in rows:
        # Code that the linker left out is at 0. An end is ignored if another sequence
        # begins at the same address.
        if address and (line or address not in found):
            found[address] = line
    return found


def find_tool(name: str) -> Optional[str]:
    """Returns the path of a tool of binutils, for RISC-V or for all machines."""
    prefixes = [os.environ.get("CROSS", PREFIXES[0]), *PREFIXES]
    tools = (shutil.which(f"{prefix}{name}") for prefix in prefixes)
    return next(filter(None, tools), None)


def by_readelf(path: Path) -> Optional[Rows]:
    """Returns the rows from readelf; None if it is missing, warns or prints no row."""
    tool = find_tool("readelf")
    if not tool:
        return None
    command = [tool, "--wide", "--debug-dump=rawline", "--", str(path)]
    try:
        run = subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            timeout=LIMIT,
        )
        if run.returncode or run.stderr:
            return None
        text = run.stdout.decode(errors="replace")
        return _by_address(_printed_rows(text)) or None
    except (OSError, subprocess.SubprocessError, LookupError, ValueError):
        return None


def _printed_rows(text: str) -> Iterator[tuple[int, Optional[Line]]]:
    """Yields the rows of readelf's text. Raises an error for unknown statements."""
    for unit in text.split("\n  Offset: ")[1:]:
        head, _, program = unit.partition("\n Line Number Statements:\n")
        names = _printed_names(head)
        address, file, number = 0, 1, 1
        for row in ROW.finditer(program.lstrip("\n")):
            line, pc, entry, special_pc, special_line, end, other = row.groups()
            if other:
                raise ValueError(row.start())
            if special_pc or pc:
                address = int(special_pc or pc, 0)
            number = int(special_line or line or number)
            file = int(entry or file)
            if end:
                yield address, None
                address, file, number = 0, 1, 1
            elif address:
                yield address, Line(names[file], number)


def _printed_names(head: str) -> dict[int, str]:
    """Returns the files by their numbers."""
    folders = {f["Entry"]: f["Name"] for f in _printed_table(head, "Directory")}
    return {
        int(f["Entry"]): _below(f["Name"], folders[f["Dir"]] if f["Dir"] != "0" else "")
        for f in _printed_table(head, "File Name")
    }


def _printed_table(head: str, name: str) -> Iterator[dict[str, str]]:
    """Yields a table's entries: fields by heading. Old directory tables have none."""
    found = re.search(TABLE.format(name), head, re.MULTILINE)
    columns = ["Entry", "Name"]
    for row in found[1].splitlines() if found else ():
        fields = FORM.sub("", row.strip(" ")).split("\t")
        if fields[0] == "Entry":
            columns = list(filter(None, fields))
        elif len(fields) == len(columns):
            yield dict(zip(columns, fields))
        else:
            raise ValueError(row)


def by_pyelftools(path: Path, data: bytes) -> Rows:
    try:
        from tally.formats import dwarf  # it takes 0.2 s, and is seldom needed
    except ImportError:
        raise ConvertError(
            path, "reading line numbers needs readelf or pyelftools"
        ) from None
    try:
        return _by_address(
            (at, place and Line(_below(place[1], place[0]), place[2]))
            for at, place in dwarf.rows(data)
        )
    except dwarf.DAMAGE as error:
        raise ConvertError(path, "damaged line numbers") from error


def _below(name: str, folder: str) -> str:
    """Joins folder and name, unless the folder is empty or the name absolute."""
    return name if not folder or name.startswith("/") else f"{folder}/{name}"

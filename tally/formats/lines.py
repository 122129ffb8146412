"""Source lines of an executable's addresses, from DWARF's line tables.

readelf decodes them in no time, pyelftools in seconds (dwarf.py): so pyelftools reads
them only where there is no readelf, and where readelf warns or prints a statement that
ROW doesn't know. Of readelf's dumps the raw one is read, because only that tells files
of the same name in different folders apart.

The lines of executables in build/ are kept in a file: nearly each tool asks for the
kernel's, and to read them takes longer than all else that it does.
"""

from __future__ import annotations

import bisect
import contextlib
import marshal
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally import ROOT
from tally.base.errors import ConvertError

# Where the Makefile looks for the compiler; the host's own reads them, too.
PREFIXES = (
    "riscv64-unknown-elf-",
    "riscv64-elf-",
    "riscv64-none-elf-",
    "riscv64-linux-gnu-",
    "",
)
BUILDS = ("build", "build-debug")
LIMIT = 60  # seconds, which a damaged file may need

TABLE = r"^ The {} Table.*:\n((?:  .*\n)+)"
# In an entry: how a field is stored, and where its string is.
FORM = re.compile(r"(?<=\t)\(\w+\)[\t ]|(?<=\t)\([\w ,]*offset: \w+\): ")

# Statements that set registers, and the one that makes a row of them. Where several
# set the same register the last counts, as it does for a group of the expression.
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
    file: str  # as the compiler was given it
    number: int


Rows = dict[int, Optional[Line]]  # by address; None: there a sequence ends


class Lines:
    """All line numbers of an executable that has some, by address."""

    def __init__(self, path: Path) -> None:
        file = _kept_file(path)
        state = (_state(path), _state(Path(__file__))) if file else None
        table = _kept(file, state)
        if table is None:
            table = _table(by_readelf(path) or by_pyelftools(path))
            _keep(file, state, table)
        self.starts, self._files, self._places = table

    def find(self, address: int) -> Optional[Line]:
        i = bisect.bisect_right(self.starts, address) - 1
        place = self._places[i] if i >= 0 else None
        return Line(self._files[place[0]], place[1]) if place else None


#: Addresses in order; the names of files; and of each address file and line, or None.
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


#: Of an executable and of this module: the number of its file, the time, the size.
State = tuple[int, int, int]


def _kept_file(path: Path) -> Optional[Path]:
    """Where the table of an executable of the build is; of others, and of one that has
    gone since it was read, none is kept."""
    place = path.resolve()
    if not place.is_relative_to(ROOT) or not place.is_file():
        return None
    build, *rest = place.relative_to(ROOT).parts
    return ROOT / build / "lines" / "-".join(rest) if build in BUILDS else None


def _state(file: Path) -> State:
    """Another one for another file: make replaces what it makes."""
    status = file.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _kept(
    file: Optional[Path], state: Optional[tuple[State, State]]
) -> Optional[Table]:
    """If it is of the executable as it is, and was made by this module as it is."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        made, table = marshal.loads(file.read_bytes()) if file else (None, None)
        if made == state:
            kept: Optional[Table] = table
            return kept
    return None


def _keep(
    file: Optional[Path], state: Optional[tuple[State, State]], table: Table
) -> None:
    """Where it can be written."""
    with contextlib.suppress(OSError):
        if file:
            file.parent.mkdir(exist_ok=True)
            new = file.with_name(f"{file.name}.{os.getpid()}")
            new.write_bytes(marshal.dumps((state, table)))
            new.replace(file)


def _by_address(rows: Iterator[tuple[int, Optional[Line]]]) -> Rows:
    found: Rows = {}
    for address, line in rows:
        # At 0 is what the linker left out. Where one sequence ends another may
        # have begun.
        if address and (line or address not in found):
            found[address] = line
    return found


def find_tool(name: str) -> Optional[str]:
    """One of binutils', for RISC-V or for all machines."""
    prefixes = [os.environ.get("CROSS", PREFIXES[0]), *PREFIXES]
    tools = (shutil.which(f"{prefix}{name}") for prefix in prefixes)
    return next(filter(None, tools), None)


def by_readelf(path: Path) -> Optional[Rows]:
    """None where there is no readelf, or it isn't sure of itself or tells no
    row."""
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
    """The rows of readelf's text. An error if any of it is not understood."""
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
    """Files, by their numbers."""
    folders = {f["Entry"]: f["Name"] for f in _printed_table(head, "Directory")}
    return {
        int(f["Entry"]): _below(f["Name"], folders[f["Dir"]] if f["Dir"] != "0" else "")
        for f in _printed_table(head, "File Name")
    }


def _printed_table(head: str, name: str) -> Iterator[dict[str, str]]:
    """Its entries: field by heading. Old directories have no headings."""
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


def by_pyelftools(path: Path) -> Rows:
    try:
        from tally.formats import dwarf  # it takes 0.2 s, and is seldom needed
    except ImportError:
        raise ConvertError(path, "its lines need readelf, or pyelftools") from None
    try:
        return _by_address(
            (at, place and Line(_below(place[1], place[0]), place[2]))
            for at, place in dwarf.rows(path)
        )
    except OSError as error:
        raise ConvertError(path, error.strerror or str(error)) from error
    except dwarf.DAMAGE as error:
        raise ConvertError(path, "damaged line numbers") from error


def _below(name: str, folder: str) -> str:
    """A file's name in its folder, if that isn't the compiler's own."""
    return name if not folder or name.startswith("/") else f"{folder}/{name}"

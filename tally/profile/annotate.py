"""The text of functions: their source lines and their instructions.

Instructions come from objdump. Without an objdump for RISC-V their bytes are shown.

An executable may name any file as its source, and the output may be published. So
only files with a source's suffix below Tally's folder or the executable's own are
read.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally import ROOT
from tally.base.text import NAME_MAX
from tally.formats.executable import Function, Image
from tally.formats.lines import Line, find_tool

SOURCES = {".c", ".h", ".s", ".S", ".cc", ".cpp", ".hpp", ".rs"}
LIMIT = 60  # seconds for objdump, which may hang on a damaged file
CODE_MAX = 1 << 14  # bytes of a function that are disassembled
LINES_MAX = 800  # lines that are shown of a file
FILE_MAX = 1 << 22  # bytes that are read of a file
AROUND = 4  # lines that are shown before and after each with code
ROW = re.compile(r"^ *([0-9a-f]+):\t(.*)$")


class Instruction(NamedTuple):
    address: int
    text: str
    line: Optional[Line]


class Run(NamedTuple):
    """Consecutive lines of a file."""

    first: int
    lines: list[str]


class Excerpt(NamedTuple):
    """Parts of a file. runs is None if the file can't be read."""

    file: str
    runs: Optional[list[Run]]
    newer: bool = False  # newer than the executable: it may not match


def instructions(image: Image, function: Function) -> tuple[list[Instruction], bool]:
    """Returns a function's instructions, and whether objdump disassembled them."""
    end = min(image.end(function), function.start + CODE_MAX)
    rows = list(_by_objdump(image, function.start, end))
    told = bool(rows)
    rows = rows or list(_by_bytes(image, function.start, end))
    return [Instruction(at, text, image.line(at)) for at, text in rows], told


def _by_objdump(image: Image, start: int, end: int) -> Iterator[tuple[int, str]]:
    tool = find_tool("objdump")
    if not tool:
        return
    # Use the file's own addresses, so that objdump can name the targets of jumps.
    start, end = start - image.base, end - image.base
    command = [
        tool,
        "-d",
        "--no-show-raw-insn",
        f"--start-address={start:#x}",
        f"--stop-address={end:#x}",
        "--",
        str(image.path),
    ]
    try:
        run = subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            timeout=LIMIT,
        )
    except (OSError, subprocess.SubprocessError):
        return
    if run.returncode:
        return
    for line in run.stdout.decode(errors="replace").splitlines():
        found = ROW.match(line)
        if found and start <= int(found[1], 16) < end:
            at = image.base + int(found[1], 16)
            yield at, found[2].strip().replace("\t", " ")[:NAME_MAX]


def _by_bytes(image: Image, start: int, end: int) -> Iterator[tuple[int, str]]:
    while start < end:
        data = image.instruction(start)
        if not data:
            return
        data = data[: 4 if data[0] & 3 == 3 else 2]
        yield start, "." + ("word" if len(data) == 4 else "half") + (
            f" 0x{int.from_bytes(data, 'little'):0{2 * len(data)}x}"
        )
        start += len(data)


class Sources:
    """Source files, each read once."""

    def __init__(self) -> None:
        self._files: dict[Path, Optional[list[str]]] = {}

    def excerpt(self, image: Image, file: str, numbers: set[int]) -> Excerpt:
        """Returns these lines and those around them, but no more than LINES_MAX."""
        path = self._find(image, file)
        text = self._read(path) if path else None
        if path is None or text is None:
            return Excerpt(file, None)
        near = {
            n
            for number in numbers
            for n in range(number - AROUND, number + AROUND + 1)
            if 0 < n <= len(text)
        }
        runs: list[Run] = []
        for n in sorted(near)[:LINES_MAX]:
            if not runs or n != runs[-1].first + len(runs[-1].lines):
                runs.append(Run(n, []))
            runs[-1].lines.append(text[n - 1])
        newer = path.stat().st_mtime > image.path.stat().st_mtime
        return Excerpt(file, runs, newer)

    @staticmethod
    def _find(image: Image, file: str) -> Optional[Path]:
        """Returns the file's path, if it may be read."""
        own = image.path.resolve().parent
        for folder in (ROOT, own):
            try:
                path = (folder / file).resolve()
                allowed = path.is_relative_to(ROOT) or path.is_relative_to(own)
                if allowed and path.suffix in SOURCES and path.is_file():
                    return path
            except (OSError, ValueError):
                continue
        return None

    def _read(self, path: Path) -> Optional[list[str]]:
        if path not in self._files:
            try:
                with open(path, "rb") as source:
                    data = source.read(FILE_MAX)
                lines = data.decode(errors="replace").split("\n")
                self._files[path] = [line[:NAME_MAX].rstrip() for line in lines]
            except OSError:
                self._files[path] = None
        return self._files[path]

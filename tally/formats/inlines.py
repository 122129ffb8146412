"""The inlined functions at an executable's addresses, from addr2line, which reads DWARF
much faster than Python could. It is asked about many addresses at once, as it takes
longer to start than to answer."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Iterable, NamedTuple

from tally.base.errors import ConvertError
from tally.base.text import clean
from tally.formats.demangle import demangled
from tally.formats.lines import LIMIT, Line, find_tool

ADDRESS = re.compile(r"0x[0-9a-f]{16}")
PLACE = re.compile(r"(.*):(\d+|\?)(?: \(discriminator \d+\))?")


class Inlined(NamedTuple):
    """A function that was inlined, and where: a line of the function around it, whose
    file is named by its full path."""

    symbol: str
    name: str  # demangled
    call: Line


def find_inlined(path: Path, addresses: Iterable[int]) -> dict[int, list[Inlined]]:
    """Returns the inlined functions of each address that has any, outermost first. The
    addresses are the file's."""
    wanted = sorted(set(addresses))
    tool = find_tool("addr2line")
    if not tool:
        raise ConvertError(path, "finding inlined functions needs addr2line")
    try:
        run = subprocess.run(
            [tool, "-a", "-f", "-i", f"--exe={path}"],
            input="".join(f"{address:#x}\n" for address in wanted).encode(),
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            timeout=LIMIT,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ConvertError(path, f"addr2line failed: {error}") from None
    blocks = _blocks(run.stdout.decode(errors="replace"))
    if list(blocks) != wanted:
        raise ConvertError(path, "addr2line failed: damaged debugging information")
    # The functions, innermost first. The last one has a symbol, so its name is known.
    symbols = {at: lines[::2] for at, lines in blocks.items() if len(lines) > 2}
    names = demangled({s for all in symbols.values() for s in all}) or {}
    return {
        at: [
            Inlined(clean(s), clean(names.get(s, s)), _line(place))
            for s, place in zip(all[-2::-1], blocks[at][::-2])
        ]
        for at, all in symbols.items()
    }


def _blocks(text: str) -> dict[int, list[str]]:
    """Returns the lines that follow each address: pairs of a function and the place in
    it, which is where the function of the pair before was inlined."""
    blocks: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        if ADDRESS.fullmatch(line):
            lines = blocks.setdefault(int(line, 16), [])
        else:
            lines.append(line)
    return blocks


def _line(text: str) -> Line:
    found = PLACE.fullmatch(text)
    return Line(found[1], int(found[2])) if found and found[2] != "?" else Line("", 0)

"""Patches without line numbers, as tests/mutants/README describes them: lines that
must occur once in a file, and their replacement."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Iterator

Hunks = tuple[tuple[str, str], ...]  # old and new lines


class HunkError(Exception):
    """The old lines occur nowhere in a file, or more than once."""


def stanzas(file: Path, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the parts of a file between empty lines, without comments, each after the
    place where it begins, as NAME:LINE."""
    lines: list[str] = []
    for number, line in enumerate([*file.read_text().splitlines(), ""], 1):
        if line and not line.startswith("#"):
            lines.append(line)
        elif not line and lines:
            yield f"{name}:{number - len(lines)}", lines
            lines = []


def read(lines: Iterable[str]) -> Hunks:
    hunks = [("", "")]
    for line in lines:
        old, new = hunks.pop()
        body = line[1:] + "\n"
        if line == "@@":
            hunks += [(old, new), ("", "")]
        elif line[0] == " ":
            hunks.append((old + body, new + body))
        elif line[0] == "-":
            hunks.append((old + body, new))
        else:
            hunks.append((old, new + body))
    return tuple(hunks)


def apply(source: str, hunks: Hunks, place: str) -> str:
    """Returns the source with all hunks applied. place: named in errors."""
    source = "\n" + source
    for old, new in hunks:
        times = source.count("\n" + old)
        if times != 1:
            raise HunkError(
                f"{place}: the old lines of a hunk are found "
                + ("nowhere" if times == 0 else f"{times} times")
            )
        source = source.replace("\n" + old, "\n" + new)
    return source[1:]

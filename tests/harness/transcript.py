"""Transcripts: what commands do, written down as they would be at a prompt.

    # A comment, for the reader.
    $ printf 'b\\na\\n' | sort; cat none
    > a line that continues the command
    | a
    | b
    ! cat: none: No such file or directory
    = 1

A step is a command and after it the lines of its standard output, those of
its standard error, and its exit status, if that isn't 0. Output ends with a
newline: a command whose output may not can be followed by `echo`.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

_PARTS = ("$", ">", "|", "!", "=")  # in this order


@dataclasses.dataclass(frozen=True)
class Step:
    name: str  # FILE:LINE, both without more
    command: str
    out: str
    err: str
    status: int


def read(file: Path) -> list[Step]:
    """The steps of a file."""
    steps: list[tuple[int, dict[str, list[str]]]] = []
    last = ""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        mark, text = line[:1], line[2:]
        if mark in ("", "#"):
            continue
        if mark == "$":
            steps.append((number, {part: [] for part in _PARTS}))
        elif not steps or _PARTS.index(mark) < _PARTS.index(last):
            raise ValueError(f"{file.name}:{number}: not in order: {line}")
        steps[-1][1][mark].append(text)
        last = mark
    return [_step(f"{file.stem}:{number}", parts) for number, parts in steps]


def _step(name: str, parts: dict[str, list[str]]) -> Step:
    return Step(
        name=name,
        command="\n".join(parts["$"] + parts[">"]),
        out="".join(line + "\n" for line in parts["|"]),
        err="".join(line + "\n" for line in parts["!"]),
        status=int(parts["="][0]) if parts["="] else 0,
    )

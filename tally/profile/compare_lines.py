"""Matches the source lines of two builds.

A recording has line numbers, which may differ between builds. So both builds' sources
are compared: a line that is in both counts as the same line wherever it stands, and
lines that replace as many others count as changed versions of those.
"""

from __future__ import annotations

import difflib
import functools
from pathlib import Path
from typing import Optional

from tally.base.errors import ConvertError
from tally.base.text import clean
from tally.profile.compare import Change, Comparison, What
from tally.profile.read_pprof import Stack

UNKNOWN = "in unknown lines or missing files"


class Tree:
    """A folder with the sources of one build. A recording has the paths of the machine
    that built it; the longest end of a path that is in the folder names the file."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.found = False  # has any source been found?
        if not self.folder.is_dir():
            raise ConvertError(folder, "no such folder")

    @functools.lru_cache(maxsize=None)
    def name(self, path: str) -> Optional[str]:
        parts = [part for part in Path(path).parts if part not in ("/", "..")]
        for i in range(len(parts)):
            name = "/".join(parts[i:])
            if (self.folder / name).is_file():
                self.found = True
                return name
        return None

    @functools.lru_cache(maxsize=None)
    def lines(self, name: str) -> list[str]:
        try:
            return (self.folder / name).read_text(errors="replace").splitlines()
        except OSError:
            return []


class Lines:
    """Names a stack's innermost place as a line of the new sources, or of base's
    sources if only those have the line."""

    def __init__(self, base: str, new: str) -> None:
        self.base, self.new = Tree(base), Tree(new)

    @functools.lru_cache(maxsize=None)
    def moved(self, name: str) -> dict[int, int]:
        """Maps line numbers of base to new ones; both count from 0."""
        old, new = self.base.lines(name), self.new.lines(name)
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        return {
            i1 + n: j1 + n
            for _, i1, i2, j1, j2 in matcher.get_opcodes()
            if i2 - i1 == j2 - j1
            for n in range(i2 - i1)
        }

    def of_new(self, stack: Stack) -> set[What]:
        return {self.text(self.new, stack, "")}

    def of_base(self, stack: Stack) -> set[What]:
        place = stack.places[0] if stack.places else None
        name = self.base.name(place.file) if place else None
        if not place or name is None:
            return {UNKNOWN}
        at = self.moved(name).get(place.line - 1)
        if at is None:
            return {self.text(self.base, stack, " before")}
        return {
            self.text(
                self.new,
                stack._replace(places=(place._replace(file=name, line=at + 1),)),
                "",
            )
        }

    def text(self, tree: Tree, stack: Stack, when: str) -> str:
        place = stack.places[0] if stack.places else None
        name = tree.name(place.file) if place else None
        if not place or name is None or place.line < 1:
            return UNKNOWN
        lines = tree.lines(name)
        text = lines[place.line - 1].strip() if place.line <= len(lines) else "?"
        return f"{name}:{place.line}{when}  {clean(text)}"

    def changes(self, comparison: Comparison) -> list[Change]:
        found = comparison.changes(self.of_new, self.of_base)
        for tree in (self.base, self.new):
            if not tree.found:
                raise ConvertError(
                    str(tree.folder), "contains no source file of the recordings"
                )
        return found

"""Which line of one build's sources is which of another's.

A recording has the number of each line, and a build may have moved that. So both
builds' sources are compared: a line that is in both is the same one wherever it
stands, and lines that took the place of as many others are those, changed.
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

UNKNOWN = "in files that aren't there"


class Tree:
    """A folder with the sources of one build. A recording has paths of where it was
    built; here the file is found by as much of its path as lies in the folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.found = False  # any of them?
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
    """What a stack executed itself, as a line of the new sources; or of the base's,
    if it is in those alone."""

    def __init__(self, base: str, new: str) -> None:
        self.base, self.new = Tree(base), Tree(new)

    @functools.lru_cache(maxsize=None)
    def moved(self, name: str) -> dict[int, int]:
        """The new numbers of the base's lines, from 0 on."""
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
                    str(tree.folder), "none of the sources of the recordings is there"
                )
        return found

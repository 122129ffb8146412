"""Reads the wrong versions of the kernel in mutants.txt, and builds them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from tally.base.errors import SetupError
from tally.build import image
from tally.build.copies import KERNEL, copy_objects, copy_sources
from tally.formats import hunks

HEAD = re.compile(r"(\S+) in (\S+): (\w+) by (\S+)")


class Mutant(NamedTuple):
    name: str
    file: str
    kind: str  # the kind of report that must find it
    program: str  # the program that must cause the report
    what: str
    hunks: hunks.Hunks

    def build(self, folder: Path) -> Path:
        """Builds its kernel in a copy of the sources; returns the kernel's path."""
        copy_sources(KERNEL, folder)
        with image.build_lock():
            copy_objects(folder / image.BUILD.name)
        file = folder / self.file
        file.write_text(self.apply(file.read_text()))
        goal = f"{image.BUILD.name}/kernel.elf"
        made = subprocess.run(
            ["make", "-C", folder, goal],
            env=image.make_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if made.returncode:
            raise SetupError(f"{self.name} doesn't compile: {made.stdout}")
        return folder / goal

    def apply(self, text: str) -> str:
        return hunks.apply(text, self.hunks, f"{self.name}: {self.file}")


def read_mutants(path: Path) -> dict[str, Mutant]:
    """Reads the mutants, by name. The file describes its format."""
    found = {}
    for place, (head, what, *change) in hunks.stanzas(path, path.name):
        words = HEAD.fullmatch(head)
        if not words or any(line[0] not in " -+@" for line in change):
            raise SetupError(f"{place}: {head}: expected NAME in FILE: KIND by PROGRAM")
        name, file, kind, program = words.groups()
        found[name] = Mutant(name, file, kind, program, what, hunks.read(change))
    return found

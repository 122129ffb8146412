"""Wrong versions of the kernel: mutants.txt read, and a kernel made of one."""

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
    kind: str  # of report by which it is to be found..
    program: str  # ..when this runs
    what: str
    hunks: hunks.Hunks

    def build(self, folder: Path) -> Path:
        """Its kernel, made in a copy of the sources."""
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
    """By name. The file says how they are written."""
    found = {}
    for place, (head, what, *change) in hunks.stanzas(path, path.name):
        words = HEAD.fullmatch(head)
        if not words or any(line[0] not in " -+@" for line in change):
            raise SetupError(f"{place}: {head}: not NAME in FILE: KIND by PROGRAM")
        name, file, kind, program = words.groups()
        found[name] = Mutant(name, file, kind, program, what, hunks.read(change))
    return found

"""Wrong versions of the kernel: mutants.txt read, and a kernel made of one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tally import ROOT
from tally.build import image

# What a kernel is made of; and what is made of that, so that little is compiled.
SOURCES = ("boot", "debug", "include", "kernel", "lib")
FILES = ("Makefile", "VERSION", "linker.ld")
OBJECTS = ("boot", "debug", "kernel", "lib")

HEAD = re.compile(r"(\S+) in (\S+): (\w+) by (\S+)")


class MutantError(Exception):
    pass


class Mutant(NamedTuple):
    name: str
    file: str
    kind: str  # of report by which it is to be found..
    program: str  # ..when this runs
    what: str
    old: str
    new: str

    def build(self, folder: Path) -> Path:
        """Its kernel, made in a copy of the sources."""
        for name in SOURCES:
            shutil.copytree(ROOT / name, folder / name)
        for name in FILES:
            shutil.copy2(ROOT / name, folder)
        with image.build_lock():
            for name in OBJECTS:
                shutil.copytree(image.BUILD / name, folder / image.BUILD.name / name)
        file = folder / self.file
        file.write_text(self.apply(file.read_text()))
        goal = f"{image.BUILD.name}/kernel.elf"
        # A make that called us must not share its jobs or options with this one.
        inherited = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD")
        made = subprocess.run(
            ["make", "-C", folder, goal],
            env={k: v for k, v in os.environ.items() if k not in inherited},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )
        if made.returncode:
            raise MutantError(f"{self.name} doesn't compile: {made.stdout}")
        return folder / goal

    def apply(self, text: str) -> str:
        if text.count(self.old) != 1:
            raise MutantError(
                f"{self.name}: its lines are {text.count(self.old)} times in"
                f" {self.file}, not once"
            )
        return text.replace(self.old, self.new)


def read_mutants(path: Path) -> dict[str, Mutant]:
    """By name. The file says how they are written."""
    found = {}
    for block in re.split(r"\n\n+", path.read_text()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        head, what, *change = lines
        words = HEAD.fullmatch(head)
        if not words or not all(line[:1] in (" ", "-", "+") for line in change):
            raise MutantError(f"{path.name}: {head}: what is this?")
        name, file, kind, program = words.groups()
        old, new = (
            "".join(line[1:] + "\n" for line in change if line[0] in kept)
            for kept in (" -", " +")
        )
        found[name] = Mutant(name, file, kind, program, what.strip(), old, new)
    return found

"""Copies the checkout's sources to folders where they are changed and built.

Objects are copied, too, so that only changed files are compiled.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Iterable

from tally import ROOT
from tally.build import image

#: The sources of a kernel.
KERNEL = ("Makefile", "VERSION", "linker.ld", "boot", "include", "kernel", "lib")
#: The folders of objects that a copy shares with the checkout.
OBJECTS = ("boot", "kernel", "lib")


def sources(names: Iterable[str]) -> list[str]:
    """Returns the files that some names of the checkout stand for, folders included."""
    files: list[str] = []
    for name in names:
        top = ROOT / name
        files += (
            [name]
            if top.is_file()
            else [str(f.relative_to(ROOT)) for f in top.rglob("*") if f.is_file()]
        )
    return sorted(f for f in files if "__pycache__" not in f)


def copy_sources(names: Iterable[str], to: Path) -> None:
    for name in sources(names):
        copy = to / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy)


def copy_objects(build: Path) -> None:
    """Copies the objects to a copy's build folder. Call with build_lock held, or when
    no build can run."""
    for name in OBJECTS:
        made = image.BUILD / name
        if made.is_dir():
            shutil.copytree(made, build / name)

"""Copies of the checkout's sources, in which something is changed, and then built.

Objects are copied, too, so that only what differs is compiled.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Iterable

from tally import ROOT
from tally.build import image

#: What a kernel is made of.
KERNEL = ("Makefile", "VERSION", "linker.ld", "boot", "include", "kernel", "lib")
#: Objects that a copy has in common with the checkout.
OBJECTS = ("boot", "kernel", "lib")


def sources(names: Iterable[str]) -> list[str]:
    """The files of some files and folders of the checkout, by their paths in it."""
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
    """Into a copy's folder of them. Call with the lock held, or when nobody builds."""
    for name in OBJECTS:
        made = image.BUILD / name
        if made.is_dir():
            shutil.copytree(made, build / name)

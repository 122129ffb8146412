"""Reads the programs that a machine may run: those of its initrd and of its /host."""

from __future__ import annotations

import contextlib
import os
import re
import tarfile
from pathlib import Path
from typing import Iterable, Iterator, Optional

from tally.build.image import contents
from tally.formats.elf import IDENT
from tally.formats.program import Program, program

_SEPARATORS = re.compile(r"[\s;&|()<>'\"`]+")  # of a shell's words


def of_initrd(archive: int) -> Iterator[Program]:
    """Yields the programs of an initrd, given as a descriptor."""
    found: dict[str, Program] = {}
    with tarfile.open(f"/proc/self/fd/{archive}") as tar:
        for member in tar:
            name = "/" + os.path.normpath(member.name)
            if not member.isfile() or name.startswith("/boot/"):
                continue
            each = program(name, contents(tar, member))
            if each:
                found[name] = each
    yield from found.values()


def original(stripped: Program, folders: list[Path]) -> Optional[Path]:
    """Returns the unstripped file of a program, which has line numbers; or None."""
    for folder in folders:
        file = folder / os.path.basename(stripped.name)
        if file.is_file():
            whole = program(stripped.name, file.read_bytes())
            if whole and whole.text == stripped.text:
                return file
    return None


def joined(
    programs: Iterable[Program], command: str, folders: list[Path]
) -> Iterator[Program]:
    """Yields the programs, those with the same code as one: nothing can tell them apart
    when they are executed. It has the names that the command has, or else all names."""
    alike: dict[tuple[int, bytes], list[Program]] = {}
    for each in programs:
        alike.setdefault((each.start, each.text), []).append(each)
    words = {os.path.basename(word) for word in _SEPARATORS.split(command)}
    for same in alike.values():
        meant = [p for p in same if os.path.basename(p.name) in words]
        yield _join(meant or same, folders) if len(same) > 1 else same[0]


def _join(same: list[Program], folders: list[Path]) -> Program:
    """Looks for lines of each, as a file is found by the name of a single program."""
    names = dict.fromkeys(os.path.basename(p.name) for p in same)
    name = os.path.join(os.path.dirname(same[0].name), " or ".join(names))
    files = (p.file or original(p, folders) for p in same)
    return same[0]._replace(name=name, file=next(filter(None, files), None))


def of_share(folder: Path) -> Iterator[Program]:
    """Yields the programs that the guest finds in /host."""
    for where, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(where, file)
            with contextlib.suppress(OSError):
                with open(path, "rb") as opened:
                    data = opened.read(len(IDENT))
                    if data == IDENT:
                        data += opened.read()
                name = "/host/" + str(path.relative_to(folder))
                each = program(name, data, path)
                if each:
                    yield each

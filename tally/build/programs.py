"""Reads the programs that a machine may run: those of its initrd and of its /host."""

from __future__ import annotations

import contextlib
import os
import tarfile
from pathlib import Path
from typing import Iterator, Optional

from tally.build.image import contents
from tally.formats.elf import IDENT
from tally.formats.program import Program, program


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

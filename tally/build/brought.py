"""Copies Linux programs that a command names by their path on the host into the guest,
under the same name, with the libraries of dynamic programs, which a cross compiler has
installed.

    scripts/run -- ./a.out 1 2        the guest runs ./a.out, in its folder /
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally.base.errors import SetupError
from tally.formats.elf import HEADER, BadElfError, Elf

# The library folders of cross compilers and other architectures' packages. They are
# also looked for in the folders above the program, in case a package is unpacked there.
LIBRARIES = (
    "/usr/riscv64-linux-gnu/lib",
    "/lib/riscv64-linux-gnu",
    "/usr/lib/riscv64-linux-gnu",
    "/lib",
    "/usr/lib",
    "/lib/riscv64-linux-musl",
    "/usr/lib/riscv64-linux-musl",
)


# Libraries that no file names: glibc loads libgcc_s for pthread_exit.
OPENED = {"/lib/libc.so.6": "/lib/libgcc_s.so.1"}


class Brought(NamedTuple):
    name: str  # the absolute path in the guest
    file: Path


def is_program(file: Path) -> bool:
    """Is it a program for RISC-V? Only regular files are opened: a terminal or a FIFO
    could block."""
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as opened:
            Elf(opened.read(HEADER.size))
    except (OSError, BadElfError):
        return False
    return True


def named(command: str) -> Iterator[Brought]:
    """Yields the programs that a command names by a path with a slash. A name alone is
    the guest's own program."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a missing quote, which the guest's shell will report
        return
    for word in words:
        name = os.path.normpath("/" + word)
        if "/" in word and ".." not in Path(word).parts and is_program(Path(word)):
            yield Brought(name, Path(word))


def with_libraries(program: Brought) -> Iterator[Brought]:
    """Yields the program, its loader, and the libraries that they need."""
    yield program
    found: dict[str, Path] = {}
    places = [
        program.file.parent,
        *(
            above / folder.lstrip("/")
            for above in program.file.resolve().parents
            for folder in LIBRARIES
        ),
    ]
    waiting = [program.file]
    while waiting:
        file = waiting.pop()
        try:
            elf = Elf(file.read_bytes())
            names = [f"/lib/{name}" for name in elf.needed() if "/" not in name]
            loader = elf.interpreter()
        except BadElfError as error:
            raise SetupError(f"{file}: {error}") from None
        if loader is not None:
            names.append(loader)
        names += [OPENED[name] for name in names if name in OPENED]
        for name in names:
            if name in found:
                continue
            paths = (place / os.path.basename(name) for place in places)
            library = next(filter(is_program, paths), None)
            if library is not None:
                found[name] = library
                waiting.append(library)
            elif name not in OPENED.values():
                raise SetupError(
                    f"{program.file} needs {os.path.basename(name)}, which is neither"
                    " beside it nor where a cross compiler has its libraries"
                    " (Debian: libc6-riscv64-cross)"
                )
    for name, path in found.items():
        yield Brought(name, path)


def bring(command: Optional[str]) -> list[Brought]:
    """Returns all files of the host that a command needs."""
    found: dict[str, Brought] = {}
    for program in named(command or ""):
        for each in with_libraries(program):
            found.setdefault(each.name, each)
    return list(found.values())

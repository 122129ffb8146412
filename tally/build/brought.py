"""A program of Linux's that a command names by its path on the host is brought
along: the guest has it under the same name, and below it what a dynamic one loads,
which a cross compiler has installed.

    scripts/run -- ./a.out 1 2        ./a.out is the guest's /a.out, where it starts
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from tally.base.errors import SetupError
from tally.formats.elf import HEADER, BadElfError, Elf

# Where cross compilers and other architectures' packages keep libraries. A package
# that was unpacked aside has such folders, too.
LIBRARIES = (
    "/usr/riscv64-linux-gnu/lib",
    "/lib/riscv64-linux-gnu",
    "/usr/lib/riscv64-linux-gnu",
    "/lib",
    "/usr/lib",
    "/lib/riscv64-linux-musl",
    "/usr/lib/riscv64-linux-musl",
)


# What no file names: glibc opens it when a thread ends before its function does.
OPENED = {"/lib/libc.so.6": "/lib/libgcc_s.so.1"}


class Brought(NamedTuple):
    name: str  # in the guest, from the root
    file: Path


def is_program(file: Path) -> bool:
    """Is it one for RISC-V? What isn't a file isn't opened: a terminal, or a FIFO,
    waits for someone to write."""
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as opened:
            Elf(opened.read(HEADER.size))
    except (OSError, BadElfError):
        return False
    return True


def named(command: str) -> Iterator[Brought]:
    """The programs that its words name by a path; a name alone is the guest's own."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quotation that doesn't end: the guest's shell will say it
        return
    for word in words:
        name = os.path.normpath("/" + word)
        if "/" in word and ".." not in Path(word).parts and is_program(Path(word)):
            yield Brought(name, Path(word))


def with_libraries(program: Brought) -> Iterator[Brought]:
    """And its interpreter, and the libraries that are needed."""
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
    """All that a command needs of the host's."""
    found: dict[str, Brought] = {}
    for program in named(command or ""):
        for each in with_libraries(program):
            found.setdefault(each.name, each)
    return list(found.values())

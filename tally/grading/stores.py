"""Finds stores of a student's code to the kernel's own data.

The linker's map says which memory belongs to the student's files. tally/plugins/cap
notes their stores to the kernel's other data, unless lab.conf allows the variable, and
the report lists them: no lab needs such a store, and one to the kernel's clock or
counters can falsify measurements. Only instructions of the student's own .c files are
watched: stores by memcpy, or hidden on purpose, are not found.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Collection, Iterable

from tally.base.errors import ConvertError
from tally.formats.demangle import original
from tally.formats.executable import Image
from tally.grading.hang import LINES_MOST

KERNEL = 1 << 63  # kernel addresses are above; debugging information is below
INPUT = re.compile(r"^ \S[^\n]*?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+)$", re.M)

# Kernel symbols: the beginning and end of its data, and of stacks in between.
DATA = ("rodata_end", "kernel_end")
BOOT_STACK = ("boot_dtb_end", "boot_stack_end")
STACKS = "overflow_stacks"

Store = tuple[int, int]  # the instruction's address, and that of the data


def own(linker_map: str, objects: Iterable[str]) -> tuple[range, ...]:
    """Returns the memory of some object files. The linker puts a file's sections side
    by side, and adjacent ones are joined, so the pieces are few."""
    wanted = set(objects)
    found = sorted(
        (int(start, 16), int(start, 16) + int(size, 16), file in wanted)
        for start, size, file in INPUT.findall(linker_map)
        if int(start, 16) >= KERNEL and int(size, 16) > 0
    )
    runs = [(mine, list(run)) for mine, run in groupby(found, lambda part: part[2])]
    return tuple(range(run[0][0], run[-1][1]) for mine, run in runs if mine)


def watch(elf: Image, mine: Iterable[range], allowed: Collection[str]) -> str:
    """Returns lines of the map for tally/plugins/cap. allowed: kernel variables that
    may be stored to; * stands for all."""
    lines = [("own", r) for r in mine]
    if not lines or "*" in allowed:
        return ""
    lines.append(("data", _between(elf, *DATA)))
    lines.append(("free", _between(elf, *BOOT_STACK)))
    for name in STACKS, *allowed:
        extents = elf.extents(name)
        if len(extents) == 1:  # else the student's files use the name, too
            lines.append(("free", extents[0]))
    return "".join(f"{word} {r.start:x} {r.stop:x}\n" for word, r in lines)


def _between(elf: Image, first: str, last: str) -> range:
    return range(elf.symbol(first) or 0, elf.symbol(last) or 0)


def told(stores: Iterable[Store], kernel: Path) -> list[str]:
    """Describes stores; each pair of function and variable once."""
    elf = Image(kernel)
    found: dict[tuple[str, str], str] = {}
    for pc, address in stores:
        function = elf.function(pc)
        name = original(function.name) if function else f"{pc:#x}"
        data = elf.variable(address) or f"{address:#x}"
        if (name, data) not in found:
            found[name, data] = f"{name}{_place(elf, pc)} stores to {data}"
    return list(found.values())


def _place(elf: Image, pc: int) -> str:
    """Returns the source line; empty if unknown, as a student's kernel may have damaged
    line numbers."""
    try:
        line = elf.line(pc) if elf.lines_size <= LINES_MOST else None
    except ConvertError:
        line = None
    return f" ({line.file}:{line.number})" if line else ""

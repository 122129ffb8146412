"""The kernel's rooms: each folder knows only those that the drawing allows.

docs/tour.md draws them, in a block marked `rooms`: a line for each, from the
lowest up, with those below that its files may include. What is called upward by
a name that the linker finds is listed there too, in a block marked `upward`.
Below the rooms are include/ and lib/, which know nothing of the kernel.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from harness import elves
from tally import ROOT
from tally.build import image

KERNEL = ROOT / "kernel"
INCLUDE = re.compile(r'^\s*#\s*include(?:_next)? (["<])([^">]+)[">]', re.M)
#: Where the compiler looks, as the Makefile has it. What it finds in none of these is
#: its own, or the C library's.
PLACES = (ROOT / "include", ROOT, KERNEL)


def block(kind: str) -> list[str]:
    text = (ROOT / "docs" / "tour.md").read_text()
    found = re.findall(rf"```{kind}\n(.*?)```", text, re.S)
    assert len(found) == 1, f"docs/tour.md has {len(found)} blocks of {kind}"
    return found[0].splitlines()


def drawn() -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {}
    for line in block("rooms"):
        name, _, below = line.partition(":")
        known = set(below.split())
        assert known <= set(rooms), f"{name}: {known - set(rooms)} isn't below"
        rooms[name] = known
    return rooms


def room_of(file: Path) -> str:
    """A folder; what lies beside the folders may know all."""
    parts = file.relative_to(KERNEL).parts
    return parts[0] if len(parts) > 1 else ""


def files(*folders: Path) -> list[Path]:
    return [
        file
        for folder in folders
        for file in sorted(folder.rglob("*")) if file.suffix in (".c", ".h", ".S")
    ]


def sources() -> list[Path]:
    return files(KERNEL)


def included(file: Path) -> list[Path]:
    """The checkout's files that a source names, in whichever way."""
    found = []
    for mark, name in INCLUDE.findall(file.read_text()):
        places = [file.parent, *PLACES] if mark == '"' else PLACES
        known = [(place / name).resolve() for place in places if (place / name).is_file()]
        assert known or mark == "<", f"{file}: where is {name}?"
        found += known[:1]
    return found


def rooms_known(file: Path) -> set[str]:
    """Those of which it includes a file."""
    inside = [f for f in included(file) if f.is_relative_to(KERNEL)]
    return {room_of(f) for f in inside} - {""}


def test_every_folder_is_drawn() -> None:
    assert set(map(room_of, sources())) - {""} == set(drawn())


def test_includes_follow_the_arrows() -> None:
    rooms = drawn()
    wrong = [
        f"{file.relative_to(ROOT)} includes {other}/"
        for file in sources() if room_of(file)
        for other in rooms_known(file) - rooms[room_of(file)] - {room_of(file)}
    ]
    assert not wrong, "\n".join(wrong)


def test_what_lies_below_knows_no_room() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} includes {other}/"
        for file in files(ROOT / "lib", ROOT / "include") for other in rooms_known(file)
    ]
    assert not wrong, "\n".join(wrong)


def test_all_of_the_kernel_lies_in_rooms() -> None:
    """What else is linked: the first instructions, and what programs share."""
    with image.build_lock():
        image.make()
    map = (image.BUILD / "kernel.map").read_text()
    objects = set(re.findall(rf"{image.BUILD.name}/(\w+)/[\w/.]*\.o\b", map))
    assert objects == {"boot", "kernel", "lib"}


def test_no_arrow_is_drawn_for_nothing() -> None:
    used: dict[str, set[str]] = {name: set() for name in drawn()}
    for file in sources():
        if room_of(file):
            used[room_of(file)] |= rooms_known(file)
    idle = [f"{a} -> {b}" for a, below in drawn().items() for b in below - used[a]]
    assert not idle, idle


class Symbols(NamedTuple):
    """Of an object file."""

    defined: set[str]  # for all
    wanted: set[str]  # of others
    own: set[str]  # its static functions


def symbols(made_of: list[Path]) -> dict[Path, Symbols]:
    """Of the objects that are made of these sources."""
    made = {str(image.BUILD / f.relative_to(ROOT)) + ".o": f for f in made_of}
    nm = subprocess.run([elves.tool("nm"), "-A", *made], capture_output=True, text=True,
                        check=True)
    found = {file: Symbols(set(), set(), set()) for file in made_of}
    for line in nm.stdout.splitlines():
        place, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        of = found[made[place]]
        kinds = {"U": of.wanted, "t": of.own}
        if kind in kinds or kind.isupper():
            kinds.get(kind, of.defined).add(name.partition(".")[0])
    return found


@pytest.fixture(scope="module")
def objects() -> dict[Path, Symbols]:
    with image.build_lock():
        image.make()
    ordinary = [f for f in sources() if not f.name.startswith("check_")]
    return symbols([f for f in ordinary if f.suffix != ".h"])


def test_what_the_linker_finds_upward_is_listed(
    objects: dict[Path, Symbols]
) -> None:
    """A declaration of one's own would get past the includes."""
    rooms = drawn()
    home = {n: room_of(f) for f, s in objects.items() for n in s.defined if room_of(f)}
    upward = {
        name
        for file, of in objects.items()
        for name in of.wanted
        if room_of(file)
        and not name.startswith("sys_")  # the table's, which is made of all rooms
        and home.get(name, room_of(file)) not in rooms[room_of(file)] | {room_of(file)}
    }
    listed = {word for line in block("upward") for word in line.split()}
    assert upward == listed


# --- Calls for others --------------------------------------------------------

CALL = re.compile(r"^(?:TALLY_|SYS)CALL\((\d+), (\w+)\)", re.M)


def call_of(number: int) -> re.Pattern[bytes]:
    """a7 becomes a call's number, and a few instructions later is an ecall."""
    loads = [(0x893 | number << 20).to_bytes(4, "little")]  # addi a7, zero, number
    if number < 32:
        loads.append((0x4881 | number << 2).to_bytes(2, "little"))  # c.li a7, number
    either = b"|".join(map(re.escape, loads))
    return re.compile(rb"(?:%s)(?:..){0,12}?\x73\0\0\0" % either, re.S)


def test_calls_for_programs_of_linux() -> None:
    """docs/tour.md: kernel/linux has calls that no command of Tally's own makes."""
    with image.build_lock():
        image.make()
    numbers = CALL.findall((ROOT / "include/sys/syscalls.h").read_text())
    commands = [f.read_bytes() for f in (image.BUILD / "bin").iterdir() if f.is_file()]
    made = {
        name for number, name in numbers
        if any(map(call_of(int(number)).search, commands))
    }
    theirs = {
        name
        for file in (KERNEL / "linux").glob("*.c")
        for name in re.findall(r"^sys_(\w+)\(", file.read_text(), re.M)
    }
    assert {"read", "openat", "brk", "execve", "wait4"} <= made
    assert "mmap" in theirs and not theirs & made


# --- Names -------------------------------------------------------------------


def prefixes(file: Path) -> set[str]:
    """With what a module's names may begin: its own name or its folder's, and
    what it is about, where that is another word."""
    name = str(file.relative_to(KERNEL).with_suffix(""))
    own = {file.stem, file.stem.removesuffix("s"), file.parent.name, "sys"}
    return own | set(NAMES.get(name, "").split())


NAMES = {
    "main": "boot secondary",
    "base/print": "kprintf printer",
    "dev/pcsevent": "event",
    "dev/pcslog": "log logs",
    "dev/pcsreader": "log",
    "dev/pcsrequest": "log",
    "dev/stack": "log",
    "fs/devfs": "device",
    "fs/device": "devices",
    "fs/fd": "fdtable",
    "fs/file": "uio zeroes",
    "fs/hostfs": "host",
    "fs/hostremove": "host",
    "fs/pipe": "kept",
    "fs/ramfs": "ramnode",
    "fs/vfs": "vnode",
    "fs/walk": "vfs",
    "machine/machine": "bootarg",
    "mm/fault": "aspace",
    "mm/kmalloc": "kfree kzalloc",
    "mm/ktable": "aspace tlb kernel",
    "mm/page": "alloc pages",
    "mm/region": "aspace",
    "mm/remap": "aspace",
    "mm/uaccess": "copy count exchange peek",
    "proc/exit": "thread",
    "proc/memory": "kept",
    "proc/proc": "init",
    "proc/signal_call": "signal",
    "proc/signal_frame": "signal",
    "proc/signal_send": "signal",
    "proc/threads": "context thread threads",
    "sched/clock": "level",
    "sched/hart": "harts nharts",
    "sched/icount": "clock",
    "sched/lock": "mutex spin wait wake",
    "sched/sampleclock": "interrupt profclock rate skips",
    "sched/sched": "thread tf",
    "sched/switch": "context fp idle thread",
    "syscall/table": "syscall",
    "trap/trap": "exit from kernel stack overflow user thread",
}


def test_a_name_says_of_which_module(objects: dict[Path, Symbols]) -> None:
    wrong = [
        f"{file.relative_to(KERNEL)}: {name}"
        for file, of in objects.items()
        for name in of.defined
        if name.partition("_")[0] not in prefixes(file)
        and not any(name.startswith(f"{p}_") for p in prefixes(file))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_function_has_another_ones_name(objects: dict[Path, Symbols]) -> None:
    """A profile shows the name alone."""
    homes: dict[str, list[str]] = {}
    for file, of in objects.items():
        for name in of.own | of.defined:
            if file.suffix == ".c":
                homes.setdefault(name, []).append(str(file.relative_to(KERNEL)))
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert not twice

"""What becomes of /dev/waitdata on the host: rows of a page, and errors."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import NamedTuple

import pytest

from harness import elves
from tally.base.errors import ConvertError
from tally.formats.executable import Image
from tally.profile import waits, write_html
from tally.profile.profile import Process, Profile
from tally.profile.stacks import Programs
from tally.profile.waits import Waits

PROGRAM = ("_start", "main", "inner", "work", "other")
MS = 10_000  # counts of a timebase of 10 MHz
POLL, FUTEX, PIPE, HART, SPIN = 4, 5, 6, 1, 15
THREAD, SIGNAL, TIMER, OTHERS = 0, 1, 2, 4


def at(function: str, offset: int = 4) -> int:
    """The address after a call in a function of the program's."""
    return elves.PROGRAM_TEXT + elves.STEP * PROGRAM.index(function) + offset


def in_kernel(function: str) -> int:
    place = elves.KERNEL_TEXT + elves.STEP * elves.KERNEL.index(function) + 4
    return place & 0xFFFFFFFF


class One(NamedTuple):
    """A record of <sys/waits.h>."""

    pid: int
    kind: int
    total: int
    count: int = 1
    kernel: tuple[int, ...] = ()
    user: tuple[int, ...] = ()
    wakers: tuple[tuple[int, int, int, int], ...] = ()  # pid, how, pc, count
    longest: int = 0
    at: int = 0
    ran: int = 0
    id: int = 0
    unfinished: int = 0

    def pack(self) -> bytes:
        pcs = [*self.kernel, *self.user]
        data = struct.pack(
            "<iiHBBBBHQ16s32I", self.pid, self.pid, 1, self.kind, len(self.kernel),
            len(pcs), 0, 0, self.id, b"a lock", *pcs, *[0] * (32 - len(pcs)))
        data += struct.pack("<6Q", self.count, self.total, self.longest, self.at,
                            self.unfinished, self.ran)
        for pid, how, pc, count in self.wakers:
            data += struct.pack("<iiHBBIQQ", pid, pid, 1, how, 0, pc, count, 7)
        return data + bytes(32 * (4 - len(self.wakers)))


def pack(records: list[One], lost: int = 0) -> bytes:
    size = len(records[0].pack()) if records else waits.RECORD.size
    head = struct.pack("<IIQQQQQQQ", size, 0, 10_000_000, 100 * MS, 500 * MS,
                       len(records), 4096, lost, 0)
    return head + b"".join(r.pack() for r in records)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, Image]:
    folder = tmp_path_factory.mktemp("waits")
    return (Image(elves.kernel(folder)),
            Image(elves.build(folder, "prog", elves.PROGRAM_TEXT, PROGRAM)))


def made(
    images: tuple[Image, Image], records: list[One], lost: int = 0, inline: bool = False
) -> Waits:
    kernel, program = images
    programs = Programs()
    programs.inline = inline
    programs.others = [program]
    profile = Profile("pcs stream")
    profile.processes = [
        Process(2, 1, "/bin/getpc", None, 0, None, "getpc"),
        Process(3, 2, "/bin/getpc", None, 0, 1, "getpc"),  # before it executes
        Process(3, 2, "/bin/prog", None, 1, None, "prog"),
        Process(4, 3, "/bin/prog", None, 1, None, "prog"),
        Process(9, 1, "/bin/prog", None, 1, None, "prog"),  # somebody else's
    ]
    profile.contexts = {(1, pid): i for i, pid in ((0, 2), (2, 3), (3, 4), (4, 9))}
    data = waits.read("x", pack(records, lost))
    return Waits(data, profile, lambda: kernel, programs)


PATH = {
    "kernel": (in_kernel("sys_read"), in_kernel("syscall"), in_kernel("trap_vector")),
    "user": (at("work"), at("main"), at("main"), at("_start")),
}


def test_records_that_look_alike_are_a_row(images: tuple[Image, Image]) -> None:
    """Of both processes; ended by whom, and how often."""
    by = at("inner")
    found = made(images, [
        One(3, POLL, 30 * MS, 3, **PATH, longest=20 * MS, at=150 * MS,
            wakers=((4, THREAD, by, 2), (0, TIMER, 0, 1))),
        One(4, POLL, 50 * MS, 2, **PATH, longest=40 * MS, at=200 * MS, unfinished=1,
            wakers=((4, THREAD, by, 1),)),
        One(4, FUTEX, 70 * MS, 1, id=0x123, user=(at("other"),),
            wakers=((3, SIGNAL, by, 1),)),
    ])
    poll, futex = found.rows
    assert (futex.what, futex.total) == ("futex 0x123", 70_000_000)
    assert futex.wakers == {"a signal of inner [prog 3]": 1}
    assert (poll.what, poll.count, poll.total) == ("poll", 5, 80_000_000)
    assert (poll.longest, poll.at, poll.unfinished) == (40_000_000, 100_000_000, 1)
    assert [f.name for f in poll.user] == ["work", "main", "_start"]
    assert [f.name for f in poll.kernel] == ["sys_read"]
    assert poll.wakers == {"inner [prog 4]": 3, "a timeout": 1}
    assert poll.pids == {3, 4}


def test_only_the_command(images: tuple[Image, Image]) -> None:
    """Not who recorded it, nor other processes, nor harts that spun."""
    found = made(images, [One(pid, POLL, MS, **PATH) for pid in (2, 3, 9)]
                 + [One(0, SPIN, MS), One(2, HART, MS), One(3, HART, MS, ran=8 * MS)])
    assert [row.pids for row in found.rows] == [{3}]
    assert [(r.program, r.total, r.ran) for r in found.ready.values()] == [
        ("prog", 1_000_000, 8_000_000)]


def test_in_the_page(images: tuple[Image, Image]) -> None:
    found = made(images, [One(3, PIPE, 5 * MS, 2, id=8, **PATH, longest=4 * MS,
                              wakers=((0, OTHERS, 0, 2),))], lost=3)
    told = write_html.waited(found)
    assert (told["lost"], told["more"], told["seconds"]) == (3, 0, 0.5)
    (row,) = told["rows"]
    what, who, program, user, kernel, total, count, longest, _, wakers, _ = row
    assert (what, who, program) == ("bytes in pipe 8", "prog 3", "prog")
    assert (total, count, longest, wakers) == (5.0, 2, 4.0, [("others", 2)])
    assert [name for name, _ in user] == ["work", "main", "_start"]
    assert all(place.endswith(".s:22") for name, place in user if name == "work")
    assert [name for name, _ in kernel] == ["sys_read"]


def test_damage(tmp_path: Path) -> None:
    """One line each, and never a traceback."""
    good = pack([One(3, POLL, MS, **PATH)] * 3)
    assert len(waits.read("x", good).records) == 3
    r = random.Random(5)
    changed = [bytes(good[:i] + bytes([r.randrange(256)]) + good[i + 1 :])
               for i in (r.randrange(len(good)) for _ in range(300))]
    for data in (b"", good[:30], good[:-1], good + b"x", good[:-400], *changed):
        try:
            waits.read("waits", data)
        except ConvertError as error:
            assert str(error) == "waits: damaged, or recorded by another version"
    with pytest.raises(ConvertError):
        waits.read("waits", good[:-1])

"""Decides lab files: a model that knows each byte and each page of a file."""

from __future__ import annotations

import struct
from typing import Any, Callable, Optional

from tally.grading.script import Test, data, test

PAGE = 4096
SIGKILL = 9
READ_ONLY = 9  # a slot; the files' own are the small ones
BAD = (0, 0x7000_0000, 0xFFFF_FFFF_8020_0000)
NOISE = 16  # pages that come and go beside those of files
FILLED = 0xA5  # what write-many writes
LARGE = 1 << 20
LEFT_BY_FILES = 256  # pages, of kernel/mm/page.h


class File:
    """What an open file has. Without `pages[i]` page i is a hole."""

    def __init__(self, params: dict[str, Any], slot: int, path: str) -> None:
        self.params = params
        self.slot = slot
        self.path = path
        self.pages: dict[int, bytearray] = {}
        self.size = self.offset = 0
        self.append = False

    # What it has.

    @property
    def end(self) -> int:
        """How many pages hold so many bytes."""
        return -(-self.size // PAGE)

    def content(self, offset: int, size: int) -> bytes:
        stop = min(offset + size, self.size)
        pages = range(offset // PAGE, -(-stop // PAGE))
        whole = b"".join(bytes(self.pages.get(i, bytes(PAGE))) for i in pages)
        first = offset // PAGE * PAGE
        return whole[offset - first : stop - first] if stop > offset else b""

    def put(self, offset: int, sent: bytes) -> None:
        """Bytes that have been written."""
        if not sent:
            return
        for at in range(offset - offset % PAGE, offset + len(sent), PAGE):
            page = self.pages.setdefault(at // PAGE, bytearray(PAGE))
            low, high = max(at, offset), min(at + PAGE, offset + len(sent))
            page[low - at : high - at] = sent[low - offset : high - offset]
            self.settle(at // PAGE)
        self.size = max(self.size, offset + len(sent))

    def wipe(self, index: int, low: int, high: int) -> None:
        if index in self.pages and low < high:
            self.pages[index][low:high] = bytes(high - low)
            self.settle(index)

    def settle(self, index: int) -> None:
        if self.params["ZEROES"] and not any(self.pages[index]):
            del self.pages[index]

    def drop(self, low: int, high: int) -> None:
        for index in [i for i in self.pages if low <= i < high]:
            del self.pages[index]

    # Steps.

    def open(self, t: Test, mode: str = "+c") -> None:
        t.do(f"open {self.slot} {mode} {self.path}", 0)
        self.offset = 0
        self.append = "a" in mode

    def reopen(self, t: Test, mode: str) -> None:
        t.do(f"close {self.slot}", 0)
        self.open(t, mode)
        if "t" in mode:
            self.pages, self.size = {}, 0

    def seek(self, t: Test, offset: int) -> None:
        t.do(f"seek {self.slot} {offset}", offset)
        self.offset = offset

    def taken(self, offset: int, size: int, room: int) -> int:
        """How much of a write of so many bytes, of which `room` can be read, is
        written; -1: EFBIG, -2: EFAULT."""
        if size == 0:
            return 0
        left = self.params["MAX"] - offset
        if left <= 0 or (size > left and self.params["WHOLE"]):
            return -2 if room == 0 and self.params["BAD_FIRST"] else -1
        size = min(size, left)
        if room >= size:
            return size
        if self.params["FAULT"] == "pages":
            ends = range(PAGE - offset % PAGE, room + 1, PAGE)
            room = ends[-1] if ends else 0
        return -2 if room == 0 or self.params["FAULT"] == "nothing" else room

    def write(self, t: Test, sent: bytes) -> None:
        offset = self.size if self.append else self.offset
        n = self.taken(offset, len(sent), len(sent))
        t.do(f"write {self.slot} {sent.hex()}", n if n >= 0 else "-EFBIG")
        self.wrote(offset, sent, n)

    def wrote(self, offset: int, sent: bytes, n: int) -> None:
        if n > 0:
            self.put(offset, sent[:n])
            self.offset = offset + n

    def write_many(self, t: Test, pages: int) -> None:
        t.do(f"write-many {self.slot} {PAGE} {pages}", f"{pages * PAGE} -")
        self.wrote(self.offset, bytes([FILLED]) * (pages * PAGE), pages * PAGE)

    def pwrite(self, t: Test, place: int, sent: bytes) -> None:
        """Of a file that is appended to, at its end, as Linux has it."""
        offset = self.size if self.append else place
        n = self.taken(offset, len(sent), len(sent))
        want = n if n >= 0 else "-EFBIG"
        t.do(f"pwrite {self.slot} {place} {sent.hex()}", want)
        self.put(offset, sent[: max(n, 0)])

    def write_edge(self, t: Test, room: int, size: int) -> None:
        """From memory that ends after so many bytes."""
        offset = self.size if self.append else self.offset
        n = self.taken(offset, size, room)
        want = n if n >= 0 else ("-EFBIG", "-EFAULT")[-1 - n]
        t.do(f"write-edge {self.slot} {room} {size}", want)
        self.wrote(offset, bytes(i % 251 for i in range(room)), n)

    def read(self, t: Test, size: int) -> None:
        got = self.content(self.offset, size)
        t.do(f"read {self.slot} {size}", got)
        self.offset += len(got)

    def pread(self, t: Test, offset: int, size: int) -> None:
        t.do(f"pread {self.slot} {size} {offset}", self.content(offset, size))

    def truncate(self, t: Test, size: int) -> None:
        if size > self.params["MAX"]:
            t.do(f"truncate {self.slot} {size}", f"-{self.params['TOO_LONG']}")
            return
        t.do(f"truncate {self.slot} {size}", 0)
        if size < self.size:
            self.wipe(size // PAGE, size % PAGE, PAGE)
            self.drop(-(-size // PAGE), self.end)
        self.size = size

    def size_of(self, t: Test) -> None:
        t.do(f"size {self.slot}", self.size)

    def blocks(self, t: Test) -> None:
        t.do(f"blocks {self.slot}", same_pages(len(self.pages)))

    def count(self, t: Test) -> None:
        runs = sum(i - 1 not in self.pages for i in self.pages)
        answers = {
            "pages": len(self.pages),
            "holes": self.end - len(self.pages),
            "runs": runs,
        }
        command = self.params["COMMANDS"][3]
        t.do(f"ioctl {self.slot} {command:#x} 0", answers[self.params["COUNT"]])

    def find(self, t: Test, hole: bool, position: int) -> None:
        command = self.params["COMMANDS"][hole]
        want = self.found(hole, position)
        t.do(f"ioctl {self.slot} {command:#x} {position}", want)

    def found(self, hole: bool, position: int) -> int | str:
        in_pages = self.params["UNIT"] == "pages"
        end = self.end if in_pages else self.size
        if position >= end:
            return f"-{self.params['OUTSIDE']}"
        for i in range(position if in_pages else position // PAGE, self.end):
            if (i not in self.pages) == hole:
                start = i if in_pages else i * PAGE
                return max(start, position) if self.params["UNIT"] == "bytes" else start
        return "-ENXIO" if self.params["NO_HOLE" if hole else "NO_DATA"] else end

    def finds(self, t: Test) -> None:
        """Both, at every border and beside it."""
        if self.params["UNIT"] == "pages":
            places = {0, self.end - 1, self.end, self.end + 1}
            places |= {p for i in self.pages for p in (i - 1, i, i + 1)}
        else:
            places = {0, self.size - 1, self.size, self.size + PAGE}
            for i in self.pages:
                places |= {i * PAGE - 1, i * PAGE, i * PAGE + 9, (i + 1) * PAGE}
        for place in sorted(p for p in places if p >= 0):
            for hole in (False, True):
                self.find(t, hole, place)

    def numbers(self, offset: int, length: int) -> str:
        """The numbers that FILES_PUNCH wants."""
        fields = (
            (offset, length),
            (length, offset),
            (offset, offset + length - 1),
            (offset, offset + length),
        )[self.params["FORM"]]
        return " ".join(str(field % (1 << 64)) for field in fields)

    def punch(self, t: Test, offset: int, length: int) -> None:
        before = len(self.pages)
        want: int | str = self.punched(offset, length)
        if want == 0 and self.params["FREED"]:
            want = before - len(self.pages)
        command = self.params["COMMANDS"][2]
        sent = self.numbers(offset, length)
        t.do(f"ioctl-with {self.slot} {command:#x} {sent}", want)

    def punched(self, offset: int, length: int) -> int | str:
        if length == 0:
            return "-EINVAL" if self.params["EMPTY"] else 0
        stop = offset + length
        if stop > self.size and self.params["BEYOND"]:
            return "-EINVAL"
        if offset >= self.size:
            return 0
        if stop >= self.size:
            stop = self.end * PAGE
        for at in range(offset // PAGE * PAGE, stop, PAGE):
            low, high = max(offset - at, 0), min(stop - at, PAGE)
            if high - low == PAGE:
                self.pages.pop(at // PAGE, None)
            elif self.params["PARTIAL"] == "wiped":
                self.wipe(at // PAGE, low, high)
        return 0

    def look(self, t: Test) -> None:
        """All that can be asked of it."""
        self.size_of(t)
        self.blocks(t)
        self.count(t)

    def whole(self, t: Test) -> None:
        """Each byte of each page, of the first one and of the last."""
        for i in sorted({*self.pages, 0, self.end - 1} - {-1}):
            self.pread(t, i * PAGE, PAGE)


def same_pages(want: int) -> Callable[[str], Optional[str]]:
    """What fstat says of so many pages."""

    def good(answer: str) -> Optional[str]:
        has = int(answer) * 512 / PAGE
        return None if has == want else f"the file has {has:g} pages, not {want}"

    return good


class Model:
    """What the files of all tests have in common."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    def file(self, t: Test, slot: int = 0) -> File:
        """A new file, open for reading and writing."""
        file = File(self.params, slot, f"/file{slot}")
        t.do(f"unlink {file.path}")
        file.open(t)
        return file


def setup(t: Test) -> Model:
    return Model(t.params)


def some(t: Test, size: int) -> bytes:
    """Bytes of which none is zero."""
    return bytes(t.random.randrange(1, 256) for _ in range(size))


def done(t: Test, *files: File) -> None:
    """Nothing is left for the next test."""
    for file in files:
        t.do(f"close {file.slot}", 0)
        t.do(f"unlink {file.path}", 0)


def note(t: Test) -> Callable[[], int]:
    """Have the free pages counted; afterwards it tells how many there were."""
    seen: list[int] = []

    def keep(answer: str) -> None:
        seen.append(int(answer))

    t.do("pages", keep)
    return lambda: seen[0]


def fewer(t: Test, before: Callable[[], int], n: int) -> None:
    """So many pages are free no more."""

    def good(answer: str) -> Optional[str]:
        gone = before() - int(answer)
        about = abs(gone - n) <= NOISE
        return None if about else f"{gone} fewer pages are free, not {n} fewer"

    t.do("pages", good)


# --- Holes -------------------------------------------------------------------


@test("a hole reads as zeroes, and costs no page", points=2)
def holes(t: Test, model: Model) -> None:
    file = model.file(t)
    before = note(t)
    for index in sorted(t.random.sample(range(3, 400), 4)):
        file.seek(t, index * PAGE + t.random.randrange(PAGE - 100))
        file.write(t, some(t, 300))
        file.look(t)
    file.truncate(t, 3000 * PAGE + t.random.randrange(PAGE))
    file.look(t)
    fewer(t, before, len(file.pages))
    file.whole(t)
    t.do(f"values {file.slot} {min(*file.pages, 200) * PAGE} 1", b"\0")
    last = (max(file.pages) + 1) * PAGE
    file.pread(t, last - 100, 2 * PAGE)
    file.pread(t, file.size - 10, PAGE)
    file.look(t)  # reading has filled none
    done(t, file)


@test("a cut frees pages", points=2)
def cuts(t: Test, model: Model) -> None:
    file = model.file(t)
    before = note(t)
    file.write(t, some(t, 2 * PAGE + 100))
    file.seek(t, 40 * PAGE)
    file.write_many(t, 200)
    fewer(t, before, 203)
    for size in (200 * PAGE, 150 * PAGE + 1, 60 * PAGE - 1, 20 * PAGE + 5, PAGE, 0):
        file.truncate(t, size)
        file.look(t)
        fewer(t, before, len(file.pages))
    file.write(t, some(t, 10))
    file.look(t)
    file.reopen(t, "+ct")
    file.look(t)
    done(t, file)


@test("a grown file reads as zeroes where it grew", points=2)
def grows(t: Test, model: Model) -> None:
    file = model.file(t)
    for _ in range(4):
        file.pwrite(t, 0, some(t, 3 * PAGE))
        size = t.random.randrange(1, 3 * PAGE)
        file.truncate(t, size)
        longer = size + t.random.randrange(1, 2 * PAGE)
        if t.random.randrange(2):
            file.truncate(t, longer)
        else:
            file.pwrite(t, longer, some(t, 50))
        file.pread(t, 0, 6 * PAGE)
        file.look(t)
    done(t, file)


@test("a file that nobody can name any more", points=2)
def unlinked(t: Test, model: Model) -> None:
    file = model.file(t)
    before = note(t)
    file.write_many(t, 300)
    t.do(f"unlink {file.path}", 0)
    other = File(model.params, 1, file.path)
    other.open(t)
    other.write(t, some(t, 100))
    file.pwrite(t, 310 * PAGE, some(t, 70))
    file.pread(t, 299 * PAGE, PAGE)
    file.look(t)
    other.look(t)
    fewer(t, before, 302)
    t.do(f"close {file.slot}", 0)
    fewer(t, before, 1)
    done(t, other)


# --- What can't be written ---------------------------------------------------


@test("how large a file can be, and which error comes first", points=2)
def limits(t: Test, model: Model) -> None:
    file = model.file(t)
    most = model.params["MAX"]
    for size in (most + 1, most - most % PAGE + PAGE, 1 << 45):
        file.truncate(t, size)
    t.do(f"truncate {file.slot} {-1 % (1 << 64)}", "-EINVAL")
    file.look(t)
    for offset in (most, most + 1, 1 << 45, (1 << 63) - 1):
        file.seek(t, offset)
        file.write(t, b"")
        file.write(t, some(t, 10))
        for address in BAD:
            wrong = "EFAULT" if model.params["BAD_FIRST"] else "EFBIG"
            t.do(f"write-at {file.slot} {address} 10", f"-{wrong}")
    file.look(t)
    for left in (t.random.randrange(1, 90), PAGE + 50):
        file.seek(t, most - left)
        file.write(t, some(t, left + t.random.randrange(1, 60)))
        file.look(t)
        file.seek(t, most - left)
        file.write(t, some(t, left))
        file.look(t)
        file.pread(t, most - left, 2 * PAGE)
        file.truncate(t, 0)
    file.truncate(t, most)
    file.look(t)
    file.truncate(t, 100)
    file.look(t)
    done(t, file)


@test("a bad address half way: what was written, and the size", points=3)
def half(t: Test, model: Model) -> None:
    file = model.file(t)
    for address in BAD:
        t.do(f"write-at {file.slot} {address} 100", "-EFAULT")
    file.look(t)
    for again in range(6):
        offset = again % 3 * 4 * PAGE + t.random.randrange(2 * PAGE)
        room = t.random.randrange(1, 3 * PAGE)
        file.seek(t, offset)
        file.write_edge(t, room, room + t.random.randrange(1, 2 * PAGE))
        file.look(t)
        file.write(t, some(t, 3))
        file.whole(t)
    file.reopen(t, "+a")
    for _ in range(3):
        file.write_edge(t, t.random.randrange(1, 3 * PAGE), 4 * PAGE)
        file.look(t)
    file.whole(t)
    before = note(t)
    for i in range(60):
        t.do(f"write-at {file.slot} 0 100", "-EFAULT")
    fewer(t, before, 0)
    done(t, file)


@test("no memory half way: what was written, and the size", points=3)
def exhausted(t: Test, model: Model) -> None:
    all = [model.file(t, slot) for slot in range(2)]
    t.do(f"write-many 0 {LARGE} 1", f"{LARGE} -")  # the buffer is there from now on
    t.do("truncate 0 0", 0)
    t.do("seek 0 0", 0)
    before = note(t)
    for file in all:
        fill_memory(t, file)
    for file in all:
        t.do(f"truncate {file.slot} 0", 0)
        file.look(t)
        file.seek(t, 2 * PAGE)
        file.write(t, some(t, 2 * PAGE))
        file.look(t)
        file.whole(t)
    done(t, *all)
    fewer(t, before, 0)


def fill_memory(t: Test, file: File) -> None:
    """Write until there is no memory; nothing that was written may be lost."""
    written: list[int] = []

    def keep(answer: str) -> Optional[str]:
        n, error = answer.split()
        written.append(int(n))
        return (
            None
            if error in ("-", "ENOSPC")
            else f"the write fails with {error}, not ENOSPC"
        )

    def size(answer: str) -> Optional[str]:
        same = int(answer) == written[0]
        return (
            None
            if same
            else f"the size is {answer}, but {written[0]} bytes were written"
        )

    def blocks(answer: str) -> Optional[str]:
        return same_pages(-(-written[0] // PAGE))(answer)

    def left(answer: str) -> Optional[str]:
        enough = int(answer) >= LEFT_BY_FILES - NOISE
        return (
            None
            if enough
            else f"{answer} pages are free; files must leave {LEFT_BY_FILES}"
        )

    t.do(f"write-many {file.slot} {LARGE} 1000", keep)
    t.do("pages", left)
    t.do(f"size {file.slot}", size)
    t.do(f"blocks {file.slot}", blocks)


# --- Asking for holes, and making them ---------------------------------------


def pattern(t: Test, file: File, pages: int = 24) -> None:
    """Runs of pages, and holes between them."""
    index = t.random.randrange(3)
    while index < pages:
        n = t.random.randrange(1, 4)
        low, high = t.random.randrange(1, 40), t.random.randrange(1, 40)
        file.pwrite(t, index * PAGE + low, some(t, n * PAGE - low - high))
        index += n + t.random.randrange(1, 4)


@test("where data and holes begin", points=3)
def finds(t: Test, model: Model) -> None:
    file = model.file(t)
    file.finds(t)
    pattern(t, file)
    file.finds(t)
    file.truncate(t, file.size + t.random.randrange(1, 3 * PAGE))
    file.finds(t)
    file.truncate(t, 1000 * PAGE + t.random.randrange(PAGE))
    file.finds(t)
    file.truncate(t, (max(file.pages) + 1) * PAGE)
    file.finds(t)
    file.truncate(t, 0)
    file.finds(t)
    file.truncate(t, 3 * PAGE)
    file.finds(t)
    for command in model.params["COMMANDS"][:2]:
        t.do(f"ioctl {file.slot} {command:#x} {1 << 50}", f"-{model.params['OUTSIDE']}")
        wrong = (1 << 64) - t.random.randrange(1, 90)
        t.do(f"ioctl {file.slot} {command:#x} {wrong}", f"-{model.params['OUTSIDE']}")
    done(t, file)


@test("how many there are")
def counts(t: Test, model: Model) -> None:
    file = model.file(t)
    file.count(t)
    for _ in range(3):
        pattern(t, file, t.random.randrange(4, 30))
        file.look(t)
        file.truncate(t, t.random.randrange(40 * PAGE))
        file.look(t)
    t.do(f"ioctl {file.slot} 7 0", "-ENOTTY")
    done(t, file)


@test("a punched range", points=3)
def punches(t: Test, model: Model) -> None:
    file = model.file(t)
    for _ in range(3):
        file.truncate(t, 0)
        pattern(t, file)
        file.pwrite(t, 4 * PAGE, some(t, 6 * PAGE))
        ranges = [
            (4 * PAGE, PAGE),
            (5 * PAGE + 10, 20),
            (6 * PAGE + t.random.randrange(1, 90), PAGE - 100),
            (6 * PAGE + t.random.randrange(1, PAGE), 2 * PAGE),
            (t.random.randrange(file.size), t.random.randrange(1, 3 * PAGE)),
        ]
        last = (file.end - 1) * PAGE
        file.pwrite(t, last, some(t, t.random.randrange(10, 90)))
        file.truncate(t, last + t.random.randrange(5, 100))
        ranges += [
            (last + 1, 2),
            (last, file.size - last - 1),
            (last - 5, file.size - last + 5),
        ]
        for offset, length in ranges:
            file.punch(t, offset, min(length, file.size - offset))
            file.look(t)
            file.pread(t, offset // PAGE * PAGE, 4 * PAGE)
    done(t, file)


@test("a range that is too long or empty, or a read-only descriptor", points=2)
def refusals(t: Test, model: Model) -> None:
    file = model.file(t)
    command = model.params["COMMANDS"][2]
    file.pwrite(t, 0, some(t, 5 * PAGE + 17))
    for offset in (1, 100, PAGE, file.size, file.size + 2 * PAGE):
        file.punch(t, offset, 0)
    file.look(t)
    t.do(f"open {READ_ONLY} r {file.path}", 0)
    for sent in (file.numbers(0, PAGE), file.numbers(PAGE, 0)):
        wrong = f"-{model.params['READ_ONLY']}"
        t.do(f"ioctl-with {READ_ONLY} {command:#x} {sent}", wrong)
    t.do(f"ioctl {READ_ONLY} {command:#x} 0", wrong)
    t.do(f"close {READ_ONLY}", 0)
    for address in BAD:
        t.do(f"ioctl {file.slot} {command:#x} {address}", "-EFAULT")
    file.look(t)
    huge = (1 << 64) - 1
    if model.params["FORM"] < 2:
        tails = [huge - t.random.randrange(PAGE), huge, 1 << 63]
    else:
        tails = [huge - 3 * PAGE, (1 << 63) - 3 * PAGE]
    if model.params["FORM"] == 2:
        tails.append((1 << 64) - 3 * PAGE)  # the last address of all
    for length in (*tails, 2 * PAGE + 18, 2 * PAGE + 17):
        file.punch(t, 3 * PAGE, length)
        file.look(t)
        file.pread(t, 2 * PAGE, 4 * PAGE)
        file.pwrite(t, 0, some(t, 5 * PAGE + 17))
    file.punch(t, file.size, 1)
    file.punch(t, file.size + 7 * PAGE, PAGE)
    file.look(t)
    file.whole(t)
    done(t, file)


@test("a page of zeroes", points=2)
def zeroes(t: Test, model: Model) -> None:
    file = model.file(t)
    file.write(t, bytes(2 * PAGE))
    file.look(t)
    file.write(t, some(t, 3 * PAGE))
    file.look(t)
    file.pwrite(t, 2 * PAGE, bytes(PAGE))
    file.look(t)
    half = t.random.randrange(100, PAGE - 100)
    file.pwrite(t, 3 * PAGE, bytes(half))
    file.look(t)
    file.pwrite(t, 3 * PAGE + half, bytes(PAGE - half))
    file.look(t)
    file.truncate(t, 4 * PAGE)
    file.pwrite(t, 3 * PAGE + half, some(t, 10))
    file.look(t)
    file.truncate(t, 3 * PAGE + half)
    file.look(t)
    file.pwrite(t, 4 * PAGE, bytes(10) + some(t, 10) + bytes(10))
    file.punch(t, 4 * PAGE + 5, 20)
    file.look(t)
    file.finds(t)
    file.whole(t)
    done(t, file)


# --- Who else has a page -----------------------------------------------------

#: For ever: read a byte, add the byte at 0x12000, write it.
CODE = (
    0xFF010113,  # addi sp, sp, -16
    0x00000513,  # li a0, 0
    0x00010593,  # mv a1, sp
    0x00100613,  # li a2, 1
    0x03F00893,  # li a7, 63: read
    0x00000073,  # ecall
    0x02A05863,  # blez a0, to the end
    0x000122B7,  # lui t0, 0x12
    0x0002C303,  # lbu t1, 0(t0)
    0x00014383,  # lbu t2, 0(sp)
    0x00730333,  # add t1, t1, t2
    0x00610023,  # sb t1, 0(sp)
    0x00100513,  # li a0, 1
    0x00010593,  # mv a1, sp
    0x00100613,  # li a2, 1
    0x04000893,  # li a7, 64: write
    0x00000073,  # ecall
    0xFC1FF06F,  # j to the read
    0x00000513,  # li a0, 0
    0x05E00893,  # li a7, 94: exit
    0x00000073,  # ecall
)
TEXT, DATA = 0x11000, 0x12000  # addresses; in the file these are pages 1 and 2


def program(added: int) -> bytes:
    """An ELF file whose page 2 is data, which are only read."""
    ident = b"\x7fELF\2\1\1" + bytes(9)
    head = ident + struct.pack(
        "<HHIQQQIHHHHHH", 2, 243, 1, TEXT, 64, 0, 0, 64, 56, 2, 0, 0, 0
    )
    segments = b"".join(
        struct.pack("<IIQQQQQQ", 1, flags, at, where, where, size, size, PAGE)
        for flags, at, where, size in (
            (5, PAGE, TEXT, 4 * len(CODE)),
            (4, 2 * PAGE, DATA, PAGE),
        )
    )
    code = b"".join(struct.pack("<I", word) for word in CODE)
    data = bytes([added]) + b"data" * (PAGE // 4)
    return (head + segments).ljust(PAGE, b"\0") + code.ljust(PAGE, b"\0") + data[:PAGE]


@test("a program goes on with the pages that it has", points=4)
def programs(t: Test, model: Model) -> None:
    file = model.file(t)
    added = t.random.randrange(1, 100)
    t.do("pipe 4 5", 0)
    t.do("pipe 6 7", 0)
    file.write(t, program(added))
    file.truncate(t, 3 * PAGE)

    def echo() -> None:
        sent = t.random.randrange(1, 100)
        t.do(f"write 5 {sent:02x}", 1)
        t.do("read 6 1", bytes([sent + added]))

    t.do(f"program 0 4 7 {file.path}", 0)
    echo()
    t.do(f"truncate {file.slot} 100", "-ETXTBSY")
    file.punch(t, 2 * PAGE, 20)
    echo()
    file.pwrite(t, 2 * PAGE, some(t, 20))
    echo()
    file.pwrite(t, PAGE, bytes(50))
    echo()
    file.punch(t, PAGE, 2 * PAGE)
    echo()
    file.pwrite(t, PAGE + 100, some(t, 2 * PAGE))
    echo()
    file.look(t)
    file.whole(t)
    t.do(f"kill 0 {SIGKILL}", 0)
    t.do("wait 0", SIGKILL)
    file.truncate(t, 0)
    added += 1
    file.pwrite(t, 0, program(added))
    t.do(f"program 0 4 7 {file.path}", 0)
    echo()
    t.do(f"kill 0 {SIGKILL}", 0)
    t.do("wait 0", SIGKILL)
    for slot in range(4, 8):
        t.do(f"close {slot}", 0)
    done(t, file)


# --- All together ------------------------------------------------------------


def some_bytes(t: Test) -> bytes:
    size = t.random.choice((1, 50, PAGE // 2, PAGE, PAGE + 1, 2 * PAGE))
    size = t.random.randrange(size) + 1
    return bytes(size) if t.random.randrange(4) == 0 else some(t, size)


def act(t: Test, file: File) -> None:
    """Anything, at places that are worth it."""
    place = t.random.choice((0, PAGE, 7 * PAGE, 30 * PAGE, file.size))
    place = max(place + t.random.choice((0, 0, -1, 1, t.random.randrange(PAGE))), 0)
    what = t.random.randrange(10)
    if what < 3:
        file.pwrite(t, place, some_bytes(t))
    elif what == 3:
        file.seek(t, place)
        file.write(t, some_bytes(t))
    elif what == 4:
        file.truncate(t, place)
    elif what == 5:
        file.punch(t, place, t.random.choice((1, 100, PAGE, 3 * PAGE)))
    elif what == 6:
        file.write_edge(t, t.random.randrange(1, 2 * PAGE), 3 * PAGE)
    elif what == 7:
        file.finds(t)
    elif what == 8:
        file.reopen(t, t.random.choice(("+", "+a", "+ct")))
    else:
        file.read(t, t.random.randrange(2 * PAGE))


@test("all of these, in any order", points=4)
def together(t: Test, model: Model) -> None:
    before = note(t)
    all = [model.file(t, slot) for slot in range(3)]
    for _ in range(90):
        file = t.random.choice(all)
        act(t, file)
        file.look(t)
    for file in all:
        file.whole(t)
    fewer(t, before, sum(len(file.pages) for file in all))
    done(t, *all)
    fewer(t, before, 0)


# --- Many at once ------------------------------------------------------------


@test("what several append isn't mixed", points=3, race=3)
def appends(t: Test, model: Model) -> None:
    file = model.file(t)
    sent = {
        name: [
            f"<{name}{i:03}{name * t.random.choice((3, 90, 700))}>" for i in range(40)
        ]
        for name in "abc"
    }
    for slot, texts in enumerate(sent.values()):
        with t.child(slot):
            t.do(f"open 1 wa {file.path}", 0)
            t.many(1, texts)
    for slot in range(len(sent)):
        t.do(f"wait {slot}", 0)
    all = sorted(text for texts in sent.values() for text in texts)

    def good(answer: str) -> Optional[str]:
        pieces = data(answer).decode("latin-1").split("<")[1:]
        got = sorted(f"<{piece}" for piece in pieces)
        whole = sum(text in all for text in got)
        return (
            None if got == all else f"{whole} of {len(all)} appended texts are complete"
        )

    t.do(f"read-all {file.slot} {PAGE}", good)
    done(t, file)


@test("a reader while the file is cut", points=4, race=3)
def read_cut(t: Test, model: Model) -> None:
    """What it finds is the file's own, or zeroes; never another file's."""
    all = [model.file(t, slot) for slot in range(2)]
    before = note(t)

    def own(answer: str) -> Optional[str]:
        wrong = data(answer).strip(b"\0\x11")
        return (
            f"read the bytes {wrong.hex(' ')}, which aren't the file's"
            if wrong
            else None
        )

    for slot in range(2):
        with t.child(slot):
            for _ in range(3):
                t.do(f"values 0 {2 * PAGE} 200", own)
    with t.child(2):
        t.do(f"take-turns 0 1 {2 * PAGE} 150", 150)
    for slot in range(3):
        t.do(f"wait {slot}", 0)
    t.do("truncate 0 0", 0)
    fewer(t, before, 0)
    done(t, *all)


@test("the end moves when the bytes are there", points=3, race=3)
def read_end(t: Test, model: Model) -> None:
    file = model.file(t)
    with t.child(0):
        for _ in range(4):
            t.do(f"values {file.slot} {40 * PAGE} 12", filled)
    t.do(f"write-many {file.slot} {PAGE - 1} 40", f"{40 * (PAGE - 1)} -")
    t.do("wait 0", 0)
    done(t, file)


def filled(answer: str) -> Optional[str]:
    wrong = data(answer).strip(bytes([FILLED]))
    return (
        f"read the bytes {wrong.hex(' ')}, which were never written" if wrong else None
    )


@test("appending doesn't copy what is already there", points=2)
def cost(t: Test, model: Model) -> None:
    file = model.file(t)
    t.do(f"write-many {file.slot} {PAGE} 2", f"{2 * PAGE} -")
    with t.cost("3,000 pages", 1.5):
        t.do(f"write-many {file.slot} {PAGE} 3000", f"{3000 * PAGE} -")
    done(t, file)

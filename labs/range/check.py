"""Decides lab range: a model of the table and its counters."""

from __future__ import annotations

import struct
from typing import Any, Optional

from tally.grading.script import Test, data, test

RANGE, CLOCK, KPCTL, KPDATA = range(4)  # slots of files
MODES = ("user", "kernel", "intr", "idle")
HARTS = 4
TOP = (1 << 64) - 1
RECORD = 16  # bytes
WHOLE = 1 << 17  # more than the counters are
BAD = (0, 0x7000_0000, 0xFFFF_FFFF_8020_0000)
SENT = 300  # by each process, in a race

Ranges = list[tuple[int, int]]  # first and last address


class Model:
    """The table as it was written, and what was counted since."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.most: int = params["RANGES"]
        self.ranges: Ranges = []
        self.format = "<I" if params["WIDTH"] == 4 else "<Q"

    def record(self, first: int, last: int) -> bytes:
        end = {"last": last, "end": last + 1, "size": last - first + 1}
        pair = (first, end[self.params["END"]] & TOP)
        return struct.pack("<2Q", *(pair if self.params["FROM_FIRST"] else pair[::-1]))

    def records(self, ranges: Ranges) -> str:
        return b"".join(self.record(*r) for r in ranges).hex()

    def set(self, t: Test, ranges: Ranges) -> None:
        t.do(f"write {RANGE} {self.records(ranges)}", RECORD * len(ranges))
        self.ranges = ranges
        self.counts = [0] * len(ranges)
        self.missed = 0
        self.by_first = sorted((r, i) for i, r in enumerate(ranges))

    def refuse(self, t: Test, ranges: Ranges, why: str) -> None:
        """What is refused leaves everything as it was."""
        t.do(f"write {RANGE} {self.records(ranges)}", f"-{why}")

    def add(self, mode: str, pc: int, times: int) -> None:
        if mode == "user" and self.params["USER"] == "NOWHERE":
            return
        low, high = 0, len(self.by_first)
        while low < high:
            middle = (low + high) // 2
            if self.by_first[middle][0][0] <= pc:
                low = middle + 1
            else:
                high = middle
        by_pc = mode != "user" or self.params["USER"] == "BY_PC"
        if by_pc and low > 0 and pc <= self.by_first[low - 1][0][1]:
            self.counts[self.by_first[low - 1][1]] += times
        else:
            self.missed += times

    def text(self, t: Test, mode: str, pc: int, times: int = 1) -> str:
        self.add(mode, pc, times)
        return f"sample {mode} {t.random.randrange(HARTS)} 0 0 {pc:#x} {times}"

    def sample(self, t: Test, mode: str, pc: int, times: int = 1) -> None:
        t.put(CLOCK, self.text(t, mode, pc, times))

    def image(self) -> bytes:
        counts = self.counts + [self.missed]
        if self.params["MISSED_FIRST"]:
            counts = counts[-1:] + counts[:-1]
        return b"".join(struct.pack(self.format, n) for n in counts)

    def numbers(self, image: bytes) -> tuple[list[int], int]:
        """The ranges' counters, and that of what was missed."""
        found = [n for n, in struct.iter_unpack(self.format, image)]
        if self.params["MISSED_FIRST"]:
            return found[1:], found[0]
        return found[:-1], found[-1]

    def whole(self, t: Test) -> None:
        t.do(f"pread {RANGE} {WHOLE} 0", self.image())


def setup(t: Test) -> Model:
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hold")
    t.do(f"open {RANGE} + /dev/range", 0)
    return Model(t.params)


def draw(t: Test, n: int, first: int = 0, last: int = TOP - 1) -> Ranges:
    """So many ranges in any order, some of them side by side."""
    r = t.random
    cuts = sorted(r.sample(range(first, last, max(1, (last - first) >> 20)), 2 * n))
    ranges = []
    for low, high in zip(cuts[::2], cuts[1::2]):
        ranges.append((low, high - 1))
    for i in range(0, n - 1, 5):  # no gap behind these
        ranges[i] = (ranges[i][0], ranges[i + 1][0] - 1)
    r.shuffle(ranges)
    return ranges


def edges(t: Test, ranges: Ranges) -> list[int]:
    """Addresses at which it is decided whose they are."""
    r = t.random
    pcs = [0, TOP]
    for first, last in ranges:
        pcs += [
            first,
            last,
            r.randint(first, last),
            max(first - 1, 0),
            min(last + 1, TOP),
        ]
    r.shuffle(pcs)
    return pcs


# --- The table ---------------------------------------------------------------


@test("each sample counts in its range, or is missed", points=3)
def counts(t: Test, model: Model) -> None:
    for n in (1, 2, 5, 40):
        model.set(t, draw(t, n))
        for pc in edges(t, model.ranges):
            model.sample(t, "kernel", pc, t.random.randrange(1, 4))
        model.whole(t)


@test("the first address and the last", points=2)
def extremes(t: Test, model: Model) -> None:
    """A range may be of one byte, and begin at 0; and end at the last address, if
    it can be said."""
    top = TOP if model.params["END"] != "end" else TOP - 1
    low, high = t.random.randrange(1, 1 << 40), t.random.randrange(1 << 50, 1 << 60)
    most = TOP if model.params["END"] == "last" else TOP - 1
    for ranges in (
        [(high, top), (0, low)],
        [(low, low), (0, 0), (top, top)],
        [(0, most)],
    ):
        model.set(t, ranges)
        for pc in edges(t, ranges):
            model.sample(t, "kernel", pc)
        model.whole(t)


@test("the mode of the interrupted code")
def modes(t: Test, model: Model) -> None:
    model.set(t, draw(t, 6))
    for pc in edges(t, model.ranges):
        for mode in MODES:
            model.sample(t, mode, pc)
    model.whole(t)


@test("a wrong table changes nothing", points=3)
def wrong(t: Test, model: Model) -> None:
    params = model.params
    good = draw(t, 9)
    model.set(t, good)
    for pc in edges(t, good):
        model.sample(t, "kernel", pc)
    (a, b), (c, d), *_ = others = draw(t, 5)
    model.refuse(t, others + [(a, b)], params["TWICE"])
    model.refuse(t, [(b, b)] + others, params["TWICE"])
    model.refuse(t, [(0, TOP - 1)] + others[1:], params["TWICE"])
    if a > 0 and params["END"] != "end":
        model.refuse(t, others[1:] + [(a, a - 1)], params["NONE"])
    if params["END"] != "size" and d > c:
        model.refuse(t, others[:1] + [(d, c)], params["NONE"])
    if params["END"] == "size":
        model.refuse(t, [(TOP - 3, TOP + 5)] + others, params["NONE"])
    if params["END"] == "end":
        model.refuse(t, others + [(c, c - 1)], params["NONE"])
    text = model.records(others)
    t.do(f"write {RANGE} {text[:-2]}", "-EINVAL")
    t.do(f"write {RANGE} {text}{text[:6]}", "-EINVAL")
    t.do(f"write-at {RANGE} {BAD[1]} {RECORD * (model.most + 1)}", "-E2BIG")
    for address in BAD:
        t.do(f"write-at {RANGE} {address} {RECORD * 7}", "-EFAULT")
    model.sample(t, "kernel", t.random.choice(good)[0])
    model.whole(t)


@test("a new table begins at zero", points=2)
def anew(t: Test, model: Model) -> None:
    for n in (7, 3, 20):
        model.set(t, draw(t, n))
        for pc in edges(t, model.ranges)[:20]:
            model.sample(t, "kernel", pc)
        model.whole(t)
    if model.params["CLEARS"]:
        model.set(t, [])
        model.sample(t, "kernel", 5, 3)
        model.whole(t)
    else:
        t.do(f"write {RANGE} ", "-EINVAL")
        model.whole(t)


@test("read in parts")
def parts(t: Test, model: Model) -> None:
    width = model.params["WIDTH"]
    model.set(t, draw(t, 300))
    for pc in edges(t, model.ranges):
        model.sample(t, "kernel", pc)
    image = model.image()
    for _ in range(20):
        first, size = t.random.randrange(302), t.random.randrange(1, 200)
        want = image[first * width :][: size * width]
        t.do(f"pread {RANGE} {size * width} {first * width}", want)
    for size, offset in ((width - 1, 0), (width, 1), (2 * width + 1, width)):
        t.do(f"pread {RANGE} {size} {offset}", "-EINVAL")
    t.do(f"pread {RANGE} {width} {len(image)}", b"")
    t.do(f"pread {RANGE} {width} {1 << 40}", b"")
    t.do(f"seek {RANGE} 0", 0)
    for address in BAD:
        t.do(f"read-at {RANGE} {address} {WHOLE}", "-EFAULT")


# --- The interrupt -----------------------------------------------------------


@test("8,192 ranges in an interrupt", points=4)
def many(t: Test, model: Model) -> None:
    """A sample takes at most 1.5 times what it takes the solution."""
    model.set(t, draw(t, model.most))
    pcs = [t.random.randrange(TOP) for _ in range(200)]
    with t.cost("200 samples", 1.5):
        t.many(CLOCK, [model.text(t, "kernel", pc, 20) for pc in pcs])
    model.whole(t)
    model.refuse(t, draw(t, model.most + 1), "E2BIG")


@test("making a table is fast", points=2)
def made(t: Test, model: Model) -> None:
    """At most four times what it takes the solution."""
    ranges = sorted(draw(t, model.most), reverse=True)
    with t.cost("the table", 4):
        model.set(t, ranges)
    width = model.params["WIDTH"]
    for i in t.random.sample(range(model.most), 5):
        model.sample(t, "kernel", ranges[i][1])
        at = (i + model.params["MISSED_FIRST"]) * width
        t.do(f"pread {RANGE} {width} {at}", struct.pack(model.format, 1))


@test("harts count at once", points=3, race=3)
def at_once(t: Test, model: Model) -> None:
    model.set(t, draw(t, 30))
    pcs = t.random.sample(edges(t, model.ranges), 6)
    for slot in range(3):
        with t.child(slot):
            for pc in pcs:
                model.sample(t, "kernel", pc, 3000)
    for slot in range(3):
        t.do(f"wait {slot}", 0)
    model.whole(t)


@test("a new table while samples come", points=4, race=4)
def replaced(t: Test, model: Model) -> None:
    """Nobody counts in a table that is gone: its memory may be another's by now,
    in which another counter is there."""
    ranges = draw(t, 20)
    pc = ranges[0][0]
    model.set(t, ranges)
    with t.child(0):
        for _ in range(60):
            t.put(CLOCK, f"sample kernel 0 0 0 {pc:#x} 2000")
    for slot in (1, 2):
        with t.child(slot):
            for _ in range(100):
                ranges = t.random.sample(ranges, len(ranges))
                model.set(t, ranges)
    for _ in range(100):
        t.do(f"pread {RANGE} {WHOLE} 0", lambda answer: one(model, answer))
    for slot in range(3):
        t.do(f"wait {slot}", 0)
    model.set(t, ranges)
    model.sample(t, "kernel", pc, 5)
    model.whole(t)


def one(model: Model, answer: str) -> Optional[str]:
    """All samples are of one range."""
    ranges, missed = model.numbers(data(answer))
    counts = [n for n in (*ranges, missed) if n]
    if len(ranges) != 20 or len(counts) > 1:
        return (
            f"there are {len(ranges)} ranges, and the nonzero counts are {counts};"
            " there should be 20 ranges, and at most one nonzero count"
        )
    return None


@test("real samples: none is lost", points=3, race=2)
def real(t: Test, model: Model) -> None:
    """kprof has counted as many."""
    t.do(f"open {KPCTL} w /dev/kpctl", 0)
    t.do(f"open {KPDATA} r /dev/kpdata", 0)
    first, last = t.symbol("text_start"), t.symbol("etext")
    t.put(CLOCK, "hz 10000")
    model.set(t, draw(t, 400, first, last))
    t.put(KPCTL, "startclr")
    t.put(CLOCK, "go")
    with t.child(0):
        t.do("spin 30", 0)
    for _ in range(30):
        t.do("spin 1", 0)
        t.do(f"pread {RANGE} 800 0")
    t.do("wait 0", 0)
    t.put(CLOCK, "hold")
    seen: dict[str, int] = {}

    def add(answer: str) -> None:
        ranges, missed = model.numbers(data(answer))
        seen["all"] = sum(ranges) + missed

    def same(answer: str) -> Optional[str]:
        ticks, kernel = struct.unpack(">2I", data(answer))
        want = kernel if model.params["USER"] == "NOWHERE" else ticks
        if seen["all"] == want and ticks > 100:
            return None
        return f"kprof has counted {want} samples, but /dev/range {seen['all']}"

    t.do(f"pread {RANGE} {WHOLE} 0", add)
    t.do(f"pread {KPDATA} 8 0", same)

"""Decides lab flight: a model of the ring."""

from __future__ import annotations

import struct
from typing import Any, Optional

from tally.grading.script import NEVER, Test, data, test

FORMATS = {"pc": "Q", "pid": "I", "where": "I"}
SIZE = 16  # bytes of a record
HARTS = 4
MODES = ("user", "kernel", "intr", "idle")
LEVELS = (0, 1, 5, 7)
READER, CLOCK, KPCTL, KPDATA = 0, 2, 3, 4  # slots
ALL = 1 << 16  # bytes: more than the ring can have
SIGKILL, SIGUSR1 = 9, 10
SENT = 400  # by each process, in a race


class Model:
    """The ring, and how many were lost."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.format = "<" + "".join(FORMATS[name] for name in params["ORDER"])
        self.ring: list[bytes] = []
        self.lost = 0
        self.empty = b"" if params["END"] else "-EAGAIN"

    def record(self, pc: int, pid: int, level: int, hart: int) -> bytes:
        high, low = (level, hart) if self.params["LEVEL_HIGH"] else (hart, level)
        where = high << self.params["SHIFT"] | low
        fields = {"pc": pc, "pid": pid, "where": where}
        return struct.pack(self.format, *(fields[n] for n in self.params["ORDER"]))

    def draw(self, t: Test) -> tuple[str, bytes]:
        """A synthetic sample, and its record."""
        r = t.random
        pc, pid = r.randrange(1 << 40), r.randrange(1, 30000)
        level, hart = r.choice(LEVELS), r.randrange(HARTS)
        text = f"sample {r.choice(MODES)} {hart} {pid} {level} {pc:#x}"
        return text, self.record(pc, pid, level, hart)

    def sample(self, t: Test, times: int = 1) -> None:
        for _ in range(times):
            text, record = self.draw(t)
            t.put(CLOCK, text)
            self.ring.append(record)
            if len(self.ring) > self.params["RECORDS"]:
                self.ring.pop(0 if self.params["OLDEST_GOES"] else -1)
                self.lost += 1

    def taken(self, size: int) -> bytes:
        """What a read of that size takes out."""
        n = size // SIZE
        part, self.ring[:n] = self.ring[:n], []
        return b"".join(part)

    def read(self, t: Test, size: int) -> None:
        t.do(f"read {READER} {size}", self.taken(size))

    def ask_lost(self, t: Test) -> None:
        t.do(f"ioctl {READER} {self.params['LOST']} 0", self.lost)
        if self.params["LOST_RESETS"]:
            self.lost = 0

    def reopen(self, t: Test, flags: str) -> None:
        """It is empty then."""
        t.do(f"close {READER}", 0)
        t.do(f"open {READER} {flags} /dev/flight", 0)
        self.ring, self.lost = [], 0


def setup(t: Test) -> Model:
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hold")
    t.do(f"open {READER} r /dev/flight", 0)
    return Model(t.params)


# --- What there is -----------------------------------------------------------


@test("one process has it open at a time")
def one(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    t.do("open 1 r /dev/flight", f"-{t.params['TWICE']}")
    t.do("open 1 rn /dev/flight", f"-{t.params['TWICE']}")
    model.sample(t, t.params["WAKE"])
    model.read(t, ALL)
    model.reopen(t, "r")


@test("enough, or nothing yet", points=2)
def enough(t: Test, model: Model) -> None:
    model.reopen(t, "rn")
    t.do(f"read {READER} {SIZE - 1}", "-EINVAL")
    for _ in range(t.params["WAKE"]):
        t.do(f"read {READER} {ALL}", model.empty)
        t.do(f"poll {READER} 0", 0)
        model.sample(t)
    t.do(f"poll {READER} 0", 1)
    t.do(f"read {READER} {SIZE - 1}", "-EINVAL")
    model.read(t, ALL)
    t.do(f"read {READER} {ALL}", model.empty)


@test("in order, and in pieces", points=2)
def pieces(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    full = t.params["RECORDS"]
    for _ in range(3):
        model.sample(t, full - len(model.ring))
        while len(model.ring) > t.params["WAKE"] + 12:
            model.read(t, t.random.randrange(1, 9) * SIZE + t.random.randrange(SIZE))
    model.ask_lost(t)


@test("what doesn't fit is counted", points=2)
def full(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    model.sample(t, t.params["RECORDS"])
    model.ask_lost(t)
    for more in (1, t.random.randrange(2, 20)):
        model.sample(t, more)
        model.ask_lost(t)
        model.ask_lost(t)
    model.read(t, 3 * SIZE)
    model.sample(t, 5)
    model.ask_lost(t)
    model.read(t, ALL)
    t.do(f"ioctl {READER} 7 0", "-ENOTTY")


@test("opened again it is empty")
def again(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    model.sample(t, t.params["RECORDS"] + 3)
    model.reopen(t, "rn")
    model.ask_lost(t)
    t.do(f"read {READER} {ALL}", model.empty)


@test("a bad address loses one record, which is counted", points=2)
def addresses(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    model.sample(t, t.params["RECORDS"])
    for address in (0, 0x7000_0000, 0xFFFF_FFFF_8020_0000):
        t.do(f"read-at {READER} {address} {ALL}", "-EFAULT")
        model.taken(SIZE)
        model.lost += 1
    t.do(f"read-edge {READER} {2 * SIZE + 5} {ALL}", 2 * SIZE)
    model.taken(3 * SIZE)
    model.lost += 1
    model.ask_lost(t)
    model.read(t, ALL)


# --- Who waits ---------------------------------------------------------------


@test("a reader sleeps until there are enough", points=3)
def sleeps(t: Test, model: Model) -> None:
    for _ in range(3):
        model.reopen(t, "r")
        with t.child(0):
            place = len(t.steps)
            t.do(f"read {READER} {ALL}")
        for _ in range(t.params["WAKE"]):
            t.do("state 0", "S")
            model.sample(t)
        t.steps[place].want = model.taken(ALL)
        t.do("wait 0", 0)


@test("a signal ends the wait", points=2)
def signals(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    with t.child(0):
        t.do(f"read {READER} {ALL}", "-EINTR")
        t.do("caught", 1)
    t.do("state 0", "S")
    t.do(f"kill 0 {SIGUSR1}", 0)
    t.do("wait 0", 0)
    with t.child(0):
        t.do(f"read {READER} {ALL}", NEVER)
    t.do("state 0", "S")
    t.do(f"kill 0 {SIGKILL}", 0)
    t.do("wait 0", SIGKILL)
    model.sample(t, t.params["WAKE"])
    model.read(t, ALL)


@test("poll is woken up, too", points=2)
def polls(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    with t.child(0):
        t.do(f"poll {READER} -1", 1)
    for _ in range(t.params["WAKE"]):
        t.do("state 0", "S")
        model.sample(t)
    t.do("wait 0", 0)
    model.read(t, ALL)


# --- Who comes at once -------------------------------------------------------


@test("several harts at once: each record whole, and once", points=4, race=4)
def writers(t: Test, model: Model) -> None:
    model.reopen(t, "r")
    kept = t.params["RECORDS"]
    sent: set[bytes] = set()
    for slot in range(3):
        drawn = [model.draw(t) for _ in range(SENT)]
        sent |= {record for _, record in drawn}
        with t.child(slot):
            t.many(CLOCK, [text for text, _ in drawn])
    for slot in range(3):
        t.do(f"wait {slot}", 0)
    t.do(f"ioctl {READER} {t.params['LOST']} 0", 3 * SENT - kept)

    def whole(answer: str) -> Optional[str]:
        got = data(answer)
        records = [got[i : i + SIZE] for i in range(0, len(got), SIZE)]
        strange = [r for r in records if r not in sent]
        if strange:
            return f"a record was read that nobody sent: {strange[0].hex(' ')}"
        if len(records) != kept or len(set(records)) != kept:
            return (
                f"{len(records)} records were read, {len(set(records))} of them"
                f" distinct; {kept} distinct ones should have been read"
            )
        return None

    t.do(f"read {READER} {ALL}", whole)


def read_or_lost(t: Test, model: Model, drain: str) -> None:
    """All that is sent while the operation reads."""
    model.reopen(t, "rn")
    for slot in range(2):
        with t.child(slot):
            t.many(CLOCK, [model.draw(t)[0] for _ in range(SENT)])
    seen: dict[str, int] = {}

    def keep(answer: str) -> None:
        seen["read"] = int(answer) // SIZE

    def keep_rest(answer: str) -> None:
        if answer != "-EAGAIN":
            seen["read"] += len(data(answer)) // SIZE

    def add(answer: str) -> Optional[str]:
        total = seen["read"] + int(answer)
        rest = 2 * SENT - total
        if 0 <= rest < t.params["WAKE"]:
            return None
        return (
            f"{2 * SENT} records were sent, but {seen['read']} were read and"
            f" {answer} counted as lost"
        )

    t.do(f"{drain} {READER} {4 * SIZE} 150", keep)
    for slot in range(2):
        t.do(f"wait {slot}", 0)
    t.do(f"read {READER} {ALL}", keep_rest)
    t.do(f"ioctl {READER} {t.params['LOST']} 0", add)


@test("while one reads: what was sent was read, or lost", points=4, race=3)
def reader(t: Test, model: Model) -> None:
    read_or_lost(t, model, "drain")


@test("what is read comes to a page that isn't there yet", points=4, race=4)
def to_new_pages(t: Test, model: Model) -> None:
    """While it is made present the reader may sleep, and must hold no lock."""
    read_or_lost(t, model, "drain-new")


@test("real samples: none is lost unseen", points=3, race=2)
def real(t: Test, model: Model) -> None:
    model.reopen(t, "rn")
    t.do(f"open {KPCTL} w /dev/kpctl", 0)
    t.do(f"open {KPDATA} r /dev/kpdata", 0)
    t.put(CLOCK, "hz 20000")
    t.put(CLOCK, "jitter on")
    t.put(KPCTL, "startclr")
    t.put(CLOCK, "go")
    seen: dict[str, int] = {}

    def keep(name: str, unit: int = 1) -> Any:
        def kept(answer: str) -> None:
            seen[name] = 0 if answer == "-EAGAIN" else int(answer.split()[0]) // unit

        return kept

    def total(answer: str) -> Optional[str]:
        ticks = int.from_bytes(data(answer), "big")
        have = sum(seen.values())
        if ticks - t.params["WAKE"] < have <= ticks and ticks > 100:
            return None
        return (
            f"kprof has counted {ticks} samples, but {have} were read"
            " or counted as lost"
        )

    with t.child(0):
        t.do(f"drain {READER} {5 * SIZE} 60", keep("child", SIZE))
    t.do(f"drain {READER} {3 * SIZE} 60", keep("parent", SIZE))
    t.do("wait 0", 0)
    t.put(CLOCK, "hold")
    t.do(f"read {READER} {ALL}", keep("rest", SIZE))
    t.do(f"ioctl {READER} {t.params['LOST']} 0", keep("lost"))
    t.do(f"pread {KPDATA} 4 0", total)

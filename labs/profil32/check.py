"""Decides lab profil32: a model of the histogram, and of the memory that it is in."""

from __future__ import annotations

import struct
from typing import Any, Optional

from tally.grading.script import Test, data, test

PAGE = 4096
MAPLAB, CLOCK = 0, 1  # slots of files
MAP = 1  # an ioctl
AREA = 0x4000_0000  # may be written; the first page has the struct
PAGES = 1500
READ_ONLY = 0x5000_0000
HEAP, HEAP_END = 0x0700_0000, 0x0800_0000
NOWHERE = 0x6000_0000
KERNEL = 0xFFFF_FFFF_8020_0000
MOST = 1 << 32
FIELDS = ("buffer", "size", "low", "shift")


class Histogram:
    """What one call has asked for."""

    def __init__(self, buffer: int, n: int, low: int, shift: int) -> None:
        self.buffer, self.n, self.low, self.shift = buffer, n, low, shift
        self.charged = 0


class Model:
    """A process: its counters by address, and its histogram."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.memory: dict[int, int] = {}
        self.now: Optional[Histogram] = None
        self.fresh = AREA + PAGE

    def child(self) -> Model:
        other = Model(self.params)
        other.memory, other.fresh = dict(self.memory), self.fresh
        if self.now and self.params["INHERITS"]:
            h = self.now
            other.now = Histogram(h.buffer, h.n, h.low, h.shift)
        return other

    def room(self, counters: int) -> int:
        """Pages that nobody has touched, and one more behind."""
        at = self.fresh
        self.fresh += (counters * 4 // PAGE + 2) * PAGE
        assert self.fresh < AREA + PAGES * PAGE
        return at

    # --- The call ---

    def call(self, t: Test, want: object, p: int = AREA, **fields: int) -> None:
        if fields:
            values = [fields[name] % (1 << 64) for name in self.params["ORDER"]]
            t.do(f"poke {AREA:#x} {struct.pack('<4Q', *values).hex()}", 32)
        t.do(f"call {self.params['NUMBER']} {p:#x} 0 0", want)

    def size(self, n: int, rest: int = 0) -> int:
        return 4 * n + rest if self.params["SIZE_BYTES"] else n

    def on(
        self, t: Test, buffer: int, n: int, low: int, shift: int, rest: int = 0
    ) -> None:
        """rest: bytes more than the counters have."""
        charged = self.now.charged if self.now else 0
        self.call(
            t, charged, buffer=buffer, size=self.size(n, rest), low=low, shift=shift
        )
        self.now = Histogram(buffer, n, low, shift)

    def off(self, t: Test) -> None:
        self.call(t, self.now.charged if self.now else 0, p=0)
        self.now = None

    # --- Samples ---

    def counter(self, pc: int) -> Optional[int]:
        h = self.now
        near = (1 << h.shift) // 2 if self.params["NEAREST"] else 0
        i = (pc - h.low + near) >> h.shift if pc >= h.low else h.n
        if i < h.n:
            return i
        return {"NOWHERE": None, "FIRST": 0, "LAST": h.n - 1}[self.params["OUTSIDE"]]

    def count(self, pc: int, n: int, there: bool = True) -> None:
        h = self.now
        i = self.counter(pc) if h else None
        if i is None:
            return
        if not there:
            if self.params["GONE_OFF"]:
                self.now = None
            return
        at = h.buffer + 4 * i
        value = self.memory.get(at, 0) + n
        full = value % MOST if self.params["WRAPS"] else min(value, MOST - 1)
        self.memory[at] = full
        h.charged += n

    def sample(self, t: Test, pc: int, n: int = 1, there: bool = True) -> None:
        t.do(f"sample {CLOCK} user {pc:#x} {n}", 0)
        self.count(pc, n, there)

    def poke(self, t: Test, at: int, value: int) -> None:
        t.do(f"poke {at:#x} {struct.pack('<I', value).hex()}", 4)
        self.memory[at] = value

    def look(self, t: Test, at: int, n: int) -> None:
        """All counters, and one more on either side."""
        values = [self.memory.get(at + 4 * i, 0) for i in range(n)]
        t.do(f"peek {at:#x} {4 * n}", struct.pack(f"<{n}I", *values))


def setup(t: Test) -> Model:
    t.do(f"open {MAPLAB} r /dev/maplab", 0)
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hold")
    t.do(f"ioctl {MAPLAB} {MAP} {AREA | PAGES << 1 | 1:#x}", 0)
    t.do(f"ioctl {MAPLAB} {MAP} {READ_ONLY | 2 << 1:#x}", 0)
    return Model(t.params)


def some(t: Test, model: Model, times: int) -> None:
    """Samples that mostly have a counter."""
    h = model.now
    span = h.n << h.shift
    for _ in range(times):
        pc = max(0, h.low + t.random.randrange(-span // 8 - 2, span + span // 8 + 2))
        model.sample(t, pc, t.random.choice((1, 1, 2, 7, 300)))


def any_one(t: Test, model: Model, n: int = 0) -> Histogram:
    """Turn one on that is drawn."""
    n = n or t.random.randrange(2, 60)
    low, shift = t.random.randrange(1 << 20), t.random.randrange(0, 12)
    model.on(t, model.room(n), n, low, shift)
    return model.now


def look_all(t: Test, model: Model, h: Histogram) -> None:
    model.look(t, h.buffer, h.n + 2)


@test("which counter a pc has", points=3)
def which(t: Test, model: Model) -> None:
    for shift in (0, 1, 4, 12, 31):
        n = t.random.randrange(2, 50)
        model.on(t, model.room(n), n, t.random.randrange(1 << 20), shift)
        h = model.now
        some(t, model, 12)
        look_all(t, model, h)
    model.off(t)


@test("the edges of the text", points=2)
def edges(t: Test, model: Model) -> None:
    for shift in (0, 3, 10):
        n, low = t.random.randrange(2, 9), t.random.randrange(1 << 12, 1 << 20)
        model.on(t, model.room(n), n, low, shift)
        h, step = model.now, 1 << shift
        for pc in (
            low - 1,
            low,
            low + step - 1,
            low + step,
            0,
            low + n * step - 1,
            low + n * step,
            low + n * step - step // 2 - 1,
            low + n * step - step // 2,
            low + (1 << 32),
            low + (1 << 32) + step,
        ):
            model.sample(t, pc, t.random.randrange(1, 9))
        look_all(t, model, h)
    model.off(t)


@test("only the process's own, and never an idle hart's")
def whose(t: Test, model: Model) -> None:
    h = any_one(t, model)
    some(t, model, 3)
    for pid in (1, 30000, 0):
        t.put(CLOCK, f"sample user 0 {pid} 0 {h.low:#x} 50")
    t.do(f"sample {CLOCK} idle {h.low:#x} 50", 0)
    some(t, model, 3)
    look_all(t, model, h)
    model.off(t)


@test("samples in the kernel")
def kernel(t: Test, model: Model) -> None:
    """The one counter has all of user mode."""
    model.on(t, model.room(2), 2, 0, 31)
    h = model.now
    for mode in ("kernel", "intr"):
        n = t.random.randrange(1, 90)
        t.do(f"sample {CLOCK} {mode} {KERNEL:#x} {n}", 0)
        if t.params["KERNEL"]:
            model.count(0x10000, n)
    model.sample(t, 0x10000, 5)
    look_all(t, model, h)
    model.off(t)


@test("a page that isn't there yet", points=3)
def absent(t: Test, model: Model) -> None:
    n = 40 * PAGE // 4
    model.on(t, model.room(n), n, 0x10000, 2)
    h = model.now
    pages = t.random.sample(range(40), 12)
    for page in pages:
        slot = page * PAGE // 4 + t.random.choice((0, 1, 500, 1023))
        model.sample(t, 0x10000 + 4 * slot, t.random.randrange(1, 9))
    for page in sorted({*pages, 0, 39}):
        model.look(t, h.buffer + page * PAGE, PAGE // 4)
    model.off(t)


@test("a counter that is full")
def full(t: Test, model: Model) -> None:
    h = any_one(t, model, 4)
    for i in range(4):
        model.poke(t, h.buffer + 4 * i, MOST - t.random.randrange(1, 5))
        for n in (1, 1, 6, 2):
            model.sample(t, h.low + (i << h.shift), n)
    look_all(t, model, h)
    model.off(t)


@test("a child", points=2)
def child(t: Test, model: Model) -> None:
    """Its memory is its own, and so are its samples."""
    h = any_one(t, model)
    some(t, model, 5)
    other = model.child()
    with t.child(2):
        was = other.now
        for _ in range(4):
            other.sample(t, h.low + t.random.randrange(h.n << h.shift), 3)
        look_all(t, other, was or h)
        other.off(t)
        other.on(t, h.buffer, h.n, h.low, h.shift)
        some(t, other, 3)
        look_all(t, other, h)
    t.do("wait 2", 0)
    some(t, model, 5)
    look_all(t, model, h)
    model.off(t)


@test("a child's child, and a parent that has turned it off")
def grandchild(t: Test, model: Model) -> None:
    h = any_one(t, model)
    some(t, model, 2)
    other = model.child()
    with t.child(2):
        inner = other.child()
        with t.child(3):
            inner.sample(t, h.low, 9)
            look_all(t, inner, h)
            inner.off(t)
        t.do("wait 3", 0)
        other.sample(t, h.low, 2)
        look_all(t, other, h)
    t.do("wait 2", 0)
    model.off(t)
    again = model.child()
    with t.child(2):
        again.sample(t, h.low, 2)
        look_all(t, again, h)
        again.off(t)
    t.do("wait 2", 0)


@test("a buffer that has vanished", points=3)
def vanished(t: Test, model: Model) -> None:
    """The break is lowered; nobody dies of it."""
    t.do(f"call brk {HEAP_END:#x} 0 0", HEAP_END)
    buffer = HEAP_END - 4 * PAGE
    model.on(t, buffer, 100, 0x10000, 4)
    some(t, model, 4)
    model.look(t, buffer, 101)
    t.do(f"call brk {HEAP:#x} 0 0", HEAP)
    model.memory = {a: v for a, v in model.memory.items() if not HEAP <= a < HEAP_END}
    for _ in range(3):
        model.sample(t, 0x10000, 5, there=False)
    t.do(f"call brk {HEAP_END:#x} 0 0", HEAP_END)
    model.sample(t, 0x10010, 4)
    model.look(t, buffer, 101)
    model.off(t)
    any_one(t, model)
    some(t, model, 2)
    model.off(t)


@test("memory that may only be read")
def read_only(t: Test, model: Model) -> None:
    h = any_one(t, model)
    if t.params["CHECKED"]:
        for n in (1, 1024, 2048):
            model.call(
                t, "-EFAULT", buffer=READ_ONLY, size=model.size(n), low=0, shift=4
            )
        last = AREA + PAGES * PAGE
        model.call(t, "-EFAULT", buffer=last - 40, size=model.size(11), low=0, shift=4)
        some(t, model, 2)
        look_all(t, model, h)
        model.off(t)
        return
    model.on(t, READ_ONLY, 2000, 0, 4)
    model.sample(t, 64, 3, there=False)
    model.look(t, READ_ONLY, 20)
    model.off(t)


@test("bad arguments, which change nothing", points=2)
def bad(t: Test, model: Model) -> None:
    h = any_one(t, model)
    some(t, model, 3)
    buffer = model.room(10)
    good = {"buffer": buffer, "size": model.size(10), "low": 0, "shift": 3}
    for wrong in (
        {"buffer": buffer + 1},
        {"buffer": buffer + 2},
        {"size": 0},
        {"shift": 32},
        {"shift": 1 << 32},
        {"shift": 64},
    ):
        model.call(t, "-EINVAL", **{**good, **wrong})
    if t.params["SIZE_BYTES"]:
        model.call(t, "-EINVAL", **{**good, "size": 3})
    for wrong in (
        {"buffer": KERNEL},
        {"size": 1 << 62},
        {"size": (1 << 64) - 4},
        {"buffer": 1 << 63},
    ):
        model.call(t, "-EFAULT", **{**good, **wrong})
    for p in (8, NOWHERE, KERNEL, AREA + PAGES * PAGE - 16):
        model.call(t, "-EFAULT", p=p)
    some(t, model, 3)
    look_all(t, model, h)
    model.off(t)


@test("off, and the number of samples", points=2)
def counted(t: Test, model: Model) -> None:
    model.off(t)
    h = any_one(t, model)
    model.sample(t, h.low, 70_000)
    model.sample(t, h.low, 1)
    look_all(t, model, h)
    some(t, model, 3)
    any_one(t, model)
    some(t, model, 3)
    model.off(t)
    for _ in range(2):
        t.do(f"sample {CLOCK} user {h.low:#x} 9", 0)
    look_all(t, model, h)
    model.off(t)


@test("the size, and what lies behind")
def behind(t: Test, model: Model) -> None:
    for rest in (0, 1, 3):
        n = t.random.randrange(1, 9)
        buffer = model.room(n)
        model.on(t, buffer, n, 0, 0, rest)
        for pc in range(n + 3):
            model.sample(t, pc, 2)
        model.look(t, buffer, n + 2)
    model.off(t)


@test("real samples, in the midst of forks and faults", points=3, race=3)
def real(t: Test, model: Model) -> None:
    """All of user mode has one counter, and the call tells how many it has. After
    each fork its page is shared again, until it has been paid."""
    buffer = model.room(2)
    model.on(t, buffer, 2, 0, 31)
    t.put(CLOCK, "hz 20000")
    t.put(CLOCK, "jitter on")
    t.put(CLOCK, "go")
    made = 0
    for _ in range(6):
        t.do("spin 3", 0)
        n = t.random.randrange(100, 400)
        made += n
        t.do(f"sample {CLOCK} user 0x10000 {n}", 0)
        with t.child(2):
            t.do(f"fill {model.room(30 * PAGE // 4):#x} 30 1", 30)
        t.do("wait 2", 0)
        t.do(f"fill {model.room(30 * PAGE // 4):#x} 30 1", 30)
    t.put(CLOCK, "hold")
    told: list[int] = []

    def charged(answer: str) -> Optional[str]:
        told.append(int(answer))
        if told[-1] < made + 20:
            return (
                f"the call reports {told[-1]} samples, but {made + 20} or more were due"
            )
        return None

    def same(answer: str) -> Optional[str]:
        (value,) = struct.unpack("<I", data(answer))
        if value == told[-1]:
            return None
        return f"the call reports {told[-1]} samples, but the counter is {value}"

    model.call(t, charged, p=0)
    model.now = None
    t.do(f"peek {buffer:#x} 4", same)
    t.put(CLOCK, "hz 100")
    t.put(CLOCK, "jitter off")

"""Decides lab sum: a model of the totals, and what the file must show of them."""

from __future__ import annotations

from typing import Any, Callable, Optional

from tally.grading.script import NO_ADDRESSES, Test, data, test

SUM, CLOCK, KPCTL, KPDATA = range(4)  # slots of files
MODES = ("user", "kernel", "intr", "idle")
HARTS = 4
SINCE_BOOT = 500  # samples of each mode, before anything else
OFFSET_MAX = (1 << 63) - 1
COST = 1.15  # times the reference: ten instructions more for each sample


class Model:
    """What was counted since the last clear, and not taken by a read."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.totals: list[tuple[str, list[str]]] = params["TOTALS"]
        self.text: int = params["TEXT"]
        self.width: int = params["WIDTH"]
        self.order = "big" if params["BIG"] else "little"
        self.pad = "0" if params["ZEROES"] else " "
        self.takes: int = params["TAKES"]
        self.word: str = params["WORD"]
        self.size = (self.width + self.text) * len(self.totals)
        self.forget()

    # --- What it does with a sample ---

    def forget(self) -> None:
        self.counts = dict.fromkeys(MODES, 0)

    def sample(self, t: Test, mode: str, count: int) -> None:
        """On whatever hart this process is; of any."""
        self.counts[mode] += count
        hart = t.random.randrange(HARTS)
        t.put(CLOCK, f"sample {mode} {hart} 0 0 0x1000 {count}")

    def clear_text(self, t: Test) -> str:
        return self.word or t.random.choice(("0", "x", "stop", "clear it", "a" * 99))

    def clear(self, t: Test) -> None:
        self.forget()
        t.put(SUM, self.clear_text(t))

    # --- What the file shows ---

    def one(self, n: int) -> bytes:
        if self.text:
            return f"{n:{self.pad}>{self.width}}\n".encode()
        return n.to_bytes(self.width, self.order)

    def image(self) -> bytes:
        sums = (sum(self.counts[m] for m in modes) for _, modes in self.totals)
        return b"".join(map(self.one, sums))

    def whole(self, t: Test) -> None:
        t.do(f"pread {SUM} {self.size} 0", self.image())
        if self.takes:
            self.forget()

    def part(self, t: Test, size: int, at: int) -> None:
        t.do(f"pread {SUM} {size} {at}", self.image()[at : at + size])

    def parse(self, answer: str) -> dict[str, int]:
        """The totals by name, and under "every" how many samples they tell of.
        ValueError: it isn't the whole file."""
        got, unit = data(answer), self.width + self.text
        parts = [got[i : i + unit] for i in range(0, len(got), unit)]
        if len(got) != self.size or self.text and any(p[-1:] != b"\n" for p in parts):
            raise ValueError
        numbers = [
            int(p) if self.text else int.from_bytes(p, self.order) for p in parts
        ]
        found = {name: n for (name, _), n in zip(self.totals, numbers)}
        alone = ["user", "idle", "kernel"]
        if "intr" not in dict(self.totals)["kernel"]:
            alone.append("intr")
        found["every"] = sum(found[name] for name in alone)
        return found

    def look(self, t: Test, judge: Callable[[dict[str, int]], Optional[str]]) -> None:
        """Read it all, where nobody knows what is in it."""
        t.do(f"pread {SUM} {self.size} 0", lambda answer: judge(self.parse(answer)))


def setup(t: Test) -> Model:
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hold")
    for mode in MODES:
        t.put(CLOCK, f"sample {mode} 0 0 0 0x1000 {SINCE_BOOT}")
    t.do(f"open {SUM} + /dev/sum", 0)
    return Model(t.params)


def some(t: Test, model: Model, times: int) -> None:
    for _ in range(times):
        model.sample(t, t.random.choice(MODES), t.random.randrange(1, 300))


# --- What it shows -----------------------------------------------------------


@test("it counts from boot")
def from_boot(t: Test, model: Model) -> None:
    def judge(found: dict[str, int]) -> Optional[str]:
        least = min(found.values())
        if least >= SINCE_BOOT:
            return None
        return (
            f"each mode had {SINCE_BOOT} samples, but the total of one is only {least}"
        )

    model.look(t, judge)


@test("exact with the clock on hold", points=2)
def exact(t: Test, model: Model) -> None:
    model.clear(t)
    some(t, model, 40)
    model.whole(t)
    for mode in MODES:
        model.sample(t, mode, t.random.randrange(66000, 70000))
    some(t, model, 5)
    model.whole(t)


@test("which total a mode counts for")
def modes(t: Test, model: Model) -> None:
    for mode in t.random.sample(MODES, len(MODES)):
        model.clear(t)
        model.sample(t, mode, t.random.randrange(1, 3000))
        model.whole(t)


@test("what a read leaves")
def leaves(t: Test, model: Model) -> None:
    model.clear(t)
    for _ in range(3):
        some(t, model, 4)
        model.whole(t)
        model.whole(t)
    some(t, model, 4)
    t.do(f"seek {SUM} 0", 0)
    t.do(f"read {SUM} 4096", model.image())
    t.do(f"read {SUM} 4096", b"")
    if model.takes:
        model.forget()
    model.whole(t)


@test("reads of any offset and length", points=2)
def parts(t: Test, model: Model) -> None:
    model.clear(t)
    some(t, model, 20)
    size = model.size
    t.do(f"size {SUM}", size)
    ends = (size, size + 1, size + 4096, OFFSET_MAX - 1, OFFSET_MAX)
    inside = t.random.sample(range(1, size), 9)
    for at in (*inside, size - 1, *ends):
        length = t.random.choice((1, 2, 7, size, 4096))
        if model.takes:
            t.do(f"pread {SUM} {length} {at}", b"")
        else:
            model.part(t, length, at)
    for length in (1, size // 2, size - 1):
        if model.takes:
            t.do(f"pread {SUM} {length} 0", "-EINVAL")
        else:
            model.part(t, length, 0)
    model.whole(t)


@test("addresses that aren't the program's", points=2)
def addresses(t: Test, model: Model) -> None:
    model.clear(t)
    some(t, model, 8)
    t.do(f"seek {SUM} 0", 0)
    for address in NO_ADDRESSES:
        t.do(f"read-at {SUM} {address} {model.size}", "-EFAULT")
    for room in (1, model.size // 2, model.size - 1):
        t.do(f"read-edge {SUM} {room} {model.size}", "-EFAULT")
    t.do(f"read {SUM} {model.size}", model.image())
    if model.takes:
        model.forget()
    some(t, model, 8)
    n = t.random.randrange(3, 9)
    if model.word:
        for address in NO_ADDRESSES:
            t.do(f"write-at {SUM} {address} {n}", "-EFAULT")
    else:
        t.do(f"write-at {SUM} {t.random.choice(NO_ADDRESSES)} {n}", n)
        model.forget()
    model.whole(t)


@test("what clears", points=2)
def clears(t: Test, model: Model) -> None:
    word = model.word
    if word:
        bad = [
            word[:-1],
            f"{word}s",
            word.upper(),
            f"{word} 1",
            f"1 {word}",
            "0",
            "-",
            f"{word} {word}",
            "a" * 300,
        ]
        good = [word, f"{word}\n", f"\t {word} "]
    else:
        bad = []
        good = ["0", "-1", "stop", "\n", "\0\0\0", "\x7f", "a" * 300]
    for text in t.random.sample(bad, len(bad)):
        some(t, model, 1)
        t.put(SUM, text, "-EINVAL")
    for text in t.random.sample(good, len(good)):
        model.clear(t)
        some(t, model, 5)
        model.whole(t)
        some(t, model, 2)
        t.do(f"write {SUM} {text.encode().hex()}", len(text))
        model.forget()
        model.whole(t)
    some(t, model, 5)
    for text in t.random.sample(bad, len(bad)):
        t.put(SUM, text, "-EINVAL")
    model.whole(t)


# --- Who comes at once -------------------------------------------------------


def wait(t: Test, children: int) -> None:
    for slot in range(children):
        t.do(f"wait {slot}", 0)


@test("four processes count for one mode", points=4, race=4)
def four(t: Test, model: Model) -> None:
    model.clear(t)
    mode, hart = t.random.choice(MODES), t.random.randrange(HARTS)
    for slot in range(4):
        with t.child(slot):
            t.put(CLOCK, f"sample {mode} {hart} 0 0 0x1000 6000")
    wait(t, 4)
    model.counts[mode] += 4 * 6000
    model.whole(t)


class Reader:
    """Looks of one process, while others count. What it has seen is in `last' and
    `told', the sum of all reads."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.last = self.told = 0

    def look(self, t: Test) -> None:
        def judge(found: dict[str, int]) -> Optional[str]:
            before, self.last = self.last, found["every"]
            self.told += self.last
            if self.last < before and not self.model.takes:
                return f"the totals fell from {before} to {self.last} samples"
            return None

        self.model.look(t, judge)


@test("totals while others count", points=3, race=3)
def meanwhile(t: Test, model: Model) -> None:
    model.clear(t)
    sent = 8000
    for slot in range(2):
        mode = t.random.choice(MODES)
        with t.child(slot):
            t.put(CLOCK, f"sample {mode} 0 0 0 0x1000 {sent}")
    readers = [Reader(model), Reader(model)]
    with t.child(2):
        for _ in range(25):
            readers[0].look(t)
    for _ in range(25):
        readers[1].look(t)
    wait(t, 3)

    def judge(found: dict[str, int]) -> Optional[str]:
        every = found["every"]
        if model.takes:
            every += sum(reader.told for reader in readers)
        if every == 2 * sent:
            return None
        return f"{2 * sent} samples were made, but the totals show {every}"

    model.look(t, judge)


@test("a clear while others count", points=3, race=4)
def cleared(t: Test, model: Model) -> None:
    """What was counted before is gone, so no more can be there than comes from
    those that count during the clear. What comes behind it is there."""
    during, behind = 1500, t.random.randrange(1, 50)

    def judge(found: dict[str, int]) -> Optional[str]:
        if found["user"] > 3 * during:
            return (
                f"{found['user']} user samples are counted, but at most {3 * during}"
                " came after the clear"
            )
        if found["idle"] != behind:
            return (
                f"{found['idle']} idle samples are counted, but {behind} came after"
                " the clear"
            )
        return None

    for _ in range(12):
        for slot in range(4):
            with t.child(slot):
                t.put(CLOCK, f"sample user 0 0 0 0x1000 {3 * during}")
        wait(t, 4)
        for slot in range(3):
            with t.child(slot):
                t.put(CLOCK, f"sample user 0 0 0 0x1000 {during}")
        t.put(SUM, model.clear_text(t))
        t.put(CLOCK, f"sample idle 0 0 0 0x1000 {behind}")
        wait(t, 3)
        model.look(t, judge)


@test("clears and reads at once", points=2, race=3)
def at_once(t: Test, model: Model) -> None:
    """No read tells of what was cleared before it began."""
    old, new = 30000, 1000
    t.put(CLOCK, f"sample user 0 0 0 0x1000 {old}")
    model.clear(t)
    told = 0

    def judge(found: dict[str, int]) -> Optional[str]:
        nonlocal told
        told = told + found["every"] if model.takes else found["every"]
        if told > new:
            return f"{told} samples are counted, but only {new} came after the clear"
        return None

    with t.child(0):
        t.many(SUM, [model.clear_text(t)] * 300)
    with t.child(1):
        t.put(CLOCK, f"sample user 0 0 0 0x1000 {new}")
    with t.child(2):
        for _ in range(30):
            model.look(t, judge)
    for _ in range(30):
        model.look(t, judge)
    wait(t, 3)


@test("the sum is kprof's total", points=3, race=2)
def kprof(t: Test, model: Model) -> None:
    """Both are cleared on hold, so they begin at the same moment."""
    t.do(f"open {KPCTL} w /dev/kpctl", 0)
    t.do(f"open {KPDATA} r /dev/kpdata", 0)
    t.put(CLOCK, "hz 20000")
    t.put(CLOCK, "jitter on")
    t.put(KPCTL, "startclr")
    model.clear(t)
    reader = Reader(model)
    t.put(CLOCK, "go")
    for slot in range(3):
        with t.child(slot):
            t.do("spin 40", 0)
    for _ in range(30):
        reader.look(t)
    wait(t, 3)
    t.put(CLOCK, "hold")
    reader.look(t)

    def total(answer: str) -> Optional[str]:
        ticks = int.from_bytes(data(answer), "big")
        every = reader.told if model.takes else reader.last
        if every == ticks and ticks > 100:
            return None
        return f"kprof has counted {ticks} samples, but /dev/sum {every}"

    t.do(f"pread {KPDATA} 4 0", total)
    t.put(CLOCK, "go")
    t.many(SUM, [model.clear_text(t)] * 100)
    t.put(CLOCK, "hold")
    model.clear(t)
    some(t, model, 5)
    model.whole(t)


# --- What it costs -----------------------------------------------------------


@test("what a sample costs", points=3)
def cost(t: Test, model: Model) -> None:
    model.clear(t)
    with t.cost("100000 samples", COST):
        model.sample(t, t.random.choice(MODES), 100000)
    model.whole(t)


@test("what samples cost when harts meet", points=2, race=2)
def meeting(t: Test, model: Model) -> None:
    """Whoever holds a lock may be made to wait at any moment: then all do."""
    model.clear(t)
    mode = t.random.choice(MODES)
    with t.cost("four times 6000 samples at once", COST):
        for slot in range(4):
            with t.child(slot):
                t.put(CLOCK, f"sample {mode} {slot} 0 0 0x1000 6000")
        wait(t, 4)
    model.counts[mode] += 4 * 6000
    model.whole(t)

"""Decides lab hist: a model of the counters, and what the file must show."""

from __future__ import annotations

from typing import Any, Callable, Optional

from tally.grading.script import ALL, NO_ADDRESSES, Test, data, test

CTL, HIST, CLOCK, OTHER = range(4)  # slots of files
MODES = ("user", "kernel", "intr", "idle")
HARTS = 4
PC_MAX = (1 << 64) - 1
OFFSET_MAX = (1 << 63) - 1
WHOLE = 1 << 20  # more than the file has
LOST = 512  # a read that ends halfway gives up fewer bytes than this
TEXT_OF_PROGRAMS = 0x10000  # can be read, not written
NO_WORDS = (
    "begin",
    "star",
    "starts",
    "Start",
    "start now",
    "stop 0",
    "clear 1",
    "clear stop",
    "sto p",
    "start;",
    "0",
    "-",
)


class Model:
    """The counters, and whether samples are counted."""

    def __init__(self, t: Test) -> None:
        self.params: dict[str, Any] = t.params
        self.bucket: int = t.params["BUCKET"]
        self.width: int = t.params["WIDTH"]
        self.limit: int = t.params["LIMIT"]
        self.full: int = t.params["FULL"]
        self.text = t.symbol("text_start")
        self.end = t.symbol("etext")
        self.buckets = -(-(self.end - self.text) // self.bucket)
        self.before = int(t.params["ELSEWHERE_FIRST"])  # counters before text's
        self.counts = [0] * (self.buckets + 1)
        self.on = False

    # --- What it does with a sample ---

    def index(self, mode: str, pc: int) -> Optional[int]:
        where = self.params["MODES"][mode]
        if where == "NOWHERE":
            return None
        if where == "BY_PC" and self.text <= pc < self.end:
            return self.before + (pc - self.text) // self.bucket
        return 0 if self.before else self.buckets

    def add(self, mode: str, pc: int, times: int) -> None:
        i = self.index(mode, pc)
        if i is None or not self.on:
            return
        total = self.counts[i] + times
        over = total - self.limit - 1
        if over >= 0:
            total = self.full + over % (self.limit + 1 - self.full)
        self.counts[i] = total

    def sample(self, t: Test, mode: str, pc: int, times: int = 1) -> None:
        self.add(mode, pc, times)
        hart = t.random.randrange(HARTS)
        t.put(CLOCK, f"sample {mode} {hart} 0 0 {pc:#x} {times}")

    def everywhere(self, t: Test) -> None:
        """Samples of each bucket, so that no byte of the file looks like another."""
        texts = []
        for bucket in range(self.buckets):
            pc, times = self.text + bucket * self.bucket, t.random.randrange(1, 6)
            self.add("kernel", pc, times)
            texts.append(f"sample kernel 0 0 0 {pc:#x} {times}")
        t.many(CLOCK, texts)

    # --- What the words do ---

    def switch(self, t: Test, on: bool) -> None:
        busy = on == self.on and self.params["AGAIN_BUSY"]
        self.on = on
        t.put(CTL, "start" if on else "stop", "-EBUSY" if busy else ALL)

    def turn(self, t: Test, on: bool) -> None:
        """Unless it's so already."""
        if self.on != on:
            self.switch(t, on)

    def fresh(self, t: Test, on: bool = True) -> None:
        """Whatever the tests before have left."""
        self.clear(t)
        t.put(CTL, "stop", None)
        self.on = False
        self.turn(t, on)

    def clear(self, t: Test) -> None:
        self.counts = [0] * len(self.counts)
        self.on = self.on and not self.params["CLEAR_STOPS"]
        t.put(CTL, "clear")

    # --- What the file shows ---

    def image(self) -> bytes:
        order = "big" if self.params["BIG"] else "little"
        return b"".join(n.to_bytes(self.width, order) for n in self.counts)

    def numbers(self, image: bytes) -> list[int]:
        order = "big" if self.params["BIG"] else "little"
        parts = range(0, len(image), self.width)
        return [int.from_bytes(image[i : i + self.width], order) for i in parts]

    def whole(self, t: Test) -> None:
        t.do(f"pread {HIST} {WHOLE} 0", self.image())

    def part(self, t: Test, size: int, at: int) -> None:
        t.do(f"pread {HIST} {size} {at}", self.image()[at : at + size])

    def one(self, t: Test, i: int, want: Callable[[int], Optional[str]]) -> None:
        """One counter; want says what is wrong with its value."""

        def right(answer: str) -> Optional[str]:
            (value,) = self.numbers(data(answer))
            return want(value)

        t.do(f"pread {HIST} {self.width} {i * self.width}", right)

    # --- Program counters ---

    def pc(self, t: Test) -> int:
        """Somewhere in text."""
        return t.random.randrange(self.text, self.end)

    def pcs(self, t: Test, number: int) -> list[int]:
        """In text, of different counters; not of the first or the last."""
        buckets = t.random.sample(range(1, self.buckets - 1), number)
        return [
            self.text + b * self.bucket + t.random.randrange(self.bucket)
            for b in buckets
        ]


def setup(t: Test) -> Model:
    model = Model(t)
    t.do(f"open {CTL} w /dev/histctl", 0)
    t.do(f"open {HIST} r /dev/hist", 0)
    t.do(f"open {CLOCK} w /dev/profclock", 0)
    t.put(CLOCK, "hold")
    return model


def some(t: Test, model: Model, times: int) -> None:
    """Samples in the kernel; where other modes count is asked by one test."""
    for _ in range(times):
        pc = t.random.choice((model.pc(t), model.pc(t), t.random.randrange(PC_MAX)))
        model.sample(t, "kernel", pc, t.random.randrange(1, 100))


@test("the files and their size")
def there(t: Test, model: Model) -> None:
    t.do(f"size {HIST}", len(model.image()))
    t.do(f"size {CTL}", 0)
    t.do(f"open {OTHER} w /dev/hist", "-EACCES")
    t.do(f"open {OTHER} r /dev/histctl", "-EACCES")


@test("off until it's started")
def off(t: Test, model: Model) -> None:
    some(t, model, 5)
    model.whole(t)
    model.turn(t, True)
    some(t, model, 5)
    model.whole(t)


@test("counts in one read", points=2)
def counts(t: Test, model: Model) -> None:
    model.fresh(t)
    some(t, model, 60)
    t.do(f"seek {HIST} 0", 0)
    t.do(f"read {HIST} {WHOLE}", model.image())
    t.do(f"read {HIST} {WHOLE}", b"")


@test("which modes count where", points=2)
def modes(t: Test, model: Model) -> None:
    model.fresh(t)
    for mode in t.random.sample(MODES, len(MODES)):
        for pc in (*model.pcs(t, 2), 0x10000 + t.random.randrange(1 << 16)):
            model.sample(t, mode, pc, t.random.randrange(1, 6))
        model.whole(t)


@test("the edges of text")
def edges(t: Test, model: Model) -> None:
    model.fresh(t)
    last = model.text + (model.buckets - 1) * model.bucket
    inside = (
        model.text,
        model.text + model.bucket - 1,
        model.text + model.bucket,
        last - 1,
        last,
        model.end - 1,
    )
    outside = (
        model.text - 1,
        model.end,
        last + model.bucket - 1,
        last + model.bucket,
        model.end + 4096,
        0,
        PC_MAX,
    )
    # One by one: the counters begin anew after a few, and sums may be the same.
    for pc in (*inside, *outside):
        model.sample(t, "kernel", pc)
        model.whole(t)


@test("reads of any length join")
def join(t: Test, model: Model) -> None:
    model.fresh(t)
    model.everywhere(t)
    image = model.image()
    for lengths in ((1000, 513, 4096, 7), (1, 255, 511, 512, 1023, 1600)):
        at = 0
        t.do(f"seek {HIST} 0", 0)
        while at < len(image):
            n = t.random.choice(lengths)
            t.do(f"read {HIST} {n}", image[at : at + n])
            at += n
        t.do(f"read {HIST} 1", b"")


@test("reads from any offset")
def anywhere(t: Test, model: Model) -> None:
    model.fresh(t)
    model.everywhere(t)
    size = len(model.image())
    for _ in range(25):
        length = t.random.choice((0, 1, 2, 3, 5, 7, 64, 513))
        model.part(t, length, t.random.randrange(size))
    for at in (size - 1, size, size + 1, OFFSET_MAX - 1, OFFSET_MAX):
        model.part(t, 9, at)
    model.part(t, OFFSET_MAX, t.random.randrange(size))
    t.do(f"seek {HIST} {size + 4096}", size + 4096)
    t.do(f"read {HIST} 9", b"")


@test("stop stops, start goes on")
def switches(t: Test, model: Model) -> None:
    model.fresh(t)
    for on in (True, False, True, False, True):
        model.turn(t, on)
        some(t, model, 4)
        model.whole(t)


@test("start when it's on, stop when it's off")
def again(t: Test, model: Model) -> None:
    model.fresh(t)
    for on in (False, True):
        model.turn(t, on)
        for _ in range(2):
            model.switch(t, on)
            some(t, model, 3)
        model.whole(t)


@test("clear", points=2)
def clears(t: Test, model: Model) -> None:
    model.fresh(t)
    for on in (True, False):
        model.turn(t, True)
        some(t, model, 8)
        model.turn(t, on)
        model.clear(t)
        model.whole(t)
        some(t, model, 5)
        model.whole(t)


@test("unknown words")
def no_words(t: Test, model: Model) -> None:
    model.fresh(t)
    for on in (True, False):
        model.turn(t, on)
        some(t, model, 3)
        for word in NO_WORDS:
            t.put(CTL, word, "-EINVAL")
            model.sample(t, "kernel", model.pc(t))
        model.whole(t)


@test("addresses that aren't the program's", points=2)
def no_addresses(t: Test, model: Model) -> None:
    model.fresh(t)
    some(t, model, 5)
    at = t.random.randrange(300)
    t.do(f"seek {HIST} {at}", at)
    for address in (*NO_ADDRESSES, TEXT_OF_PROGRAMS):
        t.do(f"read-at {HIST} {address} 9", "-EFAULT")
        t.do(f"read {HIST} 2", model.image()[at : at + 2])
        at += 2
    for address in NO_ADDRESSES:
        t.do(f"write-at {CTL} {address} 4", "-EFAULT")
    some(t, model, 3)
    model.whole(t)


@test("a read that fails halfway")
def halfway(t: Test, model: Model) -> None:
    model.fresh(t)
    some(t, model, 20)
    image = model.image()
    for _ in range(4):
        at, room = t.random.randrange(100), t.random.randrange(LOST + 8, 1000)
        t.do(f"seek {HIST} {at}", at)
        if t.params["SHORT"]:
            short(t, image, at, room)
        else:
            t.do(f"read-room {HIST} {room} 1200", "-EFAULT")
            t.do(f"read {HIST} 20", image[at : at + 20])


def short(t: Test, image: bytes, at: int, room: int) -> None:
    """Some of the bytes come; the next read goes on behind them."""
    came = 0

    def first(answer: str) -> Optional[str]:
        nonlocal came
        came = int(answer.split()[0])
        if not room - LOST < came <= room:
            return f"the buffer has room for {room} bytes, but the read stored {came}"
        if data(answer)[:came] != image[at : at + came]:
            return f"the {came} bytes that were read differ from the file's"
        return None

    def second(answer: str) -> Optional[str]:
        if data(answer) == image[at + came : at + came + 20]:
            return None
        return f"this read doesn't continue after the {came} bytes of the first read"

    t.do(f"read-room {HIST} {room} 1200", first)
    t.do(f"read {HIST} 20", second)


@test("a full counter", points=2)
def full(t: Test, model: Model) -> None:
    model.fresh(t)
    for pc in (*model.pcs(t, 2), model.end):  # the last is elsewhere
        model.sample(t, "kernel", pc, model.limit - 1)
        for times in (1, 1, 1, t.random.randrange(2, 999)):
            model.sample(t, "kernel", pc, times)
            i = model.index("kernel", pc)
            model.part(t, model.width, i * model.width)
    model.whole(t)


@test("samples of the clock, while it's read")
def real(t: Test, model: Model) -> None:
    model.fresh(t)
    t.put(CLOCK, "hz 10000")
    t.put(CLOCK, "go")
    for _ in range(20):
        t.do(f"seek {HIST} 0", 0)
        t.do(f"drain {HIST} {WHOLE} 1", len(model.image()))
    t.put(CLOCK, "hold")

    def shape(answer: str) -> Optional[str]:
        numbers = model.numbers(data(answer))
        if len(numbers) != len(model.counts) or max(numbers) > model.limit:
            return (
                f"there are {len(numbers)} counters, and the largest is {max(numbers)};"
                f" there should be {len(model.counts)}, each at most {model.limit}"
            )
        return None if any(numbers) else "no sample was counted"

    t.do(f"pread {HIST} {WHOLE} 0", shape)
    t.put(CLOCK, "hz 100")
    model.clear(t)
    model.whole(t)


def wait(t: Test, children: int) -> None:
    for slot in range(children):
        t.do(f"wait {slot}", 0)


@test("harts count at once", points=3, race=4)
def at_once(t: Test, model: Model) -> None:
    """None is lost, and nobody sees a counter past its limit."""
    model.fresh(t)
    pcs = [*model.pcs(t, 2), model.end]
    for slot in range(3):
        with t.child(slot):
            for pc in pcs:
                model.sample(t, "kernel", pc, 6000)
    for _ in range(15):
        for pc in pcs:
            model.one(
                t,
                model.index("kernel", pc),
                lambda n: None
                if n <= model.limit
                else f"a counter is {n}, but its limit is {model.limit}",
            )
    wait(t, 3)
    for pc in pcs:
        model.part(t, model.width, model.index("kernel", pc) * model.width)


@test("stopped is stopped", race=6)
def stopped(t: Test, model: Model) -> None:
    pc = model.pcs(t, 1)[0]
    i = model.index("kernel", pc)
    for slot in range(3):
        with t.child(slot):
            for _ in range(10):
                t.put(CLOCK, f"sample kernel 0 0 0 {pc:#x} 2000")
    for _ in range(10):
        model.clear(t)
        model.switch(t, True)
        t.do("spin 1", 0)
        model.switch(t, False)
        unchanged(t, model, i)
    wait(t, 3)


def unchanged(t: Test, model: Model, i: int) -> None:
    """Two looks at a counter show the same."""
    seen = 0

    def first(n: int) -> Optional[str]:
        nonlocal seen
        seen = n
        return None

    model.one(t, i, first)
    t.do("sleep 1", 0)

    def second(n: int) -> Optional[str]:
        return None if n == seen else f"was {seen} after `stop`, is {n} now"

    model.one(t, i, second)


@test("two words at once", race=3)
def words(t: Test, model: Model) -> None:
    """Whichever of two words is the first, each is done as a whole: a stop isn't
    undone by a clear that began before; and when a clear has turned it off, all
    is clear, though a hart was counting without a pause."""
    pc, other = model.text + (model.buckets - 1) * model.bucket, model.text
    stops = model.params["CLEAR_STOPS"]
    model.clear(t)
    with t.child(1):
        t.put(CLOCK, f"sample kernel 0 0 0 {other:#x} 300000")
    for _ in range(60):
        model.turn(t, not stops)
        with t.child(0):
            t.many(CTL, ["clear"] * 8)
        t.do(f"spin {t.random.randrange(2)}", 0)
        t.put(CTL, "start" if stops else "stop")
        t.put(CLOCK, f"sample kernel 0 0 0 {pc:#x} 3")
        t.do("wait 0", 0)
        t.put(CLOCK, f"sample kernel 0 0 0 {pc:#x} 2")
        outcome(t, model, model.index("kernel", pc), model.index("kernel", other))
        t.put(CTL, "stop", None)
        t.put(CTL, "clear")
        model.on = False
    t.do("wait 1", 0)


def outcome(t: Test, model: Model, i: int, other: int) -> None:
    """Counter i had 3 samples after the last word but clear, and 2 at the end."""
    stops = model.params["CLEAR_STOPS"]
    is_off = True

    def mine(n: int) -> Optional[str]:
        nonlocal is_off
        is_off = n == 0
        if n == 0 or n == 5 and stops:
            return None
        return (
            f"a counter is {n} after `clear` and `start`, not 0 or 5"
            if stops
            else f"a counter is {n} after `clear` and `stop`, not 0"
        )

    def others(n: int) -> Optional[str]:
        if is_off and n:
            return f"a counter is {n} after a `clear` that stopped counting, not 0"
        return None

    model.one(t, i, mine)
    model.one(t, other, others if stops else lambda n: None)

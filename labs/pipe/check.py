"""Decides lab pipe: a model of a pipe."""

from __future__ import annotations

from collections import Counter
from typing import Any, Optional

from tally.grading.script import NEVER, Test, data, test

PAGE = 4096
READER, WRITER = 0, 1  # slots
SIGKILL, SIGUSR1 = 9, 10
POLLIN, POLLOUT, POLLERR, POLLHUP = 1, 4, 8, 16
ALL = 1 << 17  # bytes: more than a pipe can have
ROUNDS = 200
ALL_SENT = 5000  # more than is written in one piece
BAD = (0, 0x7000_0000, 0xFFFF_FFFF_8020_0000)


class Model:
    """One pipe, whose ends don't wait if `nonblock`."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.size = params["PAGES"] * PAGE
        self.atomic = params["ATOMIC"]

    def make(self, t: Test, nonblock: bool = False) -> None:
        t.do(f"close {READER}")
        t.do(f"close {WRITER}")
        t.do(f"pipe {READER} {WRITER}" + " n" * nonblock, 0)
        self.nonblock = nonblock
        self.bytes = b""
        self.low = 1

    @property
    def room(self) -> int:
        return self.size - len(self.bytes)

    def write(self, t: Test, size: int) -> None:
        """What must wait isn't asked for, unless it can't."""
        sent = t.random.randbytes(size)
        taken = size
        if self.nonblock and size > self.room:
            enough = 1 if self.params["ANY_ROOM"] else self.atomic
            taken = self.room if size > self.atomic and self.room >= enough else -1
        assert taken >= 0 or self.nonblock
        t.do(f"write {WRITER} {sent.hex()}", taken if taken >= 0 else "-EAGAIN")
        self.bytes += sent[: max(taken, 0)]

    def read(self, t: Test, size: int) -> None:
        enough = min(self.low, size) if self.params["LOW_CAPPED"] else self.low
        if self.nonblock and self.params["LOW_TAKES"]:
            enough = 1
        if len(self.bytes) < enough:
            assert self.nonblock
            t.do(f"read {READER} {size}", "-EAGAIN")
        else:
            t.do(f"read {READER} {size}", self.take(size))

    def take(self, size: int) -> bytes:
        got, self.bytes = self.bytes[:size], self.bytes[size:]
        return got

    def count(self, t: Test) -> None:
        unread = len(self.bytes)
        command = self.params["COUNT"]
        t.do(f"ioctl {READER} {command} 0", unread)
        other = self.room if self.params["COUNT_OWN"] else unread
        t.do(f"ioctl {WRITER} {command} 0", other)

    def mark(self, t: Test, low: int) -> None:
        t.do(f"ioctl {READER} {self.params['LOW']} {low}", 0)
        self.low = low


def setup(t: Test) -> Model:
    return Model(t.params)


# --- Bytes -------------------------------------------------------------------


@test("what goes in comes out, in that order", points=2)
def order(t: Test, model: Model) -> None:
    model.make(t)
    for _ in range(12):
        model.write(t, t.random.randrange(min(model.room, 3000) + 1))
        model.write(t, t.random.randrange(min(model.room, 200) + 1))
        while model.bytes and (t.random.randrange(3) or model.room < 4000):
            model.read(t, t.random.randrange(1, 2500))
    t.do(f"read {READER} 0", b"")
    t.do(f"write {WRITER} ", 0)


@test("full, empty, and nobody waits", points=2)
def nonblock(t: Test, model: Model) -> None:
    model.make(t, nonblock=True)
    model.read(t, 10)
    for _ in range(3):
        while model.room >= model.atomic:
            model.write(t, t.random.randrange(1, model.atomic + 1))
        for size in (model.atomic, model.size, model.room + 1):
            model.write(t, size)
        model.write(t, model.room)
        model.write(t, 1)
        model.read(t, t.random.randrange(1, 2 * model.atomic))
        model.write(t, model.size)
        model.read(t, ALL)
        model.read(t, 1)


@test("a small write is done as a whole, or not at all", points=2)
def whole(t: Test, model: Model) -> None:
    model.make(t, nonblock=True)
    for _ in range(4):
        while model.room >= model.atomic:
            model.write(t, model.atomic)
        model.write(t, model.room + 1)
        model.write(t, model.atomic)
        model.count(t)
        model.read(t, 2 * model.atomic + t.random.randrange(50))
        model.count(t)


@test("how many there are")
def counts(t: Test, model: Model) -> None:
    model.make(t)
    model.count(t)
    for _ in range(4):
        model.write(t, t.random.randrange(1, min(model.room, 2000)))
        model.count(t)
        model.read(t, t.random.randrange(1, 1500))
        model.count(t)
    t.do(f"ioctl {READER} 7 0", "-ENOTTY")
    t.do(f"ioctl {WRITER} 7 0", "-ENOTTY")


@test("a bad address moves nothing", points=2)
def addresses(t: Test, model: Model) -> None:
    model.make(t)
    size = model.atomic - 1
    model.write(t, PAGE - 100)  # what follows comes to lie in two pages
    model.write(t, size)
    model.read(t, PAGE - 100)
    for address in BAD:
        t.do(f"write-at {WRITER} {address} {size}", "-EFAULT")
        t.do(f"read-at {READER} {address} {ALL}", "-EFAULT")
        model.count(t)
    t.do(f"read-edge {READER} {size // 2} {ALL}", "-EFAULT")
    model.count(t)
    model.read(t, ALL)


# --- Who waits ---------------------------------------------------------------


def read_later(t: Test, slot: int, size: int) -> int:
    """A child reads; the place of that step, whose answer is known later."""
    with t.child(slot):
        t.do(f"read {READER} {size}")
    return len(t.steps) - 1


@test("a reader sleeps until there is something", points=2)
def reader(t: Test, model: Model) -> None:
    model.make(t)
    for _ in range(3):
        place = read_later(t, 0, ALL)
        t.do("state 0", "S")
        model.write(t, t.random.randrange(1, 900))
        t.steps[place].want = model.take(ALL)
        t.do("wait 0", 0)


@test("a writer sleeps until there is room for it", points=3)
def writer(t: Test, model: Model) -> None:
    """For all of a small write; a larger one goes on piece by piece."""
    model.make(t)
    model.write(t, model.size)
    sent = t.random.randbytes(model.atomic)
    with t.child(0):
        t.do(f"write {WRITER} {sent.hex()}", len(sent))
    for size in (1, model.atomic - 2):
        t.do("state 0", "S")
        model.read(t, size)
    t.do("state 0", "S")
    model.read(t, 1)
    t.do("wait 0", 0)
    model.bytes += sent
    sent = t.random.randbytes(3 * model.size)
    with t.child(0):
        t.do(f"write {WRITER} {sent.hex()}", len(sent))
    model.bytes += sent
    while model.bytes:
        t.do("state 0")
        size = min(len(model.bytes), model.size - model.atomic)
        t.do(f"read {READER} {size}", model.take(size))
    t.do("wait 0", 0)


@test("a reader's mark", points=3)
def mark(t: Test, model: Model) -> None:
    model.make(t, nonblock=True)
    low, best = model.params["LOW"], model.params["LOW_MAX"]
    t.do(f"ioctl {WRITER} {low} 5", f"-{model.params['NO_READER']}")
    for wrong in (0, best + 1, 1 << 40):
        t.do(f"ioctl {READER} {low} {wrong}", "-EINVAL")
    for high in (t.random.randrange(100, 2000), best):
        model.mark(t, high)
        model.write(t, high - 1)
        t.do(f"poll {READER} 0", 0)
        model.read(t, 40)
        model.read(t, ALL)
        model.write(t, high - len(model.bytes))
        t.do(f"poll {READER} 0", POLLIN)
        model.read(t, ALL)


@test("a reader sleeps until its mark, or the mark is lowered", points=3)
def marked(t: Test, model: Model) -> None:
    model.make(t)
    high = t.random.randrange(200, 2000)
    model.mark(t, high)
    place = read_later(t, 0, ALL)
    for size in (1, high - 2, 1):
        t.do("state 0", "S")
        model.write(t, size)
    t.steps[place].want = model.take(ALL)
    t.do("wait 0", 0)
    model.write(t, high // 2)
    place = read_later(t, 0, ALL)
    t.do("state 0", "S")
    model.mark(t, high // 2)
    t.steps[place].want = model.take(ALL)
    t.do("wait 0", 0)


@test("poll is woken up, too", points=2)
def polls(t: Test, model: Model) -> None:
    model.make(t)
    with t.child(0):
        t.do(f"poll {READER} -1", POLLIN)
    t.do("state 0", "S")
    model.write(t, 7)
    t.do("wait 0", 0)
    model.read(t, ALL)
    with t.child(0):
        t.do(f"close {WRITER}", 0)
        t.do(f"poll {READER} -1", POLLHUP)
    t.do("state 0", "S")
    t.do(f"close {WRITER}", 0)
    t.do("wait 0", 0)


@test("a signal ends the wait", points=3)
def signals(t: Test, model: Model) -> None:
    """What has been moved counts."""
    model.make(t)
    with t.child(0):
        t.do(f"read {READER} {ALL}", "-EINTR")
        t.do("caught", 1)
    t.do("state 0", "S")
    t.do(f"kill 0 {SIGUSR1}", 0)
    t.do("wait 0", 0)
    first = t.random.randrange(1, 900)
    model.write(t, first)
    sent = t.random.randbytes(2 * model.size)
    written = [model.bytes]
    with t.child(0):

        def moved(answer: str) -> Optional[str]:
            n = int(answer)
            written.append(sent[:n])
            good = model.size - model.atomic < first + n <= model.size
            if good:
                return None
            return (
                f"{answer} bytes were written to a pipe that holds {model.size} bytes,"
                f" {first} of which were used"
            )

        t.do(f"write {WRITER} {sent.hex()}", moved)
    t.do("state 0", "S")
    t.do(f"kill 0 {SIGUSR1}", 0)
    t.do("wait 0", 0)
    t.do(f"read {READER} {ALL}", lambda got: unlike(data(got), b"".join(written)))
    model.make(t)
    with t.child(0):
        t.do(f"read {READER} {ALL}", NEVER)
    t.do("state 0", "S")
    t.do(f"kill 0 {SIGKILL}", 0)
    t.do("wait 0", SIGKILL)
    model.write(t, 5)
    model.read(t, ALL)


def unlike(got: bytes, want: bytes) -> Optional[str]:
    return (
        None
        if got == want
        else f"the {len(got)} bytes read aren't the {len(want)} written"
    )


# --- The other end goes ------------------------------------------------------


@test("the last writer goes: the rest, then the end", points=3)
def last_writer(t: Test, model: Model) -> None:
    for rest in (0, t.random.randrange(1, 90)):
        model.make(t)
        model.mark(t, 100)
        model.write(t, rest)
        with t.child(0):
            t.do(f"close {WRITER}", 0)
            t.do(f"read {READER} {ALL}", model.take(ALL))
            t.do(f"read {READER} {ALL}", b"")
            t.do(f"poll {READER} 0", POLLHUP)
        t.do("state 0", "S")
        t.do(f"close {WRITER}", 0)
        t.do("wait 0", 0)


@test("the last reader goes: EPIPE, and SIGPIPE", points=3)
def last_reader(t: Test, model: Model) -> None:
    model.make(t)
    model.write(t, model.size)
    with t.child(0):
        t.do(f"close {READER}", 0)
        t.do(f"write {WRITER} 01", "-EPIPE")
        t.do("caught", 1)
        t.do(f"write {WRITER} {'02' * ALL_SENT}", "-EPIPE")
        t.do("caught", 2)
        t.do(f"poll {WRITER} 0", POLLERR)
    t.do("state 0", "S")
    t.do(f"close {READER}", 0)
    t.do("wait 0", 0)


# --- Many at once ------------------------------------------------------------


def records(t: Test, model: Model, name: str, count: int) -> list[str]:
    """Texts that tell who wrote them, of up to as many bytes as stay whole."""
    r = t.random
    texts = []
    for i in range(count):
        size = r.choice((12, model.atomic // 3, model.atomic))
        head = f"<{name}{i:03}"
        texts.append(head + r.choice("xyz") * (size - len(head) - 1) + ">")
    return texts


@test("small writes of several aren't mixed", points=4, race=3)
def unmixed(t: Test, model: Model) -> None:
    model.make(t)
    sent = {name: records(t, model, name, 30) for name in "abc"}
    for slot, texts in enumerate(sent.values()):
        with t.child(slot):
            t.many(WRITER, texts)
    t.do(f"close {WRITER}", 0)
    t.do("state 0")  # by then it's full

    def good(answer: str) -> Optional[str]:
        got = data(answer).decode("latin-1")
        pieces = [f"{piece}>" for piece in got.split(">")[:-1]]
        for name, texts in sent.items():
            mine = [piece for piece in pieces if piece[1:2] == name]
            for want, have in zip(texts, mine):
                if want != have:
                    return (
                        f"the write {want[:5]}.. was read as {have[:20]}..,"
                        f" {len(have)} bytes"
                    )
            if len(mine) != len(texts):
                return f"of {len(texts)} writes by writer {name}, {len(mine)} were read"
        return None

    t.do(f"read-all {READER} {model.atomic + 100}", good)
    for slot in range(3):
        t.do(f"wait {slot}", 0)


@test("several readers and writers: each byte once", points=4, race=3)
def once(t: Test, model: Model) -> None:
    model.make(t)
    sent: Counter = Counter()
    seen: Counter = Counter()

    def add(answer: str) -> None:
        seen.update(data(answer))

    def equal(_: str) -> Optional[str]:
        more, less = (seen - sent).total(), (sent - seen).total()
        return (
            f"{more} bytes were read too often, {less} never" if more or less else None
        )

    for slot in range(2):
        large = t.random.randbytes(2 * model.size)
        small = [t.random.choice("xyz") * t.random.randrange(1, 40) for _ in range(200)]
        sent.update(large + "".join(small).encode())
        with t.child(slot):
            t.do(f"close {READER}", 0)
            t.many(WRITER, small)
            t.do(f"write {WRITER} {large.hex()}", len(large))
    for slot in range(2, 4):
        with t.child(slot):
            t.do(f"close {WRITER}", 0)
            t.do(f"read-all {READER} {t.random.randrange(100, 1500)}", add)
    t.do(f"close {WRITER}", 0)
    for slot in range(4):
        t.do(f"wait {slot}", 0)
    t.do("sleep 0", equal)


@test("passing a byte to and fro is fast", points=3)
def cost(t: Test, model: Model) -> None:
    """Two processes and two pipes: each sleeps while the other has its turn."""
    model.make(t)
    t.do("pipe 2 3", 0)
    with t.child(0):
        t.do(f"relay {READER} 3 {ROUNDS}", ROUNDS)
    with t.cost("the rounds", 1.4):
        t.do(f"write {WRITER} 01", 1)
        t.do(f"relay 2 {WRITER} {ROUNDS - 1}", ROUNDS - 1)
        t.do("read 2 1", b"\1")
    t.do("wait 0", 0)
    t.do("close 2", 0)
    t.do("close 3", 0)

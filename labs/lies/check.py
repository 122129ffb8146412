"""Decides lab lies: a server that lies, and a model of who isn't taken in.

Each test makes a true reply and tells one lie of it; sometimes two, when it matters
which of them is noticed first. All numbers are drawn.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Any, Optional

from tally.grading.script import Test, test

HEADER, COUNTED = 7, 11
RLERROR = 7
VERSION, ATTACH, WALK, LOPEN, GETATTR, FSYNC = 100, 104, 110, 12, 24, 50
READ, WRITE, READDIR = 116, 118, 40
#: What the kernel wants of each, as p9.h and hostfs.c have it.
FIELDS = {
    VERSION: "dw",
    ATTACH: "bdq",
    WALK: "wbdq",
    LOPEN: "",
    FSYNC: "",
    GETATTR: "qbdqdddqqqqqqqqqqq",
    READ: "d",
    WRITE: "d",
    READDIR: "d",
}
BITS = {"b": 8, "w": 16, "d": 32, "q": 64}
FORMATS = {"b": "B", "w": "H", "d": "I", "q": "Q"}
#: Linux's errnos, by number. Those above ERANGE are all that the kernel knows.
ERRNOS = (
    "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES"
    " EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE"
    " ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE"
).split()
KNOWN = {
    **{number: name for number, name in enumerate(ERRNOS, 1)},
    35: "EDEADLK",
    36: "ENAMETOOLONG",
    38: "ENOSYS",
    39: "ENOTEMPTY",
    40: "ELOOP",
    75: "EOVERFLOW",
    95: "EOPNOTSUPP",
    116: "ESTALE",
    122: "EDQUOT",
}
NAME_MAX = 255
ENTRY = 24  # bytes of an entry before its name


@dataclasses.dataclass
class Reply:
    """A reply, before it is sent: `size' is what it says, `data' come behind it."""

    asked: int
    tag: int
    count: int  # that was asked for
    body: bytes
    values: list[int]
    data: int = 0
    type: int = 0
    said_tag: int = 0
    said_size: Optional[int] = None

    @property
    def bytes(self) -> bytes:
        whole = HEADER + len(self.body) + self.data
        size = whole if self.said_size is None else self.said_size
        return struct.pack("<IBH", size & 0xFFFF_FFFF, self.type, self.said_tag) + (
            self.body
        )

    def step(self, came: Optional[bytes] = None) -> str:
        sent = self.bytes if came is None else came
        fields = FIELDS[self.asked] or "-"
        return (
            f"reply {self.asked} {self.tag} {self.count} {fields} {self.data}"
            f" {sent.hex() or '-'}"
        )


class Model:
    """A client of which the session is known."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.lies = 0
        self.closed = False
        bits = {
            "append only": 0x40,
            "exclusive": 0x20,
            "a mount": 0x10,
            "authentication": 0x08,
            "temporary": 0x04,
        }
        self.known = [0x80, 0x02] + [bits[name] for name in params["KNOWN"]]
        self.unknown = [b for b in [*bits.values(), 0x01] if b not in self.known]

    def session(self, t: Test) -> None:
        t.do("session", 0)
        self.lies, self.closed = 0, False

    @property
    def state(self) -> str:
        return "closed" if self.closed else "open"

    # --- What is true ---

    def qid(self, t: Test) -> int:
        return sum(bit for bit in self.known if t.random.random() < 0.3)

    def true(self, t: Test, asked: Optional[int] = None) -> Reply:
        """A reply that nothing is wrong with."""
        r = t.random
        asked = r.choice(list(FIELDS)) if asked is None else asked
        tag = 0xFFFF if asked == VERSION else r.randrange(0xFFFF)
        count = r.randrange(1, 65536) if asked in (READ, WRITE, READDIR) else 0
        values = [
            self.qid(t) if kind == "b" else r.getrandbits(BITS[kind])
            for kind in FIELDS[asked]
        ]
        data = 0
        if count:
            values = [r.choice((0, 1, count - 1, count, r.randrange(count + 1)))]
            data = values[0] if asked != WRITE else 0
        body = struct.pack("<" + "".join(FORMATS[k] for k in FIELDS[asked]), *values)
        if asked not in (READ, READDIR, WRITE):
            body += r.randbytes(r.randrange(20))  # fields that nobody wants
        return Reply(asked, tag, count, body, values, data, asked + 1, tag)

    def honest(self, t: Test, reply: Optional[Reply] = None) -> None:
        """The reply is taken as it is."""
        reply = self.true(t) if reply is None else reply
        if self.params["FORGIVES"]:
            self.lies = 0
        words = ["0", self.state, *map(str, reply.values)]
        t.do(reply.step(), " ".join(words))

    def error(self, t: Test, number: int) -> None:
        """An errno, of a request that could have failed."""
        reply = self.error_reply(t, struct.pack("<I", number))
        if number not in KNOWN:
            self.lie(t, reply, "ODD")
            return
        if self.params["FORGIVES"]:
            self.lies = 0
        t.do(reply.step(), f"-{KNOWN[number]} {self.state}")

    def error_reply(self, t: Test, body: bytes) -> Reply:
        reply = self.true(t)
        reply.type, reply.body, reply.data = RLERROR, body, 0
        return reply

    # --- What isn't ---

    def told(self, lie: str) -> str:
        """A lie is noticed: the answer."""
        self.lies += 1
        if lie in self.params["CLOSES"] or self.lies >= self.params["STRIKES"]:
            self.closed = True
        return f"-{self.params[lie]} {self.state}"

    def lie(
        self, t: Test, reply: Reply, lie: str, came: Optional[bytes] = None
    ) -> None:
        t.do(reply.step(came), self.told(lie))

    def entry(self, t: Test, data: bytes, want: str) -> None:
        t.do(f"entry {data.hex() or '-'}", want)


def setup(t: Test) -> Model:
    model = Model(t.params)
    t.do("session", 0)
    return model


def alone(t: Test, model: Model) -> None:
    """What came before doesn't matter, neither here nor in another order."""
    model.session(t)


@test("an honest server", points=2)
def honest(t: Test, model: Model) -> None:
    alone(t, model)
    for asked in [*FIELDS] * 3:
        model.honest(t, model.true(t, asked))
    for number in t.random.sample(sorted(KNOWN), 12):
        model.error(t, number)
    for _ in range(10):
        name = t.random.randbytes(t.random.randrange(1, 60)).replace(b"\0", b"x")
        good_entry(t, model, name.replace(b"/", b"x"))
    good_entry(t, model, b"n" * NAME_MAX)
    good_entry(t, model, b"n", behind=b"")


@test("less than a header, or nothing")
def no_header(t: Test, model: Model) -> None:
    for size in range(HEADER):
        alone(t, model)
        reply = model.true(t, t.random.choice((FSYNC, WALK, ATTACH)))
        model.lie(t, reply, "SHORT", reply.bytes[:size])


@test("a field that is cut short", points=2)
def cut(t: Test, model: Model) -> None:
    for asked in (WALK, GETATTR, ATTACH, VERSION, READ, WRITE):
        alone(t, model)
        reply = model.true(t, asked)
        whole = struct.calcsize("<" + "".join(FORMATS[k] for k in FIELDS[asked]))
        reply.body = reply.body[: t.random.randrange(whole)]
        reply.data = 0
        model.lie(t, reply, "SHORT")


@test("a wrong size", points=2)
def size(t: Test, model: Model) -> None:
    for asked in (WALK, FSYNC, READ, GETATTR):
        for more in (1, t.random.randrange(2, 5000), 0x7FFF_FFF0, 0xFFFF_0000):
            alone(t, model)
            reply = model.true(t, asked)
            whole = len(reply.bytes) + reply.data
            reply.said_size = min(whole + more, 0xFFFF_FFFF)
            model.lie(t, reply, "SIZE")
        alone(t, model)
        reply = model.true(t, asked)
        reply.said_size = t.random.randrange(HEADER)
        model.lie(t, reply, "SIZE")


@test("more came than the size says")
def behind(t: Test, model: Model) -> None:
    for asked in (WALK, ATTACH, GETATTR):
        alone(t, model)
        reply = model.true(t, asked)
        needed = struct.calcsize("<" + "".join(FORMATS[k] for k in FIELDS[asked]))
        reply.body += b"rest"
        reply.said_size = HEADER + needed
        beyond(t, model, reply, None)
        reply = model.true(t, asked)
        reply.said_size = HEADER + t.random.randrange(needed)
        beyond(t, model, reply, "SHORT")
    for less in (1, 5):
        alone(t, model)
        reply = model.true(t, READ)
        count = 100 + t.random.randrange(1000)
        reply.count = reply.data = count
        reply.values = [count]
        reply.body = struct.pack("<I", count)
        reply.said_size = len(reply.bytes) + count - less
        beyond(t, model, reply, "COUNT")


def beyond(t: Test, model: Model, reply: Reply, lie: Optional[str]) -> None:
    """A reply that says less than came; what it is if that's no lie itself."""
    if model.params["EXACT"]:
        model.lie(t, reply, "SIZE")
    elif lie is None:
        model.honest(t, reply)
    else:
        model.lie(t, reply, lie)


@test("a reply to another request", points=2)
def other(t: Test, model: Model) -> None:
    for _ in range(6):
        alone(t, model)
        reply = model.true(t)
        reply.said_tag = (reply.tag + t.random.randrange(1, 0x10000)) & 0xFFFF
        model.lie(t, reply, "TAG")
        alone(t, model)
        error = model.error_reply(t, struct.pack("<I", 2))
        error.said_tag = error.tag ^ 0x100
        model.lie(t, error, "TAG")
        alone(t, model)
        reply = model.true(t)
        wrong = [n for n in range(256) if n not in (RLERROR, reply.asked + 1)]
        reply.type = t.random.choice([*wrong, reply.asked])
        model.lie(t, reply, "TYPE")


@test("two lies at once")
def first(t: Test, model: Model) -> None:
    for _ in range(3):
        alone(t, model)
        reply = model.true(t, t.random.choice((WALK, READ, FSYNC)))
        reply.said_tag ^= 1
        reply.type = reply.asked
        model.lie(t, reply, "TYPE" if t.params["TYPE_FIRST"] else "TAG")
        alone(t, model)
        reply.said_size = len(reply.bytes) + reply.data + 1
        model.lie(t, reply, "SIZE")
        alone(t, model)
        reply = model.true(t, WALK)
        reply.body, reply.type = b"", reply.asked
        model.lie(t, reply, "TYPE")


@test("an unknown errno", points=2)
def odd(t: Test, model: Model) -> None:
    strange = [
        37,
        41,
        133,
        4095,
        4096,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFF,
        0,
        0xFFFF_FFFE,
        0x100 + 35,
        0x1_0000 + 2,
        t.random.randrange(200, 1 << 31),
    ]
    for number in strange:
        alone(t, model)
        model.error(t, number)
    for size in range(4):
        alone(t, model)
        model.lie(t, model.error_reply(t, bytes(size)), "SHORT")


@test("a count larger than what was asked, or came", points=2)
def counts(t: Test, model: Model) -> None:
    for asked in (READ, READDIR, WRITE):
        for count in (1, 100, t.random.randrange(65536)):
            for more in (1, 0x7FFF_0000, 0xFFFF_FFFF - count):
                alone(t, model)
                reply = model.true(t, asked)
                reply.count, reply.data = count, 0 if asked == WRITE else count
                reply.body = struct.pack("<I", count + more)
                model.lie(t, reply, "COUNT")
    for asked in (READ, READDIR):
        alone(t, model)
        reply = model.true(t, asked)
        reply.count = 1000
        reply.data = t.random.randrange(1000)
        reply.body = struct.pack("<I", reply.data + 1)
        model.lie(t, reply, "COUNT")


@test("a qid of no known type")
def qid(t: Test, model: Model) -> None:
    for bit in model.unknown:
        for asked in (WALK, ATTACH, GETATTR):
            alone(t, model)
            reply = model.true(t, asked)
            place = struct.calcsize(
                "<" + "".join(FORMATS[k] for k in FIELDS[asked].partition("b")[0])
            )
            kind = model.qid(t) | bit
            reply.body = reply.body[:place] + bytes([kind]) + reply.body[place + 1 :]
            model.lie(t, reply, "QID")
        alone(t, model)
        model.entry(t, pack_entry(model.qid(t) | bit, 1, 2, b"name"), model.told("QID"))


@test("a session with a server that lies is closed", points=2)
def closes(t: Test, model: Model) -> None:
    """Lies add up; some end it at once."""
    harmless = [
        n for n in ("TAG", "TYPE", "ODD", "SIZE") if n not in t.params["CLOSES"]
    ]
    for _ in range(4):
        alone(t, model)
        while not model.closed:
            if t.random.random() < 0.5 and model.lies:
                model.honest(t)
            if t.random.random() < 0.2:
                model.error(t, t.random.choice(sorted(KNOWN)))
            # With some luck so many come in a row.
            for _ in range(t.random.randrange(1, 5)):
                if not model.closed:
                    tell(t, model, t.random.choice(harmless))


def tell(t: Test, model: Model, lie: str) -> None:
    reply = model.true(t)
    if lie == "TAG":
        reply.said_tag ^= 1
    elif lie == "TYPE":
        reply.type = 255
    elif lie == "SIZE":
        reply.said_size = 3
    else:
        reply = model.error_reply(t, struct.pack("<I", 5000))
    model.lie(t, reply, lie)


# --- Directories -------------------------------------------------------------


def pack_entry(
    kind: int, path: int, cookie: int, name: bytes, length: Optional[int] = None
) -> bytes:
    said = len(name) if length is None else length
    return struct.pack("<BIQQBH", kind, 7, path, cookie, 4, said) + name


def good_entry(
    t: Test, model: Model, name: bytes, behind: bytes = b"\x80" * 30, shown: bool = True
) -> None:
    """Not shown: the name is passed over."""
    kind, path, cookie = (
        model.qid(t),
        t.random.getrandbits(64),
        t.random.getrandbits(64),
    )
    data = pack_entry(kind, path, cookie, name)
    text = name.hex() if shown else ""
    want = f"{len(data)} {model.state} {kind} {path} {cookie} {text}"
    model.entry(t, data + behind, want)


@test("an entry that is cut short", points=2)
def cut_entry(t: Test, model: Model) -> None:
    for size in (0, 1, ENTRY - 2, ENTRY - 1, t.random.randrange(ENTRY)):
        alone(t, model)
        data = pack_entry(0, 1, 2, b"name")[:size]
        model.entry(t, data, model.told("SHORT"))
    for said in (1, 2, 200, 256, 0x7FFF, 0xFFFF):
        alone(t, model)
        there = t.random.randrange(min(said, 300))
        data = pack_entry(model.qid(t), 1, 2, b"n" * there, said)
        model.entry(t, data, model.told("SHORT"))


@test("an invalid name", points=2)
def names(t: Test, model: Model) -> None:
    bad = [
        b"",
        b"/",
        b"a/b",
        b"nul\0in",
        b"\0",
        b"../up",
        b"ends/",
        b"n" * 256,
        b"n" * 257,
        b"n" * t.random.randrange(258, 4000),
    ]
    for name in bad:
        alone(t, model)
        if t.params["PASSES"]:
            good_entry(t, model, name, shown=False)
        else:
            model.entry(t, pack_entry(0, 1, 2, name) + bytes(9), model.told("NAME"))
    for name in (b".", b"..", b"...", b"a b", b"\xff\xfe", b"n" * NAME_MAX):
        alone(t, model)
        good_entry(t, model, name)

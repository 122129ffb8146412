"""Decides lab cow: a model of pages, and of the processes that share them."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any, Callable, Optional

from tally.grading.script import NEVER, Test, TestKind, data, test

PAGE = 4096
DEVICE = 3  # the descriptor of what is opened first
COW, DATA = 0, 14  # slots: the device, a pipe's end; its other end is next
TURNS = 2  # the first slot of the processes' pipes
PROCESSES = 6
MAP, REFS, FRAME, FAIL, LEAVE, FREE, PRESENT, FAIL_FORK = range(1, 9)
SIGKILL, SIGSEGV = 9, 11
#: A leaf table ends here. So does any block of pages.
EDGE = 0x4020_0000
AREA = EDGE // PAGE - 16  # page numbers: 32 that may be written
MIDDLE = 0x5000_0000 // PAGE
TEXT = 0x10000
ALL_PAGES = 1 << 40
FORK_COST, WRITE_COST = 1.35, 1.3  # times the reference


@dataclasses.dataclass
class Frame:
    """A page of memory."""

    bytes: bytearray
    refs: int = 1


@dataclasses.dataclass
class Entry:
    """Of a page table."""

    frame: Frame
    own: bool = True  # it has W, or is read-only


@dataclasses.dataclass
class Region:
    start: int  # page numbers
    end: int
    writable: bool


class Process:
    """What it does, in its order, and what its memory has."""

    def __init__(self, play: Play, parent: Optional[Process]) -> None:
        self.play = play
        self.parent = parent
        self.lives = True
        self.index = play.processes
        play.processes += 1
        assert self.index < PROCESSES
        self.actions: list[tuple] = []
        self.regions: list[Region] = list(parent.regions) if parent else []
        self.entries: dict[int, Entry] = {}

    def do(self, text: str, want: Any = None) -> None:
        self.play.turn(self)
        self.actions.append((text, want))

    # --- Pages ---

    def region(self, page: int) -> Optional[Region]:
        for r in self.regions:
            if r.start <= page < r.end:
                return r
        return None

    def map(self, page: int, pages: int, writable: bool = True) -> None:
        arg = page * PAGE | pages << 1 | writable
        self.do(f"ioctl {COW} {MAP} {arg:#x}", 0)
        self.regions.append(Region(page, page + pages, writable))

    def touch(self, page: int) -> Entry:
        if page not in self.entries:
            self.entries[page] = Entry(Frame(bytearray(PAGE)))
        return self.entries[page]

    def copy(self, entry: Entry) -> None:
        entry.frame.refs -= 1
        entry.frame = Frame(bytearray(entry.frame.bytes))
        entry.own = True

    def neighbours(self, page: int) -> list[int]:
        """Those that a write may copy, too, in their order."""
        p = self.play.params
        first = page - page % p["WINDOW"] if p["ALIGNED"] else page
        region = self.region(page)
        return [
            n
            for n in range(first, first + p["WINDOW"])
            if n != page
            and region.start <= n < region.end
            and n in self.entries
            and not self.entries[n].own
        ]

    def written(self, page: int, failures: int = 0) -> dict[str, int]:
        """A write; what it counts. failures: bit n, the nth copy finds no page."""
        entry, copied, taken = self.touch(page), 0, 0
        if entry.own:
            return {}
        alone = entry.frame.refs == 1
        while not alone and failures & 1:
            failures >>= 1  # the write is tried again
        if alone:
            entry.own, taken = True, 1
        else:
            self.copy(entry)
            failures, copied = failures >> 1, 1
        for n in self.neighbours(page):
            entry = self.entries[n]
            if entry.frame.refs == 1:
                if self.play.params["TAKES_NEIGHBOURS"]:
                    entry.own = True
                    taken += 1
                continue
            if failures & 1:
                break
            self.copy(entry)
            failures >>= 1
            copied += 1
        if self.play.params["BY_WRITES"]:
            copied = min(copied, 1)
        return {"copied": copied, "taken": taken}

    def store(self, page: int, at: int, sent: bytes) -> None:
        """Whatever the program, or the kernel, has written."""
        for i, byte in enumerate(sent):
            n, offset = divmod(page * PAGE + at + i, PAGE)
            if i == 0 or offset == 0:
                self.written(n)
            self.entries[n].frame.bytes[offset] = byte

    def poke(self, page: int, sent: Optional[bytes] = None, at: int = 0) -> None:
        if sent is None:
            sent = self.play.random.randbytes(8)
        self.do(f"poke {page * PAGE + at:#x} {sent.hex()}", len(sent))
        self.store(page, at, sent)

    def poke_told(self, page: int, failures: int = 0) -> None:
        """And what it changes of the counts."""
        byte = self.play.random.randrange(256)
        self.play.turn(self)
        counts = self.written(page, failures)
        self.store(page, 0, bytes([byte]))
        told = " ".join(str(counts.get(f, 0)) for f in self.play.params["FIELDS"])

        def judge(answer: str) -> Optional[str]:
            if answer == told:
                return None
            names = ", ".join(self.play.params["FIELDS"])
            return f"{names} should increase by {told}, but increased by {answer}"

        self.do(f"poke-told {COW} {FAIL} {failures} {page * PAGE:#x} {byte}", judge)
        self.do(f"ioctl {COW} {FAIL} 0", 0)

    def write_area(self, pages: int = 32) -> None:
        """Map some pages that may be written, and write so many of them."""
        self.map(AREA, 32)
        for page in range(AREA, AREA + pages):
            self.poke(page)

    def fill(self, page: int, pages: int) -> None:
        byte = self.play.random.randrange(256)
        self.do(f"fill {page * PAGE:#x} {pages} {byte}", pages)
        for n in range(page, page + pages):
            self.store(n, 0, bytes([byte]))

    def receive(self, page: int, at: int, size: int) -> None:
        """The kernel writes: what a pipe has."""
        sent = self.play.random.randbytes(size)
        self.do(f"write {DATA + 1} {sent.hex()}", size)
        self.do(f"read-at {DATA} {page * PAGE + at:#x} {size}", size)
        self.store(page, at, sent)

    def peek(self, page: int, size: int = 8, at: int = 0) -> None:
        want = b""
        for i in range(page * PAGE + at, page * PAGE + at + size):
            want += self.touch(i // PAGE).frame.bytes[i % PAGE :][:1]
        self.do(f"peek {page * PAGE + at:#x} {size}", want)

    def refs(self, page: int) -> None:
        """How many share a page."""
        want = self.entries[page].frame.refs if page in self.entries else 0

        def judge(answer: str) -> Optional[str]:
            if int(answer) == want:
                return None
            return f"the page has {answer} references, but should have {want}"

        self.do(f"ioctl {COW} {REFS} {page * PAGE:#x}", judge)

    def counts(self, judge: Callable[[dict[str, int]], Optional[str]]) -> None:
        """What is counted, by name."""

        def named(answer: str) -> Optional[str]:
            got = struct.unpack("4Q", data(answer))
            return judge(dict(zip(self.play.params["FIELDS"], got)))

        self.do(f"read {COW} 32", named)

    def check(self) -> None:
        """All that it has."""
        for page in sorted(self.entries):
            self.refs(page)
            self.peek(page)

    # --- Processes ---

    def fork(self, sp: int = 0) -> Process:
        """Nobody's stack pointer is in what the model knows, unless sp is."""
        self.play.turn(self)
        child = Process(self.play, self)
        for page, entry in self.entries.items():
            region = self.region(page)
            offset = page - sp // PAGE
            if (
                region.writable
                and region is self.region(sp // PAGE)
                and 0 <= offset < self.play.params["STACK"]
            ):
                child.entries[page] = Entry(Frame(bytearray(entry.frame.bytes)))
            else:
                entry.frame.refs += 1
                entry.own = False
                child.entries[page] = Entry(entry.frame, False)
        self.actions.append((child, sp))
        self.play.children.append(child)
        return child

    def gone(self) -> None:
        for entry in self.entries.values():
            entry.frame.refs -= 1
        self.entries = {}
        self.lives = False

    def wait(self, child: Process, status: int = 0) -> None:
        """Until the child has ended, which it does now."""
        self.play.turn(child)
        child.gone()
        self.play.current = self
        self.do(f"wait {child.index}", status)

    def idles(self, child: Process) -> None:
        """It waits for its turn; by then all its answers have come."""
        self.do(f"state {child.index}", "S")

    def kill(self, child: Process) -> None:
        """While it waits for its turn, or after it has been killed."""
        assert self.play.current is self
        child.actions.append((self.play.await_turn(child), NEVER))
        self.do(f"kill {child.index} {SIGKILL}", 0)
        child.gone()
        self.do(f"wait {child.index}", SIGKILL)


class Play:
    """Some processes, of which one acts at a time."""

    def __init__(self, t: Test) -> None:
        self.t = t
        self.params = t.params
        self.random = t.random
        self.processes = 0
        self.children: list[Process] = []
        self.first = self.current = Process(self, None)

    @staticmethod
    def await_turn(process: Process) -> str:
        return f"read {TURNS + 2 * process.index} 1"

    def turn(self, process: Process) -> None:
        if process is self.current:
            return
        writer = TURNS + 2 * process.index + 1
        self.current.actions.append((f"put {writer} x", 1))
        process.actions.append((self.await_turn(process), b"x"))
        self.current = process

    def end(self) -> None:
        """Let the children end, and do it all. The first process is a child of the
        tests' own."""
        for child in reversed(self.children):
            if child.lives:
                child.parent.wait(child)
        self.first.check()
        with self.t.child(0):
            self._steps(self.first)
        self.t.do("wait 0", 0)

    def _steps(self, process: Process) -> None:
        for what, *more in process.actions:
            if isinstance(what, Process):
                with self.t.child(what.index, *more):
                    self._steps(what)
            else:
                self.t.do(what, *more)


def setup(t: Test) -> None:
    t.do(f"open {COW} r /dev/cow", 0)
    for i in range(PROCESSES):
        t.do(f"pipe {TURNS + 2 * i} {TURNS + 2 * i + 1}", 0)
    t.do(f"pipe {DATA} {DATA + 1}", 0)
    one_fork(t)


def one_fork(t: Test) -> None:
    """A page for two without two references is free when the first one writes. Then
    nothing that follows makes sense, so that is looked at first."""
    pages: list[str] = []

    def judge(refs: str) -> Optional[str]:
        if pages[0] != pages[1] or int(refs) > 1:
            return None
        return f"parent and child share this page, but page_refs returned {refs}"

    t.do(f"read {COW} 32")  # so the buffer has pages
    t.do(f"call ioctl {DEVICE} {FRAME} buffer", pages.append)
    with t.child(0):
        t.do(f"call ioctl {DEVICE} {FRAME} buffer", pages.append)
        t.do(f"call ioctl {DEVICE} {REFS} buffer", judge)
    t.do("wait 0", 0)


def played(name: str, points: int, race: int = 0) -> Callable:
    """A test of one play, which gets the play's first process, too."""

    def mark(function: Callable[[Play, Process], None]) -> TestKind:
        def draw(t: Test, _: None) -> None:
            play = Play(t)
            function(play, play.first)
            play.end()

        return test(name, points, race)(draw)

    return mark


# --- Contents ----------------------------------------------------------------


@played("each has what it wrote itself", points=2)
def contents(play: Play, p: Process) -> None:
    p.write_area()
    c = p.fork()
    c.refs(AREA)
    for _ in range(30):
        who = play.random.choice((p, c))
        page, at = AREA + play.random.randrange(31), play.random.randrange(PAGE)
        who.poke(page, play.random.randbytes(play.random.randrange(1, 60)), at)
        for other in (p, c):
            other.peek(page, 60, at)
    c.check()


@played("a child, and its child", points=2)
def generations(play: Play, p: Process) -> None:
    p.write_area(12)
    c = p.fork()
    for page in range(AREA, AREA + 4):
        c.poke(page)
    g = c.fork()
    everyone = (p, c, g)
    for _ in range(20):
        who = play.random.choice(everyone)
        page = AREA + play.random.randrange(12)
        who.poke(page)
        for one in everyone:
            one.refs(page)
            one.peek(page)
    for one in everyone:
        one.check()
    c.wait(g)
    c.check()


@played("what the kernel writes is copied, too", points=2)
def kernel_writes(play: Play, p: Process) -> None:
    p.write_area(24)
    c = p.fork()
    for who in (c, p, c, p):
        page, at = AREA + play.random.randrange(20), play.random.randrange(1, PAGE)
        who.receive(page, at, play.random.choice((1, 50, PAGE, 2 * PAGE + 50)))
        c.check()


@played("read-only pages stay read-only", points=2)
def read_only(play: Play, p: Process) -> None:
    """Before and after those that a write may copy, and the program's text."""
    at = [MIDDLE + 1 + 5 * i for i in range(4)]
    for i, page in enumerate(at):
        p.map(page, 5, writable=i % 2 == 1)
    for page in range(at[0], at[3] + 5):
        p.peek(page)
    for i in range(1, 4, 2):
        for page in range(at[i], at[i] + 5):
            p.poke(page)
    c = p.fork()
    for i in range(1, 4, 2):
        for page in (at[i], at[i] + 4, at[i] + 2):
            c.poke(page)
    c.do(f"write {DATA + 1} 0102", 2)
    for page in (at[0] + 4, at[2], at[2] + 4, TEXT // PAGE):
        c.do(f"read-at {DATA} {page * PAGE:#x} 1", "-EFAULT")
    c.do(f"read {DATA} 2", b"\1\2")
    c.check()
    for page in (at[0] + 4, at[2], at[2] + 4, TEXT // PAGE):
        g = c.fork()
        g.do(f"poke {page * PAGE:#x} 00", NEVER)
        c.wait(g, SIGSEGV)


# --- Who shares --------------------------------------------------------------


@played("a fork shares", points=2)
def shares(play: Play, p: Process) -> None:
    p.write_area(10)
    c = p.fork()
    c.check()
    d = p.fork()
    d.check()
    p.poke(AREA + 20)
    for page in (AREA + 9, AREA + 20, AREA + 21):
        for one in (p, c, d):
            one.refs(page)


@played("the last one takes the page over", points=3)
def taken(play: Play, p: Process) -> None:
    """It is the same page before and after."""
    p.write_area(16)
    frames: dict[int, str] = {}

    def same(page: int) -> Callable[[str], Optional[str]]:
        def judge(answer: str) -> Optional[str]:
            if frames.setdefault(page, answer) == answer:
                return None
            return "the page was replaced by another, though it wasn't shared"

        return judge

    def take_over(page: int) -> None:
        p.refs(page)
        p.do(f"ioctl {COW} {FRAME} {page * PAGE:#x}", same(page))
        p.poke_told(page)
        p.refs(page)
        p.do(f"ioctl {COW} {FRAME} {page * PAGE:#x}", same(page))

    c = p.fork()
    for page in (AREA, AREA + 8):
        c.poke(page)
        take_over(page)
    p.wait(c)
    take_over(AREA + 12)


# --- Neighbours --------------------------------------------------------------


@played("neighbours are copied, too", points=3)
def neighbours(play: Play, p: Process) -> None:
    p.write_area()
    c = p.fork()
    for _ in range(5):
        for who in (p, c):
            who.poke_told(AREA + play.random.randrange(32))
            who.check()
    p.wait(c)
    for _ in range(4):
        p.poke_told(AREA + play.random.randrange(32))


@played("neighbours that are missing, or not shared", points=2)
def missing(play: Play, p: Process) -> None:
    p.map(AREA, 32)
    for page in play.random.sample(range(AREA, AREA + 32), 20):
        p.poke(page)
    c = p.fork()
    for page in play.random.sample(range(AREA, AREA + 32), 4):
        c.poke(page)
    for _ in range(8):
        c.poke_told(AREA + play.random.randrange(32))
        c.check()


@played("neighbours in the next table, or in no table", points=2)
def tables(play: Play, p: Process) -> None:
    p.map(AREA, 32)
    for page in range(AREA + 8, AREA + 16):
        p.poke(page)
    c = p.fork()
    c.poke_told(AREA + 15)
    c.check()
    p.wait(c)
    for page in range(AREA + 16, AREA + 24):
        p.poke(page)
    c = p.fork()
    for page in (AREA + 15, AREA + 13, AREA + 16, AREA + 11):
        c.poke_told(page)
        c.check()


@played("neighbours in another region", points=2)
def regions(play: Play, p: Process) -> None:
    at = [MIDDLE + 1 + 3 * i for i in range(5)]
    for page in at:
        p.map(page, 3)
    for page in range(at[0], at[-1] + 3):
        p.poke(page)
    c = p.fork()
    for page in (at[1] + 2, at[2], at[3] + 1, at[0], at[4] + 2):
        c.poke_told(page)
        c.check()


# --- Fork --------------------------------------------------------------------


@played("a fork copies what the stack pointer is at", points=3)
def stack(play: Play, p: Process) -> None:
    p.write_area(30)
    for at in (0, PAGE - 16):
        page = AREA + play.random.randrange(10, 20)
        c = p.fork(page * PAGE + at)
        c.check()
        p.poke_told(page)
        c.poke_told(page)
        p.check()
        p.wait(c)
    c = p.fork((AREA + 4) * PAGE + 512)
    g = c.fork((AREA + 5) * PAGE + 512)
    g.check()
    c.check()


@played("the stack's region ends, or has holes", points=2)
def stack_end(play: Play, p: Process) -> None:
    p.write_area(30)
    p.map(AREA + 32, 4)
    p.poke(AREA + 31)
    p.poke(AREA + 32)
    p.poke(AREA + 33)
    for page in (AREA + 31, AREA + 30, AREA + 29):
        c = p.fork(page * PAGE + 64)
        c.check()
        p.check()
        p.wait(c)
    p.map(AREA + 36, 2, writable=False)
    p.peek(AREA + 36)
    c = p.fork((AREA + 36) * PAGE + 64)
    c.check()


def counted(
    play: Play, known: dict[str, int], early: int, child: bool
) -> Callable[[dict[str, int]], Optional[str]]:
    """After a fork, by what was known before; early: so many pages were copied."""
    params = play.params

    def judge(counts: dict[str, int]) -> Optional[str]:
        for name, n in (("shared", known["pages"] - early), ("early", early)):
            want = 0 if child and not params["INHERITS"] else known[name]
            if child == bool(params["CHILD_COUNTS"]):
                want += n
            if counts[name] != want:
                who = "the child" if child else "the parent"
                return f"{who}'s `{name}` is {counts[name]}, but should be {want}"
        return None

    return judge


@played("what a fork counts", points=3)
def fork_counts(play: Play, p: Process) -> None:
    """Beside the pages that the model knows there are the program's own. So the
    device says how many there are."""
    p.write_area(20)
    p.map(MIDDLE, 4, writable=False)
    for page in range(MIDDLE, MIDDLE + 4):
        p.peek(page)
    present = f"ioctl {COW} {PRESENT} {play.params['READ_ONLY_TOO']}"
    for page in (AREA + 3, AREA + 12, AREA + 18):
        known: dict[str, int] = {}
        early = min(play.params["STACK"], AREA + 20 - page)
        for _ in range(2):  # the first makes sure that nothing new is touched
            p.do(present, lambda answer, to=known: to.update(pages=int(answer)))
            p.counts(known.update)
        c = p.fork(page * PAGE)
        p.counts(counted(play, known, early, False))
        c.counts(counted(play, known, early, True))
        p.wait(c)


@played("what a child's counts begin with", points=2)
def begins(play: Play, p: Process) -> None:
    """Of pages that were taken over: the parent has more by far than a child can
    have by the time at which it looks."""
    pages = play.random.randrange(200, 400)
    p.map(AREA, pages)
    p.fill(AREA, pages)
    for _ in range(2):
        p.wait(p.fork())
        p.fill(AREA, pages)
    had = 2 * pages

    def judge(counts: dict[str, int]) -> Optional[str]:
        if play.params["INHERITS"] == (counts["taken"] >= had):
            return None
        begin = f"at its parent's, {had}" if play.params["INHERITS"] else "at 0"
        return f"the child's `taken` is {counts['taken']}; it should begin {begin}"

    p.fork().counts(judge)


# --- Want of memory ----------------------------------------------------------


@played("no page for a copy", points=3)
def no_page(play: Play, p: Process) -> None:
    p.write_area()
    c = p.fork()
    for page in play.random.sample(range(AREA, AREA + 32), 8):
        c.poke_told(page, play.random.choice((1, 2, 3, 4, 6, 5)))
        c.check()


def fork_failing(p: Process, page: int, n: int) -> None:
    """A fork at that page, whose nth copy finds no page. If there is no child,
    some entries may lack W all the same: it depends on how far the fork came."""
    before: dict[str, int] = {}

    def same(counts: dict[str, int]) -> Optional[str]:
        changed = [x for x in ("shared", "early") if counts[x] != before[x]]
        return f"the fork failed, but `{changed[0]}` has changed" if changed else None

    if p.play.params["STACK_MUST"]:
        p.counts(before.update)
    p.do(f"ioctl {COW} {FAIL_FORK} {1 << n}", 0)
    c = p.fork(page * PAGE)
    if p.play.params["STACK_MUST"]:
        c.gone()
        p.play.processes -= 1
        p.actions[-1] = (f"child {c.index} 0 {page * PAGE:#x}", "-ENOMEM")
        p.counts(same)
        for shared, entry in p.entries.items():
            p.refs(shared)
            entry.own = True
            p.poke(shared)
        return
    entry = p.entries[page + n]
    entry.frame.refs += 1
    entry.own = False
    c.entries[page + n] = Entry(entry.frame, False)
    c.check()
    p.check()
    p.wait(c)


@played("no page for what a fork copies", points=2)
def no_stack(play: Play, p: Process) -> None:
    """What the parent has is as before in any case."""
    p.write_area(16)
    for n in range(play.params["STACK"]):
        fork_failing(p, AREA + 4, n)
        p.check()
        p.poke_told(AREA + 8)


def killed(state: str) -> Optional[str]:
    return None if state == "Z" else "the largest process wasn't killed"


@played("out of memory: the largest is killed, the others live", points=2)
def out_of_memory(play: Play, p: Process) -> None:
    p.map(AREA, 300)
    p.fill(AREA, 64)
    victim, c = p.fork(), p.fork()
    victim.fill(AREA + 64, 200)
    c.peek(AREA)
    p.idles(victim)
    p.do(f"ioctl {COW} {LEAVE} 56", 0)
    c.fill(AREA, 64)
    c.check()
    p.do(f"state {victim.index}", killed)
    p.kill(victim)
    p.do(f"ioctl {COW} {LEAVE} {ALL_PAGES}", 0)


@test("no page is lost, and none is freed twice", points=3)
def lost(t: Test, _: None) -> None:
    """By those that end, are killed, or call exec. The first time some memory is
    allocated that is kept."""
    free: list[int] = []

    def note(answer: str) -> None:
        free.append(int(answer))

    def equal(answer: str) -> Optional[str]:
        less = free[-1] - int(answer)
        return f"{less} fewer pages are free than before" if less else None

    for what in (None, note):
        play = Play(t)
        p = play.first
        p.write_area()
        fork_failing(p, AREA + 4, t.params["STACK"] - 1)
        for end in ("exit", "kill", "exec"):
            c = p.fork()
            c.refs(AREA)
            for page in t.random.sample(range(AREA, AREA + 32), 6):
                t.random.choice((p, c)).poke(page)
            play.turn(c)
            play.turn(p)
            if end == "kill":
                p.idles(c)
                p.kill(c)
                continue
            if end == "exec":
                c.do(f"write {COW} {b'/bin/true'.hex()}00", "-EBADF")
                c.do("call execve buffer 0 0", NEVER)
            p.wait(c)
        t.do(f"ioctl {COW} {FREE} 0", what)
        play.end()
    t.do(f"ioctl {COW} {FREE} 0", equal)


# --- Threads -----------------------------------------------------------------


def share(p: Process) -> None:
    """Its forks do share: else there is nothing to test."""
    p.map(MIDDLE, 1)
    p.poke(MIDDLE)
    c = p.fork()
    p.refs(MIDDLE)
    p.wait(c)


@played("a thread writes while its process forks", points=4, race=3)
def fork_writing(play: Play, p: Process) -> None:
    share(p)
    p.map(AREA, 24)

    def judge(answer: str) -> Optional[str]:
        saw, gone = map(int, answer.split())
        if saw:
            return f"{saw} children saw what their parent wrote after the fork"
        return f"the writes to {gone} pages were lost" if gone else None

    p.do(f"fork-writing {AREA * PAGE:#x} 24 30", judge)


@played("a thread reads what another one writes", points=3, race=3)
def published(play: Play, p: Process) -> None:
    share(p)
    p.map(AREA, 2)

    def judge(answer: str) -> Optional[str]:
        n = int(answer)
        return f"a thread still read the old page after {n} stores" if n else None

    p.do(f"publish {AREA * PAGE:#x} 20", judge)

    def judge_told(answer: str) -> Optional[str]:
        n = int(answer)
        return f"a thread read an old value {n} times after the store" if n else None

    # Threads that share a hart see nothing; new ones may lie otherwise.
    for _ in range(6):
        p.do(f"publish-told {AREA * PAGE:#x} 100", judge_told)


# --- What it costs -----------------------------------------------------------


@test("what a fork costs", points=2)
def fork_cost(t: Test, _: None) -> None:
    t.do(f"ioctl {COW} {MAP} {0x6000_0000 | 400 << 1 | 1:#x}", 0)
    t.do(f"fill {0x6000_0000:#x} 400 1", 400)
    with t.cost("10 forks of 400 pages", FORK_COST):
        for _ in range(10):
            with t.child(0):
                pass
            t.do("wait 0", 0)


@test("what writing costs", points=2)
def write_cost(t: Test, _: None) -> None:
    """In a child while its parent has the pages, and in the parent afterwards."""
    t.do(f"ioctl {COW} {MAP} {0x6800_0000 | 400 << 1 | 1:#x}", 0)
    t.do(f"fill {0x6800_0000:#x} 400 1", 400)
    with t.cost("400 pages written", WRITE_COST):
        with t.child(0):
            t.do(f"fill {0x6800_0000:#x} 400 2", 400)
        t.do("wait 0", 0)
        t.do(f"fill {0x6800_0000:#x} 400 3", 400)

"""Waits, as /dev/waitdata has them: waits(4) and <sys/waits.h>.

A recording of samples that was made meanwhile tells which processes there were,
and which program each ran. Records that look alike are one row, as the guest's
tally has it: those of all threads and processes of a program that waited for the
same thing by way of the same functions.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Callable, Iterator, NamedTuple, Optional

from tally.base.errors import ConvertError
from tally.base.text import clean
from tally.formats.elf import Image
from tally.profile.profile import KERNEL, USER, Process, Profile, Sample
from tally.profile.stacks import Frame, Programs, Stacks

HEAD = struct.Struct("<IIQQQQQQQ")
KEY = struct.Struct("<iiHBBBB2xQ16s32I")
COUNTS = struct.Struct("<QQQQQQ")
WAKER = struct.Struct("<iiHBxIQQ")
WAKERS = 4
RECORD = KEY.size + COUNTS.size + WAKERS * WAKER.size

# WAITS_* of <sys/waits.h>: kinds in their order, and what each waits for.
(
    _OTHER,
    HART,
    _SLEEP,
    _SIGNAL,
    _POLL,
    FUTEX,
    PIPE_READ,
    PIPE_WRITE,
    _CHILD,
    _TYPED,
    _OUTPUT,
    _HOST,
    MUTEX,
    _STOPPED,
    _THREADS,
    SPIN,
) = range(16)
KINDS = (
    "",
    "",
    "sleep",
    "a signal",
    "poll",
    "",
    "",
    "",
    "a child",
    "the console's input",
    "the console's output",
    "/host",
    "",
    "SIGCONT",
    "the end of threads",
    "",
)
BY_SIGNAL = 1
BY = ("the kernel", "a signal", "its time", "an interrupt", "others")
ENTRY = "syscall"  # in all paths, with what leads there
RECORDER = "getpc"  # its children are the command


class Waker(NamedTuple):
    pid: int
    context: int
    how: int
    pc: int
    count: int  # type: ignore[assignment]  # a tuple has one


class Record(NamedTuple):
    pid: int
    tid: int
    context: int
    kind: int
    nkernel: int
    cut: int
    id: int
    name: str  # of the lock
    pcs: tuple[int, ...]
    count: int  # type: ignore[assignment]  # a tuple has one
    total: int
    longest: int
    at: int
    unfinished: int
    ran: int
    wakers: tuple[Waker, ...]


class Data(NamedTuple):
    timebase: int
    begin: int
    watched: int
    lost: int
    lost_time: int
    records: list[Record]


def _record(data: bytes) -> Record:
    pid, tid, context, kind, nkernel, n, cut, number, name, *pcs = KEY.unpack_from(data)
    wakers = []
    for i in range(WAKERS):
        place = KEY.size + COUNTS.size + i * WAKER.size
        by, _tid, of, how, pc, count, _total = WAKER.unpack_from(data, place)
        if count:
            wakers.append(Waker(by, of, how, pc, count))
    if nkernel > n or n > len(pcs) or kind >= len(KINDS):
        raise ValueError
    lock = clean(name.split(b"\0")[0].decode(errors="replace"))
    count, total, longest, at, unfinished, ran = COUNTS.unpack_from(data, KEY.size)
    return Record(
        pid,
        tid,
        context,
        kind,
        nkernel,
        cut,
        number,
        lock,
        tuple(pcs[:n]),
        count,
        total,
        longest,
        at,
        unfinished,
        ran,
        tuple(wakers),
    )


def read(file: str, data: bytes) -> Data:
    try:
        (
            size,
            _on,
            timebase,
            begin,
            watched,
            count,
            _room,
            lost,
            lost_time,
        ) = HEAD.unpack_from(data)
        if size != RECORD or len(data) != HEAD.size + count * size or not timebase:
            raise ValueError
        records = [_record(data[HEAD.size + i * size :][:size]) for i in range(count)]
    except (struct.error, ValueError):
        raise ConvertError(file, "damaged, or of another version's waits") from None
    return Data(timebase, begin, watched, lost, lost_time, records)


@dataclasses.dataclass
class Row:
    """Times are in nanoseconds, and `at' is since the waits were recorded."""

    what: str
    program: str
    user: list[Frame]  # innermost first
    kernel: list[Frame]
    count: int = 0
    total: int = 0
    longest: int = 0
    at: int = 0
    unfinished: int = 0
    pids: set[int] = dataclasses.field(default_factory=set)
    wakers: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Ready:
    """How long a program's threads were runnable, and how long they ran."""

    program: str
    count: int = 0
    total: int = 0
    longest: int = 0
    at: int = 0
    ran: int = 0
    pids: set[int] = dataclasses.field(default_factory=set)


#: What records of one row have in common: what they wait for, the program, and the
#: names of the functions by way of which it waits, its own and the kernel's.
Alike = tuple[str, str, tuple[str, ...], tuple[str, ...]]


class Waits:
    """Of the command that was recorded, and what it has started."""

    def __init__(
        self,
        data: Data,
        profile: Profile,
        kernel: Callable[[], Image],
        programs: Programs,
    ) -> None:
        self.data = data
        self.processes = profile.processes
        self.contexts = profile.contexts
        self.samples = [self._sample(r) for r in data.records]
        # Its own: what a process was that has no samples is to be known, too.
        like = Profile("waits", self.samples, processes=self.processes)
        self.stacks = Stacks(like, kernel, programs)
        mine = set(self._mine())
        rows: dict[Alike, Row] = {}
        self.ready: dict[str, Ready] = {}
        for record, sample in zip(data.records, self.samples):
            if record.pid not in mine:
                continue
            if record.kind == HART:
                self._add_ready(record)
            else:
                self._add(rows, record, sample)
        self.rows = sorted(rows.values(), key=lambda r: (-r.total, r.what))

    # --- Whose ---

    def _mine(self) -> Iterator[int]:
        """Parents come before their children; and before it executes the command,
        the recorder's child has the recorder's name."""
        recorder = next((p.pid for p in self.processes if p.name == RECORDER), None)
        found = {recorder}
        for p in self.processes:
            if p.parent in found and p.pid not in found:
                found.add(p.pid)
                yield p.pid

    def _process(self, pid: int, context: int) -> Optional[int]:
        known = self.contexts.get((context, pid))
        if known is not None:
            return known
        same = [i for i, p in enumerate(self.processes) if p.pid == pid]
        return same[-1] if same else None

    def _program(self, pid: int, context: int) -> str:
        process = self._process(pid, context)
        p: Optional[Process] = None if process is None else self.processes[process]
        return p.name if p and p.name else "process"

    def _sample(self, r: Record) -> Sample:
        """As if it had been sampled where it left user mode."""
        return Sample(
            KERNEL,
            pid=r.pid,
            process=self._process(r.pid, r.context),
            user=r.pcs[r.nkernel :],
            cut_user=r.cut & 15 != 0,
        )

    # --- Text ---

    def _kernel(self, r: Record) -> list[Frame]:
        """Return addresses, up to the entry of system calls."""
        found = []
        for pc in r.pcs[: r.nkernel]:
            address = (pc & ~1) - (1 << 32) + (1 << 64) - 1
            frame = self.stacks.frame(address, KERNEL, self.stacks.kernel())
            if frame.name == ENTRY:
                break
            found.append(frame)
        return found

    def _what(self, r: Record, sample: Sample) -> str:
        if r.kind == FUTEX:
            image = self.stacks.program(sample)
            return f"futex {image and image.variable(r.id) or hex(r.id)}"
        if r.kind in (PIPE_READ, PIPE_WRITE):
            return f"{'bytes' if r.kind == PIPE_READ else 'room'} in pipe {r.id}"
        if r.kind == MUTEX:
            return f"kernel mutex {r.name}"
        return KINDS[r.kind] or r.name

    def _waker(self, w: Waker) -> str:
        if w.pid == 0:
            return BY[w.how] if w.how < len(BY) else "?"
        sample = Sample(
            USER, pc=w.pc - 1, pid=w.pid, process=self._process(w.pid, w.context)
        )
        image = self.stacks.program(sample)
        function = image.function(w.pc - 1) if image else None
        where = (
            f"{function.name if function else '?'}"
            f" [{self._program(w.pid, w.context)} {w.pid}]"
        )
        return f"a signal of {where}" if w.how == BY_SIGNAL else where

    # --- Rows ---

    def _time(self, counts: int) -> int:
        return counts * 1_000_000_000 // self.data.timebase

    def _add(self, rows: dict[Alike, Row], r: Record, sample: Sample) -> None:
        program = self._program(r.pid, r.context)
        user = self.stacks.user(sample)[::-1]
        row = Row(self._what(r, sample), program, user, self._kernel(r))
        key = (
            row.what,
            program,
            tuple(f.name for f in row.user),
            tuple(f.name for f in row.kernel),
        )
        row = rows.setdefault(key, row)
        self._count(row, r)
        row.unfinished += r.unfinished
        for waker in r.wakers:
            who = self._waker(waker)
            row.wakers[who] = row.wakers.get(who, 0) + waker.count

    def _add_ready(self, r: Record) -> None:
        program = self._program(r.pid, r.context)
        ready = self.ready.setdefault(program, Ready(program))
        self._count(ready, r)
        ready.ran += self._time(r.ran)

    def _count(self, row: Row | Ready, r: Record) -> None:
        row.pids.add(r.pid)
        row.count += r.count
        row.total += self._time(r.total)
        if r.longest and self._time(r.longest) > row.longest:
            row.longest = self._time(r.longest)
            row.at = self._time(max(0, r.at - self.data.begin))

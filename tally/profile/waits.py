"""Reads the waits of /dev/waitdata: waits(4) and <sys/waits.h>.

The samples recorded at the same time name the processes and their programs. As in
the guest's tally, a row sums up the records of all threads and processes of one
program that waited for the same thing through the same functions.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Any, Callable, Iterator, NamedTuple, Optional

from tally.base.errors import ConvertError
from tally.formats.executable import Image
from tally.formats.header import header
from tally.profile.events import text
from tally.profile.profile import KERNEL, USER, Process, Profile, Sample
from tally.profile.stacks import Frame, Programs, Stacks

WAITS = header("include/sys/waits.h")
HEAD, RECORD = WAITS.layout("waits_head"), WAITS.layout("waits_record")

# The kinds of waits whose name is fixed; _what names the others.
KINDS = {
    WAITS["WAITS_SLEEP"]: "sleep",
    WAITS["WAITS_SIGNAL"]: "a signal",
    WAITS["WAITS_POLL"]: "poll",
    WAITS["WAITS_CHILD"]: "a child",
    WAITS["WAITS_CONSOLE_READ"]: "the console's input",
    WAITS["WAITS_CONSOLE_WRITE"]: "the console's output",
    WAITS["WAITS_HOST"]: "/host",
    WAITS["WAITS_STOPPED"]: "SIGCONT",
    WAITS["WAITS_THREADS"]: "the end of threads",
}
BY_SIGNAL = WAITS["WAITS_BY_SIGNAL"]
BY = ("the kernel", "a signal", "a timeout", "an interrupt", "others")
ENTRY = "syscall"  # not shown, nor its callers: all paths have them
RECORDER = "getpc"  # its children are the command's processes


class Data(NamedTuple):
    head: Any  # fields as in HEAD
    records: list[Any]  # fields as in RECORD


def read(file: str, data: bytes) -> Data:
    try:
        head = HEAD.unpack(data)
        size = HEAD.size + head.records * head.record_size
        if head.record_size != RECORD.size or len(data) != size or not head.timebase:
            raise ValueError
        places = range(HEAD.size, size, RECORD.size)
        records = [RECORD.unpack(data, at) for at in places]
        for key in (r.key for r in records):
            if not key.nkernel <= key.n <= len(key.pc):
                raise ValueError
            if key.kind >= WAITS["WAITS_KINDS"]:
                raise ValueError
    except (struct.error, ValueError):
        raise ConvertError(file, "damaged, or recorded by another version") from None
    return Data(head, records)


@dataclasses.dataclass
class Row:
    """Times are in nanoseconds. The longest wait began at `at', counted from the
    beginning of the recording."""

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


#: The key of a row: the thing waited for, the program, and the names of the functions
#: on the call stack, the program's and the kernel's.
Alike = tuple[str, str, tuple[str, ...], tuple[str, ...]]


class Waits:
    """The waits of the recorded command and of the processes that it started."""

    def __init__(
        self,
        data: Data,
        profile: Profile,
        kernel: Callable[[], Image],
        programs: Programs,
    ) -> None:
        self.data = data
        self.timebase: int = data.head.timebase  # counts of the clock a second
        self.processes = profile.processes
        self.contexts = profile.contexts
        self.samples = [self._sample(r) for r in data.records]
        # A profile of its own, as a process may have waits but no samples.
        like = Profile("waits", self.samples, processes=self.processes)
        self.stacks = Stacks(like, kernel, programs)
        mine = set(self._mine())
        rows: dict[Alike, Row] = {}
        self.ready: dict[str, Ready] = {}
        for record, sample in zip(data.records, self.samples):
            if record.key.pid not in mine:
                continue
            if record.key.kind == WAITS["WAITS_HART"]:
                self._add_ready(record)
            else:
                self._add(rows, record, sample)
        self.rows = sorted(rows.values(), key=lambda r: (-r.total, r.what))

    # --- Whose ---

    def _mine(self) -> Iterator[int]:
        """Yields the pids of the recorder's descendants. Parents come before their
        children. The first process named RECORDER is the recorder; until it
        executes the command, its child has that name, too."""
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

    def _sample(self, r: Any) -> Sample:
        """Makes a sample of the place where the thread entered the kernel."""
        return Sample(
            KERNEL,
            pid=r.key.pid,
            process=self._process(r.key.pid, r.key.context),
            kernel=tuple(
                (pc & ~1) - (1 << 32) + (1 << 64) for pc in r.key.pc[: r.key.nkernel]
            ),
            user=r.key.pc[r.key.nkernel : r.key.n],
            cut_user=r.key.cut & 15 != 0,
        )

    # --- Text ---

    def _kernel(self, sample: Sample) -> list[Frame]:
        """Returns the kernel's frames, up to the entry of system calls."""
        found = []
        kernel = self.stacks.kernel()
        for pc in sample.kernel:
            frame = self.stacks.frame(pc - 1, KERNEL, kernel)
            if frame.name == ENTRY:
                break
            found += self.stacks.with_inlined([frame])[::-1]
        return found

    def _what(self, r: Any, sample: Sample) -> str:
        kind, id, name = r.key.kind, r.key.id, text(r.key.name)
        if kind == WAITS["WAITS_FUTEX"]:
            image = self.stacks.program(sample)
            return f"futex {image and image.variable(id) or hex(id)}"
        if kind == WAITS["WAITS_PIPE_READ"]:
            return f"bytes in pipe {id}"
        if kind == WAITS["WAITS_PIPE_WRITE"]:
            return f"room in pipe {id}"
        if kind == WAITS["WAITS_MUTEX"]:
            return f"kernel mutex {name}"
        return KINDS.get(kind) or name

    def _waker(self, w: Any) -> str:
        if w.pid == 0:
            return BY[w.how] if w.how < len(BY) else "?"
        sample = Sample(
            USER, pc=w.pc - 1, pid=w.pid, process=self._process(w.pid, w.context)
        )
        image = self.stacks.program(sample)
        function = image.function(w.pc - 1) if image else None
        where = (
            f"{self.stacks.name(function) if function else '?'}"
            f" [{self._program(w.pid, w.context)} {w.pid}]"
        )
        return f"a signal of {where}" if w.how == BY_SIGNAL else where

    # --- Rows ---

    def _time(self, counts: int) -> int:
        return counts * 1_000_000_000 // self.timebase

    def _add(self, rows: dict[Alike, Row], r: Any, sample: Sample) -> None:
        program = self._program(r.key.pid, r.key.context)
        user = self.stacks.user(sample)[::-1]
        row = Row(self._what(r, sample), program, user, self._kernel(sample))
        key = (
            row.what,
            program,
            tuple(f.name for f in row.user),
            tuple(f.name for f in row.kernel),
        )
        row = rows.setdefault(key, row)
        self._count(row, r)
        row.unfinished += r.unfinished
        for waker in r.waker:
            if not waker.count:
                continue
            who = self._waker(waker)
            row.wakers[who] = row.wakers.get(who, 0) + waker.count

    def _add_ready(self, r: Any) -> None:
        program = self._program(r.key.pid, r.key.context)
        ready = self.ready.setdefault(program, Ready(program))
        self._count(ready, r)
        ready.ran += self._time(r.ran)

    def _count(self, row: Row | Ready, r: Any) -> None:
        row.pids.add(r.key.pid)
        row.count += r.count
        row.total += self._time(r.total)
        if r.longest and self._time(r.longest) > row.longest:
            row.longest = self._time(r.longest)
            row.at = self._time(max(0, r.longest_at - self.data.head.begin))

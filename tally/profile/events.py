"""Reads the events in a stream of pcs: the threads, and the programs that they ran.

<sys/pcs.h> has the records. A sample has the number of a context: a thread while it
runs one program. Numbers are reused, so the time decides which of several contexts
with one number it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from tally.base.text import clean
from tally.formats.digest import KERNEL, Digest
from tally.formats.header import header
from tally.profile.profile import FREE, NANOSECONDS, Process, Profile, Sample

PCS = header("include/sys/pcs.h")
MOMENT, AT = PCS["MOMENT"], PCS["AT"]
LAYOUTS = {
    PCS[kind]: PCS.layout(f"{name}_RECORD")
    for kind, name in (
        ("MOMENT", "MOMENT"),
        ("AT", "AT"),
        ("BORN", "BORN"),
        ("EXECED", "EXEC"),
        ("MAPPED", "MAP"),
        ("EXITED", "EXIT"),
        ("CLOCKED", "CLOCK"),
        ("FILED", "FILE"),
        ("ACCOUNT", "ACCOUNT"),
    )
}


class Context(NamedTuple):
    begin: int  # in counts
    process: int
    tid: int


class _Running:
    """A process while it runs one program; finish() makes a Process of it."""

    def __init__(self, pid: int, parent: Optional[int], begin: int) -> None:
        self.pid, self.parent, self.begin = pid, parent, begin
        self.end: Optional[int] = None
        self.name = ""
        self.file: Optional[tuple[str, int, int]] = None  # path, ino, mtime


def text(data: bytes) -> str:
    return clean(data.split(b"\0")[0].decode(errors="replace"))


class Events:
    """Collects records, and then finds each sample's process and thread."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.any = False
        self._contexts: dict[tuple[int, int], list[Context]] = {}
        self._running: list[_Running] = []
        self._now: dict[int, int] = {}  # index in _running by pid
        self._said: dict[tuple[int, int], int] = {}  # when a context was said last
        self._files: dict[tuple[str, int, int], Digest] = {}
        self._whose: list[tuple[int, int, Optional[int]]] = []  # sample, context, time
        self._clock: Optional[tuple[int, int]] = None  # first count; counts a second
        self._last = 0  # the count of the last event
        self._moment: Optional[int] = None
        self._time: Optional[int] = None
        self._context = 0
        self.untold = 0
        self.lost: Optional[int] = None  # samples, as getpc says at the end

    # --- Records ---

    def buffer(self) -> None:
        """Call at the beginning of a LOGBUF."""
        self._moment = self._time = None
        self._context = 0

    def sample(self) -> None:
        """Assigns the profile's last sample to the current context and time."""
        last = len(self.profile.samples) - 1
        self._whose.append((last, self._context, self._time))

    def record(self, record: bytes) -> None:
        """Takes a record, whose length must fit its type."""
        kind = record[0]
        self.any = True
        r = LAYOUTS[kind].unpack(record)
        if kind == MOMENT:
            self._moment = r.time
        elif kind == AT:
            self._context = r.context
            self._time = None if self._moment is None else self._moment + r.after
        else:
            self._event(kind, r, text(record[LAYOUTS[kind].size :]))

    def _event(self, kind: int, r: Any, path: str) -> None:
        event = r.event
        self._last = max(self._last, event.time)
        if kind == PCS["BORN"]:
            if not self._said_before(event):
                self._born(event, r.of, r.parent, r.tid)
        elif kind == PCS["EXECED"]:
            if self._said_before(event) != text(r.name):
                self._execed(event, r.of, text(r.name), r.tid)
        elif kind == PCS["MAPPED"]:
            self._mapped(event, (path, r.ino, r.mtime))
        elif kind == PCS["EXITED"] and event.pid in self._now:
            self._running[self._now.pop(event.pid)].end = event.time
        elif kind == PCS["CLOCKED"]:
            self._clocked(event.time, r.hz, r.timebase)
        elif kind == PCS["FILED"]:
            file = path, r.ino, r.mtime
            if not r.blocks or file not in self._files:
                self._files[file] = Digest(r.size, r.crc, r.blocks)
        elif kind == PCS["ACCOUNT"]:
            self.profile.skipped, self.untold = r.skipped, r.untold
            self.lost = r.lost
            if r.free:
                self.profile.free = True
                self.profile.notes.append(FREE)

    def _said_before(self, event: Any) -> str:
        """Returns what this context is known to execute, if it has been said before,
        else nothing. A sealed stream says contexts again from time to time, because a
        part of it may be missing."""
        key = event.context, event.pid
        known = self._contexts.get(key)
        before = self._said.get(key, -1)
        self._said[key] = max(before, event.time)
        if not known or event.time > before:
            return ""
        return self._running[known[-1].process].name

    def _begin(self, event: Any, process: int, tid: int) -> None:
        key = event.context, self._running[process].pid
        known = self._contexts.setdefault(key, [])
        if not known or known[-1].process != process:
            known.append(Context(event.time, process, tid))

    def _start(self, pid: int, parent: Optional[int], time: int) -> int:
        """Begins a process, which ends the one before of that pid. A repeated record may
        be of one that ended before the present one began."""
        process, now = len(self._running), self._now.get(pid)
        self._running.append(_Running(pid, parent, time))
        if now is not None and time < self._running[now].begin:
            self._running[process].end = self._running[now].begin
            return process
        if now is not None:
            self._running[now].end = time
        self._now[pid] = process
        return process

    def _born(self, event: Any, of: int, parent: int, tid: int) -> None:
        pid = event.pid
        process = self._now.get(pid)
        if process is not None and not of and event.time < self._running[process].begin:
            return  # a repeated record: the EXECED after it says of which program
        if process is None or parent not in (pid, self._running[process].parent):
            process = self._start(pid, parent, event.time)
            maker = self._contexts.get((of, parent))
            if maker:
                self._copy(maker[-1].process, process)
        self._begin(event, process, tid)

    def _copy(self, parent: int, child: int) -> None:
        """Gives a forked process its parent's program."""
        self._running[child].name = self._running[parent].name
        self._running[child].file = self._running[parent].file

    def _execed(self, event: Any, of: int, name: str, tid: int) -> None:
        process = self._now.get(event.pid)
        known = "" if process is None else self._running[process].name
        if process is None or of or (known and known != name):
            parent = None if process is None else self._running[process].parent
            process = self._start(event.pid, parent, event.time)
        self._running[process].name = name
        self._begin(event, process, tid)

    def _mapped(self, event: Any, file: tuple[str, int, int]) -> None:
        known = self._contexts.get((event.context, event.pid))
        if known and self._running[known[-1].process].file is None:
            self._running[known[-1].process].file = file

    def _clocked(self, time: int, hz: int, timebase: int) -> None:
        profile = self.profile
        if self._clock is None and timebase:
            self._clock = time, timebase
        if not profile.samples or profile.hz is None:
            profile.hz = hz or None
        elif hz != profile.hz:
            profile.warnings.append(f"the rate changed to {hz} Hz during the recording")

    # --- The result ---

    def _nanoseconds(self, count: int) -> int:
        zero, timebase = self._clock or (0, NANOSECONDS)
        return max(0, (count - zero) * NANOSECONDS // timebase)

    def finish(self) -> None:
        """Sets the samples' processes, threads and times."""
        profile = self.profile
        if self._clock:
            last = max((time or 0 for *_, time in self._whose), default=0)
            profile.elapsed = self._nanoseconds(max(last, self._last))
        for r in self._running:
            path = r.file[0] if r.file else ""
            profile.processes.append(
                Process(
                    r.pid,
                    r.parent,
                    path,
                    self._files.get(r.file) if r.file else None,
                    self._nanoseconds(r.begin),
                    None if r.end is None else self._nanoseconds(r.end),
                    r.name,
                )
            )
        profile.contexts = {key: c[-1].process for key, c in self._contexts.items()}
        for (path, _, _), found in self._files.items():
            if path == KERNEL:
                profile.kernel = found
        for at, context, time in self._whose:
            sample = profile.samples[at]
            whose = self._find(sample, context, time)
            profile.samples[at] = sample._replace(
                time=None if time is None else self._nanoseconds(time),
                process=whose.process if whose else None,
                thread=whose.tid if whose else None,
            )
        if self.untold:
            profile.warnings.append(
                f"{self.untold} process events lost, so some processes may be unknown"
            )

    def _find(
        self, sample: Sample, context: int, time: Optional[int]
    ) -> Optional[Context]:
        """Returns the last context of that number that had begun. The first is accepted
        early, as threads that existed at the start are recorded a moment late."""
        known = self._contexts.get((context, sample.pid or 0), [])
        begun = [c for c in known if time is None or c.begin <= time]
        return begun[-1] if begun else known[0] if known else None

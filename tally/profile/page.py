"""A report for a terminal: where the time went, from instructions or samples."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from typing import Iterable, Iterator, NamedTuple, Optional, TypeVar

from tally import ROOT
from tally.base.table import Table
from tally.base.text import in_program, plural
from tally.formats.demangle import INLINED, original
from tally.formats.lines import Line
from tally.profile.profile import FREE, IDLE, MODES, USER, Sample
from tally.profile.stacks import Callers, Frame, Stacks, Whose, mode_counts

# Samples can't measure the sampler itself, nor the program that reads them, which
# always runs right after one.
SAMPLER, RECORDER = "clock_interrupt", "getpc"
# The entry and exit of interrupts; most interrupts are the sampler's.
AROUND = frozenset(
    (
        "trap_vector",
        "user_interrupt",
        "from_kernel",
        "exit_interrupted",
        "trap_interrupt",
        "trap_finish",
        "exit_level0",
        "exit_user",
        "kernel_return",
        "kernel_return_checked",
        "icount_wait",
    )
)
UNSEEN = AROUND | {SAMPLER}
FUNCTIONS, LINES, CALLED, CALLERS, PROGRAMS, COMPARED = 12, 10, 5, 3, 10, 20
PATHS = 10
ALL = 1 << 62  # rows: no limit
# The tables that --by can select.
TABLES = ("time", "harts", "paths", "functions", "lines", "callers", "processes")
BAR = 20
BELOW = 16 * " "  # begins a line below a table
NAME_WIDTH = 60  # a longer name is shortened
POINTS_MIN = 0.05  # percentage points; less would not show in a share
SURE, Z = 0.95, 1.96  # 95 % of a normal distribution lie within Z deviations
# A row with fewer samples gets no interval: it may be in the table only because chance
# gave it more than its share (docs/truth.md).
SURE_MIN = 10
TRIED = (
    "in a test of 3,000 runs, 95 % of such intervals contained the true share:"
    " docs/truth.md"
)


class Function(NamedTuple):
    name: str
    where: str  # the program, or the kernel


#: The caller, and the function that it calls.
Call = tuple[Function, Function]


class Group(NamedTuple):
    """The processes that ran one program."""

    program: str
    processes: int
    user: int
    kernel: int


def wilson(count: int, total: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share: count of total independent samples."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, Z * Z / total
    middle = (share + square / 2) / (1 + square)
    half = (
        Z / (1 + square) * math.sqrt(share * (1 - share) / total + square / total / 4)
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def between(count: int, low: float, high: float) -> str:
    """Formats an interval in percent, in 13 columns; blank for too few samples."""
    return f"{100 * low:5.1f} to {100 * high:4.1f}" if count >= SURE_MIN else " " * 13


class Model:
    """The numbers that the page shows, of samples or of instructions."""

    calls: Optional[Counter[Call]] = None  # how often a function called another

    def __init__(self, stacks: Stacks, of: Optional[str] = None) -> None:
        """of: count only this function and the functions that it called."""
        self.stacks = stacks
        self.profile = stacks.profile
        self.of = of
        # The chains of callers of that function, innermost first.
        self.paths: Counter[tuple[Function, ...]] = Counter()
        self.others = 0  # samples left out because of `of', except idle ones
        if of:
            self._keep(of)
        self.modes = mode_counts(self.profile)
        self.busy = self.profile.total - self.modes[IDLE]
        self.harts: Counter[tuple[int, str]] = Counter()  # by hart and mode
        self.own: Counter[Function] = Counter()
        self.all: Counter[Function] = Counter()
        self.called: Counter[Call] = Counter()
        self.lines: Counter[tuple[Line, str]] = Counter()
        self.starts: dict[Function, Optional[Line]] = {}
        self.processes: dict[Optional[str], set[Whose]] = {}  # by program
        # By program, and by whether the kernel was executed.
        self._groups: Counter[tuple[Optional[str], bool]] = Counter()
        self._known: dict[tuple[int, Optional[str]], Function] = {}
        self._at: Counter[tuple[Frame, str]] = Counter()  # by frame and program
        self._alike = self._together()
        for s, callers, frames in self._alike:
            self._add(s, callers, frames)
        for (frame, where), count in self._at.items():
            if line := frame.line:
                self.lines[line, where] += count

    def _keep(self, name: str) -> None:
        kept = []
        inside: dict[Callers, bool] = {}
        for s in self.profile.samples:
            callers, own = self.stacks.split(s)
            if callers not in inside:
                inside[callers] = any(is_of(frame.name, name) for frame in callers.code)
            if inside[callers] or s.pc is not None and is_of(own.name, name):
                kept.append(s)
            elif s.mode != IDLE:
                self.others += s.count
        self.profile.samples = kept

    def _together(self) -> list[tuple[Sample, Callers, Counter[Frame]]]:
        """Groups samples that differ only in their own frame: returns one sample of
        each group, its callers, and the count of each frame. An exact run has a
        sample for each instruction, so work done once per group saves time."""
        found: dict[
            tuple[Callers, Optional[int], str, Optional[int], Optional[int]],
            tuple[Sample, Callers, Counter[Frame]],
        ] = {}
        for s in self.profile.samples:
            callers, own = self.stacks.split(s)
            key = callers, s.hart, s.mode, s.pid, s.process
            if key not in found:
                found[key] = s, callers, Counter()
            found[key][2][own] += s.count
        return list(found.values())

    def seen(self) -> Counter[Function]:
        """Counts functions' own samples, without those that samples can't measure."""
        found: Counter[Function] = Counter()
        for s, callers, frames in self._alike:
            command = self.stacks.command(s)
            if s.mode == IDLE or command == RECORDER or s.pc is None:
                continue
            if any(original(frame.name) == SAMPLER for frame in callers.code):
                continue
            for frame, count in frames.items():
                code = frame._replace(inlined="").function  # that contains it
                if original(code.name if code else frame.name) not in UNSEEN:
                    found[self.function(frame, command)] += count
        return found

    def groups(self) -> list[Group]:
        return [
            Group(
                name or "no process",
                len(self.processes.get(name, ())),
                self._groups[name, False],
                self._groups[name, True],
            )
            for name in dict.fromkeys(name for name, _ in self._groups)
        ]

    def _add(self, s: Sample, callers: Callers, frames: Counter[Frame]) -> None:
        """Adds a group of _together."""
        count = sum(frames.values())
        if s.hart is not None:
            self.harts[s.hart, s.mode] += count
        if s.mode == IDLE:
            return
        command = self.stacks.command(s)
        self.processes.setdefault(command, set()).add((s.pid, s.process))
        self._groups[command, s.mode != USER] += count
        if s.pc is None:
            return
        outer = [self.function(frame, command) for frame in callers.code]
        own: Counter[Function] = Counter()
        for frame, n in frames.items():
            function = self.function(frame, command)
            own[function] += n
            self._at[frame, function.where] += n
        for function, n in own.items():
            self._add_chain((*outer, function), n)

    def _add_chain(self, chain: tuple[Function, ...], count: int) -> None:
        self.own[chain[-1]] += count
        for function in set(chain):
            self.all[function] += count
        for call in set(zip(chain, chain[1:])):
            self.called[call] += count
        if self.of:
            first = [is_of(function.name, self.of) for function in chain].index(True)
            self.paths[tuple(reversed(chain[: first + 1]))] += count

    def function(self, frame: Frame, command: Optional[str]) -> Function:
        """Returns the function of a frame. The stacks keep all their frames alive, so
        a frame's id is never used again and can be the key."""
        key = id(frame), command
        if key not in self._known:
            where = "kernel" if frame.kind != USER else os.path.basename(command or "?")
            function = Function(frame.name, where)
            self._known[key] = function
            if function not in self.starts:
                self.starts[function] = frame.start
        return self._known[key]


def is_of(name: str, wanted: str) -> bool:
    """Is this the function with the wanted name, or a clone of it?"""
    return wanted in (name, original(name))


def is_entry(call: Call, wanted: str) -> bool:
    """Is this a call of the wanted function? Where it calls a part that GCC split off
    it, the call goes on."""
    caller, function = call
    goes_on = ".part." in function.name and is_of(caller.name, wanted)
    return function.name == wanted or is_of(function.name, wanted) and not goes_on


def place(line: Optional[Line]) -> str:
    """Formats FILE:NUMBER, relative to the current folder if the file is in it; or the
    file, if the number is 0."""
    if line is None:
        return ""
    file = os.path.relpath(line.file) if os.path.isabs(line.file) else line.file
    name = line.file if file.startswith("..") else file
    return f"{name}:{line.number}" if line.number else name


class Sources:
    """The text of lines."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def text(self, line: Line) -> str:
        if line.file not in self._files:
            try:
                text = (ROOT / line.file).read_text(errors="replace")
            except OSError:
                text = ""
            self._files[line.file] = text.splitlines()
        lines = self._files[line.file]
        return lines[line.number - 1].strip() if 0 < line.number <= len(lines) else ""


Kind = TypeVar("Kind")  # the type of the things that are counted


class Page:
    def __init__(
        self,
        model: Model,
        command: str,
        beside: Optional[Model] = None,
        by: Optional[str] = None,
        when: str = "",
    ) -> None:
        """model: of samples or instructions. beside: samples of the run whose
        instructions the model has. by: print only this table, with all its rows.
        when: the part of the recording that is shown, in words; empty: all."""
        self.beside = beside
        self.when = when
        self.by = by
        self.model = model
        self.command = command
        self.exact = model.profile.exact
        self.sure = not self.exact and not model.profile.free
        self.unit = model.profile.unit + "s"
        self.sources = Sources()

    def share(self, count: int, total: int) -> str:
        """Formats a share in percent; a share of samples gets its interval, too."""
        percent = 100 * count / total if total else 0.0
        if self.exact:
            return f"{percent:6.2f}"
        if not self.sure:
            return f"{percent:6.1f}"
        return f"{percent:6.1f} {between(count, *wilson(count, total))}"

    def columns(self, *columns: tuple[str, str]) -> Table:
        """A table whose first columns are a count and its share, of `share`."""
        head = f"{'%':>6} {'95 % interval':>13}" if self.sure else f"{'%':>6}"
        return Table((self.unit, ">15,"), (head, f">{len(head)}"), *columns)

    def text(self) -> str:
        apart = "harts" if self.model.of else "paths"
        tables = [self.by] if self.by else [t for t in TABLES if t != apart]
        parts: list[Iterable[str]] = [self.head(), *map(self.table, tables)]
        if self.beside:
            parts.append(self.both(self.beside))
        if self.sure and self.by != "harts":
            parts.append([TRIED])
        lines = (line.rstrip() for part in parts for line in [*part, ""])
        return "\n".join(lines)

    def table(self, name: str) -> Iterator[str]:
        head, *rows = getattr(self, name)()
        yield head
        yield from rows or [BELOW + "none"]
        if name != "harts":
            yield from self.missing()

    def missing(self) -> Iterator[str]:
        """Yields the line below shares that says how wrong they can be: as if all
        samples that were skipped or lost belonged to one row."""
        p = self.model.profile
        points = 100 * p.missing / max(1, p.total + p.missing)
        if points >= POINTS_MIN:
            yield BELOW + (
                f"{p.missing:,} samples skipped or lost: each share may be wrong by"
                f" up to {points:.1f} percentage points"
            )

    def rows(self, counts: Counter[Kind], n: int) -> list[tuple[Kind, int]]:
        return _most(counts, ALL if self.by else n)

    def head(self) -> Iterator[str]:
        m = self.model
        yield self.command
        rate = "exact" if self.exact else f"at {m.profile.rate} Hz"
        yield f"{m.profile.total:,} {self.unit}, {rate}{self.when and ',' + self.when}"
        if m.of:
            yield self.head_of(m.of)
        if m.profile.free:
            yield FREE
        yield from m.profile.cautions()
        if m.profile.skipped:
            yield f"{plural(m.profile.skipped, 'sample')} skipped"
        for why, count in m.stacks.unknown.items():
            yield f"{plural(count, m.profile.unit)} without names: {why}"

    def head_of(self, name: str) -> str:
        m = self.model
        share = self.share(m.busy, m.busy + m.others).strip().split(maxsplit=1)
        sure = f" ({share[1]})" if len(share) > 1 else ""
        text = f"only {name} and what it calls: {share[0]} %{sure} of all"
        if m.calls is not None:
            calls = sum(n for call, n in m.calls.items() if is_entry(call, name))
            each = f", {m.busy / calls:,.0f} each" if calls else ""
            text += f"; {plural(calls, 'call')}{each}"
        return text

    def time(self) -> Iterator[str]:
        m = self.model
        table = self.columns(("time", "<9"), ("", ""))
        yield table.head()
        for mode, count in sorted(m.modes.items(), key=lambda item: -item[1]):
            if count:
                bar = "#" * round(BAR * count / m.profile.total)
                share = self.share(count, m.profile.total)
                yield table.row(count, share, mode, bar)

    def harts(self) -> Iterator[str]:
        m = self.model
        modes = ((mode, ">10.2f") for mode in MODES)
        table = Table((self.unit, ">15,"), ("hart", ">4"), *modes)
        yield table.head()
        for hart in sorted({hart for hart, _ in m.harts}):
            counts = [m.harts[hart, mode] for mode in MODES]
            total = sum(counts)
            yield table.row(total, hart, *(100 * n / total for n in counts))

    def functions(self) -> Iterator[str]:
        m = self.model
        table = self.columns(
            ("with callees", ">12.2f"), ("function, its program and source", "")
        )
        yield table.head()
        for function, count in self.rows(m.own, FUNCTIONS):
            inclusive = 100 * m.all[function] / m.busy
            name = f"{_name(function)}  {place(m.starts[function])}"
            yield table.row(count, self.share(count, m.busy), inclusive, name)

    def lines(self) -> Iterator[str]:
        m = self.model
        table = self.columns(("line", ""))
        yield table.head()
        for (line, where), count in self.rows(m.lines, LINES):
            text = f"{place(line)} [{where}]  {self.sources.text(line)}"
            yield table.row(count, self.share(count, m.busy), text)

    def callers(self) -> Iterator[str]:
        m = self.model
        table = self.columns(("called by", ""))
        yield table.head()
        for function, _ in self.rows(m.own, CALLED):
            yield table.row("", "", _name(function))
            mine = Counter({c: n for c, n in m.called.items() if c[1] == function})
            for call, count in self.rows(mine, CALLERS):
                times = ""
                if m.calls is not None and not call[1].name.endswith(INLINED):
                    times = f", {m.calls[call]:,} calls"
                text = f"  from {_name(call[0])}{times}"
                yield table.row(count, self.share(count, m.busy), text)
            if not mine:
                yield table.row("", "", "  no callers")

    def processes(self) -> Iterator[str]:
        m = self.model
        table = self.columns(("in the kernel", ">15,"), ("processes", ""))
        yield table.head()
        groups = {g: g.user + g.kernel for g in m.groups()}
        for group, count in self.rows(Counter(groups), PROGRAMS):
            many = f" ({group.processes})" if group.processes > 1 else ""
            share = self.share(count, m.busy)
            yield table.row(count, share, group.kernel, group.program + many)
        yield from self.more(len(groups) - PROGRAMS, "programs")

    def paths(self) -> Iterator[str]:
        """Yields the chains of callers of the function that --of names."""
        m = self.model
        table = self.columns(("callers, innermost first", ""))
        yield table.head()
        for path, count in self.rows(m.paths, PATHS):
            yield table.row(count, self.share(count, m.busy), _path(path))
        yield from self.more(len(m.paths) - PATHS, "paths")

    def more(self, rest: int, what: str) -> Iterator[str]:
        """Yields the line below a table that says how many rows are not shown."""
        if rest > 0 and not self.by:
            yield BELOW + f"and {rest} more {what}"

    def both(self, samples: Model) -> Iterator[str]:
        """Yields sampled and exact shares, side by side."""
        table = Table(
            ("samples", ">15,"),
            ("%", ">6.1f"),
            ("95 % interval", ">13"),
            ("exact %", ">8.2f"),
            ("inside", ">6"),
            (f"function (those of {RECORDER} are excluded)", ""),
        )
        yield table.head()
        rows = compared(self.model, samples)
        if not rows:
            yield BELOW + "none"
        for row in rows:
            inside = ("yes" if row.inside else "no") if row.sure else ""
            sure = between(row.count, row.low, row.high)
            shares = 100 * row.share, sure, 100 * row.exact
            yield table.row(row.count, *shares, inside, _name(row.function))
        missing = missing_samples(samples)
        if missing:
            yield BELOW + missing
        outside = sum(row.sure and not row.inside for row in rows)
        each = round(1 / (1 - SURE))
        yield BELOW + (
            f"{outside} exact shares are outside their intervals;"
            f" expect 1 in {each} by chance"
        )


class Compared(NamedTuple):
    """A function's share of the samples, with its interval, and the exact one."""

    function: Function
    count: int  # type: ignore[assignment]  # a tuple has one
    share: float
    low: float
    high: float
    exact: float

    @property
    def sure(self) -> bool:
        return self.count >= SURE_MIN

    @property
    def inside(self) -> bool:
        return self.low <= self.exact <= self.high


def compared(model: Model, samples: Model) -> list[Compared]:
    sampled, counted = samples.seen(), model.seen()
    n, total = sum(sampled.values()), sum(counted.values()) or 1
    return [
        Compared(
            function, count, count / n, *wilson(count, n), counted[function] / total
        )
        for function, count in _most(sampled, COMPARED)
    ]


def missing_samples(samples: Model) -> str:
    """Returns a warning if more than 1 % are missing, else nothing."""
    missing = samples.profile.missing
    if missing <= sum(samples.seen().values()) / 100:
        return ""
    return (
        f"{missing:,} more samples skipped or lost, perhaps in other functions than the"
        " samples above; a lower rate (-r) would lose fewer"
    )


def _most(counts: Counter[Kind], n: int) -> list[tuple[Kind, int]]:
    """Returns the n highest counts; equal ones are in the order of their names."""
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:n]


def _short(name: str) -> str:
    """Shortens a long C++ name: what stands in <> becomes "..."."""
    if len(name) <= NAME_WIDTH:
        return name
    kept, depth = [], 0
    for c in name:
        depth -= c == ">"
        if depth == 0:
            kept.append(c)
        depth += c == "<"
    return "".join(kept).replace("<>", "<...>") if depth == 0 else name


def _name(function: Function) -> str:
    return in_program(_short(function.name), function.where)


def _path(path: tuple[Function, ...]) -> str:
    """Formats a path, innermost first; neighbours share one [program]."""
    return " < ".join(
        " < ".join(_short(function.name) for function in part) + f" [{where}]"
        for where, part in itertools.groupby(path, lambda function: function.where)
    )

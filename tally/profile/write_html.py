"""One page for a browser that needs no network: flame graph, callers, timeline,
functions, source and instructions, statistics.

The page contains its data as JSON. All stacks form one tree of frames; a stack is
named by the node where it ends, and that node's own count is the number of its
samples. So any selection of samples is a count for each node, and the page adds the
counts up from the leaves to the root. The samples are stored by time, process and
node in typed arrays: of a million samples each takes some ten bytes.
"""

from __future__ import annotations

import array
import base64
import bisect
import dataclasses
import hashlib
import itertools
import json
import math
import sys
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional

from tally import ROOT
from tally.formats.executable import Function, Image
from tally.formats.lines import Line
from tally.profile.annotate import Excerpt, Instruction, Sources, instructions
from tally.profile.profile import FREE, MODES, Profile, Sample
from tally.profile.stacks import PROCESS, Callers, Frame, Stacks, Whose
from tally.profile.waits import Ready, Row, Waits

HERE = Path(__file__).parent / "html"
SCRIPTS = (
    "model.js",
    "graph.js",
    "timeline.js",
    "tables.js",
    "waits.js",
    "source.js",
    "main.js",
)
KINDS = (*MODES, PROCESS)

MADE = 1_000_000  # nodes made at most, for the most frequent stacks first
NODES = 150_000  # nodes written at most; the rarest stacks are cut
RARE = Frame("[rare]", PROCESS)  # stands for callees that were cut
BINS = 8192  # time bins at most
ENTRIES = 1_200_000  # entries of the timeline at most
ROWS = 5_000  # processes with a row of their own
FUNCTIONS = 60  # functions whose text the page contains
TEXT = 4_000_000  # characters of that text
WAITS = 2_000  # rows of waits

TYPES = (
    ("B", "Uint8Array", (1 << 8) - 1),
    ("H", "Uint16Array", (1 << 16) - 1),
    ("I", "Uint32Array", (1 << 32) - 1),
    ("d", "Float64Array", math.inf),
)


#: An object of JSON.
Object = dict[str, object]


def pack(values: Iterable[int]) -> dict[str, str]:
    """Encodes numbers as the smallest typed array that holds them all."""
    numbers = list(values)
    most = max(numbers, default=0)
    kind, name, _ = next(t for t in TYPES if most <= t[2])
    data = array.array(kind, map(float, numbers) if kind == "d" else numbers)
    if sys.byteorder == "big":
        data.byteswap()
    return {"type": name, "data": base64.b64encode(data.tobytes()).decode()}


class Place(NamedTuple):
    """A frame without its address: all addresses of a function are one place."""

    name: str
    kind: str
    image: Optional[Image] = None
    function: Optional[Function] = None
    start: Optional[Line] = None


class Tree:
    """The tree of all stacks. A node's number is higher than its parent's."""

    def __init__(self) -> None:
        self.places: dict[Place, int] = {Place("all", PROCESS): 0}
        self._place_of: dict[Frame, int] = {}
        self._children: dict[tuple[int, int], int] = {}
        self.parents, self.frames, self.own = [0], [0], [0]

    def place(self, frame: Frame) -> int:
        if frame not in self._place_of:
            place = Place(
                frame.name, frame.kind, frame.image, frame.function, frame.start
            )
            self._place_of[frame] = self.places.setdefault(place, len(self.places))
        return self._place_of[frame]

    def child(self, node: int, frame: int) -> int:
        found = self._children.setdefault((node, frame), len(self.parents))
        if found == len(self.parents):
            self.parents.append(node)
            self.frames.append(frame)
            self.own.append(0)
        return found

    @property
    def full(self) -> bool:
        return len(self.parents) >= MADE

    def node(self, frames: list[Frame], node: int = 0) -> int:
        """Returns the node where these frames end below a node. Once the tree is
        full, frames without a node end in a [rare] one."""
        for frame in frames:
            place = self.place(frame)
            if self.full and (node, place) not in self._children:
                rare = RARE._replace(kind=frames[-1].kind)
                return self.child(node, self.place(rare))
            node = self.child(node, place)
        return node

    def totals(self) -> list[int]:
        totals = list(self.own)
        for node in range(len(totals) - 1, 0, -1):
            totals[self.parents[node]] += totals[node]
        return totals

    def trim(self) -> list[int]:
        """Keeps the NODES heaviest nodes; the rest are merged into [rare] ones.
        Returns the new number of each old node. Siblings get consecutive numbers,
        the heaviest first."""
        totals = self.totals()
        limit = 1
        if len(totals) > NODES:
            limit = sorted(totals, reverse=True)[NODES] + 1
        children: dict[int, list[int]] = defaultdict(list)
        for node in range(1, len(totals)):
            children[self.parents[node]].append(node)
        now = [0] * len(totals)
        old = self.frames, self.own
        self.parents, self.frames, self.own = [0], [0], [old[1][0]]
        queue = deque([0])
        while queue:
            node = queue.popleft()
            kept = [c for c in children[node] if totals[c] >= limit]
            cut = [c for c in children[node] if totals[c] < limit]
            kept.sort(key=lambda c: (-totals[c], c))
            for c in kept:
                now[c] = self._append(now[node], old[0][c], old[1][c])
            queue.extend(kept)
            if cut:
                self._cut(cut, children, old, now, now[node])
        return now

    def _append(self, parent: int, frame: int, own: int) -> int:
        self.parents.append(parent)
        self.frames.append(frame)
        self.own.append(own)
        return len(self.own) - 1

    def _cut(
        self,
        cut: list[int],
        children: dict[int, list[int]],
        old: tuple[list[int], list[int]],
        now: list[int],
        parent: int,
    ) -> None:
        """Merges nodes and their callees into one [rare] node for each mode, as a
        sample's mode is that of the frame where it ends."""
        names = list(self.places)
        rare: dict[str, int] = {}
        pending = list(cut)
        while pending:
            node = pending.pop()
            kind = names[old[0][node]].kind
            if kind not in rare:
                rare[kind] = self._append(
                    parent, self.place(RARE._replace(kind=kind)), 0
                )
            self.own[rare[kind]] += old[1][node]
            now[node] = rare[kind]
            pending += children[node]


#: The key for counts of lines.
Where = tuple[Image, Function, Optional[Line]]


@dataclasses.dataclass
class Around:
    """The data that samples with the same callers share."""

    frames: list[Frame]
    code: set[Frame]
    lines: set[Where]
    node: Optional[int] = None  # where the callers end, unless the tree was full
    count: int = 0


class Recording:
    """A profile's samples in the page's form."""

    def __init__(self, stacks: Stacks) -> None:
        self.stacks = stacks
        self.profile = stacks.profile
        self.tree = Tree()
        self.processes: dict[Whose, int] = {}
        self.whos: dict[tuple[Optional[int], int], int] = {}
        self.own: Counter[tuple[Image, int]] = Counter()  # by address
        self.all: Counter[tuple[Image, int]] = Counter()
        self.lines: Counter[Where] = Counter()
        self.all_lines: Counter[Where] = Counter()
        self._line_of: dict[Frame, Where] = {}
        self._around: dict[Callers, Around] = {}
        self._programs: dict[Whose, tuple[object, ...]] = {}
        index: dict[tuple[object, ...], int] = {}
        alike: list[Sample] = []
        counts: list[int] = []
        where = []
        for s in self.profile.samples:
            key = (
                self._program(s),
                s.mode,
                s.pc,
                s.kernel,
                s.user,
                s.cut_kernel,
                s.cut_user,
                s.hart is None,
            )
            i = index.setdefault(key, len(alike))
            if i == len(alike):
                alike.append(s)
                counts.append(0)
            counts[i] += s.count
            where.append((i, self._who(s)))
        nodes = [0] * len(alike)
        for i in sorted(range(len(alike)), key=lambda i: -counts[i]):
            nodes[i] = self._add(alike[i], counts[i])
        for around in self._around.values():
            self._add_around(around)
        now = self.tree.trim()
        self.where = [(now[nodes[i]], who) for i, who in where]

    def _program(self, s: Sample) -> tuple[object, ...]:
        """Returns a key: with it and the addresses, a stack's names are fixed."""
        key = s.pid, s.process
        if s.pid is None or s.process is None:
            return self.stacks.command(s), s.pid
        if key not in self._programs:
            p = self.profile.processes[s.process]
            command = self.stacks.command(s)
            given = self.stacks.programs.by_pid.get(s.pid)
            self._programs[key] = (command or s.pid, p.program, p.digest, given)
        return self._programs[key]

    def _who(self, s: Sample) -> int:
        """Returns the number of a pair of hart and process. Processes beyond ROWS
        share the last one."""
        process = -1
        if s.pid is not None or s.process is not None:
            key = s.pid, s.process
            process = self.processes.setdefault(key, len(self.processes))
            if process >= ROWS:
                process = self.processes[key] = ROWS
        return self.whos.setdefault((s.hart, process), len(self.whos))

    def _add(self, s: Sample, count: int) -> int:
        """Adds count samples like this one; returns the node where they end."""
        callers, own = self.stacks.split(s)
        if callers not in self._around:
            self._around[callers] = self._make_around(s, callers)
        around = self._around[callers]
        around.count += count
        if around.node is not None:
            node = self.tree.node([own], around.node)
        else:
            node = self.tree.node([*around.frames, own])
            if not self.tree.full:
                around.node = self.tree.parents[node]
        self.tree.own[node] += count
        if own.image:
            line = self._line(own)
            at = self._at(own)
            self.own[at] += count
            self.lines[line] += count
            self.all[at] += count * (own not in around.code)
            self.all_lines[line] += count * (line not in around.lines)
        return node

    def _make_around(self, s: Sample, callers: Callers) -> Around:
        frames, command = list(callers.frames), self.stacks.command(s)
        if frames and s.pid and command and frames[0].kind == PROCESS:
            frames[0] = Frame(command, PROCESS)  # processes are chosen elsewhere
        # Where a function was inlined, only the innermost frame has the address.
        code = {frame for frame in frames if frame.image and not frame.call}
        return Around(frames, code, set(map(self._line, code)))

    def _add_around(self, around: Around) -> None:
        """Adds the callers' inclusive counts."""
        for frame in around.code:
            self.all[self._at(frame)] += around.count
        for line in around.lines:
            self.all_lines[line] += around.count

    @staticmethod
    def _at(frame: Frame) -> tuple[Image, int]:
        """Returns a frame's program and address; the frame must have both."""
        assert frame.image and frame.address is not None
        return frame.image, frame.address

    def _line(self, frame: Frame) -> Where:
        if frame not in self._line_of:
            image, address = self._at(frame)
            function = image.function(address)
            assert function  # else the frame would have no program
            self._line_of[frame] = image, function, image.line(address)
        return self._line_of[frame]

    # --- The timeline ---

    def _widths(self) -> Iterator[int]:
        """Yields widths of a bin in nanoseconds, 1, 2 or 5 times a power of ten: from
        the least that makes BINS bins or fewer to one that makes a single bin."""
        times = (s.time for s in self.profile.samples if s.time is not None)
        end = max(times, default=0)
        for power in itertools.count():
            for factor in (1, 2, 5):
                width = factor * 10**power
                if end // width < BINS:
                    yield width
                if end < width:
                    return

    def _entries(self, width: int, placed: bool = True) -> dict[int, int]:
        """Counts samples by time, hart and process, and node. Samples without a time
        come last."""
        found: dict[int, int] = {}
        nodes, whos = len(self.tree.own), len(self.whos)
        for s, (node, who) in zip(self.profile.samples, self.where):
            bin = BINS if s.time is None else s.time // width
            key = (bin * whos + (who if placed else 0)) * nodes + node
            found[key] = found.get(key, 0) + s.count
        return found

    def samples(self) -> Object:
        """Returns the timeline with the finest bins for which there is room. If one
        bin is still too much, harts and processes are merged, too."""
        for width in self._widths():
            found = self._entries(width)
            if len(found) <= ENTRIES:
                break
        else:
            self.whos = {(None, -1): 0}
            found = self._entries(width, placed=False)
        nodes, whos = len(self.tree.own), len(self.whos)
        keys = sorted(found)
        bins = [k // nodes // whos for k in keys]
        last = max((b for b in bins if b < BINS), default=-1) + 1
        starts = [bisect.bisect_left(bins, bin) for bin in [*range(last), BINS]]
        return {
            "width": width,
            "bins": last,
            "starts": pack([*starts, len(keys)]),
            "node": pack(k % nodes for k in keys),
            "who": pack(k // nodes % whos for k in keys),
            "count": pack(found[k] for k in keys),
            "apart": len(self.whos) > 1 or (None, -1) not in self.whos,
        }

    def rows(self) -> list[Object]:
        """Returns an object for each process."""
        found: list[Object] = []
        for pid, index in list(self.processes)[:ROWS]:
            sample = Sample("", pid=pid, process=index, user=(0,))
            p = None if index is None else self.profile.processes[index]
            name = self.stacks.command(sample) or ("" if pid else "no process")
            found.append(
                {
                    "name": name or f"pid {pid}",
                    "pid": pid,
                    "begin": p and p.begin,
                    "end": p and p.end,
                }
            )
        if len(self.processes) > ROWS:
            found.append(
                {"name": "other processes", "pid": None, "begin": None, "end": None}
            )
        return found

    # --- The text ---

    def functions(self) -> list[Object]:
        """Returns the text of the functions with the most samples: their own count
        decides, then the one with callees."""
        own: Counter[tuple[Image, Function]] = Counter()
        every: Counter[tuple[Image, Function]] = Counter()
        addresses: dict[tuple[Image, Function], list[int]] = {}
        for (image, address), count in self.all.items():
            entered = image.function(address)
            assert entered  # else its frame would have no program
            key = image, entered
            addresses.setdefault(key, []).append(address)
            own[key] += self.own[image, address]
            every[key] += count
        order = sorted(
            addresses, key=lambda k: (-own[k], -every[k], k[0].name, k[1].start)
        )
        told: list[Object] = []
        sources, room = Sources(), TEXT
        for image, function in order[:FUNCTIONS]:
            entry = self._function(sources, image, function, addresses[image, function])
            room -= len(json.dumps(entry))
            if room < 0:
                break
            told.append(entry)
        return told

    def _function(
        self, sources: Sources, image: Image, function: Function, sampled: list[int]
    ) -> Object:
        code, disassembled = instructions(image, function)
        numbers: dict[str, set[int]] = {}
        known = {i.address: i.line for i in code}
        for address in [*known, *sampled]:
            line = known.get(address) or image.line(address)
            if line and line.number:
                numbers.setdefault(line.file, set()).add(line.number)
        entry = image.line(function.start)
        inside = self._inside(image, list(known), sampled)
        files = sorted(numbers, key=lambda f: (f != (entry.file if entry else ""), f))
        excerpts = [sources.excerpt(image, f, numbers[f]) for f in files]
        return {
            "name": self.stacks.name(function),
            "image": image.name,
            "start": f"{function.start:#x}",
            "disassembled": disassembled,
            # Offset, text, file, line, its own samples, and with its callees'.
            "code": [
                [
                    i.address - function.start,
                    i.text,
                    *self._at_line(i, files),
                    self.own[image, i.address],
                    inside[i.address],
                ]
                for i in code
            ],
            "beyond": sum(self.own[image, a] for a in sampled if a not in known),
            "source": [self._source(e) for e in excerpts],
            "lines": list(self._line_counts(image, function, numbers, files)),
        }

    def _inside(
        self, image: Image, starts: list[int], sampled: list[int]
    ) -> Counter[int]:
        """Samples of each instruction with its callees'. A caller's address is that of
        the call's last byte."""
        found: Counter[int] = Counter()
        for address in sampled:
            at = bisect.bisect_right(starts, address) - 1
            if at >= 0:
                found[starts[at]] += self.all[image, address]
        return found

    @staticmethod
    def _at_line(i: Instruction, files: list[str]) -> list[int]:
        """Returns the file's index and the line number; -1 and 0 if unknown."""
        if i.line and i.line.file in files:
            return [files.index(i.line.file), i.line.number]
        return [-1, 0]

    def _line_counts(
        self,
        image: Image,
        function: Function,
        numbers: dict[str, set[int]],
        files: list[str],
    ) -> Iterator[list[int]]:
        """Yields file, line, its own samples, and those with callees."""
        for at, file in enumerate(files):
            for number in sorted(numbers[file]):
                key = image, function, Line(file, number)
                if self.all_lines[key]:
                    yield [at, number, self.lines[key], self.all_lines[key]]

    @staticmethod
    def _source(e: Excerpt) -> Object:
        return {"file": shown(e.file), "runs": e.runs, "newer": e.newer}

    def places(self) -> Iterator[list[object]]:
        """Yields name, kind, image and source of each place."""
        for place in self.tree.places:
            yield [
                place.name,
                KINDS.index(place.kind),
                place.image.name if place.image else "",
                shown_line(place.start),
            ]


def shown(file: str) -> str:
    """Returns a file's name, relative to Tally's folder if it lies there."""
    path = Path(file)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else file


def shown_line(line: Optional[Line]) -> str:
    """Formats FILE:NUMBER, or the file if the number is 0; nothing if it is unknown."""
    if line is None:
        return ""
    return f"{shown(line.file)}:{line.number}" if line.number else shown(line.file)


def about(profile: Profile) -> Object:
    """Returns the facts about the profile as a whole."""
    return {
        "source": profile.source,
        "hz": profile.hz,
        "rate": profile.rate,
        "begin": profile.begin,
        "end": profile.end,
        "total": profile.total,
        "lost": profile.lost,
        "lostMore": profile.lost_more,
        "skipped": profile.skipped,
        "warnings": profile.warnings,
        "notes": profile.notes,
        "free": FREE if profile.free else "",
    }


def called(frames: list[Frame]) -> list[list[str]]:
    """Returns each frame's function name and source line."""
    return [[frame.name, shown_line(frame.line)] for frame in frames]


def whose(row: Row | Ready) -> str:
    pids = sorted(row.pids)
    return (
        f"{row.program} {pids[0]}"
        if len(pids) == 1
        else (f"{row.program}, {len(pids)} processes")
    )


def waited(waits: Waits) -> Object:
    """Returns the tables of waits; times are in milliseconds."""
    head = waits.data.head
    return {
        "seconds": head.watched / head.timebase,
        "lost": head.lost,
        "rows": [
            [
                row.what,
                whose(row),
                row.program,
                called(row.user),
                called(row.kernel),
                row.total / 1e6,
                row.count,
                row.longest / 1e6,
                row.at / 1e6,
                sorted(row.wakers.items(), key=lambda w: (-w[1], w[0])),
                row.unfinished,
            ]
            for row in waits.rows[:WAITS]
        ],
        "more": max(0, len(waits.rows) - WAITS),
        "ready": [
            [whose(r), r.total / 1e6, r.count, r.longest / 1e6, r.at / 1e6, r.ran / 1e6]
            for r in sorted(waits.ready.values(), key=lambda r: (-r.total, r.program))
        ],
    }


def content(
    stacks: Stacks,
    title: str,
    waits: Optional[Waits] = None,
    beside: Optional[Object] = None,
) -> Object:
    """Returns the page's data. beside: samples of a run that was counted exactly."""
    recording = Recording(stacks)
    tree = recording.tree
    return {
        "title": title,
        "unit": stacks.profile.unit,
        "about": about(stacks.profile),
        "unknown": sorted(stacks.unknown.items()),
        "kinds": KINDS,
        "functions": recording.functions(),
        "places": list(recording.places()),
        "parents": pack(tree.parents),
        "frames": pack(tree.frames),
        "own": pack(tree.own),
        "samples": recording.samples(),
        "whos": list(recording.whos),
        "processes": recording.rows(),
        "waits": waited(waits) if waits else None,
        "beside": beside,
    }


def _inert(data: Object) -> str:
    """Encodes JSON without characters that could end its HTML element."""
    text = json.dumps(data, separators=(",", ":"))
    for c in "<>&":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write(
    stacks: Stacks,
    title: str,
    waits: Optional[Waits] = None,
    beside: Optional[Object] = None,
) -> bytes:
    """Returns the page. Its content security policy allows only its own script and
    style."""
    style = (HERE / "page.css").read_text()
    code = "".join((HERE / name).read_text() for name in SCRIPTS)
    script = f'"use strict";\n(function () {{\n{code}}})();\n'
    page = (HERE / "page.html").read_text()
    parts = {  # in the page's order
        "@POLICY@": f"default-src 'none'; script-src '{_digest(script)}'; style-src "
        f"'{_digest(style)}'; base-uri 'none'; form-action 'none'",
        "@STYLE@": style,
        "@DATA@": _inert(content(stacks, title, waits, beside)),
        "@SCRIPT@": script,
    }
    pieces = [page]
    for mark, text in parts.items():
        before, _, after = pieces.pop().partition(mark)
        pieces += [before, text, after]
    return "".join(pieces).encode(errors="replace")

"""Writes callgrind's format, for callgrind_annotate and KCachegrind: the costs of each
function's lines and calls."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, Optional

from tally.formats.lines import Line
from tally.profile.profile import USER
from tally.profile.stacks import Callers, Frame, Stacks

NOWHERE = Line("???", 0)
UNCOUNTED = 1  # the number of calls if unknown: 0 would confuse viewers


class Function(NamedTuple):
    object: str
    file: str
    name: str
    line: int  # its first line


class _Costs:
    """The costs by function."""

    def __init__(self, stacks: Stacks) -> None:
        self._known: dict[tuple[int, Optional[str]], tuple[Frame, Function, Line]] = {}
        self.own: dict[Function, Counter[Line]] = {}
        self.calls: dict[Function, Counter[tuple[Line, Function]]] = {}
        self.inclusive: dict[Function, Counter[tuple[Line, Function]]] = {}
        alike: Counter[tuple[Callers, Optional[str], tuple[Function, Line]]] = Counter()
        for s in stacks.profile.samples:
            callers, own = stacks.split(s)
            command = stacks.command(s)
            alike[callers, command, self.function(own, command)] += s.count
        for (callers, command, (function, line)), count in alike.items():
            self.own.setdefault(function, Counter())[line] += count
            chain = [self.function(frame, command) for frame in callers.code]
            chain.append((function, line))
            for (caller, line), (function, _) in set(zip(chain, chain[1:])):
                costs = self.inclusive.setdefault(caller, Counter())
                costs[line, function] += count
        for call in stacks.calls():
            caller, line = self.function(call.caller, call.command)
            function, _ = self.function(call.function, call.command)
            self.calls.setdefault(caller, Counter())[line, function] += call.count

    def function(self, frame: Frame, command: Optional[str]) -> tuple[Function, Line]:
        """Returns a frame's function and line. Known frames stay alive, so that no
        other gets their id."""
        key = id(frame), command
        if key not in self._known:
            start, at = frame.start or NOWHERE, frame.line or NOWHERE
            where = frame.image.name if frame.image else "kernel"
            if not frame.image and frame.kind == USER:
                where = command or "?"
            function = Function(where, start.file, frame.name, start.number)
            self._known[key] = frame, function, at
        return self._known[key][1:]


def _line_costs(costs: _Costs, function: Function) -> list[str]:
    said, file = [], function.file
    for line, count in sorted(costs.own.get(function, {}).items()):
        if line.file != file:  # it was inlined
            file = line.file
            said.append(f"{'fe' if file == function.file else 'fi'}={file}")
        said.append(f"{line.number} {count}")
    if file != function.file:
        said.append(f"fe={function.file}")
    return said


def _call_costs(costs: _Costs, function: Function) -> list[str]:
    said, file = [], function.file
    counts = costs.calls.get(function, Counter())
    for (line, callee), cost in sorted(costs.inclusive.get(function, {}).items()):
        if line.file != file:
            file = line.file
            said.append(f"{'fe' if file == function.file else 'fi'}={file}")
        said += [
            f"cob={callee.object}",
            f"cfi={callee.file}",
            f"cfn={callee.name}",
            f"calls={counts[line, callee] or UNCOUNTED} {callee.line}",
            f"{line.number} {cost}",
        ]
    return said


def write(stacks: Stacks, title: str) -> bytes:
    costs = _Costs(stacks)
    unit = f"{stacks.profile.unit}s".capitalize()
    lines = [
        "# callgrind format",
        "version: 1",
        "creator: Tally",
        f"cmd: {title}",
        *(f"desc: {text}" for text in stacks.profile.remarks()),
        "positions: line",
        f"events: {unit}",
        f"summary: {stacks.profile.total}",
        "",
    ]
    for function in sorted({*costs.own, *costs.inclusive}):
        lines += [f"ob={function.object}", f"fl={function.file}", f"fn={function.name}"]
        lines += _line_costs(costs, function) + _call_costs(costs, function) + [""]
    lines.append(f"totals: {stacks.profile.total}\n")
    return "\n".join(lines).encode(errors="replace")

"""Judges a kernel by what came of a lab's tests.

One boot has all tests that aren't races, in their order. When it dies in one of
them, that one has failed, and each that follows gets a boot of its own, which
begins with the setup. A race gets a boot for each of some seeds, in which harts
take turns at other moments (kernel/sched/races.c). A boot may take twice as much
guest time as the solution does with the same script.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import random
from pathlib import Path
from typing import Collection, Iterator, Mapping, Optional, Union

from tally.formats.executable import Image
from tally.grading.boots import SLACK, Bootable, Booter, Heard, Plan, Stop, scratch
from tally.grading.hang import came_to, shown
from tally.grading.host import Runner
from tally.grading.lab import Lab, LabError
from tally.grading.play import played
from tally.grading.sandbox import Sandbox
from tally.grading.script import NEVER, Cost, Step, Symbol, Test, TestKind, cut
from tally.grading.stores import Store, told, watch
from tally.grading.tree import Kernel

LIMIT = 60.0  # seconds of guest time, where no reference says what it takes


@dataclasses.dataclass
class Verdict:
    """Of one test."""

    name: str
    points: int
    ok: bool
    why: str = ""
    replay: str = ""
    script: list[str] = dataclasses.field(default_factory=list)  # --show


def no_symbol(name: str) -> int:
    """On the host nothing is asked for by its address."""
    raise LabError(f"{name}: a lab on the host has no symbols")


def symbols(elf: Image) -> Symbol:
    """Of a kernel. A student's code can rename what a test asks for."""

    def symbol(name: str) -> int:
        address = elf.symbol(name)
        if address is None:
            raise LookupError(f"the kernel has no {name}")
        return address

    return symbol


class Judge:
    """Boots kernels of one lab, with scripts of one nonce."""

    def __init__(
        self,
        lab: Lab,
        nonce: int,
        sandbox: Optional[Sandbox] = None,
        shows: bool = False,
    ) -> None:
        """sandbox: for what is run on the host, if it isn't to be trusted. shows: tell
        what a test has played that failed."""
        self.shows = shows
        self.lab = lab
        self.nonce = nonce
        self.booter: Union[Runner, Booter] = Runner(sandbox) if lab.host else Booter()
        self.stops: list[Stop] = []  # at most the first; copies (of) share it

    def of(self, lab: Lab) -> Judge:
        """The same one, for the lab of another course."""
        other = copy.copy(self)
        other.lab = lab
        return other

    @property
    def seed(self) -> str:
        return f"{self.lab.course.seed}/{self.lab.name}/{self.nonce}"

    def turns(self, kind: TestKind) -> list[int]:
        drawn = random.Random(f"{self.seed}/{kind.name}/races")
        return [drawn.randrange(1, 1 << 31) for _ in range(kind.race)]

    def measure(
        self,
        kernel: Kernel,
        only: Optional[Collection[str]] = None,
        races: Optional[int] = None,
    ) -> Reference:
        """What the reference takes, with the same script as what is judged by it.
        LabError: it fails a test itself."""
        reference = Reference()
        grading = self.judge(kernel, reference, True, only, races)
        bad = [v for v in grading.judged() if not v.ok]
        if bad:
            raise LabError(
                f"{self.lab.name}: the solution fails {bad[0].name!r}:" f" {bad[0].why}"
            )
        stray = grading.stray_stores()
        if stray:
            raise LabError(
                f"{self.lab.name}: lab.conf doesn't allow what the solution"
                f" does: {', '.join(stray)}"
            )
        return reference

    def judge(
        self,
        kernel: Kernel,
        reference: Reference,
        measuring: bool = False,
        only: Optional[Collection[str]] = None,
        races: Optional[int] = None,
    ) -> Grading:
        """only: these tests. races: the one seed that a race gets."""
        grading = Grading(self, kernel, reference, measuring)
        kinds = [k for k in self.lab.tests if only is None or k.name in only]
        plain = [k for k in kinds if not k.race]
        if plain:
            grading.together(plain)
        for kind in kinds:
            if kind.race:
                grading.race(kind, self.turns(kind) if races is None else [races])
        return grading


@dataclasses.dataclass
class Reference:
    """What the solution takes: guest seconds by the boot's name, which is its test's if
    that is alone; and the costs of steps, by test and name and what is counted. Without
    it the limits are wide."""

    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    costs: dict[str, int] = dataclasses.field(default_factory=dict)

    def take(self, boot: str, kinds: list[TestKind], ends: list[float]) -> None:
        """How long a boot took, and would take with each of its tests alone."""
        for kind, begin, end in zip(kinds, ends, ends[1:]):
            self._take(kind.name, ends[0] + end - begin)
        self._take(boot, max(ends, default=0.0))

    def _take(self, boot: str, seconds: float) -> None:
        self.seconds[boot] = max(self.seconds.get(boot, 0.0), seconds)

    def limit(self, boot: str) -> float:
        return 2 * self.seconds[boot] + SLACK if boot in self.seconds else LIMIT

    def too_dear(
        self, test: str, cost: Cost, heard: Heard, measuring: bool = False
    ) -> str:
        """Who only waits executes nothing, and who lies about time still executes."""
        counted: dict[str, Mapping[str, Union[str, int]]] = {
            "time": heard.answers,
            "instructions": heard.marks,
        }
        for what, counts in counted.items():
            if cost.end not in counts:
                return f"{cost.name}: nobody has counted its {what}"
            try:
                took = int(counts[cost.end]) - int(counts[cost.begin])
            except ValueError:
                return f"{cost.name}: its {what} is no number"
            name = f"{test}: {cost.name}: {what}"
            if measuring:
                self.costs[name] = max(self.costs.get(name, 0), took)
            known = self.costs.get(name)
            if known is not None and took > cost.factor * known:
                return (
                    f"{cost.name}: {took / known:.1f} times the {what} that the"
                    f" reference takes; {cost.factor:g} times is the most"
                )
        return ""


TOGETHER = "all"  # the boot of all tests that aren't races


class Grading:
    """The boots of one kernel, and what they have shown so far."""

    def __init__(
        self, judge: Judge, kernel: Kernel, reference: Reference, measuring: bool
    ) -> None:
        self.judge = judge
        self.kernel = kernel
        self.reference = reference
        self.measuring = measuring
        self.verdicts: dict[str, Verdict] = {}
        self.stores: dict[Store, None] = {}  # in the order in which they came
        self.forged = ""
        self.instructions = 0
        self.died_early = False  # before the first answer
        self.symbol: Symbol = no_symbol
        self.bootable = Bootable(kernel.data)
        if not judge.lab.host:
            self._read_symbols()

    @contextlib.contextmanager
    def _file(self) -> Iterator[Path]:
        """The kernel, for who reads files."""
        with scratch() as folder:
            file = folder / "kernel.elf"
            file.write_bytes(self.kernel.data)
            yield file

    def _read_symbols(self) -> None:
        with self._file() as file:
            elf = Image(file)
        self.symbol = symbols(elf)
        names = "".join(f"{f.start:#x} {f.name}\n" for f in elf.functions)
        watched = watch(elf, self.kernel.own, self.judge.lab.stores)
        self.bootable = Bootable(self.kernel.data, names, watched)

    def stray_stores(self) -> list[str]:
        """Of the student's code, to the kernel's data; in words."""
        if not self.stores:
            return []
        with self._file() as file:
            return told(self.stores, file)

    def judged(self, only: Optional[Collection[str]] = None) -> list[Verdict]:
        """By test, in order. Who forges one answer has none."""
        verdicts = [
            self.verdicts[kind.name]
            for kind in self.judge.lab.tests
            if kind.name in self.verdicts and (only is None or kind.name in only)
        ]
        if self.forged:
            verdicts = [
                dataclasses.replace(v, ok=False, why=self.forged) for v in verdicts
            ]
        return verdicts

    def together(self, kinds: list[TestKind]) -> None:
        """One boot; what it leaves out, one by one. One alone has its own limit, so
        that it comes to the same when it's repeated."""
        left = self._boot(TOGETHER if len(kinds) > 1 else kinds[0].name, kinds)
        for kind in left:
            self._boot(kind.name, [kind])

    def race(self, kind: TestKind, seeds: list[int]) -> None:
        """With each seed; the first failure is the verdict."""
        for seed in seeds:
            self._boot(kind.name, [kind], seed)
            verdict = self.verdicts[kind.name]
            if not verdict.ok:
                verdict.why += f" (races {seed})"
                return

    def _boot(
        self, name: str, kinds: list[TestKind], races: Optional[int] = None
    ) -> list[TestKind]:
        """Judge the tests of a boot, up to one in which it dies; those after."""
        plan = Plan(self.judge.lab, kinds, self.judge.seed, self.symbol, races)
        limit = LIMIT if self.measuring else self.reference.limit(name)
        heard = self.judge.booter.boot(self.bootable, plan, limit)
        self.instructions += heard.instructions
        self.stores.update(dict.fromkeys(heard.stores))
        self.died_early |= not heard.answers
        setup, *tests = plan.tests
        if self.measuring:
            self.reference.take(name, kinds, plan.ends(heard.answers))
        begun, first = self._wrong(setup, heard)
        if heard.forged:
            begun, first = self._forged(plan, heard)
            self.forged = self.forged or begun
        for i, (kind, test) in enumerate(zip(kinds, tests)):
            why, at = f"before the test: {begun}", first
            if not begun:
                why, at = self._wrong(test, heard)
            replay = f'--test "{kind.name}" --nonce {self.judge.nonce}'
            if races is not None:
                replay += f" --races {races}"
            self.verdicts[kind.name] = Verdict(
                kind.name, kind.points, not why, why, replay
            )
            if why and not begun and self.judge.shows:
                script = played(setup, heard.answers, None)
                script += played(test, heard.answers, at)
                self.verdicts[kind.name].script = script
            if at and not self.judge.stops:
                self.judge.stops.append(Stop(self.bootable, plan, limit, at))
            silent = any(
                step.token not in heard.answers and step.want is not NEVER
                for step in test.steps
            )
            if why and silent and not begun:
                return kinds[i + 1 :]
        return []

    def _wrong(self, test: Test, heard: Heard) -> tuple[str, Optional[Step]]:
        """What is wrong with the answers to a test's steps, empty if nothing is; and
        with which one, unless it's what they cost."""
        for step in test.steps:
            if step.token not in heard.answers:
                if step.want is NEVER:
                    continue
                why = heard.died or "the machine went off before"
                why = f"`{cut(step.text)}`: {why}" + self._story(test, step, heard)
                return why, step
            wrong = step.wrong(heard.answers[step.token])
            if wrong:
                return wrong, step
        for cost in test.costs:
            why = self.reference.too_dear(test.name, cost, heard, self.measuring)
            if why:
                return why, None
        return "", None

    def _forged(self, plan: Plan, heard: Heard) -> tuple[str, Optional[Step]]:
        """How an answer is forged, and the first one before it that is wrong: where
        memory isn't what it was, the tests' own program is the next that goes wrong."""
        for step in plan.steps():
            if step.token in heard.answers:
                why = step.wrong(heard.answers[step.token])
                if why:
                    return f"{heard.forged}\n  | before that: {why}", step
        return heard.forged, None

    def _story(self, test: Test, at: Step, heard: Heard) -> str:
        """How it came to a bad end: below the reason."""
        lines = came_to(test, at, heard.answers)
        with self._file() as file:
            lines += shown(heard.words, file)
        return "".join(f"\n  | {line}" for line in lines)

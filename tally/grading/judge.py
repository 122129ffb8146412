"""Judges a kernel by a lab's tests.

One boot runs all tests that aren't races, in order. If it dies in a test, that test
has failed, and each later test gets a boot of its own, which begins with the setup. A
race gets several boots, whose seeds make the harts take turns at different moments
(kernel/sched/races.c). A boot may take twice the guest time that the solution takes
with the same script.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import random
from pathlib import Path
from typing import Collection, Iterator, Mapping, Optional, Union

from tally.formats.demangle import original
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

LIMIT = 60.0  # seconds of guest time, if the solution's time is unknown


@dataclasses.dataclass
class Verdict:
    """The result of one test."""

    name: str
    points: int
    ok: bool
    why: str = ""
    replay: str = ""
    script: list[str] = dataclasses.field(default_factory=list)  # --show


def no_symbol(name: str) -> int:
    """Stands for Symbol in labs on the host, which have no addresses."""
    raise LabError(f"{name}: a lab that runs on the host has no kernel symbols")


def symbols(elf: Image) -> Symbol:
    """Returns a kernel's Symbol. It may raise LookupError, as a student's code may have
    renamed the symbol."""

    def symbol(name: str) -> int:
        address = elf.symbol(name)
        if address is None:
            raise LookupError(f"the kernel has no symbol {name}")
        return address

    return symbol


class Judge:
    """Boots one lab's kernels, with scripts drawn from one nonce."""

    def __init__(
        self,
        lab: Lab,
        nonce: int,
        sandbox: Optional[Sandbox] = None,
        shows: bool = False,
    ) -> None:
        """sandbox: for untrusted programs that run on the host. shows: add the script
        of each failed test to its verdict."""
        self.shows = shows
        self.lab = lab
        self.nonce = nonce
        self.booter: Union[Runner, Booter] = Runner(sandbox) if lab.host else Booter()
        self.stops: list[Stop] = []  # the first failure, if any; shared by copies

    def of(self, lab: Lab) -> Judge:
        """Returns a copy for the same lab of another course."""
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
        """Measures the solution with the script that submissions get. Raises LabError
        if it fails a test."""
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
                f"{self.lab.name}: lab.conf doesn't allow these stores of"
                f" the solution: {', '.join(stray)}"
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
        """Runs the tests. only: the names of tests to run. races: the only seed that a
        race gets."""
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
    """The solution's costs: guest seconds by boot, where the boot of a single test has
    the test's name; and costs of steps by test, name and unit. If it is empty, the
    limits are wide."""

    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    costs: dict[str, int] = dataclasses.field(default_factory=dict)

    def take(self, boot: str, kinds: list[TestKind], ends: list[float]) -> None:
        """Notes the time of a boot, and the time of a boot with each test alone."""
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
        """Returns why a cost is too high, or nothing. Time catches code that waits, and
        instructions catch a kernel whose clock is wrong."""
        counted: dict[str, Mapping[str, Union[str, int]]] = {
            "time": heard.answers,
            "instructions": heard.marks,
        }
        for what, counts in counted.items():
            if cost.end not in counts:
                return f"{cost.name}: {what} not measured"
            try:
                took = int(counts[cost.end]) - int(counts[cost.begin])
            except ValueError:
                return f"{cost.name}: the value for {what} is not a number"
            name = f"{test}: {cost.name}: {what}"
            if measuring:
                self.costs[name] = max(self.costs.get(name, 0), took)
            known = self.costs.get(name)
            if known is not None and took > cost.factor * known:
                return (
                    f"{cost.name}: {took / known:.1f} times the {what} of the"
                    f" solution; at most {cost.factor:g} times is allowed"
                )
        return ""


TOGETHER = "all"  # the boot of all tests that aren't races


class Grading:
    """The boots of one kernel, and their results so far."""

    def __init__(
        self, judge: Judge, kernel: Kernel, reference: Reference, measuring: bool
    ) -> None:
        self.judge = judge
        self.kernel = kernel
        self.reference = reference
        self.measuring = measuring
        self.verdicts: dict[str, Verdict] = {}
        self.stores: dict[Store, None] = {}  # in order of time
        self.forged = ""
        self.instructions = 0
        self.died_early = False  # before the first answer
        self.symbol: Symbol = no_symbol
        self.bootable = Bootable(kernel.data)
        if not judge.lab.host:
            self._read_symbols()

    @contextlib.contextmanager
    def _file(self) -> Iterator[Path]:
        """Yields the kernel as a file."""
        with scratch() as folder:
            file = folder / "kernel.elf"
            file.write_bytes(self.kernel.data)
            yield file

    def _read_symbols(self) -> None:
        with self._file() as file:
            elf = Image(file)
        self.symbol = symbols(elf)
        names = "".join(f"{f.start:#x} {original(f.name)}\n" for f in elf.functions)
        watched = watch(elf, self.kernel.own, self.judge.lab.stores)
        self.bootable = Bootable(self.kernel.data, names, watched)

    def stray_stores(self) -> list[str]:
        """Describes the stores of the student's code to the kernel's data."""
        if not self.stores:
            return []
        with self._file() as file:
            return told(self.stores, file)

    def judged(self, only: Optional[Collection[str]] = None) -> list[Verdict]:
        """Returns the verdicts in the tests' order. One forged answer fails all."""
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
        """Runs tests in one boot, and those after its death in boots of their own. A
        single test uses its own limit, so that repeating it gives the same result."""
        left = self._boot(TOGETHER if len(kinds) > 1 else kinds[0].name, kinds)
        for kind in left:
            self._boot(kind.name, [kind])

    def race(self, kind: TestKind, seeds: list[int]) -> None:
        """Boots with each seed; the first failure is the verdict."""
        for seed in seeds:
            self._boot(kind.name, [kind], seed)
            verdict = self.verdicts[kind.name]
            if not verdict.ok:
                verdict.why += f" (races {seed})"
                return

    def _boot(
        self, name: str, kinds: list[TestKind], races: Optional[int] = None
    ) -> list[TestKind]:
        """Judges the tests of a boot, up to the test in which it dies; returns the
        tests after that."""
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
            why, at = f"in the setup, before this test: {begun}", first
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
        """Returns why a test fails, or nothing; and the step that is wrong, unless a
        cost is too high."""
        for step in test.steps:
            if step.token not in heard.answers:
                if step.want is NEVER:
                    continue
                why = heard.died or "the machine powered off before this step"
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
        """Returns how an answer is forged, and the first wrong answer before it:
        damaged memory is likely to break the tests' own program next."""
        for step in plan.steps():
            if step.token in heard.answers:
                why = step.wrong(heard.answers[step.token])
                if why:
                    return f"{heard.forged}\n  | before that: {why}", step
        return heard.forged, None

    def _story(self, test: Test, at: Step, heard: Heard) -> str:
        """Returns the lines below the reason: what the processes and harts did."""
        lines = came_to(test, at, heard.answers)
        with self._file() as file:
            lines += shown(heard.words, file)
        return "".join(f"\n  | {line}" for line in lines)

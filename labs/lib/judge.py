"""Boots a kernel for a lab's tests, and judges what came of them.

One boot has all tests that aren't races, in their order. When it dies in one of
them, that one has failed, and each that follows gets a boot of its own, which
begins with the setup. A race gets a boot for each of some seeds, in which harts
take turns at other moments (kernel/sched/races.c).

Nothing that depends on the host's speed decides. A boot may take twice as much
guest time as the reference does; and four times as many instructions, which ends
what hangs with interrupts off.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import random
import re
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, Optional

import frames
import image
import plugin
from convert.elf import Image
from lab import LABS, Lab, LabError
from machine import Boot, Machine, Outcome, find_qemu
from sandbox import TroubleError
from script import NEVER, Cost, Step, Symbol, Test, TestKind, cut

SHIFT = 6  # of icount: an instruction takes 2^SHIFT ns
RACE_SHIFT = 5
LIMIT = 60.0  # seconds of guest time, where no reference says what it takes
SLACK = 1.0  # seconds of guest time that any boot may take beyond
TIMEOUT = 300.0  # seconds by the clock: the machine is in trouble
WORDS_SHOWN = 12  # lines of a panic


@dataclasses.dataclass
class Heard:
    """What a boot has said."""

    outcome: Outcome
    answers: dict[str, str]
    forged: str  # why it isn't the interpreter's; empty: it is
    words: str  # the kernel's last ones
    instructions: int
    capped: bool

    @property
    def died(self) -> str:
        """How it ended, unless by the script's end."""
        if self.capped:
            return "it hangs with interrupts off"
        return {
            "panic": "the kernel panicked",
            "limit": "it takes more than twice the time of the reference",
            "machine": "the machine restarted",
        }.get(self.outcome.reason, "")


@dataclasses.dataclass
class Verdict:
    """Of one test."""

    name: str
    points: int
    ok: bool
    why: str = ""
    replay: str = ""
    costs: dict[str, float] = dataclasses.field(default_factory=dict)


class Plan:
    """What one boot does: the setup, and some tests."""

    def __init__(
        self,
        lab: Lab,
        kinds: Iterable[TestKind],
        seed: str,
        symbol: Symbol,
        races: Optional[int] = None,
    ) -> None:
        self.races = races
        self.tests: list[Test] = []
        model = None
        for kind in (lab.setup, *kinds):
            t = Test(kind.name, lab.params, seed, symbol)
            drawn = kind.draw(t, model)
            if not self.tests:
                model = drawn
            self.tests.append(t)
        end = Test("end", lab.params, seed, symbol)
        end.do("clock", None)
        self.tests.append(end)

    def script(self) -> str:
        lines = [line for t in self.tests for line in t.lines]
        return "".join(f"{line}\n" for line in lines)

    def steps(self) -> list[Step]:
        return [step for t in self.tests for step in t.steps]


LINE = re.compile(r"([0-9a-f]{15})([ +])(.*)")


class Forged(Exception):
    """An answer that the interpreter can't have given."""


def read_answers(text: str, steps: list[Step]) -> dict[str, str]:
    """The answers by token. Forged: they aren't as the interpreter gives them,
    each once, and those of a process in the order of its steps."""
    process = {step.token: step.process for step in steps}
    waiting: dict[int, list[str]] = {}  # tokens by process, the next one last
    for step in reversed(steps):
        waiting.setdefault(step.process, []).append(step.token)
    answers: dict[str, str] = {}
    for line in text.splitlines():
        token, mark, result = LINE.match(line).groups() if LINE.match(line) else ("",) * 3
        if token not in process:
            raise Forged(f"something other than the tests has printed {line[:60]!r}")
        turn = waiting[process[token]]
        if not turn or turn[-1] != token:
            when = "twice" if token not in turn else "before it was asked"
            raise Forged(f"a step was answered {when}: {line[:60]!r}")
        answers[token] = answers.get(token, "") + result
        if mark == " ":
            turn.pop()
    unfinished = {turn[-1] for turn in waiting.values() if turn}
    return {t: a for t, a in answers.items() if t not in unfinished}


def shown(words: str) -> str:
    """A panic's text, below the reason."""
    lines = words.strip().splitlines()[:WORDS_SHOWN]
    return "".join(f"\n  | {line}" for line in lines)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tally-lab-") as name:
        yield Path(name)


class Judge:
    """Boots kernels of one lab, with scripts of one nonce."""

    def __init__(self, lab: Lab, nonce: int) -> None:
        self.lab = lab
        self.nonce = nonce
        self.seed = f"{lab.course.seed}/{lab.name}/{nonce}"
        self.qemu = find_qemu()
        with image.build_lock():
            image.make()
            self.program = image.overlay(LABS / "guest")
            self.cap = plugin.build(
                LABS / "cap", plugin.qemu_version(self.qemu), image.BUILD
            )

    def boot(self, kernel: bytes, plan: Plan, seconds: float) -> Heard:
        """seconds: of guest time that it may take."""
        shift = SHIFT if plan.races is None else RACE_SHIFT
        machine = Machine(
            harts=self.lab.harts, icount=shift, races=plan.races, limit=seconds,
            timeout=TIMEOUT,
        )
        script = image.file_archive("extra/script", plan.script().encode())
        extra = image.members(self.program) + script
        initrd = image.initrd("observe /extra/script", extra)
        with scratch() as folder, image.held(kernel, "kernel") as k:
            with image.held(initrd, "initrd") as i:
                boot = Boot(machine, self.qemu, k, i)
                cap = int(4 * (seconds + SLACK) * 1e9) >> shift
                boot.command += ["-plugin", self._capped(folder, cap)]
                return self._hear(boot, plan, folder / "count", cap)

    def _capped(self, folder: Path, cap: int) -> str:
        map_file = folder / "map"
        map_file.write_text(f"result {folder / 'count'}\ncap {cap}\n")
        return f"{self.cap},map={map_file}"

    def _hear(self, boot: Boot, plan: Plan, count: Path, cap: int) -> Heard:
        said: collections.defaultdict[str, bytearray] = collections.defaultdict(
            bytearray
        )

        def take(channel: str, data: bytes) -> None:
            said[channel] += data

        outcome = boot.run(take)
        if outcome.reason == "timeout" or outcome.reason == "machine" and not said:
            raise TroubleError(f"{outcome.text}; grade again")

        def text(channel: str) -> str:
            return said[channel].decode(errors="replace").replace("\r", "")

        instructions = int(count.read_text()) if count.exists() else 0
        forged = ""
        answers: dict[str, str] = {}
        try:
            # The last line may have been cut.
            whole = text(frames.STDOUT).rpartition("\n")[0]
            answers = read_answers(whole, plan.steps())
        except Forged as error:
            forged = str(error)
        words = text(frames.PANIC) or text(frames.LIMIT)
        return Heard(
            outcome, answers, forged, words, instructions, instructions > cap
        )

    # --- All boots of a kernel ---

    def plan(
        self, kinds: Iterable[TestKind], symbol: Symbol,
        races: Optional[int] = None,
    ) -> Plan:
        return Plan(self.lab, kinds, self.seed, symbol, races)

    def turns(self, kind: TestKind) -> list[int]:
        drawn = random.Random(f"{self.seed}/{kind.name}/races")
        return [drawn.randrange(1, 1 << 31) for _ in range(kind.race)]

    def measure(self, kernel: bytes) -> Reference:
        """What the reference takes. LabError: it fails a test itself."""
        reference = Reference()
        grading = self.judge(kernel, reference, measuring=True)
        bad = [v for v in grading.judged() if not v.ok]
        if bad:
            raise LabError(f"{self.lab.name}: the solution fails {bad[0].name!r}:"
                           f" {bad[0].why}")
        return reference

    def judge(
        self,
        kernel: bytes,
        reference: Reference,
        measuring: bool = False,
        only: Optional[str] = None,
        races: Optional[int] = None,
    ) -> Grading:
        """only: one test. races: the one seed that a race gets."""
        grading = Grading(self, kernel, reference, measuring)
        kinds = self.lab.tests
        plain = [k for k in kinds if not k.race]
        if only is None or any(k.name == only for k in plain):
            grading.together(plain)
        for kind in kinds:
            if kind.race and only in (None, kind.name):
                grading.race(kind, self.turns(kind) if races is None else [races])
        return grading


@dataclasses.dataclass
class Reference:
    """What the solution takes: guest seconds by the boot's name, and the costs of
    steps in ns, by test and name. Without it the limits are wide."""

    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    costs: dict[str, float] = dataclasses.field(default_factory=dict)

    def limit(self, boot: str) -> float:
        return 2 * self.seconds[boot] + SLACK if boot in self.seconds else LIMIT


TOGETHER = "all"  # the boot of all tests that aren't races


class Grading:
    """The boots of one kernel, and what they have shown so far."""

    def __init__(
        self, judge: Judge, kernel: bytes, reference: Reference, measuring: bool
    ) -> None:
        self.judge = judge
        self.kernel = kernel
        self.reference = reference
        self.measuring = measuring
        self.verdicts: dict[str, Verdict] = {}
        self.forged = ""
        self.instructions = 0
        self.died_early = False  # before the first answer
        with scratch() as folder:
            file = folder / "kernel.elf"
            file.write_bytes(kernel)
            self.symbol = Image(file).symbol

    def judged(self, only: Optional[str] = None) -> list[Verdict]:
        """By test, in order. Who forges one answer has none."""
        verdicts = [
            self.verdicts[kind.name]
            for kind in self.judge.lab.tests
            if kind.name in self.verdicts and only in (None, kind.name)
        ]
        if self.forged:
            verdicts = [
                dataclasses.replace(v, ok=False, why=self.forged) for v in verdicts
            ]
        return verdicts

    def together(self, kinds: list[TestKind]) -> None:
        """One boot; what it leaves out, one by one."""
        left = self._boot(TOGETHER, kinds)
        for kind in left:
            self._boot(TOGETHER, [kind])

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
        plan = self.judge.plan(kinds, self.symbol, races)
        limit = LIMIT if self.measuring else self.reference.limit(name)
        heard = self.judge.boot(self.kernel, plan, limit)
        self.instructions += heard.instructions
        self.forged = self.forged or heard.forged
        self.died_early |= not heard.answers
        setup, *tests, end = plan.tests
        if self.measuring and end.steps[0].token in heard.answers:
            seconds = int(heard.answers[end.steps[0].token]) / 1e9
            known = self.reference.seconds.get(name, 0.0)
            self.reference.seconds[name] = max(known, seconds)
        begun = self._wrong(setup, heard)
        for i, (kind, test) in enumerate(zip(kinds, tests)):
            why = begun and f"before the test: {begun}" or self._wrong(test, heard)
            replay = f'--test "{kind.name}" --nonce {self.judge.nonce}'
            if races is not None:
                replay += f" --races {races}"
            self.verdicts[kind.name] = Verdict(
                kind.name, kind.points, not why, why, replay
            )
            silent = any(
                step.token not in heard.answers and step.want is not NEVER
                for step in test.steps
            )
            if why and silent and not begun:
                return kinds[i + 1 :]
        return []

    def _wrong(self, test: Test, heard: Heard) -> str:
        """What is wrong with the answers to a test's steps; empty: nothing."""
        for step in test.steps:
            if step.token not in heard.answers:
                if step.want is NEVER:
                    continue
                why = heard.died or "nothing came"
                return f"`{cut(step.text)}`: {why}" + shown(heard.words)
            why = step.wrong(heard.answers[step.token])
            if why:
                return why
        for cost in test.costs:
            why = self._too_dear(test, cost, heard)
            if why:
                return why
        return ""

    def _too_dear(self, test: Test, cost: Cost, heard: Heard) -> str:
        took = int(heard.answers[cost.end]) - int(heard.answers[cost.begin])
        name = f"{test.name}: {cost.name}"
        if self.measuring:
            known = self.reference.costs.get(name, 0)
            self.reference.costs[name] = max(known, took)
        known = self.reference.costs.get(name)
        if known is None or took <= cost.factor * known:
            return ""
        return (
            f"{cost.name}: {took / known:.1f} times what the reference takes;"
            f" {cost.factor:g} times is the most"
        )

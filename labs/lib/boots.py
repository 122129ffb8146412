"""One boot for a lab's tests: its script, and what the guest answers.

Nothing here depends on the host's speed. A boot may take so much guest time, and as
many instructions as that has room for, which ends what hangs with interrupts off.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import re
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, Optional

import frames
import image
import plugin
from hang import CappedBoot
from lab import LABS, Lab
from machine import Machine, find_qemu
from sandbox import TroubleError
from script import MARK, Step, Symbol, Test, TestKind

SHIFT = 6  # of icount: an instruction takes 2^SHIFT ns
RACE_SHIFT = 5
SLACK = 1.0  # seconds of guest time that any boot may take beyond
TIMEOUT = 300.0  # seconds by the clock: the machine is in trouble


@dataclasses.dataclass
class Heard:
    """What a boot has said."""

    answers: dict[str, str]
    forged: str  # why it isn't the interpreter's; empty: it is
    died: str  # how it ended, unless by the script's end
    words: str  # the kernel's last ones
    instructions: int = 0
    marks: dict[str, int] = dataclasses.field(default_factory=dict)  # those before


#: How a boot ends that isn't at the script's end.
DIED = {
    "panic": "the kernel panicked",
    "limit": "it waits for ever, or takes over twice the solution's time",
    "machine": "the machine restarted",
}


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
        self.harts = lab.harts
        self.tests: list[Test] = []
        model = None
        for kind in (lab.setup, *kinds):
            t = Test(kind.name, lab.params, seed, symbol)
            drawn = kind.draw(t, model)
            t.do("clock")
            if not self.tests:
                model = drawn
            self.tests.append(t)

    def script(self) -> str:
        lines = [line for t in self.tests for line in t.lines]
        return "".join(f"{line}\n" for line in lines)

    def ends(self, answers: dict[str, str]) -> list[float]:
        """The guest's seconds at the end of the setup and of each test; or of those to
        which it came."""
        told = (answers.get(t.steps[-1].token) for t in self.tests)
        return [int(clock) / 1e9 for clock in itertools.takewhile(bool, told)]

    def steps(self) -> list[Step]:
        return [step for t in self.tests for step in t.steps]


LINE = re.compile(r"([0-9a-f]{15})([ +])(.*)")


class Forged(Exception):
    """An answer that the interpreter can't have given."""


def read_answers(text: str, steps: list[Step]) -> dict[str, str]:
    """The answers by token. Forged: they aren't as the interpreter gives them,
    each once, and those of a process in the order of its steps."""
    process = {step.token: step.process for step in steps}
    waiting: dict[str, list[str]] = {}  # tokens by process, the next one last
    for step in reversed(steps):
        waiting.setdefault(step.process, []).append(step.token)
    answers: dict[str, str] = {}
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        token, mark, result = found.groups() if found else ("", "", "")
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


def hear(text: str, plan: Plan) -> tuple[dict[str, str], str]:
    """The answers to a plan's steps; and why they are forged, or nothing."""
    try:
        # The last line may have been cut.
        return read_answers(text.rpartition("\n")[0], plan.steps()), ""
    except Forged as error:
        return {}, str(error)


def read_marks(counts: list[int], steps: list[Step]) -> tuple[dict[str, int], str]:
    """The instructions before each mark; and why they are forged, or nothing."""
    asked = [step.token for step in steps if step.text == MARK]
    if len(counts) > len(asked):
        return {}, "something other than the tests has made a mark"
    return dict(zip(asked, counts)), ""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tally-lab-") as name:
        yield Path(name)


class Booter:
    """Boots kernels for plans."""

    def __init__(self) -> None:
        self.qemu = find_qemu()
        with image.build_lock():
            image.make()
            self.program = image.overlay(LABS / "guest")
            self.cap = plugin.build(
                LABS / "cap", plugin.qemu_major(self.qemu), image.BUILD
            )

    def boot(self, kernel: bytes, names: str, plan: Plan, seconds: float) -> Heard:
        """names: the kernel's functions, for a panic. seconds: of guest time that
        it may take."""
        shift = SHIFT if plan.races is None else RACE_SHIFT
        machine = Machine(
            harts=plan.harts, icount=shift, races=plan.races, limit=seconds,
            timeout=TIMEOUT,
        )
        files = {"extra/script": plan.script(), "boot/symbols": names}
        members = [image.member(n, text.encode()) for n, text in files.items()]
        extra = b"".join([self.program, *members])
        initrd = image.initrd("observe /extra/script", extra)
        with scratch() as folder, image.held(kernel, "kernel") as k:
            with image.held(initrd, "initrd") as i:
                cap = int((seconds + SLACK) * 1e9) >> shift
                boot = self.capped(folder, cap, machine, k, i)
                boot.names = names
                return self._hear(boot, plan, folder / "count")

    def capped(
        self, folder: Path, cap: int, machine: Machine, kernel: int, initrd: int
    ) -> CappedBoot:
        """A boot that ends after so many instructions; folder/count has how many."""
        map_file = folder / "map"
        map_file.write_text(f"result count\ncap {cap}\n")
        boot = CappedBoot(machine, self.qemu, kernel, initrd)
        boot.command += ["-plugin", plugin.option(self.cap, map_file)]
        return boot

    def _hear(self, boot: CappedBoot, plan: Plan, count: Path) -> Heard:
        said: dict[str, bytearray] = collections.defaultdict(bytearray)

        def take(channel: str, data: bytes) -> None:
            said[channel] += data

        outcome = boot.run(take)
        known = boot.found or outcome.text == "the machine restarted"
        if outcome.reason == "timeout" or outcome.reason == "machine" and not known:
            raise TroubleError(f"{outcome.text}; grade again")

        def text(channel: str) -> str:
            return said[channel].decode(errors="replace").replace("\r", "")

        counted = [int(n) for n in count.read_text().split()] if count.exists() else [0]
        marks, made = read_marks(counted[:-1], plan.steps())
        answers, forged = hear(text(frames.STDOUT), plan)
        words = text(frames.PANIC) or text(frames.LIMIT) or boot.found
        died = DIED.get(outcome.reason, "")
        if boot.found:
            died = "it hangs with interrupts off, or its clock is wrong"
        return Heard(answers, forged or made, died, words, counted[-1], marks)

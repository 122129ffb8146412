"""One boot for a lab's tests: its script, and the guest's answers.

Nothing here depends on the host's speed. A boot has a limit of guest time, and one of
the instructions that fit into that time, which ends hangs with interrupts off.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import itertools
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, Optional

from tally.boot import frames
from tally.boot.machine import Machine, find_qemu
from tally.build import image
from tally.formats.elf import HEADER, Elf
from tally.grading.hang import CappedBoot, all_idle
from tally.grading.lab import LABS, Lab
from tally.grading.sandbox import TroubleError
from tally.grading.script import MARK, Step, Symbol, Test, TestKind
from tally.grading.stores import Store
from tally.plugins import plugin

SHIFT = 6  # of icount: an instruction takes 2^SHIFT ns
RACE_SHIFT = 5
TRAP_VECTOR = "trap_vector"
NO_TOKEN = 15 * "-"
SLACK = 1.0  # seconds of guest time added to each limit
SILENCE = 1.0  # seconds of guest time without a trap; normally it has 100 ticks
TIMEOUT = 300.0  # seconds by the host's clock: the host is in trouble


@dataclasses.dataclass(frozen=True)
class Bootable:
    """A kernel, or a program for the host; and data for the tools that watch it."""

    data: bytes
    names: str = ""  # functions, for a panic: lines of an address and a name
    watch: str = ""  # lines for tally/plugins/cap: see stores.py


@dataclasses.dataclass
class Heard:
    """The output of a boot."""

    answers: dict[str, str]
    forged: str  # why an answer isn't the interpreter's; empty: all are
    died: str  # how it ended; empty: at the script's end
    words: str  # the kernel's panic or limit text
    instructions: int = 0
    marks: dict[str, int] = dataclasses.field(default_factory=dict)  # instructions
    stores: list[Store] = dataclasses.field(default_factory=list)  # to kernel data


#: How a boot ended before the script's end.
DIED = {"panic": "the kernel panicked", "machine": "the machine restarted"}
#: It ended by its time limit: all harts were idle, or not.
WAITS = "the kernel still waits, with all harts idle, after twice the solution's time"
WORKS = "the kernel is still busy after twice the solution's time"
#: tally/plugins/cap ended it.
HANGS = "the kernel hangs with interrupts off"
WRONG_CLOCK = (
    "the kernel's clock is slow or stopped: the kernel executed instructions for more"
    " than twice the solution's time, but its clock has not reached that time"
)


class Plan:
    """The steps of one boot: the setup, and some tests."""

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
        model: object = None
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
        """Returns the guest's seconds at the end of the setup and of each test that was
        reached."""
        told = (answers.get(t.steps[-1].token, "") for t in self.tests)
        return [int(clock) / 1e9 for clock in itertools.takewhile(bool, told)]

    def steps(self) -> list[Step]:
        return [step for t in self.tests for step in t.steps]


LINE = re.compile(r"([0-9a-f]{15})([ +])(.*)")


def hear(text: str, plan: Plan) -> tuple[dict[str, str], str]:
    """Returns the answers to a plan's steps, by token, up to a forged line; and why
    that line is forged, or nothing. The interpreter answers each step once, and a
    process's steps in order; any other line is forged."""
    steps = plan.steps()
    process = {step.token: step.process for step in steps}
    waiting: dict[str, list[str]] = {}  # tokens by process, the next one last
    for step in reversed(steps):
        waiting.setdefault(step.process, []).append(step.token)
    answers: dict[str, str] = {}
    forged = ""
    for line in text.rpartition("\n")[0].splitlines():  # the last may have been cut
        found = LINE.fullmatch(line)
        token, mark, result = found.groups() if found else ("", "", "")
        if token not in process:
            forged = f"code other than the test program has printed {line[:60]!r}"
            break
        turn = waiting[process[token]]
        if not turn or turn[-1] != token:
            when = "twice" if token not in turn else "before it began"
            forged = f"a step was answered {when}: {line[:60]!r}"
            break
        answers[token] = answers.get(token, "") + result
        if mark == " ":
            turn.pop()
    unfinished = {turn[-1] for turn in waiting.values() if turn}
    return {t: a for t, a in answers.items() if t not in unfinished}, forged


def read_marks(counts: list[int], steps: list[Step]) -> tuple[dict[str, int], str]:
    """Returns the instructions before each mark; and why one is forged, or nothing."""
    asked = [step.token for step in steps if step.text == MARK]
    if len(counts) > len(asked):
        return (
            {},
            "code other than the test program has executed a marker of the test"
            " program's instruction counts",
        )
    return dict(zip(asked, counts)), ""


def read_count(text: str) -> tuple[list[int], list[Store]]:
    """Reads the report of tally/plugins/cap: the instructions before each mark and in
    all, and the stores."""
    lines = [line.split() for line in text.splitlines()]
    counted = [int(words[0]) for words in lines if words[0] != "store"]
    stores = [(int(w[1], 16), int(w[2], 16)) for w in lines if w[0] == "store"]
    return counted, stores


def folders() -> bytes:
    """Returns the initrd's folders, as members of an archive."""
    archive = (image.BUILD / "initrd.tar").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return b"".join(
            archive[m.offset : m.offset_data] for m in tar.getmembers() if m.isdir()
        )


def loaded(file: Path) -> bytes:
    """Returns a program without the parts that aren't loaded."""
    data = file.read_bytes()
    elf = Elf(data)
    header = elf.header._replace(sections_at=0, sections=0, names=0)
    end = max(s.offset + s.size for s in elf.segments)
    return HEADER.pack(*header) + data[HEADER.size : end]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tally-lab-") as name:
        yield Path(name)


@dataclasses.dataclass(frozen=True)
class Stop:
    """A boot, and its failed step."""

    kernel: Bootable
    plan: Plan
    seconds: float
    step: Step


class Booter:
    """Boots kernels for plans."""

    def __init__(self) -> None:
        self.qemu = find_qemu()
        guest = LABS / "guest"
        self.observe = image.overlay_bin(guest) / "observe"
        with image.build_lock():
            image.make()
            image.overlay(guest)
            # No sources, manuals or symbols: a lab's and a hand-out's differ, but both
            # must boot in the same way. The lab cow executes true.
            programs = [image.BUILD / "bin" / name for name in ("init", "sh", "true")]
            self.programs = folders() + b"".join(
                image.member(f"bin/{file.name}", loaded(file), 0o755)
                for file in (*programs, self.observe)
            )
            self.cap = plugin.build("cap", plugin.qemu_major(self.qemu), image.BUILD)

    def boot(self, kernel: Bootable, plan: Plan, seconds: float) -> Heard:
        """Boots and returns the output. seconds: the limit of guest time."""
        with self.ready(kernel, plan, seconds) as boot:
            return self._hear(boot, plan)

    @contextlib.contextmanager
    def ready(
        self,
        kernel: Bootable,
        plan: Plan,
        seconds: float,
        stop: str = NO_TOKEN,
        gdb: Optional[int] = None,
    ) -> Iterator[CappedBoot]:
        """Yields a boot that hasn't begun. stop: the token of the step before which a
        debugger stops. gdb: the port at which the machine waits for the debugger."""
        shift = SHIFT if plan.races is None else RACE_SHIFT
        machine = Machine(
            harts=plan.harts,
            icount=shift,
            races=plan.races,
            limit=seconds,
            timeout=TIMEOUT if gdb is None else None,
            gdb=gdb,
        )
        script = f"{stop}\n{plan.script()}"
        files = {
            "extra/script": script,
            "boot/symbols": kernel.names,
            image.COMMAND: "observe /extra/script",
        }
        members = [image.member(n, text.encode()) for n, text in files.items()]
        initrd = b"".join([self.programs, *members, image.END])
        watch = kernel.watch
        vector = re.search(rf"^(0x[0-9a-f]+) {TRAP_VECTOR}$", kernel.names, re.M)
        if vector:
            watch += f"silent {int(SILENCE * 1e9) >> shift} {vector[1]}\n"
        with scratch() as folder, image.held(kernel.data, "kernel") as k:
            with image.held(initrd, "initrd") as i:
                cap = int((seconds + SLACK) * 1e9) >> shift
                boot = self.capped(folder, cap, machine, k, i, watch)
                boot.names = kernel.names
                yield boot

    def capped(
        self,
        folder: Path,
        cap: int,
        machine: Machine,
        kernel: int,
        initrd: int,
        watch: str = "",
    ) -> CappedBoot:
        """Returns a boot that ends after cap instructions; its file `count' gets their
        number. watch: more lines for tally/plugins/cap."""
        map_file = folder / "map"
        map_file.write_text(f"result count\ncap {cap}\n{watch}")
        boot = CappedBoot(machine, self.qemu, kernel, initrd)
        boot.count = folder / "count"
        boot.command += ["-plugin", plugin.option(self.cap, map_file)]
        return boot

    def _hear(self, boot: CappedBoot, plan: Plan) -> Heard:
        said: dict[str, bytearray] = collections.defaultdict(bytearray)

        def take(channel: str, data: bytes) -> None:
            said[channel] += data

        outcome = boot.run(take)
        known = boot.found or outcome.text == "the machine restarted"
        if outcome.reason == "timeout" or outcome.reason == "machine" and not known:
            raise TroubleError(f"{outcome.text}; grade again")

        def text(channel: str) -> str:
            return said[channel].decode(errors="replace").replace("\r", "")

        count = boot.count.read_text() if boot.count.exists() else "0\n"
        counted, stores = read_count(count)
        marks, made = read_marks(counted[:-1], plan.steps())
        answers, forged = hear(text(frames.STDOUT), plan)
        words = text(frames.PANIC) or text(frames.LIMIT) or boot.found
        died = DIED.get(outcome.reason, "")
        if outcome.reason == "limit":
            died = WAITS if all_idle(words) else WORKS
        elif boot.found:
            died = HANGS if boot.silent else WRONG_CLOCK
        return Heard(answers, forged or made, died, words, counted[-1], marks, stores)

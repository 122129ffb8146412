"""scripts/truth: are the profiles right? See docs/truth.md.

Each workload runs once, with all profilers on, while a QEMU plugin counts the executed
instructions. Prints a line for each profiler, which says how far its samples differ
from these counts; --all lists every function. Each workload runs once more with call
stacks, while the plugin follows all calls. Writes build/truth.json. Exits 1 if a goal
isn't met. --table writes the tables of docs/truth.md.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple, TypeVar, Union

HERE = Path(__file__).resolve().parent

from tally import ROOT
from tally.boot import frames
from tally.build import image
from tally.plugins import plugin
from tally.verify.truth import table
from tally.base.cli import Parser, complain, number, script
from tally.base.errors import UsageError
from tally.base.table import Table
from tally.verify.truth.compare import NOTHING, P_GOAL, Result, compare
from tally.verify.truth.intervals import Intervals, run_of
from tally.plugins.landmarks import Code, call_landmarks, landmarks
from tally.base.errors import SetupError
from tally.boot.machine import Boot, Machine, find_qemu, qemu_version
from tally.boot.options import HARTS
from tally.verify.truth.stacks import Program, Tally, compare_stacks
from tally.verify.truth.table import TableError

GUEST = HERE / "guest"
BUILD = image.BUILD / "truth"
RESULT = image.BUILD / "truth.json"
TIMEOUT = 3600.0  # seconds of the host's clock, enough on a busy host
SEED = 7
RUNS_FOR_MEAN = 10  # fewer have no useful mean
KERNEL_HALF = 0xFFFFFFFF_00000000
USER = "(user mode)"
WORKLOAD = "/bin/workload"
IDLE = "idle_wait"
ELSEWHERE = ("elsewhere", "")  # in none of the programs
BUCKET = 8  # bytes of text for which kprof has a counter
USER_RECORD = 2  # the type of pcs's records in user mode
EXAMPLES = 10  # wrong stacks that are shown
SAMPLES = 12_000  # samples of busy harts, after which a workload ends
SAMPLES_LEAST = 10_000  # compared samples: fewer show nothing
SAMPLES_OF_A_SEED = 1_000  # as many as a page of one second has
STACKS_FEWER = 8  # divides the samples with stacks, which fill pcs's buffers faster


class Workload(NamedTuple):
    """A workload and its machine; at shift N an instruction takes 2^N ns."""

    what: str
    hz: int = 2_000
    shift: int = 5
    alone: bool = True  # profil sees all of its program, on one hart
    threads: bool = False  # and on several, too


WORKLOADS = {
    "split": Workload("a known split in user mode"),
    "nullcall": Workload("the shortest system call"),
    "levels": Workload("long stretches at levels 0, 1 and 5"),
    "console": Workload("a device's handlers"),
    "forkexec": Workload("fork, exec, exit, wait", alone=False, hz=500),
    "pipe": Workload("a byte written to a pipe and read"),
    "pingpong": Workload("two processes, two pipes", alone=False, hz=500),
    "faults": Workload("memory touched for the first time", hz=500),
    "instep": Workload("busy just after each tick", hz=100, shift=8),
    "threads": Workload("threads with a lock", threads=True),
    "locks": Workload("two locks, each wanted by half of the threads", threads=True),
    "files": Workload("files that are made, written, read, removed"),
    "signals": Workload("a handler, and back"),
    "tailcalls": Workload("a handler that ends in a tail call"),
    "tree": Workload("processes that fork children", alone=False, hz=500),
    "births": Workload(
        "processes that live for 1,000 instructions", alone=False, hz=500
    ),
    "text": Workload("sort and grep over these pages", alone=False),
}


#: A unit of counting: a function of a program, or a profiler's word for many.
Cell = Union[str, tuple[str, str]]
Cells = collections.Counter[Cell]


class TruthError(Exception):
    pass


class Row(NamedTuple):
    workload: str
    harts: int
    profiler: str
    hz: int
    jitter: bool
    taken: int  # samples of harts, by any profiler
    wrong: int  # those at which another hart had been executing
    result: Result

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "harts": self.harts,
            "profiler": self.profiler,
            "hz": self.hz,
            "jitter": self.jitter,
            "taken": self.taken,
            "wrong": self.wrong,
            **self.result._asdict(),
        }


# --- Making ready ------------------------------------------------------------


class Images:
    """The kernel and the programs that are booted."""

    def __init__(self) -> None:
        self.qemu = find_qemu()
        self.qemu_major = plugin.qemu_major(self.qemu)
        self.qemu_name = qemu_version(self.qemu)
        with image.build_lock():
            image.make()
            extra = image.overlay(GUEST)
            base = image.initrd(None, extra)
            self.kernel = (image.BUILD / "kernel.elf").read_bytes()
            ours = image.overlay_bin(GUEST)
            self.programs = {
                "kernel": Code(image.BUILD / "kernel.elf"),
                WORKLOAD: Code(ours / "workload"),
                "/bin/collect": Code(ours / "collect"),
                "/bin/sort": Code(image.BUILD / "bin" / "sort"),
                "/bin/grep": Code(image.BUILD / "bin" / "grep"),
            }
        text = b"".join(f.read_bytes() for f in sorted(ROOT.glob("docs/*.md")))
        self.initrd = base.add(image.member("extra/text", text))
        self.plugin = plugin.build("counter", self.qemu_major, BUILD)

    def map(self, folder: Path, stacks: bool) -> Path:
        """Writes the map that the plugin reads."""
        lines = ["stacks stacks" if stacks else "result counts"]
        for i, (name, code) in enumerate(self.programs.items()):
            text = folder / f"text-{i}"
            text.write_bytes(code.text)
            there = "-" if name == "kernel" else text.name
            lines.append(f"program {code.start:x} {code.end:x} {there}")
        kernel = self.programs["kernel"]
        marks = call_landmarks(kernel) if stacks else landmarks(kernel)
        lines += [f"{name} {at:x} {offset:x}" for name, at, offset in marks]
        file = folder / "map"
        file.write_text("\n".join(lines) + "\n")
        return file


# --- One run -----------------------------------------------------------------


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        yield Path(name)


def run(
    images: Images,
    name: str,
    harts: int,
    jitter: bool,
    stacks: bool = False,
    seed: int = SEED,
    samples: int = SAMPLES,
) -> tuple[str, str]:
    """Returns the profilers' output, and the plugin's: counts, or call stacks."""
    w = WORKLOADS[name]
    fewer = STACKS_FEWER if stacks else 1
    words = f"{name} {w.hz // fewer} {'on' if jitter else 'off'} {seed}"
    words += f" {samples // fewer}"
    if stacks:
        words += " stacks"
    command = f"prfld && workload {words}"
    heard: dict[str, bytearray] = collections.defaultdict(bytearray)

    def sink(channel: str, data: bytes) -> None:
        heard[channel] += data

    named = image.member(image.COMMAND, command.encode())
    initrd = images.initrd.add(named)
    machine = Machine(harts=harts, icount=w.shift, timeout=TIMEOUT)
    with scratch() as folder, image.held(images.kernel, "kernel") as kernel, image.held(
        initrd, "initrd"
    ) as archive:
        boot = Boot(machine, images.qemu, kernel, archive)
        map = images.map(folder, stacks)
        boot.command += ["-plugin", plugin.option(images.plugin, map)]
        outcome = boot.run(sink)
        if outcome.status:
            said = heard[frames.STDERR] or boot.complaints
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            raise TruthError(f"{run_of(name, harts)}: {outcome.text or ''.join(last)}")
        counts = folder / ("stacks" if stacks else "counts")
        if not counts.exists():
            raise TruthError(f"{run_of(name, harts)}: {boot.complaints.decode()}")
        return heard[frames.STDOUT].decode(), counts.read_text()


class Masked(NamedTuple):
    """Instructions executed without a break with SIE=0."""

    start: int
    end: int
    sampler: bool
    longest: int
    times: int


class Truth:
    """The executed instructions, by cell: a function of a program."""

    def __init__(self, images: Images, text: str) -> None:
        self.cells: Cells = collections.Counter()
        self.left_out: Cells = collections.Counter()
        self.buckets: Cells = collections.Counter()  # the kernel's
        self.charged: Cells = collections.Counter()  # to user code
        self.masked: list[Masked] = []
        self.taken = self.wrong = 0  # samples, and those of another hart
        programs = list(images.programs.items())
        for line in text.splitlines():
            kind, *words = line.split()
            if kind == "site":
                program, code = programs[int(words[0])]
                at = int(words[1], 16)
                counted, left_out, charged = map(int, words[2:])
                cell = (program, code.function(at))
                self.cells[cell] += counted
                if program == "kernel":
                    bucket = at - (at - code.start) % BUCKET
                    self.buckets[(program, code.function(bucket))] += counted
                self.left_out[cell] += left_out
                if program != "kernel":
                    self.charged[cell] += charged
            elif kind == "elsewhere":
                self.cells[ELSEWHERE] += int(words[0])
            elif kind == "taken":
                self.taken, self.wrong = map(int, words)
            elif kind == "masked":
                numbers = (int(words[0], 16), int(words[1], 16), words[2] == "1")
                self.masked.append(Masked(*numbers, int(words[3]), int(words[4])))
        for cells in (self.cells, self.buckets):
            cells.pop(("kernel", IDLE), None)


class Samples:
    """The profilers' samples, by cell."""

    def __init__(self, images: Images, text: str, truth: Truth) -> None:
        self.programs = images.programs
        self.truth = truth
        self.cells: dict[str, Cells] = {
            name: collections.Counter() for name in ("pcs", "kprof", "prf", "profil")
        }
        self.program_of: dict[int, str] = {}
        lines = [line.split() for line in text.splitlines()]
        for kind, *words in lines:
            if kind == "pid":
                self.program_of[int(words[0])] = words[1]
        for kind, *words in lines:
            getattr(self, "_" + kind)(*words)
        for counter in self.cells.values():
            counter.pop(("kernel", IDLE), None)

    def _kernel(self, address: int) -> tuple[str, str]:
        return "kernel", self.programs["kernel"].function(address)

    def _user(self, program: str, address: int) -> tuple[str, str]:
        """Until it execs a process has the workload's program."""
        for each in (program, WORKLOAD):
            cell = (each, self.programs[each].function(address))
            if self.truth.cells[cell] and address in self.programs[each]:
                return cell
        if address not in self.programs[program]:  # the page for return from signals
            return ELSEWHERE
        return program, self.programs[program].function(address)

    def _pid(self, *_words: str) -> None:
        pass

    def _kprof(self, total: str, kernel: str) -> None:
        self.cells["kprof"][USER] += int(total) - int(kernel)

    def _kbucket(self, address: str, count: str) -> None:
        self.cells["kprof"][self._kernel(int(address, 16))] += int(count)

    def _prf(self, address: str, count: str) -> None:
        self.cells["prf"][self._kernel(int(address, 16))] += int(count)

    def _prfuser(self, count: str) -> None:
        self.cells["prf"][USER] += int(count)

    def _prfidle(self, _count: str) -> None:
        pass

    def _profil(self, address: str, count: str) -> None:
        cell = self._user(WORKLOAD, int(address, 16))
        self.cells["profil"][cell] += int(count)

    def _pcs(self, kind: str, _hart: str, pid: str, pc: str, count: str) -> None:
        address = int(pc, 16)
        if int(kind) == USER_RECORD:
            cell = self._user(self.program_of.get(int(pid), WORKLOAD), address)
        else:
            cell = self._kernel(address | KERNEL_HALF)
        self.cells["pcs"][cell] += int(count)


def executed_as_seen(truth: Truth, profiler: str) -> Cells:
    """Returns the executed instructions in the cells of a profiler."""
    if profiler == "pcs":
        return truth.cells
    cells: Cells = collections.Counter()
    if profiler == "profil":
        for cell, count in truth.charged.items():
            if cell[0] == WORKLOAD:
                cells[cell] += count
        return cells
    for cell, count in truth.cells.items():
        if cell[0] != "kernel":
            cells[USER] += count
        elif profiler == "prf":
            cells[cell] += count
    return cells + truth.buckets if profiler == "kprof" else cells


def leave_out(cells: Cells, truth: Truth) -> Cells:
    """Removes functions that mostly ran where samples can't be compared."""
    return collections.Counter(
        {
            cell: count
            for cell, count in cells.items()
            if truth.left_out[cell] <= truth.cells[cell]
        }
    )


def measure(
    images: Images, name: str, harts: int, jitter: bool
) -> tuple[list[Row], Truth, list[str]]:
    said, counts = run(images, name, harts, jitter)
    truth = Truth(images, counts)
    samples = Samples(images, said, truth)
    w = WORKLOADS[name]
    rows, details = [], []
    for profiler, sampled in samples.cells.items():
        if profiler == "profil" and not (w.threads or w.alone and harts == 1):
            continue
        executed = leave_out(executed_as_seen(truth, profiler), truth)
        sampled = leave_out(sampled, truth)
        result = compare(sampled, executed) if sampled else NOTHING
        rows.append(
            Row(name, harts, profiler, w.hz, jitter, truth.taken, truth.wrong, result)
        )
        details += detail(rows[-1], sampled, executed)
    return rows, truth, details


def measure_intervals(
    images: Images, name: str, harts: int, seed: int
) -> tuple[Cells, Cells]:
    """Returns pcs's samples, as pages use them, and the executed instructions."""
    said, counts = run(images, name, harts, True, seed=seed, samples=SAMPLES_OF_A_SEED)
    truth = Truth(images, counts)
    sampled = Samples(images, said, truth).cells["pcs"]
    return leave_out(sampled, truth), leave_out(truth.cells, truth)


def try_intervals(
    images: Images, jobs: list[tuple[str, int]], seeds: int
) -> Iterator[Intervals]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, harts in jobs:
            intervals = Intervals(name, harts)
            for sampled, executed in pool.map(
                lambda seed: measure_intervals(images, name, harts, seed),
                range(1, seeds + 1),
            ):
                intervals.add(sampled, executed)
            print(intervals, flush=True)
            yield intervals


class StackRow(NamedTuple):
    """The numbers of a run's call stacks, by verdict."""

    workload: str
    harts: int
    hz: int
    tally: Tally

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "harts": self.harts,
            "hz": self.hz,
            "exact": self.tally.exact,
            "cut": dict(self.tally.cut),
            "wrong": self.tally.wrong,
            "unfollowed": self.tally.unfollowed,
        }


def measure_stacks(images: Images, name: str, harts: int, jitter: bool) -> StackRow:
    said, written = run(images, name, harts, jitter, stacks=True)
    programs = {name: Program(code) for name, code in images.programs.items()}
    lines = [line.split() for line in said.splitlines()]
    names = {int(words[1]): words[2] for words in lines if words[0] == "pid"}

    def users(pid: int) -> list[Program]:
        """Until it execs a process has the workload's program."""
        return [
            programs[p] for p in dict.fromkeys([names.get(pid, WORKLOAD), WORKLOAD])
        ]

    try:
        tally = compare_stacks(
            (words[1:] for words in lines if words[0] == "stack"),
            written,
            programs["kernel"],
            users,
        )
    except ValueError as error:
        raise TruthError(f"{run_of(name, harts)}: {error}") from None
    return StackRow(name, harts, WORKLOADS[name].hz // STACKS_FEWER, tally)


# --- Showing -----------------------------------------------------------------


def detail(row: Row, sampled: Cells, executed: Cells) -> list[str]:
    n, total = sum(sampled.values()), sum(executed.values())
    lines = []
    for cell in sorted(set(sampled) | set(executed), key=lambda c: -executed[c]):
        expected = executed[cell] * n / total
        if not sampled[cell] and expected < 1:
            continue
        label = cell if isinstance(cell, str) else ":".join(cell)
        off = (sampled[cell] - expected) / math.sqrt(expected + 1e-9)
        lines.append(
            f"    {label:36} {sampled[cell] / n:8.4f} {executed[cell] / total:8.4f}"
            f" {sampled[cell]:7} {expected:9.1f} {off:+6.2f}"
        )
    return [
        f"  {row.profiler}: sampled share, true share, samples, expected samples,"
        " difference in sigmas",
        *lines,
    ]


COLUMNS = Table(
    ("workload", "<10"),
    ("harts", ">5"),
    ("profiler", "<8"),
    ("hz", ">6"),
    ("samples", ">8"),
    ("TV", ">8.5f"),
    ("E", ">8.5f"),
    ("TV/E", ">6.2f"),
    ("p", ">8.4f"),
)


def show(row: Row) -> str:
    r = row.result
    run = row.workload, row.harts, row.profiler, row.hz
    return COLUMNS.row(*run, r.samples, r.tv, r.ideal, r.tv / r.ideal, r.p)


def show_stacks(row: StackRow, examples: int) -> str:
    t = row.tally
    total = t.exact + t.wrong + sum(t.cut.values())
    cut = ", ".join(f"{reason} {n / total:.3f}" for reason, n in t.cut.most_common())
    line = COLUMNS.row(row.workload, row.harts, "stacks", row.hz, total)
    line += f" exact {t.exact / total:.3f}, wrong {t.wrong}"
    return "\n".join([line + (f", cut: {cut}" if cut else ""), *t.examples[:examples]])


def stacks_verdict(rows: list[StackRow]) -> list[str]:
    return [
        f"{run_of(row.workload, row.harts)}: {n} {what}"
        for row in rows
        for n, what in (
            (row.tally.wrong, "call stacks are wrong"),
            (row.tally.unfollowed, "returns matched no call"),
        )
        if n
    ]


def masked_table(
    images: Images, truths: list[Truth]
) -> dict[tuple[str, str, bool], int]:
    """Returns the most instructions with SIE=0 between two places."""
    kernel = images.programs["kernel"]
    longest: dict[tuple[str, str, bool], int] = collections.Counter()
    for truth in truths:
        for m in truth.masked:
            start = kernel.function(m.start) if m.start else "trap_vector"
            key = (start, kernel.function(m.end), m.sampler)
            longest[key] = max(longest[key], m.longest)
    return longest


def verdict(rows: list[Row], least: float = P_GOAL) -> list[str]:
    """Returns the goals that aren't met."""
    bad = [
        f"{run_of(r.workload, r.harts)}: {r.profiler}: {r.result.samples} samples to"
        f" compare, {SAMPLES_LEAST} are needed"
        for r in rows
        if r.result.samples < SAMPLES_LEAST
    ]
    bad += [
        f"{run_of(r.workload, r.harts)}: {r.profiler}: p = {r.result.p:.2g} is below"
        f" {least:.2g}"
        for r in rows
        if r.result.samples >= SAMPLES_LEAST and r.result.p < least
    ]
    bad += [
        f"{run_of(r.workload, r.harts)}: {r.wrong} of {r.taken} samples name another"
        " hart than the one that executed"
        for r in rows
        if r.profiler == "pcs" and (r.wrong or not r.taken)
    ]
    # The profilers share one stream of samples: pcs, the most detailed, stands
    # for all.
    ratios = [r.result.tv / r.result.ideal for r in rows if r.profiler == "pcs"]
    if len(ratios) >= RUNS_FOR_MEAN:
        mean, s = statistics.mean(ratios), statistics.stdev(ratios)
        bound = 1 + 3 * s / math.sqrt(len(ratios))
        print(
            f"mean of TV/E {mean:.3f}, at most {bound:.3f} by chance"
            f" ({len(ratios)} runs)"
        )
        if mean > bound:
            bad.append(f"mean of TV/E is {mean:.3f}, over {bound:.3f}")
    return bad


def numbers_of_harts(text: str) -> list[int]:
    return [HARTS(word) for word in text.split(",")]


def probability(text: str) -> float:
    p = float(text)
    if not 0 <= p <= 1:
        raise ValueError
    return p


def fail_for(goals: Iterable[str]) -> int:
    """Prints a line for each goal that isn't met; returns the exit status."""
    bad = 0
    for line in goals:
        complain(line, "truth")
        bad = 1
    return bad


Measured = TypeVar("Measured")  # the result of a run


def main() -> int:
    parser = Parser("truth", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument(
        "--harts",
        type=numbers_of_harts,
        metavar="N,..",
        help="boot with these numbers of harts",
    )
    parser.add_argument(
        "--no-jitter", action="store_true", help="sample at equal intervals"
    )
    parser.add_argument("--all", action="store_true", help="list every function")
    parser.add_argument(
        "--least",
        type=probability,
        default=P_GOAL,
        metavar="P",
        help="fail if the p of any row is below P",
    )
    parser.add_argument(
        "--table", action="store_true", help="write the tables of docs/truth.md"
    )
    parser.add_argument("--only", choices=["counts", "stacks"])
    parser.add_argument(
        "--intervals",
        type=number(1, 100_000),
        metavar="N",
        help="make N runs, and check how many intervals contain the true share",
    )
    options = parser.parse(sys.argv[1:])
    for name in options.workloads:
        if name not in WORKLOADS:
            raise UsageError(f"no workload {name}: there are {', '.join(WORKLOADS)}")
    images = Images()
    several = images.qemu_major >= plugin.REGISTERS_SINCE
    harts = options.harts or ([1, 2, 4, 8] if several else [1])
    if not several and max(harts) > 1:
        raise TruthError(
            "counting instructions on several harts needs QEMU 9 or later;"
            " name one in $QEMU"
        )
    names = options.workloads or list(WORKLOADS)
    jobs = [(name, n) for n in harts for name in names]
    if options.intervals:
        return fail_for(
            line
            for intervals in try_intervals(images, jobs, options.intervals)
            for line in intervals.verdict()
        )
    rows, truths, stacks = [], [], []
    print(COLUMNS.head())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def each(
            measurement: Callable[[Images, str, int, bool], Measured], unless: str
        ) -> Iterator[Measured]:
            return (
                iter(())
                if options.only == unless
                else pool.map(
                    lambda job: measurement(
                        images, job[0], job[1], not options.no_jitter
                    ),
                    jobs,
                )
            )

        counted, followed = each(measure, "stacks"), each(measure_stacks, "counts")
        for done, truth, details in counted:
            rows += done
            truths.append(truth)
            for row in done:
                print(show(row))
            if options.all:
                print("\n".join(details))
            sys.stdout.flush()
        for each_stack in followed:
            stacks.append(each_stack)
            print(show_stacks(each_stack, EXAMPLES if options.all else 0), flush=True)
    RESULT.write_text(
        json.dumps(
            {
                "qemu": images.qemu_name,
                "profiles": [row.as_json() for row in rows],
                "stacks": [row.as_json() for row in stacks],
            },
            indent=1,
        )
        + "\n"
    )
    for (start, end, sampler), n in sorted(masked_table(images, truths).items()):
        whose = ", in the sampler" if sampler else ""
        print(f"SIE=0: at most {n:4} instructions from {start} to {end}{whose}")
    bad = verdict(rows, options.least) + stacks_verdict(stacks)
    if options.table:
        table.write(RESULT, {name: w.what for name, w in WORKLOADS.items()}, bad)
    return fail_for(bad)


def entry() -> int:
    return script(
        "truth",
        main,
        TruthError,
        TableError,
        SetupError,
        image.BuildError,
        subprocess.CalledProcessError,
    )

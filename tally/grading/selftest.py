"""labs/selftest: do the labs decide what they are to decide?

    selftest [NAME...] [--short | --quick SEED] [-j N]

For each lab: what a student starts from is built, boots and fails; the solution
passes with five seeds of a course and three nonces each; each wrong solution is
built, and fails the tests that it names; each other right one passes; last year's
solution, whose seed asked for something else, and the kernel's own file get no more
points than the start, or a tenth; and the gradings of the solution and of a wrong one,
repeated beside a busy loop, give the same reports to the byte.
--quick tries some of that, drawn from SEED; --short only the solution, once, and one
wrong one: the first that fails without a race and changes no header, for which most of
the kernel would be compiled again. Status 1 if one isn't so.
"""

from __future__ import annotations

import dataclasses
import concurrent.futures
import functools
import itertools
import os
import random
import subprocess
import sys
import threading
import time
from typing import Callable, Optional, Sequence

from tally import ROOT
from tally.base.cli import Parser, add_jobs, script, utf8
from tally.base.errors import SetupError
from tally.build import image
from tally.grading.facts import Grade
from tally.grading.grade import WORK, solution
from tally.grading.judge import Grading, Judge, Reference
from tally.grading.lab import (
    MACROS,
    Edit,
    Lab,
    LabError,
    Variant,
    all_labs,
    read_course,
)
from tally.grading.report import as_json
from tally.grading.sandbox import TroubleError
from tally.grading.tree import Kernel, Tree, edit_file, lab_tree

SEED = "selftest"  # of the courses, with a number behind it
SEEDS = 5
NONCES = 3
REPLAYS = 5
YEARS = 3  # of which solutions are tried, of courses that asked for something else
LITTLE = 0.1  # of the points
QUICK = 3  # wrong solutions of each lab, and at most one other right one

Finding = Optional[str]  # what isn't as it should be


class Bench:
    """One lab with one seed: its kernels, and what the right one takes."""

    def __init__(self, name: str, seed: str, races: Optional[int] = None) -> None:
        """races: the one seed that the right one's races get."""
        self.lab = Lab(name, read_course(seed=seed))
        self.place = WORK / "selftest" / f"{name}-{seed}"
        self._races = races
        self._lock = threading.Lock()
        self._right: Optional[Kernel] = None
        self._start_lock = threading.RLock()
        self._start: Optional[Kernel] = None
        self._little = 0.0
        self._references: dict[int, Reference] = {}

    def start(self) -> Kernel:
        with self._start_lock:
            if self._start is None:
                tree = lab_tree(self.place / "start", self.lab, whole=False)
                self._start = kernel(tree)
            return self._start

    def kernels_own(self) -> Optional[Kernel]:
        """What a student starts from, with the files that the kernel has in place of
        the student's; not every lab cuts one, and they needn't fit. None: they don't.
        """
        tree = lab_tree(self.place / "own", self.lab, whole=False)
        for name in self.lab.files:
            if (ROOT / name).is_file():
                (tree.path / name).write_bytes((ROOT / name).read_bytes())
        return tree.make().kernel

    def variant(
        self, name: str, edits: Sequence[Edit] = (), macros: Optional[Lab] = None
    ) -> Kernel:
        """The right one, but for some edits. macros: those of the same lab in
        another course."""
        self.right()
        place = self.place / "variants" / name
        tree = Tree(place, self.lab, None, like=self.place / "right")
        for edit in edits:
            edit_file(tree.path, edit)
        if macros:
            text = macros.parameter_files(True)[MACROS]
            (tree.path / MACROS).write_text(text)
        return kernel(tree)

    def right(self) -> Kernel:
        """Built once: of the others only what differs is compiled."""
        with self._lock:
            self._right = self._right or solution(self.lab, self.place / "right")
            return self._right

    def reference(self, nonce: int) -> Reference:
        """What the right one takes, measured once."""
        right = self.right()
        with self._lock:
            if nonce not in self._references:
                measured = Judge(self.lab, nonce).measure(right, races=self._races)
                self._references[nonce] = measured
            return self._references[nonce]

    def points(self, variant: Kernel) -> float:
        """Of 1."""
        facts = grade_of(self, self.judge(variant)).facts()
        share: float = facts["points"] / facts["of"]
        return share

    def little(self) -> float:
        """What a student starts from has, or a tenth: the share of an empty hand."""
        with self._start_lock:
            self._little = self._little or max(self.points(self.start()), LITTLE)
            return self._little

    def judge(self, variant: Kernel, only: Optional[tuple[str, ...]] = None) -> Grading:
        """With nonce 0."""
        return Judge(self.lab, 0).judge(variant, self.reference(0), only=only)


def kernel(tree: Tree) -> Kernel:
    built = tree.make()
    if built.kernel is None:
        raise LabError(f"not built: {built.complaint}")
    return built.kernel


def failed(grading: Grading) -> list[str]:
    return [v.name for v in grading.judged() if not v.ok]


def start_fails(bench: Bench) -> Finding:
    grading = Judge(bench.lab, 0).judge(bench.start(), Reference())
    if grading.died_early:
        return f"doesn't boot: {grading.judged()[0].why}"
    return None if failed(grading) else "passes all tests"


def solution_passes(bench: Bench, nonce: int) -> Finding:
    return (
        None if bench.reference(nonce).seconds else "the solution's measured time is 0"
    )


def wrong_fails(bench: Bench, wrong: Variant) -> Finding:
    grading = bench.judge(bench.variant(wrong.name, wrong.edits), wrong.fails)
    passed = [test for test in wrong.fails if test not in failed(grading)]
    tests = ", ".join(map(repr, passed))
    return f"passes {tests}, but must fail" if passed else None


def right_passes(bench: Bench, right: Variant) -> Finding:
    grading = bench.judge(bench.variant(right.name, right.edits))
    bad = [v for v in grading.judged() if not v.ok]
    return f"fails {bad[0].name!r}: {bad[0].why}" if bad else None


def worth_little(bench: Bench, kernel: Optional[Kernel]) -> Finding:
    """What isn't made for the lab has no more points than the start."""
    got, most = bench.points(kernel) if kernel else 0.0, bench.little()
    return (
        None
        if got <= most
        else f"gets {got:.1%} of the points; at most {most:.1%} are right"
    )


def last_year(bench: Bench, years: int) -> Optional[Kernel]:
    """The solution of a course that asked for something else; two seeds needn't. None:
    it isn't even built."""
    mine = bench.lab.parameter_files(True)[MACROS]
    seeds = (f"{bench.lab.course.seed}-before-{i}" for i in itertools.count())
    labs = (Lab(bench.lab.name, read_course(seed=seed)) for seed in seeds)
    others = (lab for lab in labs if lab.parameter_files(True)[MACROS] != mine)
    before = next(itertools.islice(others, years - 1, None))
    bench.right()  # is built, whatever becomes of the other
    try:
        return bench.variant(f"last-year-{years}", macros=before)
    except LabError:
        return None


def last_year_worth_little(bench: Bench, years: int) -> Finding:
    return worth_little(bench, last_year(bench, years))


def replays_alike(bench: Bench, edits: Sequence[Edit] = (), name: str = "") -> Finding:
    """However busy the host is."""
    variant = bench.variant(name, edits) if edits else bench.right()
    # Which ends with us, however that is.
    loop = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    busy = subprocess.Popen([sys.executable, "-c", loop])
    try:
        reports = {
            as_json([grade_of(bench, bench.judge(variant)).facts()])
            for _ in range(REPLAYS)
        }
    finally:
        busy.kill()
        busy.wait()
    return (
        None
        if len(reports) == 1
        else f"gradings of the same kernel gave {len(reports)} different reports"
    )


def grade_of(bench: Bench, grading: Grading) -> Grade:
    # Without the commit, which may change meanwhile.
    return Grade(
        bench.lab,
        "it",
        0,
        "",
        grading.judged(),
        why=grading.forged,
        instructions=grading.instructions,
        stores=grading.stray_stores(),
    )


def checks(
    name: str, quick: Optional[str], short: bool
) -> list[tuple[str, Callable[[], Finding]]]:
    """All of a lab's; or some, which quick draws; or two."""
    races = 1 if short else None
    benches = [Bench(name, f"{SEED}-{i}", races) for i in range(SEEDS)]
    first = benches[0]
    wrong, right = first.lab.wrong(), first.lab.right()
    solutions = list(itertools.product(benches, range(NONCES)))
    all: list[tuple[str, Callable[[], Finding]]] = [
        (f"{name}: the starting point, without a solution", lambda: start_fails(first)),
        (
            f"{name}: the kernel's original file, handed in as a solution",
            lambda: worth_little(first, first.kernels_own()),
        ),
    ]
    for n in range(1, 1 + (YEARS if quick is None else 1)):
        all.append(
            (
                f"{name}: the solution for another course ({n})",
                functools.partial(last_year_worth_little, first, n),
            )
        )
    if quick is not None:
        drawn = random.Random(f"{quick}/{name}")
        wrong = drawn.sample(wrong, min(QUICK, len(wrong)))
        right = drawn.sample(right, min(1, len(right)))
        solutions = drawn.sample(solutions, 1)
    elif short:
        raced = {test.name for test in first.lab.tests if test.race}
        wrong = sorted(
            wrong,
            key=lambda w: (
                not raced.isdisjoint(w.fails),
                any(e.file.endswith(".h") for e in w.edits),
            ),
        )[:1]
        all, right, solutions = [], [], solutions[:1]
    for bench, nonce in solutions:
        label = f"{name}: the solution, seed {bench.lab.course.seed}, nonce {nonce}"
        all.append((label, functools.partial(solution_passes, bench, nonce)))
    for w in wrong:
        all.append((f"{name}: {w.name}", functools.partial(wrong_fails, first, w)))
    if not short:
        w = wrong[0]
        all.append(
            (
                f"{name}: the solution, graded several times",
                lambda: replays_alike(first),
            )
        )
        all.append(
            (
                f"{name}: {w.name}, graded several times",
                lambda: replays_alike(first, w.edits, f"{w.name}-again"),
            )
        )
    for r in right:
        label = f"{name}: {r.name}, another right solution"
        all.append((label, functools.partial(right_passes, first, r)))
    return all


def attempt(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except (LabError, TroubleError, image.BuildError) as error:
        return str(error)


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of labs/selftest."""

    names: list[str]
    quick: Optional[str]
    short: bool
    jobs: int


def run(options: Options) -> int:
    names = options.names or all_labs()
    todo = [c for n in names for c in checks(n, options.quick, options.short)]
    bad = 0
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(attempt, check) for _, check in todo]
        for (label, _), future in zip(todo, futures):
            finding = future.result()
            bad += finding is not None
            print(
                f"{'BAD ' if finding else 'good'}  {label}"
                + (f": {finding}" if finding else ""),
                flush=True,
            )
    took = time.monotonic() - begun
    print(f"===== {len(todo) - bad} passed, {bad} failed in {took:.2f}s =====")
    return 1 if bad else 0


def main(words: list[str]) -> int:
    parser = Parser("selftest")
    parser.add_argument("names", metavar="NAME", nargs="*", help="test only these labs")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--quick",
        type=utf8,
        metavar="SEED",
        help="test a random sample, chosen by SEED",
    )
    part.add_argument(
        "--short", action="store_true", help="test only two kernels of each lab"
    )
    add_jobs(parser, "run N tests")
    return run(Options(**vars(parser.parse(words))))


def entry() -> int:
    return script(
        "selftest", lambda: main(sys.argv[1:]), LabError, SetupError, image.BuildError
    )

"""labs/selftest: do the labs decide what they are to decide?

    selftest [NAME...] [--quick SEED] [-j N]

For each lab: what a student starts from is built, boots and fails; the solution
passes with five seeds of a course and three nonces each; each wrong solution is
built, and fails the tests that it names; and last year's solution fails, as the
seed has changed what is asked. --quick takes one seed and nonce, and some of the
wrong solutions, drawn from SEED. Status 1 if one isn't so.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import os
import random
import sys
from pathlib import Path
from typing import Callable, Optional

from lab import MACROS, Lab, LabError, Wrong, all_labs, read_course
import image
from grade import WORK
from judge import Grading, Judge, Reference
from machine import SetupError
from sandbox import TroubleError
from tree import Tree, edit_file, put_lab

SEEDS = 5
NONCES = 3
QUICK = 3  # wrong solutions of each lab

Finding = Optional[str]  # what isn't as it should be


class Bench:
    """One lab with one seed: its kernels, and what the right one takes."""

    def __init__(self, name: str, seed: str) -> None:
        self.lab = Lab(name, read_course(seed=seed))
        self.place = WORK / "selftest" / f"{name}-{seed}"

    def kernel(
        self, name: str, whole: bool = True, wrong: Optional[Wrong] = None,
        macros: Optional[Lab] = None,
    ) -> bytes:
        """macros: those of the same lab in another course."""
        tree = Tree(self.place / name, self.lab, None)
        put_lab(tree.path, self.lab, whole)
        for edit in wrong.edits if wrong else ():
            edit_file(tree.path, edit)
        if macros:
            text = macros.parameter_files(True)[MACROS]
            (tree.path / MACROS).write_text(text)
        built = tree.make()
        if built.kernel is None:
            raise LabError(f"not built: {built.complaint}")
        return built.kernel

    def judge(self, nonce: int, name: str, **what: object) -> Grading:
        judge = Judge(self.lab, nonce)
        kernel = self.kernel(name, **what)
        return judge.judge(kernel, judge.measure(self.kernel("right")))


def failed(grading: Grading) -> list[str]:
    return [v.name for v in grading.judged() if not v.ok]


def start_fails(name: str, seed: str) -> Finding:
    bench = Bench(name, seed)
    judge = Judge(bench.lab, 0)
    grading = judge.judge(bench.kernel("start", whole=False), Reference())
    if grading.died_early:
        return f"doesn't boot: {grading.judged()[0].why}"
    return None if failed(grading) else "passes"


def solution_passes(name: str, seed: str, nonce: int) -> Finding:
    bench = Bench(name, seed)
    judge = Judge(bench.lab, nonce)
    reference = judge.measure(bench.kernel(f"solution-{nonce}"))
    return None if reference.seconds else "takes no time"


def wrong_fails(name: str, seed: str, wrong: Wrong) -> Finding:
    grading = Bench(name, seed).judge(0, wrong.name, wrong=wrong)
    passed = [test for test in wrong.fails if test not in failed(grading)]
    return f"passes {', '.join(map(repr, passed))}" if passed else None


def last_year_fails(name: str, seed: str, before: str) -> Finding:
    grading = Bench(name, seed).judge(
        0, "last-year", macros=Lab(name, read_course(seed=before))
    )
    return None if failed(grading) else "passes"


def checks(name: str, seed: str, quick: bool) -> list[tuple[str, Callable[[], Finding]]]:
    seeds = [f"{seed}-{i}" for i in range(1 if quick else SEEDS)]
    wrong = Lab(name, read_course(seed=seed)).wrong()
    if quick:
        wrong = random.Random(f"{seed}/{name}").sample(wrong, min(QUICK, len(wrong)))
    all: list[tuple[str, Callable[[], Finding]]] = [
        (f"{name}: the start", lambda: start_fails(name, seeds[0])),
        (
            f"{name}: last year's solution",
            lambda: last_year_fails(name, seeds[0], f"{seed}-before"),
        ),
    ]
    for s, nonce in itertools.product(seeds, range(1 if quick else NONCES)):
        label = f"{name}: the solution, seed {s}, nonce {nonce}"
        all.append((label, lambda s=s, n=nonce: solution_passes(name, s, n)))
    for w in wrong:
        all.append((f"{name}: {w.name}", lambda w=w: wrong_fails(name, seeds[0], w)))
    return all


def attempt(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except (LabError, TroubleError, image.BuildError) as error:
        return str(error)


def run(options: argparse.Namespace) -> int:
    names = options.names or all_labs()
    seed = options.quick or "selftest"
    todo = [c for n in names for c in checks(n, seed, options.quick is not None)]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(attempt, check) for _, check in todo]
        for (label, _), future in zip(todo, futures):
            finding = future.result()
            bad += finding is not None
            print(f"{'BAD ' if finding else 'good'}  {label}"
                  + (f": {finding}" if finding else ""), flush=True)
    print(f"selftest: {len(todo) - bad} good, {bad} bad")
    return 1 if bad else 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="selftest")
    parser.add_argument("names", metavar="NAME", nargs="*", help="of a lab")
    parser.add_argument("--quick", metavar="SEED", help="a sample, drawn from SEED")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    try:
        return run(parser.parse_args(words))
    except (LabError, SetupError, image.BuildError) as error:
        print(f"selftest: {error}", file=sys.stderr)
        return 126


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

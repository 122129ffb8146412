"""scripts/explore: searches for unknown bugs by random trials.

    explore [--seed SEED] [--minutes MINUTES] [--list] [KIND...]

The kinds of trials take turns, each with its own seeds, derived from SEED: mutants,
hostile system calls, stress by everything at once, races, labs' wrong solutions,
damaged input, a QEMU that is killed, the cookbook's questions. If a trial fails, the
end of its output is printed, and the command that repeats it, which should become a
test with that seed.

No trial begins after MINUTES. Exits 1 if a trial failed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shlex
import subprocess
import sys
import time
from typing import Callable, Iterator, NamedTuple

from tally import ROOT
from tally.base.cli import Parser, amount, script

SHOWN = 30  # lines of a failed trial's output that are shown


def _lab(seed: int) -> str:
    names = sorted(f.parent.name for f in ROOT.glob("labs/*/check.py"))
    return f"labs/selftest {random.Random(seed).choice(names)} --quick {seed}"


#: A trial of each kind takes a minute or a few.
KINDS: dict[str, Callable[[int], str]] = {
    "mutants": lambda seed: f"scripts/mutants --trust --sample 4 --seed {seed}",
    "fuzz": lambda seed: f"make fuzz CALLS=300000 HARTS={1 << seed % 4} SEED={seed}",
    "stress": lambda seed: f"make stress STRESS_S=30 SEED={seed}",
    "races": lambda seed: f"env RACES_SEED={seed} scripts/test tests/test_races.py",
    "labs": _lab,
    "hostile": lambda seed: f"env HOSTILE=2 HOSTILE_SEED={seed} scripts/test"
    " tests/test_malformed.py tests/test_hostile.py",
    "killed": lambda seed: f"env SEED={seed} scripts/test tests/test_killed.py",
    "cookbook": lambda seed: f"env COOKBOOK_SEED={seed} scripts/test --all"
    " tests/test_cookbook.py",
}


class Trial(NamedTuple):
    kind: str
    command: str


def trials(seed: int, kinds: list[str]) -> Iterator[Trial]:
    """Yields trials for ever. A kind's seeds don't depend on the other kinds."""
    drawn = {kind: random.Random(f"{seed} {kind}") for kind in kinds}
    for kind in itertools.cycle(kinds):
        yield Trial(kind, KINDS[kind](drawn[kind].randrange(1, 1 << 24)))


def holds(trial: Trial) -> bool:
    """Runs a trial, and shows its output if it fails. Did it pass?"""
    print(f"explore: {trial.command}", flush=True)
    run = subprocess.run(
        shlex.split(trial.command),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if run.returncode != 0:
        print(*run.stdout.splitlines()[-SHOWN:], sep="\n")
        print(f"explore: failed: {trial.command}", flush=True)
    return run.returncode == 0


def explore(seed: int, minutes: float, kinds: list[str]) -> list[Trial]:
    """Returns the failed trials. Each kind has at least one trial."""
    end = time.monotonic() + 60 * minutes
    found = []
    for number, trial in enumerate(trials(seed, kinds)):
        if number >= len(kinds) and time.monotonic() >= end:
            break
        if not holds(trial):
            found.append(trial)
    print(f"explore: seed {seed}: {number} trials, {len(found)} failed")
    for trial in found:
        print(f"explore: repeat with: {trial.command}")
    return found


def main() -> int:
    parser = Parser(
        "explore", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "kinds",
        metavar="KIND",
        nargs="*",
        help=f"run trials of this kind: {', '.join(KINDS)} (all)",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=amount, default=60)
    parser.add_argument(
        "--list", action="store_true", help="only show the first trial of each kind"
    )
    options = parser.parse(sys.argv[1:])
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        parser.error(f"no kind {unknown[0]}: there are {', '.join(KINDS)}")
    kinds = options.kinds or list(KINDS)
    if options.list:
        for trial in itertools.islice(trials(options.seed, kinds), len(kinds)):
            print(trial.command)
        return 0
    return 1 if explore(options.seed, options.minutes, kinds) else 0


def entry() -> int:
    return script("explore", main)

"""scripts/bench-host: measures the host's side of Tally.

    bench-host [WHAT...]

Prints for each command its processor seconds, and their ratio to those of a fixed
piece of work that is measured after it. The ratio depends little on the host's speed
and load, but too much for a test.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tally import ROOT
from tally.base.cli import Parser, script
from tally.build import image

ROUNDS = 3  # the cheapest counts, as the host's other work only adds costs
WORK = [sys.executable, "-c", "d = {}\nfor i in range(6_000_000): d[i & 4095] = i"]
SCRIPTS = ROOT / "scripts"
RECORD = "seq 20000 | sort -rn | uniq -c | wc -l"  # the recorded command
SAMPLES = "hz 2000", "jitter on"

#: Commands by name. {record} is a recording of getpc's, {out} a folder, and {below} its
#: path relative to the checkout, as make can't handle all paths.
COSTS = {
    "conversion to folded stacks": "{scripts}/tally-convert {record} {out}/x.folded",
    "conversion to a flame graph": "{scripts}/tally-convert {record} {out}/x.svg",
    "conversion to pprof's format": "{scripts}/tally-convert {record} {out}/x.pb.gz",
    "conversion to a browser page": "{scripts}/tally-convert {record} {out}/x.html",
    "boot to the end of true": "{scripts}/run -- true",
    "exact profile of true": "{scripts}/tally --exact -- true",
    "build": "make -s -C {root} BUILD={below}/build",
}


def seconds(command: list[str]) -> float:
    """Returns the processor seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recording(folder: Path) -> Path:
    """Makes a recording, which is the same in all runs of one commit."""
    settings = "; ".join(f"echo {word} >/dev/profclock" for word in SAMPLES)
    command = f"{settings}; getpc -s -b 7 -o /host/pc.out sh -c '{RECORD}'"
    options = ["--harts", "1", "--icount", "5", "--share", str(folder)]
    subprocess.run(
        [SCRIPTS / "run", *options, "--", command],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return folder / "pc.out"


def cost(command: str, places: dict[str, Path]) -> tuple[float, float]:
    """Returns a command's cost in seconds, and relative to the fixed work."""
    pairs = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=image.BUILD) as out:
            below = Path(out).relative_to(ROOT)
            words = [w.format(out=out, below=below, **places) for w in command.split()]
            pairs.append((seconds(words), seconds(WORK)))
    taken, work = (min(column) for column in zip(*pairs))
    return taken, taken / work


def main() -> int:
    parser = Parser(
        "bench-host", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="*",
        help="measure only costs whose names contain a WHAT; the default is all",
    )
    chosen = parser.parse(sys.argv[1:]).what
    names = [n for n in COSTS if not chosen or any(word in n for word in chosen)]
    if not names:
        parser.error(f"no cost is called {chosen[0]}: there are {', '.join(COSTS)}")
    with image.build_lock():
        image.make()
    with tempfile.TemporaryDirectory() as folder:
        places = {"scripts": SCRIPTS, "root": ROOT, "record": Path()}
        if any("record" in COSTS[name] for name in names):
            places["record"] = recording(Path(folder))
        for name in names:
            taken, ratio = cost(COSTS[name], places)
            print(f"{name:30} {taken:8.2f} s {ratio:8.2f}", flush=True)
    return 0


def entry() -> int:
    os.environ.pop("MAKEFLAGS", None)
    return script("bench-host", main, image.BuildError, subprocess.CalledProcessError)

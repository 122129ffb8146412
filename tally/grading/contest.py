"""labs/rank: a contest without points. See labs/contest/README.md.

    rank DIR [--json FILE]     rank the submissions, the folders in DIR
    rank --handout DIR         the tree that everybody starts from

Something slow is planted in the kernel; the course's seed draws what. A submission
is the kernel's files that were changed. It is built in the sandbox, and executes
labs/contest/workload.sh; it must print what a kernel without the slow place prints.
Fewer instructions are better.
"""

from __future__ import annotations

import dataclasses
import json
import random
import secrets
import shutil
import sys
from pathlib import Path
from typing import Optional

from tally import ROOT
from tally.base.cli import Parser, put, script
from tally.base.errors import SetupError
from tally.base.table import Table
from tally.boot import frames
from tally.boot.machine import Machine
from tally.build import image
from tally.formats import hunks
from tally.grading.boots import Booter, scratch
from tally.grading.grade import WORK
from tally.grading.options import NONCE
from tally.grading.handout import all_files
from tally.grading.lab import (
    LABS,
    CompileError,
    Course,
    Edit,
    LabError,
    add_course_options,
    read_course,
)
from tally.grading.sandbox import Sandbox, TroubleError
from tally.grading.tree import FILE_MAX, Kernel, SubmissionError, Tree, edit_file

FOLDER = LABS / "contest"
#: Of labs/, what a student gets.
GIVEN = ("labs/contest/README.md", "labs/contest/workload.sh")
HARTS = 2
SHIFT = 6
CAP = 1_000_000_000  # instructions; fifteen times what it takes
LIMIT = CAP * 2**SHIFT / 1e9  # the same in guest seconds
TIMEOUT = 600.0
WORDS = 2000


@dataclasses.dataclass(frozen=True)
class Plant:
    """A slow place."""

    name: str
    what: str
    shows: tuple[str, ...]  # functions; tally has one of them among its first
    edit: Edit


def plants() -> list[Plant]:
    """planted.txt: NAME: WHAT; `shows FUNCTION...'; a file; hunks."""
    found = []
    for place, lines in hunks.stanzas(FOLDER / "planted.txt", "contest/planted.txt"):
        name, _, what = lines[0].partition(": ")
        word, *shows = lines[1].split()
        if word != "shows" or not what:
            raise LabError(
                f"{place}: expected the lines NAME: WHAT, shows FUNCTION, FILE, hunks"
            )
        edit = Edit(place, lines[2], "", tuple(lines[3:]))
        found.append(Plant(name, what, tuple(shows), edit))
    return found


def planted(course: Course) -> Plant:
    """What the course's seed draws."""
    return random.Random(f"{course.seed}/contest").choice(plants())


@dataclasses.dataclass
class Run:
    """What came of the workload."""

    output: str
    instructions: int
    ended: str = ""  # how it ended, unless well


@dataclasses.dataclass
class Place:
    """Of a submission; without instructions it isn't ranked."""

    who: str
    instructions: Optional[int] = None
    why: str = ""


class Kernels:
    """Trees with and without the slow place, built and executed."""

    #: What Tree asks for: nothing is judged on the host.
    host = None
    files: tuple[str, ...] = ()

    def __init__(self, nonce: int, sandbox: Optional[Sandbox]) -> None:
        self.sandbox = sandbox
        self.booter = Booter()
        drawn = random.Random(nonce)
        words = ("".join(drawn.choices("abcdefgh", k=5)) for _ in range(WORDS))
        self.words = "".join(f"{word}\n" for word in words)

    def tree(self, name: str, plant: Optional[Plant], foreign: bool = False) -> Tree:
        tree = Tree(WORK / "contest" / name, self, self.sandbox if foreign else None)
        if plant:
            edit_file(tree.path, plant.edit)
        return tree

    def kernel(self, name: str, plant: Optional[Plant]) -> Kernel:
        """Of nobody's submission."""
        built = self.tree(name, plant).make()
        if built.kernel is None:
            raise CompileError(f"contest: {name}: not built: {built.complaint}")
        return built.kernel

    def run(self, kernel: Kernel, command: str = ". /extra/workload") -> Run:
        """The workload, or something else, with the same files."""
        machine = Machine(harts=HARTS, icount=SHIFT, limit=LIMIT, timeout=TIMEOUT)
        workload = (FOLDER / "workload.sh").read_text()
        files = {"extra/words": self.words, "extra/workload": workload}
        members = [image.member(n, text.encode()) for n, text in files.items()]
        initrd = image.initrd(command, b"".join(members))
        said = bytearray()
        with scratch() as folder, image.held(kernel.data, "kernel") as k:
            with image.held(initrd, "initrd") as i:
                boot = self.booter.capped(folder, CAP, machine, k, i)
                outcome = boot.run(
                    lambda channel, data: said.extend(data)
                    if channel == frames.STDOUT
                    else None
                )
            if outcome.reason == "timeout":
                raise TroubleError(f"{outcome.text}; rank again")
            count = int(boot.count.read_text())
        ended = "" if outcome.reason == "exit" else outcome.text or outcome.reason
        if count > CAP:
            ended = (
                f"the workload takes more than {CAP // 1_000_000} million instructions"
            )
        return Run(said.decode(errors="replace"), count, ended)


def submission(folder: Path) -> dict[str, bytes]:
    """The kernel's files that a folder has; no link is followed."""
    files: dict[str, bytes] = {}
    for file in sorted((folder / "kernel").rglob("*")):
        name = str(file.relative_to(folder))
        if file.is_symlink() or (folder / "kernel").is_symlink():
            raise SubmissionError(f"{name} is a link; hand in the file itself")
        if file.is_dir():
            continue
        if not (ROOT / name).is_file():
            raise SubmissionError(f"{name} is not one of the kernel's files")
        if not file.is_file() or file.stat().st_size > FILE_MAX:
            raise SubmissionError(f"{name} is not a regular file, or is too large")
        files[name] = file.read_bytes()
    if not files:
        raise SubmissionError("none of the kernel's files was handed in")
    return files


def measure(kernels: Kernels, plant: Plant, folder: Path, right: Run) -> Place:
    who = folder.name
    try:
        tree = kernels.tree("submission", plant, foreign=True)
        tree.lay(submission(folder))
        built = tree.make()
        if built.kernel is None:
            return Place(who, why=f"not built: {built.complaint}")
        run = kernels.run(built.kernel)
    except (SubmissionError, TroubleError) as error:
        return Place(who, why=str(error))
    if run.ended:
        return Place(who, why=run.ended)
    if run.output != right.output:
        return Place(who, why="the workload's output is wrong")
    return Place(who, run.instructions)


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of labs/rank."""

    dir: Optional[str]
    handout: Optional[str]
    json: Optional[str]
    nonce: Optional[int]
    seed: Optional[str]
    course: str
    trust: bool


def rank(top: Path, options: Options, plant: Plant) -> None:
    folders = sorted(f.resolve() for f in top.iterdir() if f.is_dir())
    sandbox = None if options.trust else Sandbox()
    nonce = options.nonce if options.nonce is not None else secrets.randbelow(1 << 48)
    kernels = Kernels(nonce, sandbox)
    right = kernels.run(kernels.kernel("right", None))
    slow = kernels.run(kernels.kernel("slow", plant))
    places = [measure(kernels, plant, f, right) for f in folders]
    places.sort(key=lambda p: (p.instructions is None, p.instructions or 0, p.who))
    print(f"{plant.name}: {plant.what} (nonce {nonce})")
    show("without the slow code", right.instructions, slow.instructions)
    for p in places:
        show(p.who, p.instructions, slow.instructions, p.why)
    show("as handed out", slow.instructions, slow.instructions)
    if options.json is not None:
        facts = {
            "planted": plant.name,
            "nonce": nonce,
            "without": right.instructions,
            "handed_out": slow.instructions,
            "places": [dataclasses.asdict(p) for p in places],
        }
        put(options.json, (json.dumps(facts, indent=1) + "\n").encode())


def show(who: str, count: Optional[int], slow: int, why: str = "") -> None:
    table = Table(("", "<24"), ("", ">12"), ("", ">8"), ("", ""))
    if count is None:
        print(table.row(who, None, "", why.splitlines()[0]))
    else:
        print(table.row(who, f"{count / 1e6:.1f} M", f"{100 * count / slow:.1f} %"))


def hand_out(to: Path, plant: Plant) -> None:
    """The checkout with the slow place in it, and without a word about it."""
    if to.exists():
        raise LabError(f"{to}: exists already")
    for name in all_files():
        if name.startswith(("labs/", "tally/grading/")) and name not in GIVEN:
            continue
        copy = to / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)
    edit_file(to, plant.edit)
    print(f"{to}: read labs/contest/README.md")


def main(words: list[str]) -> int:
    parser = Parser("rank", usage="%(prog)s DIR [OPTIONS]")
    parser.add_argument(
        "dir",
        metavar="DIR",
        nargs="?",
        help="rank the submissions in DIR, one per folder",
    )
    parser.add_argument(
        "--handout", metavar="DIR", help="write a student's tree to DIR"
    )
    parser.add_argument("--json", metavar="FILE", help="write the ranking to FILE")
    parser.add_argument(
        "--nonce",
        type=NONCE,
        metavar="N",
        help="make the same ranking as the report with nonce N",
    )
    add_course_options(parser)
    parser.add_argument("--trust", action="store_true", help="build without a sandbox")
    options = Options(**vars(parser.parse(words)))
    plant = planted(read_course(Path(options.course), options.seed))
    if bool(options.dir) == bool(options.handout):
        raise LabError("give DIR or --handout DIR")
    if options.handout and options.json is not None:
        raise LabError("--json needs DIR: a hand-out has no ranking")
    if options.handout:
        hand_out(Path(options.handout), plant)
    if options.dir:
        rank(Path(options.dir), options, plant)
    return 0


def entry() -> int:
    return script(
        "rank",
        lambda: main(sys.argv[1:]),
        LabError,
        SetupError,
        TroubleError,
        image.BuildError,
    )

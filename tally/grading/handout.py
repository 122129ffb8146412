"""labs/handout NAME DIR: the tree that a student starts from.

    handout NAME DIR                                  the same for all
    handout --roster FILE NAME DIR                    DIR/WHO for each of a roster
    handout --roster FILE --student WHO NAME DIR      DIR, for one

It is this checkout, made the lab's, without any lab's solution: with the hand-out
as labs/NAME/README.md, and with labs/grade, which grades the tree as it is. What
the solution takes is measured here and noted, as it won't be there. It builds,
boots, and fails. It is a git repository with one commit. WHO is a student or a group
(roster.py), and has a seed of its own; what is there already is left alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Collection, Optional

from tally import ROOT
from tally.base.cli import Parser, script, utf8
from tally.base.errors import SetupError
from tally.build import image
from tally.build.copies import KERNEL
from tally.grading.grade import WORK, commit, solution
from tally.grading.judge import Judge
from tally.grading.lab import (
    CONF,
    LABS,
    Lab,
    LabError,
    add_course_options,
    read_course,
)
from tally.grading.roster import Roster, read_roster
from tally.grading.sandbox import TroubleError
from tally.grading.tree import git, put_lab

#: Of a lab's folder, and of the checkout: what the course keeps.
KEPT = ("solution", "solve", "skeleton", "given", "cut", "wrong.txt", "right.txt")
KEPT_TOOLS = (
    *(f"labs/{name}" for name in ("handout", "selftest", "rank")),
    *(f"labs/contest/{name}" for name in ("planted.txt", "README.md", "workload.sh")),
    *(f"tally/grading/{name}.py" for name in ("handout", "selftest", "contest")),
)
PART = ".part"  # beside hand-outs: one that isn't whole yet


def all_files() -> list[str]:
    """The checkout's files that git knows: others may be a roster, submissions or
    reports. Where git knows none, those that no build made."""
    names = (git("ls-files", "-z") or "").split("\0")
    if "Makefile" not in names:
        made = {"build", "build-debug", "__pycache__", ".git", "reports"}
        names = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in made]
            names += [str((Path(folder) / f).relative_to(ROOT)) for f in files]
    return sorted(n for n in names if n and (ROOT / n).is_file())


def is_kept(name: str, lab: Lab) -> bool:
    """Is a file the course's, or another lab's?"""
    if name in KEPT_TOOLS:
        return True
    parts = Path(name).parts
    if parts[0] != LABS.name:
        return False
    if len(parts) > 2 and (LABS / parts[1] / "lab.conf").exists():
        return parts[1] != lab.name or parts[2] in KEPT
    return False


def hand_out(lab: Lab, to: Path, secret: Collection[Path]) -> None:
    """secret: files and folders that students mustn't get."""
    for name in all_files():
        if is_kept(name, lab) or any(
            (ROOT / name).is_relative_to(place) for place in secret
        ):
            continue
        copy = to / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)
    put_lab(to, lab, whole=False)
    (to / "labs" / lab.name / "README.md").write_text(lab.readme())
    put_seed(to / "labs" / CONF.name, lab.course.seed)


def put_seed(conf: Path, seed: str) -> None:
    """Replace the course's own seed, which may be a secret."""
    line = re.compile(r"^seed\s*[=:].*$", re.I | re.M)
    conf.write_text(line.sub(lambda _: f"seed = {seed}", conf.read_text()))
    if read_course(conf).seed != seed:
        raise LabError(f"{CONF}: no line begins with seed =")


def facts(
    lab: Lab, to: Path, judge: Judge, solved: Path, like: Optional[Path]
) -> dict[str, object]:
    """labs/handout.json: what the solution takes, and what only it may change."""
    reference = judge.of(lab).measure(solution(lab, solved, like))
    names = [
        str(f.relative_to(to))
        for top in KERNEL
        for f in ([to / top] if (to / top).is_file() else sorted((to / top).rglob("*")))
        if f.is_file()
    ]
    return {
        "lab": lab.name,
        "commit": commit(),
        "reference": {"seconds": reference.seconds, "costs": reference.costs},
        "files": {
            name: hashlib.sha256((to / name).read_bytes()).hexdigest()
            for name in names
            if name not in lab.files
        },
    }


def commit_all(to: Path, lab: Lab) -> None:
    """Where there is git: a repository of one commit, so that a student sees what has
    changed since. Nothing of who calls this counts: no name, no hooks, no key."""
    if shutil.which("git") is None:
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull)
    who = ["-c", "user.name=Tally", "-c", "user.email=handout@localhost"]
    for words in (
        ["init", "-q", "--initial-branch=main"],
        ["add", "--all"],
        [*who, "commit", "-q", "-m", f"Start of the lab {lab.name}"],
    ):
        done = subprocess.run(
            ["git", *words],
            cwd=to,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise LabError(f"git: {done.stderr.strip().splitlines()[-1]}")


class Maker:
    """Makes hand-outs of a lab, for one seed or for many."""

    def __init__(self, lab: Lab, secret: Collection[Path]) -> None:
        self.judge = Judge(lab, 0)
        self.secret = secret
        self.first = WORK / "solution" / lab.name
        self.like: Optional[Path] = None  # the first solution, once it is built

    def make(self, lab: Lab, to: Path) -> None:
        hand_out(lab, to, self.secret)
        solved = self.first.with_name(f"{lab.name}-next") if self.like else self.first
        text = json.dumps(facts(lab, to, self.judge, solved, self.like), indent=1)
        self.like = self.first
        (to / "labs" / "handout.json").write_text(f"{text}\n")
        commit_all(to, lab)

    def make_each(self, lab: Lab, roster: Roster, top: Path) -> None:
        """A hand-out gets its name when it is whole, so that a call that was ended can
        be given again."""
        for who in roster:
            to, part = top / who, top / PART
            own = lab.of(roster.course(who))
            if to.exists():
                check_same(to, own)
                print(f"{to}: exists already", flush=True)
                continue
            shutil.rmtree(part, ignore_errors=True)
            self.make(own, part)
            part.rename(to)
            announce(to, own)


def check_same(to: Path, lab: Lab) -> None:
    """LabError: the folder isn't the hand-out that would be made there."""
    labs = to / "labs"
    whole = (labs / lab.name).is_dir() and (labs / "handout.json").is_file()
    if not whole or read_course(labs / CONF.name).seed != lab.course.seed:
        raise LabError(f"{to}: exists already, but isn't this hand-out")


def announce(to: Path, lab: Lab) -> None:
    print(
        f"{to}: read labs/{lab.name}/README.md; labs/grade {lab.name} grades it",
        flush=True,
    )


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of labs/handout."""

    name: str
    to: str
    roster: Optional[str]
    student: Optional[str]
    seed: Optional[str]
    course: str


def run(options: Options) -> None:
    course = read_course(Path(options.course), options.seed)
    lab = Lab(options.name, course)
    to = Path(options.to)
    if not (lab.folder / "cut").is_file():
        raise LabError(f"{lab.name} has no solution here: this tree is a hand-out")
    secret = {Path(options.course).resolve(), to.resolve()} - {CONF}
    roster = None
    if options.roster is not None:
        roster = read_roster(Path(options.roster), course, options.student)
        secret.add(Path(options.roster).resolve())
    elif options.student is not None:
        raise LabError("--student needs --roster FILE")
    if roster and options.student is None:
        Maker(lab, secret).make_each(lab, roster, to)
        return
    if roster and options.student is not None:
        lab = lab.of(roster.course(options.student))
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise LabError(f"{to}: exists already")
    Maker(lab, secret).make(lab, to)
    announce(to, lab)


def main(words: list[str]) -> int:
    parser = Parser(
        "handout",
        usage="%(prog)s [-y] [OPTIONS] NAME DIR",
        epilog="-y as the first word installs missing packages without asking",
    )
    parser.add_argument("name", metavar="NAME", help="the lab's name")
    parser.add_argument("to", metavar="DIR", help="the folder to make")
    parser.add_argument(
        "--roster",
        metavar="FILE",
        help="make a folder in DIR for each student in FILE (CSV)",
    )
    parser.add_argument(
        "--student",
        type=utf8,
        metavar="WHO",
        help="make DIR only for the student WHO of the roster",
    )
    add_course_options(parser)
    run(Options(**vars(parser.parse(words))))
    return 0


def entry() -> int:
    return script(
        "handout",
        lambda: main(sys.argv[1:]),
        LabError,
        SetupError,
        TroubleError,
        image.BuildError,
    )

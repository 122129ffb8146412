"""A lab: the files of its folder, and the course for which its parameters are drawn.

    lab.conf     its title, the files that a student changes, the machine; or, for a
                 lab on the host (host.py), the program that contains these files;
                 gates: lines with a test, and the most that is left of the points if
                 it fails; stores: kernel variables that the student's code may set
    params.py    draw(random): the parameters; words(params): for README.md and
                 cut; files(params): for students; solution(params): macros
    cut          changes of the kernel's sources that remove the student's part
    given/       files that are added to the kernel; optional
    skeleton/    files that a student starts from, except those that `cut' leaves
    solution/    the same files with the solution
    solve        or changes of the kernel's sources that make the solution
    wrong.txt    wrong solutions, and the tests that must fail
    right.txt    other right solutions, which must pass; optional
    check.py     the tests (script.py)
    README.md    the hand-out; @NAME@ is a parameter, as in cut
"""

from __future__ import annotations

import argparse
import configparser
import copy
import dataclasses
import datetime
import importlib.util
import random
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

from tally import ROOT
from tally.base.cli import utf8
from tally.base.errors import MultilineError
from tally.formats import hunks
from tally.grading.script import Test, TestKind

LABS = ROOT / "labs"
CONF = LABS / "course.conf"
HANDED_OUT = LABS / "handout.json"  # in a student's tree
MACROS = "kernel/lab.h"  # the solution's


class LabError(Exception):
    """An error in a lab, a course or an option; the text is one line."""


class CompileError(LabError, MultilineError):
    """A compiler's error messages."""


# --- The course --------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Course:
    """The contents of course.conf. A late submission loses `per_day` of a lab's
    `points` for each day, and all of them after `days`."""

    name: str
    seed: str
    per_day: float
    days: int
    points: dict[str, float]
    due: dict[str, Optional[datetime.datetime]]
    members: tuple[str, ...] = ()  # with a roster: the students who have this seed
    roster: str = ""  # a digest of that roster

    @property
    def labs(self) -> list[str]:
        return list(self.points)

    def kept(self, lab: str, submitted: Optional[datetime.datetime]) -> float:
        """Returns the part of the points that a submission at that time keeps."""
        due = self.due.get(lab)
        if due is None or submitted is None or submitted <= due:
            return 1.0
        late = -((due - submitted) // datetime.timedelta(days=1))  # begun days
        return 0.0 if late > self.days else max(0.0, 1 - self.per_day * late)


def parse_time(text: str, where: str) -> datetime.datetime:
    """Parses a time, or a day, which stands for its end. The default zone is UTC."""
    try:
        time = datetime.datetime.fromisoformat(text)
        if re.fullmatch(r"\d+-\d+-\d+", text):
            time += datetime.timedelta(days=1)
    except (ValueError, OverflowError):
        raise LabError(f"{where}: {text}: not a time like 2027-02-01T18:00") from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)


def moment(time: Optional[datetime.datetime]) -> str:
    """Formats a time; empty if it is unknown."""
    return time.isoformat(" ", "minutes") if time else ""


def read_conf(file: Path) -> configparser.ConfigParser:
    conf = configparser.ConfigParser(interpolation=None)
    try:
        conf.read_string(file.read_text(errors="replace"), str(file))
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}") from error
    except configparser.Error as error:
        raise LabError(str(error).replace("\n", " ")) from error
    return conf


def add_course_options(parser: argparse.ArgumentParser) -> None:
    """Adds --seed and --course, the arguments of read_course."""
    parser.add_argument(
        "--seed", type=utf8, metavar="S", help="use seed S, not the course's"
    )
    parser.add_argument(
        "--course", metavar="FILE", default=str(CONF), help="the course's settings"
    )


def read_course(file: Path = CONF, seed: Optional[str] = None) -> Course:
    """Reads course.conf. seed: used instead of the file's."""
    conf = read_conf(file)
    try:
        course = conf["course"]
        labs = [name for name in conf.sections() if name != "course"]
        due = {name: conf[name].get("due") for name in labs}
        return Course(
            name=course["name"],
            seed=seed if seed is not None else course["seed"],
            per_day=course.getfloat("late-per-day", 0) / 100,
            days=course.getint("late-days", 0),
            points={name: conf[name].getfloat("points", 1) for name in labs},
            due={
                name: parse_time(text, f"{file}: {name}") if text else None
                for name, text in due.items()
            },
        )
    except KeyError as error:
        raise LabError(f"{file}: {error.args[0]} is missing") from error
    except ValueError as error:
        raise LabError(f"{file}: {error}") from error


# --- A lab -------------------------------------------------------------------


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"{file.parent.name}_{file.stem}", file
    )
    assert spec and spec.loader  # always true for a name that ends with .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses need it
    spec.loader.exec_module(module)
    return module


@dataclasses.dataclass(frozen=True)
class Edit:
    """A change of a file: hunks, or a function's new body."""

    place: str
    file: str
    function: str
    lines: tuple[str, ...]

    def apply(self, source: str) -> str:
        try:
            if not self.function:
                read = hunks.read(self.lines)
                return hunks.apply(source, read, f"{self.place}: {self.file}")
            return self._replace(source)
        except hunks.HunkError as error:
            raise LabError(str(error)) from error

    def _replace(self, source: str) -> str:
        """Replaces a function's body; "-" removes the function and the comment before
        it. The function's name and both braces must be at the left margin."""
        pattern = (
            r"(?:^/\*(?:[^*]|\*[^/])*\*/\n)?^\w[^;{}\n]*\n"  # a comment; the type
            rf"{self.function}\([^;{{]*?\)\n{{\n(.*?)^}}\n\n?"
        )
        found = list(re.finditer(pattern, source, re.M | re.S))
        if len(found) != 1:
            raise LabError(
                f"{self.place}: {self.file} has {self.function} {len(found)} times"
            )
        if self.lines == ("-",):
            return source[: found[0].start()] + source[found[0].end() :]
        body = "".join(f"{line.rstrip()}\n" for line in self.lines)
        return source[: found[0].start(1)] + body + source[found[0].end(1) :]


@dataclasses.dataclass(frozen=True)
class Variant:
    """A wrong or right solution, as hunks for the files of the lab's solution."""

    name: str
    what: str
    fails: tuple[str, ...]  # the tests that must fail; none: the solution is right
    edits: tuple[Edit, ...]


class Lab:
    def __init__(self, name: str, course: Course) -> None:
        self.name = name
        self.folder = LABS / name
        if not (self.folder / "lab.conf").is_file():
            raise LabError(f"{name}: no such lab; there are {', '.join(all_labs())}")
        conf = read_conf(self.folder / "lab.conf")
        try:
            self.title = conf["lab"]["title"]
            self.files = conf["lab"]["files"].split()
            self.harts = conf["lab"].getint("harts", 2)
            self.host = conf["lab"].get("host")
            self.stores = conf["lab"].get("stores", "").split()
            gates = conf["lab"].get("gates", "").strip()
        except KeyError as error:
            raise LabError(f"{name}/lab.conf: {error.args[0]} is missing") from error
        self.check = load(self.folder / "check.py")
        self._params = load(self.folder / "params.py")
        self.gates = dict(self._gate(line) for line in gates.splitlines())
        self._draw(course)

    def _draw(self, course: Course) -> None:
        self.course = course
        self.params: dict[str, Any] = self._params.draw(
            random.Random(f"{course.seed}/{self.name}")
        )

    def of(self, course: Course) -> Lab:
        """Returns the same lab for another course."""
        other = copy.copy(self)
        other._draw(course)
        return other

    def _gate(self, line: str) -> tuple[str, float]:
        """Parses a line of `gates': SHARE TEST."""
        share, _, test = line.strip().partition(" ")
        if not re.fullmatch(r"0(\.\d+)?", share) or test not in {
            kind.name for kind in self.tests
        }:
            raise LabError(f"{self.name}/lab.conf: gates: {line}: expected SHARE TEST")
        return test, float(share)

    @property
    def tests(self) -> list[TestKind]:
        return [t for t in vars(self.check).values() if isinstance(t, TestKind)]

    @property
    def weight(self) -> int:
        """The sum of all tests' points."""
        return sum(kind.points for kind in self.tests)

    @property
    def worth(self) -> float:
        """The lab's points in the course."""
        return self.course.points.get(self.name, float(self.weight))

    @property
    def setup(self) -> TestKind:
        return TestKind("setup", 0, 0, self._setup)

    def _setup(self, t: Test, _model: None) -> Any:
        return self.check.setup(t)

    def parameter_files(self, whole: bool) -> dict[str, str]:
        """Returns the files made from the parameters; the solution gets macros, too."""
        files = dict(self._params.files(self.params))
        if whole:
            macros = self._params.solution(self.params)
            files[MACROS] = "".join(f"#define LAB_{k} {v}\n" for k, v in macros.items())
        return files

    def fill(self, text: str, where: str) -> str:
        """Replaces each @NAME@ in a text by the parameter's value."""
        words = {**self._params.words(self.params), "GATES": self._gates_said()}

        def value(found: re.Match[str]) -> str:
            if found[1] not in words:
                raise LabError(f"{self.name}/{where}: no parameter {found[1]}")
            return str(words[found[1]])

        return re.sub(r"@([A-Z_]+)@", value, text)

    def _gates_said(self) -> str:
        """Returns the gates for README.md: an item for each share."""
        shares: dict[float, list[str]] = {}
        for test, share in self.gates.items():
            shares.setdefault(share, []).append(f'"{test}"')
        return "\n".join(
            textwrap.fill(
                f"- at most {100 * share:g} % of the points: {', '.join(tests)}",
                width=88,
                subsequent_indent="  ",
            )
            for share, tests in sorted(shares.items())
        )

    def readme(self) -> str:
        text = self.fill((self.folder / "README.md").read_text(), "README.md")
        return f"{text}\n## Points\n\n{self._points_said()}\n"

    def _points_said(self) -> str:
        """Returns the lab's points and, if known, when it is due, for README.md."""
        due = moment(self.course.due.get(self.name))
        text = f"The lab is worth {self.worth:g} points."
        if due:
            text += (
                f" It is due {due}. A later submission loses"
                f" {100 * self.course.per_day:g} % for each started day, and all points"
                f" after {self.course.days} days."
            )
        return textwrap.fill(text, width=88)

    def edits(self, whole: bool) -> list[Edit]:
        """Returns the changes of the kernel's sources. For the solution (whole) the
        student's files aren't cut: `solve' changes them, or they are in solution/."""
        edits = [e for e in self._edits("cut") if not (whole and e.file in self.files)]
        if whole and (self.folder / "solve").is_file():
            edits += self._edits("solve")
        return edits

    def _edits(self, name: str) -> list[Edit]:
        edits: list[Edit] = []
        for place, lines in hunks.stanzas(self.folder / name, f"{self.name}/{name}"):
            file, _, function = lines[0].partition(" ")
            filled = tuple(self.fill(line, name) for line in lines[1:])
            edits.append(Edit(place, file, function, filled))
        return edits

    def wrong(self) -> list[Variant]:
        """Reads wrong.txt: NAME: WHAT; lines `fails TEST'; a file's name, and hunks."""
        return self._variants("wrong.txt", wrong=True)

    def right(self) -> list[Variant]:
        """Reads right.txt, which has the same form without `fails'; it is optional."""
        there = (self.folder / "right.txt").is_file()
        return self._variants("right.txt", wrong=False) if there else []

    def _variants(self, file: str, wrong: bool) -> list[Variant]:
        form = "NAME: WHAT, fails TEST, FILE, hunks"
        if not wrong:
            form = "NAME: WHAT, FILE, hunks"
        known = {t.name for t in self.tests}
        variants = []
        for place, lines in hunks.stanzas(self.folder / file, f"{self.name}/{file}"):
            name, _, what = lines[0].partition(": ")
            fails = [x.removeprefix("fails ") for x in lines if x.startswith("fails ")]
            rest = [x for x in lines[1:] if not x.startswith("fails ")]
            edits: list[tuple[str, list[str]]] = []
            for line in rest:
                if line[0] in " -+@":
                    edits[-1][1].append(line)
                else:
                    edits.append((line, []))
            unknown = [f for f in fails if f not in known]
            if unknown:
                raise LabError(f"{place}: {name}: no test {unknown[0]}")
            if bool(fails) != wrong or not edits:
                raise LabError(f"{place}: {name}: expected {form}")
            made = tuple(Edit(f"{place}: {name}", f, "", tuple(h)) for f, h in edits)
            variants.append(Variant(name, what, tuple(fails), made))
        return variants


def all_labs() -> list[str]:
    return sorted(file.parent.name for file in LABS.glob("*/lab.conf"))

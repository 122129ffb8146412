"""Reads roster.csv: the students of a course, their groups and extensions.

Below a header it has a line for each student. Columns are found by their names; other
columns are ignored, as the file is usually exported from another system:

    name         of the student, and of the folder that the student hands in
    group        of several students, who hand in one folder of this name; may be empty
    extension    days by which due times move: 2 in each lab, pipe:0.5 in one; may be
                 empty

WHO is a group, or a student without one. Each WHO has a seed, derived from the
course's, so that neighbours get different parameters.
"""

from __future__ import annotations

import codecs
import csv
import dataclasses
import datetime
import hashlib
import io
import re
import unicodedata
from pathlib import Path
from typing import Iterator, Optional

from tally.grading.lab import Course, LabError

COLUMNS = ("name", "group", "extension")
NAME_MAX = 255  # bytes that a folder's name may have

Due = dict[str, Optional[datetime.datetime]]  # by lab


@dataclasses.dataclass(frozen=True)
class Student:
    place: str  # FILE:LINE
    name: str
    group: str
    days: dict[str, float]  # more than others have, by lab


class Roster:
    """The seed, due times and members of each WHO."""

    def __init__(self, course: Course, students: list[Student]) -> None:
        self._course = course
        self._groups = {s.name: s.group for s in students}
        self._members: dict[str, tuple[str, ...]] = {}
        self._due: dict[str, Due] = {}
        for who in sorted({s.group or s.name for s in students}):
            members = [s for s in students if who == (s.group or s.name)]
            self._members[who] = tuple(sorted(s.name for s in members))
            self._due[who] = extended(course.due, members)
        known = [(self.seed(who), self._members[who], self._due[who]) for who in self]
        self._number = digest(str(known))

    def __iter__(self) -> Iterator[str]:
        """Iterates over each WHO, in order."""
        return iter(self._members)

    def seed(self, who: str) -> str:
        return digest(f"{self._course.seed}/{who}")

    def refusal(self, who: str) -> str:
        """Returns why WHO can't hand anything in; empty: WHO can."""
        if who in self._members:
            return ""
        if who in self._groups:
            return f"{who} hands in with the group {self._groups[who]}"
        return f"{who} isn't in the roster"

    def course(self, who: str) -> Course:
        """Returns the course with WHO's seed, due times and members. Names outside the
        roster get a derived seed, too: all seeds can be computed from the course's."""
        return dataclasses.replace(
            self._course,
            seed=self.seed(who),
            due=self._due.get(who, self._course.due),
            members=self._members.get(who, ()),
            roster=self._number,
        )


def digest(text: str) -> str:
    """Returns a short hash, from which the text can't be computed."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def extended(due: Due, members: list[Student]) -> Due:
    """Returns a group's due times: the largest extension of its members counts."""
    moved = dict(due)
    for lab, time in due.items():
        longest = max(members, key=lambda s: s.days[lab])
        try:
            days = datetime.timedelta(days=longest.days[lab])
            moved[lab] = time and time + days
        except OverflowError:
            raise LabError(f"{longest.place}: extension: too many days") from None
    return moved


# --- The file ----------------------------------------------------------------


def read_roster(file: Path, course: Course, student: Optional[str] = None) -> Roster:
    """student: the value of --student, which must be in the roster."""
    students: dict[str, Student] = {}
    for place, row in rows(file):
        name, group, extension = (row.get(column, "") for column in COLUMNS)
        check_name(name, place)
        if group:
            check_name(group, place)
        if name in students:
            raise LabError(
                f"{place}: {name} is listed before, at {students[name].place}"
            )
        days = days_of(extension, course, place)
        students[name] = Student(place, name, group, days)
    for s in students.values():
        namesake = students.get(s.group)
        if namesake and namesake.group != s.group:
            raise LabError(
                f"{s.place}: the group {s.group} has the name of a student"
                " who isn't in it"
            )
    roster = Roster(course, list(students.values()))
    if student is not None and roster.refusal(student):
        raise LabError(f"--student: {roster.refusal(student)}")
    return roster


def rows(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields each student's place, and the fields by column."""
    found = records(file)
    place, head = next(found, (f"{file}:1", [""]))
    twice = [column for column in COLUMNS if head.count(column) > 1]
    if twice:
        raise LabError(f"{place}: two columns are called {twice[0]}")
    if "name" not in head:
        raise LabError(f"{place}: no column is called 'name'")
    empty = True
    for place, fields in found:
        if any(fields[len(head) :]):
            raise LabError(f"{place}: more fields than columns")
        if any(fields):
            yield place, dict(zip(head, fields))
            empty = False
    if empty:
        raise LabError(f"{place}: no student")


def records(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yields the line where each record begins, and its fields, stripped of blanks."""
    reader = csv.reader(io.StringIO(decoded(file), newline=""), strict=True)
    while True:
        place = f"{file}:{reader.line_num + 1}"
        try:
            yield place, [field.strip() for field in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            raise LabError(f"{place}: {error}") from error


def decoded(file: Path) -> str:
    data = file.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LabError(f"{file}:{line}: not UTF-8") from error


def check_name(name: str, place: str) -> None:
    """Raises LabError for a name that a folder can't have, or that would hide it."""
    if not name:
        raise LabError(f"{place}: no name")
    if (
        name.startswith((".", "-"))
        or "/" in name
        or any(unicodedata.category(letter) == "Cc" for letter in name)
        or len(name.encode()) > NAME_MAX
    ):
        raise LabError(f"{place}: {name!r} can't be a folder's name")


def days_of(extension: str, course: Course, place: str) -> dict[str, float]:
    """Returns the days by lab. Days given for one lab replace those given for all."""
    said: dict[str, float] = {}
    for word in extension.split():
        found = re.fullmatch(r"(?:(.+):)?([0-9]+(?:\.[0-9]+)?)", word)
        if not found:
            raise LabError(f"{place}: extension: {word!r} is not like 2 or pipe:0.5")
        lab = found[1] or ""
        if lab and lab not in course.labs:
            raise LabError(f"{place}: extension: the course has no lab {lab}")
        if lab in said:
            raise LabError(
                f"{place}: extension: {word!r} sets days that an earlier word has set"
            )
        said[lab] = float(found[2])
    return {lab: said.get(lab, said.get("", 0.0)) for lab in course.labs}

"""The options of labs/grade, and which of them go together."""

from __future__ import annotations

import dataclasses
import re
from typing import Optional

from tally.base.cli import Parser, add_jobs, number, utf8, wrong
from tally.boot.options import SEED
from tally.grading import report
from tally.grading.debug import find_gdb
from tally.grading.lab import HANDED_OUT, Lab, LabError, add_course_options

NONCE = number(0, 2**64 - 1)


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of labs/grade."""

    name: str
    submission: Optional[str]
    all: Optional[str]
    roster: Optional[str]
    student: Optional[str]
    test: Optional[str]
    show: bool
    gdb: bool
    nonce: Optional[int]
    races: Optional[int]
    seed: Optional[str]
    course: str
    debug: bool
    trust: bool
    submitted: Optional[str]
    jobs: int
    shard: tuple[int, int]
    resume: bool
    reports: report.Files


def shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if not found or int(found[1]) > int(found[2]):
        wrong(text, "a part like 2/4")
    return int(found[1]), int(found[2])


def parse(words: list[str]) -> Options:
    parser = Parser("grade", usage="%(prog)s NAME [OPTIONS]")
    parser.add_argument("name", metavar="NAME", help="the lab's name")
    parser.add_argument("--submission", metavar="DIR", help="grade the files in DIR")
    parser.add_argument("--all", metavar="DIR", help="grade each folder in DIR")
    parser.add_argument("--roster", metavar="FILE", help="the table of students (CSV)")
    parser.add_argument(
        "--student",
        type=utf8,
        metavar="WHO",
        help="the student or group that handed in, if the name of DIR isn't theirs",
    )
    parser.add_argument("--test", metavar="T", help="run only test T")
    parser.add_argument(
        "--show", action="store_true", help="print each step of failed tests"
    )
    parser.add_argument(
        "--gdb",
        action="store_true",
        help="stop in gdb before the first step that fails",
    )
    parser.add_argument(
        "--nonce",
        type=NONCE,
        metavar="N",
        help="make the same tests as the report with nonce N",
    )
    parser.add_argument(
        "--races", type=SEED, metavar="N", help="run the race tests with seed N"
    )
    add_course_options(parser)
    parser.add_argument("--debug", action="store_true", help="grade a debug build")
    parser.add_argument(
        "--trust", action="store_true", help="build without the sandbox"
    )
    parser.add_argument(
        "--submitted", metavar="TIME", help="when the submission was handed in"
    )
    add_jobs(parser, "grade N submissions")
    parser.add_argument(
        "--shard",
        type=shard,
        metavar="I/N",
        default=(1, 1),
        help="split --all into N parts, and grade only part I",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="reuse the results that the --json report already has",
    )
    report.add_options(parser, tuple(report.KINDS))
    chosen = vars(parser.parse(words))
    files = {kind: chosen.pop(kind) for kind in report.KINDS}
    return Options(reports=report.Files(**files), **chosen)


def check(options: Options, lab: Lab) -> None:
    """Which options don't go together."""
    names = {None, *(kind.name for kind in lab.tests)}
    if options.test not in names:
        raise LabError(f"{lab.name} has no test {options.test!r}")
    many = options.all is not None
    foreign = many or options.submission is not None
    if many and options.submission is not None:
        raise LabError("give --submission DIR or --all DIR, not both")
    if options.gdb and (many or lab.host):
        raise LabError(
            "--gdb works only with one submission, of a lab that boots a kernel"
        )
    if options.gdb:
        find_gdb()
    if options.reports.gradescope and many:
        raise LabError("--gradescope works with one submission only")
    if (options.shard != (1, 1) or options.resume) and not many:
        raise LabError("--shard and --resume need --all DIR")
    if options.shard != (1, 1) and options.nonce is None:
        raise LabError("--shard needs --nonce N, the same one for all parts")
    if options.submitted and not foreign:
        raise LabError("--submitted needs --submission DIR, or --all DIR")
    if options.student is not None and (many or options.roster is None):
        raise LabError("--student needs --submission DIR and --roster FILE")
    if options.roster is not None and HANDED_OUT.exists():
        raise LabError("--roster: this is a student's tree, which has one seed")
    if options.roster is not None and options.trust:
        raise LabError(
            "--roster and --trust can't be combined: without the sandbox, a submission"
            " could read the seeds of all students"
        )
    if options.roster is not None and not foreign:
        raise LabError("--roster needs --submission DIR, or --all DIR")
    if not foreign and not HANDED_OUT.exists():
        raise LabError(
            "this is not a student's tree: give --submission DIR, or --all DIR"
        )

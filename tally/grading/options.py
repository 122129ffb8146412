"""The options of labs/grade, and which of them go together."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Optional

from tally.base.cli import JOBS, Parser, number, utf8, wrong
from tally.boot.options import SEED
from tally.grading import report
from tally.grading.debug import find_gdb
from tally.grading.lab import CONF, HANDED_OUT, Lab, LabError

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
    parser.add_argument("name", metavar="NAME", help="of the lab")
    parser.add_argument("--submission", metavar="DIR", help="with the lab's files")
    parser.add_argument("--all", metavar="DIR", help="each folder is a submission")
    parser.add_argument("--roster", metavar="FILE", help="whose the folders are")
    parser.add_argument(
        "--student",
        type=utf8,
        metavar="WHO",
        help="whose the one is, if its name doesn't say it",
    )
    parser.add_argument("--test", metavar="T", help="judge this one alone")
    parser.add_argument(
        "--show", action="store_true", help="the script of what fails, with its answers"
    )
    parser.add_argument(
        "--gdb", action="store_true", help="go to the first step that fails, with gdb"
    )
    parser.add_argument("--nonce", type=NONCE, metavar="N", help="the script's")
    parser.add_argument("--races", type=SEED, metavar="N", help="a race's seed")
    parser.add_argument("--seed", type=utf8, metavar="S", help="of another course")
    parser.add_argument("--course", metavar="FILE", default=str(CONF))
    parser.add_argument("--debug", action="store_true", help="the debug build")
    parser.add_argument(
        "--trust", action="store_true", help="build without the sandbox"
    )
    parser.add_argument("--submitted", metavar="TIME", help="when")
    parser.add_argument(
        "-j",
        dest="jobs",
        type=JOBS,
        metavar="N",
        default=os.cpu_count(),
        help="so many at once",
    )
    parser.add_argument(
        "--shard",
        type=shard,
        metavar="I/N",
        default=(1, 1),
        help="of all, the Ith of N parts",
    )
    parser.add_argument(
        "--resume", action="store_true", help="leave out what the report of --json has"
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
        raise LabError("--submission DIR or --all DIR, not both")
    if options.gdb and (many or lab.host):
        raise LabError("--gdb is of one kernel")
    if options.gdb:
        find_gdb()
    if options.reports.gradescope and many:
        raise LabError("--gradescope is of one submission")
    if (options.shard != (1, 1) or options.resume) and not many:
        raise LabError("--shard and --resume are of --all")
    if options.shard != (1, 1) and options.nonce is None:
        raise LabError("--shard needs --nonce N, the same one for all parts")
    if options.submitted and not foreign:
        raise LabError("--submitted is of a submission")
    if options.student is not None and (many or options.roster is None):
        raise LabError("--student is of one submission, with --roster FILE")
    if options.roster is not None and HANDED_OUT.exists():
        raise LabError("--roster: this is a student's tree, which has one seed")
    if options.roster is not None and options.trust:
        raise LabError(
            "--roster needs the sandbox: else a submission could read all" " seeds"
        )
    if options.roster is not None and not foreign:
        raise LabError("--roster needs --submission DIR, or --all DIR")
    if not foreign and not HANDED_OUT.exists():
        raise LabError("this is no student's tree: --submission DIR, or --all DIR")

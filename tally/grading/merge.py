"""labs/merge REPORT...: the reports of labs/grade --json --shard, as of one run.

The same bytes as without shards, in any format; so in the order of the submissions'
names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tally.base.cli import Parser, script
from tally.grading import report
from tally.grading.facts import Facts, check_common, read
from tally.grading.lab import LabError

KINDS = ("json", "csv", "junit", "html")


def merged(files: list[Path]) -> list[Facts]:
    """Each submission once, of one grading."""
    found: dict[str, Facts] = {}
    places: dict[str, Path] = {}
    for file in files:
        for facts in read(file):
            who = facts["submission"]
            if who in found:
                raise LabError(f"{who} is in both {places[who]} and {file}")
            found[who] = facts
            places[who] = file
            check_common([*found.values()][:1] + [facts], str(file))
    return [found[who] for who in sorted(found)]


def check_whole(found: list[Facts]) -> None:
    """Is each submission there?"""
    among = max(facts["among"] for facts in found)
    if len(found) < among:
        raise LabError(
            f"the reports have {len(found)} of {among} submissions: a part is missing"
            " or incomplete (--partial merges these reports)"
        )


def run(files: list[Path], partial: bool, to: report.Files) -> None:
    if to == report.Files():
        raise LabError("nothing to write: give one of --" + ", --".join(KINDS))
    found = merged(files)
    if not partial:
        check_whole(found)
    report.write(found, to)


def main(words: list[str]) -> int:
    parser = Parser("merge", usage="%(prog)s [OPTIONS] REPORT...")
    parser.add_argument(
        "reports", metavar="REPORT", nargs="+", help="a report of grade --json"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="merge the reports even if submissions are missing",
    )
    report.add_options(parser, KINDS)
    chosen = parser.parse(words)
    to = report.Files(**{kind: getattr(chosen, kind) for kind in KINDS})
    run([Path(file) for file in chosen.reports], chosen.partial, to)
    return 0


def entry() -> int:
    return script("merge", lambda: main(sys.argv[1:]), LabError)

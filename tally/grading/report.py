"""What a grading found, for people and for what takes in grades. Each report is made of
the facts that --json has: labs/merge makes the same ones of several of those."""

from __future__ import annotations

import argparse
import dataclasses
import csv
import io
import json
import xml.etree.ElementTree as xml

from typing import Optional

from tally.base.cli import put
from tally.grading import course_page
from tally.grading.facts import Facts, again, decided, lateness, number, strays


def text(facts: Facts) -> str:
    """For the student: what failed, why, and how to see it again."""
    lines = [f"{facts['lab']}: {facts['title']}"]
    for test in decided(facts):
        mark = "ok  " if test["ok"] else "FAIL"
        share = f"{number(test['points'])}/{number(test['of'])}"
        lines.append(f"  {mark} {share:>9}  {test['name']}")
        lines += [f"       {line}" for line in test["why"].splitlines()]
        lines += [f"       > {line}" for line in test.get("script", [])]
        if test["replay"]:
            lines.append(f"       {again(facts, test)}")
    if facts["why"]:
        whys = f"{facts['ended']}: {facts['why']}".splitlines()
        lines += [f"  {line}" for line in whys]
    if facts["gate"]:
        lines.append(f"  {facts['gate']}")
    lines += [f"  {line}" for line in strays(facts)]
    if facts["late"]:
        lines.append(f"  {lateness(facts)}")
    of = sum(test["of"] for test in facts["tests"])
    whole = of > facts["of"] - 0.005  # else only this test was asked for
    took = facts["instructions"] / 1e6  # nobody counts on the host
    lines.append(
        f"{number(facts['points'])} of {number(facts['of'] if whole else of)} points"
        f" (nonce {facts['nonce']}{f', {took:.0f} million instructions' * (took > 0)})"
    )
    return "\n".join(lines) + "\n"


def as_json(all: list[Facts]) -> str:
    return json.dumps(all[0] if len(all) == 1 else all, indent=1) + "\n"


def as_csv(all: list[Facts]) -> str:
    """A row for each submission, with a roster for each student; a column for each
    test, and one for the reasons of all that failed."""
    file = io.StringIO()
    names = [test["name"] for test in all[0]["tests"]]
    writer = csv.writer(file, lineterminator="\n")
    who = ["name", "group"] if all[0]["roster"] else ["submission"]
    writer.writerow(
        [
            *who,
            "points",
            "of",
            "submitted",
            "due",
            "percent late",
            "ended",
            "why",
            "failed",
            *names,
        ]
    )
    for facts in all:
        for student in students(facts):
            writer.writerow(
                [
                    *student,
                    number(facts["points"]),
                    number(facts["of"]),
                    facts["submitted"],
                    facts["due"],
                    f"{100 * facts['late']:g}",
                    facts["ended"],
                    first_line(facts["why"] or facts["gate"]),
                    "; ".join(failed(facts)),
                    *(number(test["points"]) for test in facts["tests"]),
                ]
            )
    return file.getvalue()


def failed(facts: Facts) -> list[str]:
    """Of each such test its name, and the first line of the reason."""
    return [
        f"{test['name']}: {first_line(test['why'])}"
        for test in decided(facts)
        if not test["ok"]
    ]


def first_line(text: str) -> str:
    return "".join(text.splitlines()[:1])


def students(facts: Facts) -> list[list[str]]:
    """The first fields of each row: the submitter, or with a roster each member and the
    group. A folder that isn't in the roster has a row, too."""
    who, members = facts["submission"], facts["members"]
    if not facts["roster"]:
        return [[who]]
    if members in ([], [who]):
        return [[who, ""]]
    return [[member, who] for member in members]


def junit(all: list[Facts]) -> str:
    """A suite for each submission."""
    top = xml.Element("testsuites")
    for facts in all:
        bad = [test for test in facts["tests"] if not test["ok"]]
        suite = xml.SubElement(
            top,
            "testsuite",
            name=f"{facts['lab']}.{facts['submission']}",
            tests=str(len(facts["tests"])),
            failures=str(len(bad)),
            errors=str(int(facts["ended"] == "trouble")),
        )
        for test in facts["tests"]:
            case = xml.SubElement(
                suite, "testcase", classname=facts["lab"], name=test["name"]
            )
            if not test["ok"]:
                why = test["why"] or facts["why"]
                first = why.splitlines() or [facts["ended"]]
                failure = xml.SubElement(case, "failure", message=first[0])
                failure.text = f"{why}\n{test['replay']}"
    return xml.tostring(top, encoding="unicode") + "\n"


def gradescope(all: list[Facts]) -> str:
    """results.json, as Gradescope's autograders leave it: of one submission."""
    (facts,) = all
    return (
        json.dumps(
            {
                "score": facts["points"],
                "output": "\n".join(
                    [
                        f"{facts['ended']}: {facts['why']}"
                        if facts["why"]
                        else facts["gate"]
                    ]
                    + strays(facts)
                ),
                "tests": [
                    {
                        "name": test["name"],
                        "score": round((1 - facts["late"]) * test["points"], 2),
                        "max_score": test["of"],
                        "output": test["why"]
                        + (f"\nagain: {test['replay']}" if test["replay"] else ""),
                    }
                    for test in facts["tests"]
                ],
            },
            indent=1,
        )
        + "\n"
    )


KINDS = {
    "json": as_json,
    "csv": as_csv,
    "junit": junit,
    "html": course_page.page,
    "gradescope": gradescope,
}


def add_options(parser: argparse.ArgumentParser, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        parser.add_argument(f"--{kind}", metavar="FILE", help="write a report to FILE")


@dataclasses.dataclass(frozen=True)
class Files:
    """Where to write each kind of report; None: nowhere."""

    json: Optional[str] = None
    csv: Optional[str] = None
    junit: Optional[str] = None
    html: Optional[str] = None
    gradescope: Optional[str] = None


def write(all: list[Facts], files: Files) -> None:
    for kind, make in KINDS.items():
        file = getattr(files, kind)
        if file is not None:
            put(file, make(all).encode(errors="replace"))

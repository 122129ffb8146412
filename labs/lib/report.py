"""What a grading found, for people and for what takes in grades."""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as xml
from typing import Any

from judge import Verdict
from lab import Lab


@dataclasses.dataclass
class Grade:
    """Of one submission."""

    lab: Lab
    who: str
    nonce: int
    commit: str
    tests: list[Verdict]
    ended: str = "judged"  # or: not built, refused, forged, trouble
    why: str = ""  # for those
    instructions: int = 0
    kept: float = 1.0  # what lateness leaves

    @property
    def most(self) -> int:
        """The weights of the lab's tests."""
        return sum(kind.points for kind in self.lab.tests)

    @property
    def worth(self) -> float:
        """The lab's points in the course."""
        return self.lab.course.points.get(self.lab.name, float(self.most))

    def points(self, verdict: Verdict) -> float:
        """What a test brings, in the course's points, before lateness."""
        return self.worth * verdict.points / self.most if verdict.ok else 0.0

    @property
    def total(self) -> float:
        return round(self.kept * sum(self.points(v) for v in self.tests), 2)

    def facts(self) -> dict[str, Any]:
        """For --json."""
        return {
            "lab": self.lab.name,
            "submission": self.who,
            "commit": self.commit,
            "seed": self.lab.course.seed,
            "params": self.lab.params,
            "nonce": self.nonce,
            "ended": self.ended,
            "why": self.why,
            "instructions": self.instructions,
            "late": round(1 - self.kept, 4),
            "points": self.total,
            "of": self.worth,
            "tests": [
                {
                    "name": v.name,
                    "ok": v.ok,
                    "points": round(self.points(v), 2),
                    "of": round(self.worth * v.points / self.most, 2),
                    "why": v.why,
                    "replay": v.replay,
                }
                for v in self.tests
            ],
        }


def number(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")


def text(grade: Grade) -> str:
    """For the student: what failed, why, and how to see it again."""
    lines = [f"{grade.lab.name}: {grade.lab.title}"]
    for v in grade.tests:
        most = grade.worth * v.points / grade.most
        mark = "ok  " if v.ok else "FAIL"
        share = f"{number(grade.points(v))}/{number(most)}"
        lines.append(f"  {mark} {share:>9}  {v.name}")
        if v.why:
            lines += [f"       {line}" for line in v.why.splitlines()]
        if v.replay:
            lines.append(f"       again: labs/grade {grade.lab.name} {v.replay}")
    if grade.why:
        lines += [f"  {line}" for line in f"{grade.ended}: {grade.why}".splitlines()]
    late = f", {100 * (1 - grade.kept):g} % less for lateness" if grade.kept < 1 else ""
    took = grade.instructions / 1e6  # nobody counts on the host
    lines.append(
        f"{number(grade.total)} of {number(grade.worth)} points{late}"
        f" (nonce {grade.nonce}{f', {took:.0f} million instructions' * (took > 0)})"
    )
    return "\n".join(lines) + "\n"


def as_json(grades: list[Grade]) -> str:
    facts = [grade.facts() for grade in grades]
    return json.dumps(facts[0] if len(facts) == 1 else facts, indent=1) + "\n"


def junit(grades: list[Grade]) -> str:
    """A suite for each submission."""
    top = xml.Element("testsuites")
    for grade in grades:
        bad = [v for v in grade.tests if not v.ok]
        suite = xml.SubElement(
            top, "testsuite", name=f"{grade.lab.name}.{grade.who}",
            tests=str(len(grade.tests)), failures=str(len(bad)),
            errors=str(int(grade.ended == "trouble")),
        )
        for v in grade.tests:
            case = xml.SubElement(
                suite, "testcase", classname=grade.lab.name, name=v.name
            )
            if not v.ok:
                first = (v.why or grade.why).splitlines() or [grade.ended]
                failure = xml.SubElement(case, "failure", message=first[0])
                failure.text = f"{v.why or grade.why}\n{v.replay}"
    return xml.tostring(top, encoding="unicode") + "\n"


def gradescope(grade: Grade) -> str:
    """results.json, as Gradescope's autograders leave it."""
    return json.dumps(
        {
            "score": grade.total,
            "output": f"{grade.ended}: {grade.why}" if grade.why else "",
            "tests": [
                {
                    "name": v.name,
                    "score": round(grade.kept * grade.points(v), 2),
                    "max_score": round(grade.worth * v.points / grade.most, 2),
                    "output": v.why + (f"\nagain: {v.replay}" if v.replay else ""),
                }
                for v in grade.tests
            ],
        },
        indent=1,
    ) + "\n"

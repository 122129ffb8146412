"""What is known of a graded submission: from a grading, or from a report of --json."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from judge import Verdict
from lab import Lab, LabError

Facts = dict[str, Any]  # of one submission

#: What must be the same for grades to be of one grading.
COMMON = ("lab", "commit", "seed", "nonce")
WANTED = {*COMMON, "title", "submission", "tests", "points", "of", "late", "ended",
          "why", "instructions"}


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

    def facts(self) -> Facts:
        total = self.kept * sum(self.points(v) for v in self.tests)
        return {
            "lab": self.lab.name,
            "title": self.lab.title,
            "submission": self.who,
            "commit": self.commit,
            "seed": self.lab.course.seed,
            "params": self.lab.params,
            "nonce": self.nonce,
            "ended": self.ended,
            "why": self.why,
            "instructions": self.instructions,
            "late": round(1 - self.kept, 4),
            "points": round(total, 2),
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


def read(file: Path) -> list[Facts]:
    """What --json has written."""
    try:
        found = json.loads(file.read_bytes())
    except ValueError:
        raise LabError(f"{file}: no report of --json") from None
    listed = found if isinstance(found, list) else [found]
    for facts in listed:
        if not isinstance(facts, dict) or not facts.keys() >= WANTED:
            raise LabError(f"{file}: no report of --json")
    return listed


def check_common(all: list[Facts], place: str) -> None:
    """Are they of one grading?"""
    for name in COMMON:
        values = {facts[name] for facts in all}
        if len(values) > 1:
            some = ", ".join(sorted(map(str, values))[:2])
            raise LabError(f"{place}: not one {name}: {some}")

"""The facts about a graded submission: from a grading, or from a report of --json."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any, Optional

from tally.grading.judge import Verdict
from tally.grading.lab import Lab, LabError, moment

Facts = dict[str, Any]  # about one submission

#: The fields that are equal in all grades of one grading. So is the seed, unless there
#: is a roster, which gives each submission its own.
COMMON = ("lab", "commit", "roster", "nonce")

#: The fields of a report, and their types.
TYPES = {
    "lab": str,
    "title": str,
    "course": str,
    "submission": str,
    "among": int,
    "members": list,
    "commit": str,
    "roster": str,
    "seed": str,
    "nonce": int,
    "ended": str,
    "why": str,
    "gate": str,
    "stores": list,
    "instructions": int,
    "submitted": str,
    "due": str,
    "late": (int, float),
    "points": (int, float),
    "of": (int, float),
    "tests": list,
}
TEST_TYPES = {
    "name": str,
    "ok": bool,
    "points": (int, float),
    "of": (int, float),
    "why": str,
    "replay": str,
}

#: The values of `ended' with which the tests were decided.
JUDGED = ("judged", "forged")


@dataclasses.dataclass
class Grade:
    """The grade of one submission."""

    lab: Lab
    who: str
    nonce: int
    commit: str
    tests: list[Verdict]
    ended: str = "judged"  # or: not built, refused, missing, forged, trouble
    why: str = ""  # the reason, unless it was judged
    instructions: int = 0
    submitted: Optional[datetime.datetime] = None  # None: unknown
    stores: list[str] = dataclasses.field(default_factory=list)  # not the lab's

    @property
    def shares(self) -> dict[str, float]:
        """Returns the worth of each test in the course's points, before lateness. They
        are rounded to hundredths so that their sum is the lab's worth."""
        shares, weight, before = {}, 0, 0.0
        for kind in self.lab.tests:
            weight += kind.points
            upto = round(self.lab.worth * weight / self.lab.weight, 2)
            shares[kind.name] = round(upto - before, 2)
            before = upto
        return shares

    def gate(self) -> tuple[float, list[str]]:
        """Returns the most points that failed gates allow, and the lowest gates. Gates
        apply only if all tests were run."""
        failed = {v.name for v in self.tests if not v.ok}
        shares = {t: share for t, share in self.lab.gates.items() if t in failed}
        if not shares or len(self.tests) < len(self.lab.tests):
            return self.lab.worth, []
        least = min(shares.values())
        gates = [test for test, share in shares.items() if share == least]
        return self.lab.worth * least, gates

    def facts(self) -> Facts:
        shares = self.shares
        total = round(sum(shares[v.name] for v in self.tests if v.ok), 2)
        most, gates = self.gate()
        if total <= most:
            gates = []
        without = ", ".join(f'"{test}"' for test in gates)
        kept = self.lab.course.kept(self.lab.name, self.submitted)
        due = self.lab.course.due.get(self.lab.name)
        zone = due.tzinfo if due else None
        came = self.submitted and self.submitted.astimezone(zone)
        return {
            "lab": self.lab.name,
            "title": self.lab.title,
            "course": self.lab.course.name,
            "submission": self.who,
            "among": 1,
            "members": list(self.lab.course.members),
            "commit": self.commit,
            "roster": self.lab.course.roster,
            "seed": self.lab.course.seed,
            "params": self.lab.params,
            "nonce": self.nonce,
            "ended": self.ended,
            "why": self.why,
            "gate": without
            and f"{number(most)} points at most, because the submission"
            f" fails {without}",
            "stores": self.stores,
            "instructions": self.instructions,
            "submitted": moment(came),
            "due": moment(due),
            "late": round(1 - kept, 4),
            "points": round(kept * min(total, most), 2),
            "of": self.lab.worth,
            "tests": [
                {
                    "name": v.name,
                    "ok": v.ok,
                    "points": shares[v.name] if v.ok else 0.0,
                    "of": shares[v.name],
                    "why": v.why,
                    "replay": v.replay,
                    **({"script": v.script} if v.script else {}),
                }
                for v in self.tests
            ],
        }


def decided(facts: Facts) -> list[dict[str, Any]]:
    """Returns the tests; none if it wasn't judged, where each test counts as failed."""
    tests: list[dict[str, Any]] = facts["tests"]
    return tests if facts["ended"] in JUDGED else []


def lateness(facts: Facts) -> str:
    """Describes the lateness; empty if it isn't late."""
    if not facts["late"]:
        return ""
    return (
        f"{100 * facts['late']:g} % of the points are lost for lateness: handed in"
        f" {facts['submitted']}, due {facts['due']}"
    )


def number(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")


def handed_in(all: list[Facts]) -> list[Facts]:
    return [facts for facts in all if facts["ended"] != "missing"]


def counted(all: list[Facts]) -> str:
    there = len(handed_in(all))
    missing = f", {len(all) - there} missing" if there < len(all) else ""
    return f"{there} submissions{missing}"


def read(file: Path) -> list[Facts]:
    """Reads a report that --json has written."""
    try:
        found = json.loads(file.read_bytes())
    except ValueError:
        raise LabError(f"{file}: not a report of grade --json") from None
    listed = found if isinstance(found, list) else [found]
    for facts in listed:
        tests = facts["tests"] if _has(facts, TYPES) else [None]
        if not all(_has(test, TEST_TYPES) for test in tests) or not all(
            isinstance(member, str) for member in facts["members"]
        ):
            raise LabError(f"{file}: not a report of grade --json")
    return listed


def _has(value: Any, types: dict[str, Any]) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), type) for name, type in types.items()
    )


def again(facts: Facts, test: dict[str, Any]) -> str:
    """Returns the command that repeats a test; empty: there is none."""
    if not test["replay"]:
        return ""
    return f"again: labs/grade {facts['lab']} {test['replay']}"


def strays(facts: Facts) -> list[str]:
    """Describes stores to data that is neither the student's nor the lab's."""
    return [f"{line}, which is not part of the lab" for line in facts["stores"]]


def check_common(all: list[Facts], place: str) -> None:
    """Raises LabError unless all are of one grading."""
    for name in COMMON if all[0]["roster"] else (*COMMON, "seed"):
        values = {facts[name] for facts in all}
        if len(values) > 1:
            some = ", ".join(sorted(map(str, values))[:2])
            raise LabError(f"{place}: reports differ in {name}: {some}")
    if len({tuple(test["name"] for test in facts["tests"]) for facts in all}) > 1:
        raise LabError(f"{place}: reports differ in their tests")

"""What is known of a graded submission: from a grading, or from a report of --json."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any, Optional

from tally.grading.judge import Verdict
from tally.grading.lab import Lab, LabError, moment

Facts = dict[str, Any]  # of one submission

#: What must be the same for grades to be of one grading; and the seed, unless a roster
#: gives each its own.
COMMON = ("lab", "commit", "roster", "nonce")

#: What reports are made of, and of which type it is.
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

#: Of what has `ended' so the tests were decided.
JUDGED = ("judged", "forged")


@dataclasses.dataclass
class Grade:
    """Of one submission."""

    lab: Lab
    who: str
    nonce: int
    commit: str
    tests: list[Verdict]
    ended: str = "judged"  # or: not built, refused, missing, forged, trouble
    why: str = ""  # for those
    instructions: int = 0
    submitted: Optional[datetime.datetime] = None  # if anybody says so
    stores: list[str] = dataclasses.field(default_factory=list)  # that are no lab's

    @property
    def shares(self) -> dict[str, float]:
        """What each test of the lab is worth, in the course's points, before lateness.
        They are rounded to cents so that all together are what the lab is worth."""
        shares, weight, before = {}, 0, 0.0
        for kind in self.lab.tests:
            weight += kind.points
            upto = round(self.lab.worth * weight / self.lab.weight, 2)
            shares[kind.name] = round(upto - before, 2)
            before = upto
        return shares

    def gate(self) -> tuple[float, list[str]]:
        """The most that its tests leave it, and which ones do. It takes all tests: of
        one alone nobody wants to know what the whole would bring."""
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
            "gate": without and f"{number(most)} points at most, without {without}",
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
    """The tests; none of what wasn't judged, where each of them counts as failed."""
    tests: list[dict[str, Any]] = facts["tests"]
    return tests if facts["ended"] in JUDGED else []


def lateness(facts: Facts) -> str:
    """In words, with the times; empty: it isn't late."""
    if not facts["late"]:
        return ""
    return (
        f"{100 * facts['late']:g} % less for lateness: handed in"
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
    """What --json has written."""
    try:
        found = json.loads(file.read_bytes())
    except ValueError:
        raise LabError(f"{file}: no report of --json") from None
    listed = found if isinstance(found, list) else [found]
    for facts in listed:
        tests = facts["tests"] if _has(facts, TYPES) else [None]
        if not all(_has(test, TEST_TYPES) for test in tests) or not all(
            isinstance(member, str) for member in facts["members"]
        ):
            raise LabError(f"{file}: no report of --json")
    return listed


def _has(value: Any, types: dict[str, Any]) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), type) for name, type in types.items()
    )


def again(facts: Facts, test: dict[str, Any]) -> str:
    """The command that repeats it; empty: there is none."""
    if not test["replay"]:
        return ""
    return f"again: labs/grade {facts['lab']} {test['replay']}"


def strays(facts: Facts) -> list[str]:
    """Stores to what is neither the student's nor the lab's."""
    return [f"{line}, which isn't the lab's" for line in facts["stores"]]


def check_common(all: list[Facts], place: str) -> None:
    """Are they of one grading?"""
    for name in COMMON if all[0]["roster"] else (*COMMON, "seed"):
        values = {facts[name] for facts in all}
        if len(values) > 1:
            some = ", ".join(sorted(map(str, values))[:2])
            raise LabError(f"{place}: not one {name}: {some}")
    if len({tuple(test["name"] for test in facts["tests"]) for facts in all}) > 1:
        raise LabError(f"{place}: not the same tests")

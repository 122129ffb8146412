"""docs/conformance.md: every clause names tests that are there, and that ran.

These come last. Where all tests are asked for (`scripts/test` without arguments) each
must have run; elsewhere one that this session was not asked to run must be there.
"""

from __future__ import annotations

import re

import pytest

from harness import checks
from tally import ROOT
from tally.verify.clauses import CLAUSES, ROWS

def test_the_table_can_be_read() -> None:
    """Clauses are numbered without gaps, and each has a test."""
    assert all(ROWS)
    last: dict[str, int] = {}
    for row in ROWS:
        assert row and int(row[2]) == last.get(row[1], 0) + 1, row and row[0]
        last[row[1]] = int(row[2])
    assert [clause for clause, tests in CLAUSES.items() if "`" not in tests] == []


def held(test: str) -> bool:
    """Did it pass? It must be there, whether or not it was asked for."""
    if "::" in test:
        file, function = test.split("::")
        assert f"def {function}(" in (ROOT / "tests" / file).read_text(), test
        return checks.passed_all(test)
    return checks.came_out_well(*test.split(": ", 1))


def test_what_did_not_run_is_not_taken_for_granted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A check must be one that its program makes."""
    monkeypatch.setattr(checks, "passed", {})
    monkeypatch.setattr(checks, "complete", False)
    assert held("prf_device: PRF-5: turn it on")
    assert held("profil_aix: AIX-25 on in the child of a fork")
    assert not held("prf_device: PRF-5: turn it round")
    assert not held("prf: PRF-5: turn it on")
    monkeypatch.setattr(checks, "passed", {"prf_device": set()})
    assert not held("prf_device: PRF-5: turn it on")


def test_where_all_are_asked_for_none_may_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    test = "test_overload.py::test_a_pipeline_ends"
    monkeypatch.setattr(checks, "complete", True)
    for name in ("passed", "outcomes"):
        monkeypatch.setattr(checks, name, {})
    assert not held(test) and not held("prf_device: PRF-5: turn it on")
    checks.outcomes[test] = {"passed"}
    checks.passed["prf_device"] = {"PRF-5: turn it on"}
    assert held(test) and held("prf_device: PRF-5: turn it on")


@pytest.mark.parametrize("clause", CLAUSES)
def test_clause(clause: str) -> None:
    missing = [t for t in re.findall(r"`(.+?)`", CLAUSES[clause]) if not held(t)]
    assert missing == []

"""docs/conformance.md: every clause names tests that are there, and that ran.

These come last. A test that this session was not asked to run isn't missed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import checks

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "conformance.md").read_text()
ROW = re.compile(r"\| ([A-Z]+)-(\d+) \| (.+?) \| (.*?) \| (.*?) ?\|")
ROWS = [ROW.fullmatch(line) for line in TEXT.splitlines() if re.match(r"\| [A-Z]+-", line)]
CLAUSES = {f"{row[1]}-{row[2]}": row[4] for row in ROWS if row}


def test_the_table_can_be_read() -> None:
    """Clauses are numbered without gaps, and each has a test."""
    assert all(ROWS)
    last: dict[str, int] = {}
    for row in ROWS:
        assert row and int(row[2]) == last.get(row[1], 0) + 1, row and row[0]
        last[row[1]] = int(row[2])
    assert [clause for clause, tests in CLAUSES.items() if "`" not in tests] == []


def held(test: str) -> bool:
    """Did it pass? It must be there, whether or not it ran."""
    if "::" in test:
        file, function = test.split("::")
        assert f"def {function}(" in (ROOT / "tests" / file).read_text(), test
        return checks.outcomes.get(test, {"passed"}) == {"passed"}
    program, check = test.split(": ", 1)
    assert list((ROOT / "tests" / "guest").glob(f"{program}*")), test
    return check in checks.passed.get(program, {check})


@pytest.mark.parametrize("clause", CLAUSES)
def test_clause(clause: str) -> None:
    missing = [t for t in re.findall(r"`(.+?)`", CLAUSES[clause]) if not held(t)]
    assert missing == []

"""Reads docs/conformance.md: the manuals' clauses, and the tests that each names."""

from __future__ import annotations

import re

from tally import ROOT

TEXT = (ROOT / "docs" / "conformance.md").read_text()
ROW = re.compile(r"\| ([A-Z]+)-(\d+) \| (.+?) \| (.*?) \| (.*?) ?\|")
ROWS = [
    ROW.fullmatch(line) for line in TEXT.splitlines() if re.match(r"\| [A-Z]+-", line)
]
CLAUSES = {f"{row[1]}-{row[2]}": row[4] for row in ROWS if row}

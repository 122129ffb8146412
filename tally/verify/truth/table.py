"""make truth-table: writes the results of scripts/truth into docs/truth.md.

The tables there name the commit and the QEMU, and have a checksum of the code that
takes and assigns samples. When that code changes, so does the checksum, and a test
says that the tables are old.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from tally import ROOT
from tally.base.text import plural

DOCUMENT = ROOT / "docs" / "truth.md"
CODE = (
    "kernel/sched/icount.c",
    "kernel/sched/clock.c",
    "kernel/sched/sampleclock.c",
    "kernel/dev/sample.c",
    "kernel/dev/profil.c",
    "kernel/dev/stack.c",
    "kernel/trap/trap.c",
    "kernel/trap/trap.S",
)
BEGIN = "<!-- the table of {name}: {sum} -->\n"
END = "<!-- its end -->\n"


class TableError(Exception):
    pass


def sum_of_code() -> str:
    """Returns the checksum, which ignores comments and layout."""
    text = "".join((ROOT / name).read_text() for name in CODE)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()[:16]


def sum_in(document: str, name: str) -> str:
    found = re.search(BEGIN.format(name=name, sum=r"(\w*)"), document)
    if found is None:
        raise TableError(f"{DOCUMENT}: no table of {name}")
    return found[1]


def table(heading: str, rows: dict[str, dict[int, str]], harts: list[int]) -> list[str]:
    """Returns a table with a line for each workload and a column for each number of
    harts."""
    columns = ["1 hart" if n == 1 else str(n) for n in harts]
    lines = [f"| {heading} | {' | '.join(columns)} |", "|---" * (len(harts) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | {' | '.join(row.get(n, '') for n in harts)} |")
    return lines


def profiles(
    measured: list[dict[str, Any]], what: dict[str, str], bad: list[str]
) -> list[str]:
    """Returns the rows of pcs, which is the most detailed; all profilers are judged."""
    rows: dict[str, dict[int, str]] = {}
    pcs = [row for row in measured if row["profiler"] == "pcs"]
    for row in pcs:
        label = f"{row['workload']}: {what[row['workload']]}"
        cell = f"{row['tv'] / row['ideal']:.2f}, {row['p']:.4f}"
        rows.setdefault(label, {})[row["harts"]] = cell
    harts = sorted({row["harts"] for row in pcs})
    worst = min(measured, key=lambda row: float(row["p"]))
    mean = sum(row["tv"] / row["ideal"] for row in pcs) / len(pcs)
    return [
        *table("TV/E, p", rows, harts),
        "",
        f"The smallest p of all {len(measured)} results, including those of the other"
        f" profilers, is {worst['p']:.2g}:",
        f"{worst['profiler']} in `{worst['workload']}` on"
        f" {plural(worst['harts'], 'hart')}. The mean of TV/E in the table is {mean:.2f}.",
        *(
            ["", "**These goals are not met:**", "", *(f"- {line}" for line in bad)]
            if bad
            else ["All goals are met."]
        ),
    ]


def stacks(measured: list[dict[str, Any]]) -> list[str]:
    rows: dict[str, dict[int, str]] = {}
    for row in measured:
        total = row["exact"] + row["wrong"] + sum(row["cut"].values())
        words = [f"{row['exact'] / total:.3f}".replace("1.000", "1")]
        for reason, n in sorted(row["cut"].items(), key=lambda item: -int(item[1])):
            words.append(f"{reason} {n / total:.3f}")
        if row["wrong"]:
            words.append(f"wrong {row['wrong']}")
        rows.setdefault(row["workload"], {})[row["harts"]] = ", ".join(words)
    return table("exact, and cut", rows, sorted({row["harts"] for row in measured}))


def written(document: str, name: str, lines: list[str]) -> str:
    """Returns the document with the table of this name replaced."""
    begin = BEGIN.format(name=name, sum=sum_in(document, name))
    before, _, rest = document.partition(begin)
    _, end, after = rest.partition(END)
    if not end:
        raise TableError(f"{DOCUMENT}: the table of {name} has no end")
    begin = BEGIN.format(name=name, sum=sum_of_code())
    return "".join([before, begin, "\n", "\n".join(lines), "\n\n", end, after])


def commit() -> str:
    """Returns the measured commit; uncommitted changes have no name."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    if git("status", "--porcelain", "kernel", "tally/verify/truth", "tally/plugins"):
        raise TableError(
            "kernel, tally/verify/truth or tally/plugins has uncommitted changes:"
            " commit these first, because the tables name the measured commit"
        )
    return git("rev-parse", "--short=8", "HEAD")


def write(result: Path, what: dict[str, str], bad: list[str]) -> None:
    measured = json.loads(result.read_text())
    of = f"Commit {commit()}, QEMU {measured['qemu']}."
    document = DOCUMENT.read_text()
    document = written(
        document, "profiles", [of, "", *profiles(measured["profiles"], what, bad)]
    )
    document = written(document, "stacks", [of, "", *stacks(measured["stacks"])])
    DOCUMENT.write_text(document)

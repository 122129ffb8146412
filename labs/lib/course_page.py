"""The page of a course (--html): who has what, why not the rest, and which mistake is
how frequent. It is one file without a script, and needs no mouse: all reasons stand in
it, so they can be searched for and printed.
"""

from __future__ import annotations

import collections
import re
from html import escape

from judge import Verdict
from report import Grade, number

STYLE = """\
:root { color-scheme: light dark; --line: #bbb; --ok: #dfd; --no: #fdd; }
@media (prefers-color-scheme: dark) {
	:root { --line: #555; --ok: #143814; --no: #4a1515; }
}
body { font: 15px/1.4 sans-serif; margin: 2em; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .3em .6em; text-align: left; }
th { font-weight: normal; }
thead th { vertical-align: bottom; max-width: 8em; }
tbody th, .right { white-space: nowrap; }
ul { list-style: none; margin: 0; padding: 0; }
.ok { background: var(--ok); } .no { background: var(--no); }
.right { text-align: right; }
section { break-inside: avoid; border-top: 1px solid var(--line); }
section:target { outline: 2px solid; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3em 0; }
@media print { body { margin: 0; font-size: 11px; } a { color: inherit; } }
"""


def page(grades: list[Grade]) -> str:
    """Of one lab; at least one grade."""
    lab = grades[0].lab
    title = escape(f"{lab.name}: {lab.title}")
    nonces = {grade.nonce for grade in grades}
    nonce = f", nonce {nonces.pop()}" if len(nonces) == 1 else ""
    facts = (f"{len(grades)} submissions; course {escape(lab.course.seed)},"
             f" commit {grades[0].commit[:12]}{nonce}")
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
{STYLE}</style>
<h1>{title}</h1>
<p>{facts}</p>
{submissions(grades)}
<h2>Mistakes</h2>
{mistakes(grades)}
<h2>Reasons</h2>
{"".join(reasons(i, grade) for i, grade in enumerate(grades))}</html>
"""


def table(heads: list[str], rows: list[str]) -> str:
    cells = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    return (
        f"<table>\n<thead><tr>{cells}</tr></thead>\n"
        f"<tbody>\n{''.join(rows)}</tbody></table>"
    )


def submissions(grades: list[Grade]) -> str:
    """A row for each submission; what it failed leads to the reason."""
    names = [kind.name for kind in grades[0].lab.tests]
    rows = []
    for i, grade in enumerate(grades):
        late = f"&minus;{100 * (1 - grade.kept):g} %" if grade.kept < 1 else ""
        passed = {v.name for v in grade.tests if v.ok}
        cells = "".join(
            '<td class="ok">ok</td>' if name in passed
            else f'<td class="no"><a href="#s{i}">no</a></td>'
            for name in names
        )
        rows.append(
            f'<tr><th scope="row">{escape(grade.who)}</th>'
            f'<td class="right">{number(grade.total)}</td>'
            f'<td class="right">{late}</td>{cells}'
            f"<td>{escape(grade.ended)}</td></tr>\n"
        )
    return table(["who", "points", "late", *names, "ended"], rows)


def mistakes(grades: list[Grade]) -> str:
    """By test: how many have passed it, and what the others' first reason was."""
    rows = []
    for kind in grades[0].lab.tests:
        verdicts = [v for grade in grades for v in grade.tests if v.name == kind.name]
        passed = sum(v.ok for v in verdicts)
        whys = collections.Counter(kind_of(v) for v in verdicts if not v.ok)
        lines = "".join(
            f"<li>{count} &times; {escape(why)}</li>"
            for why, count in sorted(whys.items(), key=lambda w: (-w[1], w[0]))
        )
        rows.append(
            f'<tr><th scope="row">{escape(kind.name)}</th>'
            f'<td class="right">{passed} of {len(grades)}</td>'
            f"<td><ul>{lines}</ul></td></tr>\n"
        )
    return table(["test", "passed", "reasons"], rows)


def kind_of(verdict: Verdict) -> str:
    """Of a reason, what those have in common that made the same mistake: not the step,
    whose numbers differ, nor a race's seed."""
    first = verdict.why.splitlines()[0] if verdict.why else "not judged"
    return re.sub(r" \(races \d+\)$", "", first.rpartition("`: ")[2])


def reasons(i: int, grade: Grade) -> str:
    if not grade.why and all(v.ok for v in grade.tests):
        return ""
    parts = [f'<section id="s{i}">\n<h3>{escape(grade.who)}</h3>\n']
    if grade.why:
        parts.append(f"<p>{escape(grade.ended)}</p>\n<pre>{escape(grade.why)}</pre>\n")
    for v in grade.tests:
        if not v.ok and v.why:
            why = v.why
            if v.replay:
                why += f"\nagain: labs/grade {grade.lab.name} {v.replay}"
            parts.append(f"<p>{escape(v.name)}</p>\n<pre>{escape(why)}</pre>\n")
    parts.append("</section>\n")
    return "".join(parts)

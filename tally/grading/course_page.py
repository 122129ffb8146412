"""The page of a course (--html): each submission's points, the reasons of failures, and
how frequent each reason is. It is one file without a script or pop-ups: all reasons
are in the text, so they can be searched and printed.
"""

from __future__ import annotations

import collections
import re
import statistics
from html import escape
from typing import Any

from tally.grading.facts import (
    Facts,
    again,
    counted,
    decided,
    handed_in,
    lateness,
    number,
    strays,
)

STYLE = """\
:root { color-scheme: light dark; --line: #bbb; --ok: #dfd; --no: #fdd; }
@media (prefers-color-scheme: dark) {
	:root { --line: #555; --ok: #143814; --no: #4a1515; }
}
body { font: 15px/1.4 sans-serif; margin: 2em; }
div { overflow-x: auto; }
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
@page { size: landscape; margin: 1cm; }
@media print {
	body { margin: 0; font-size: 11px; } a { color: inherit; }
	div { overflow: visible; } table { font-size: 8px; }
	th, td { padding: .1em .2em; } thead th { max-width: 5em; }
}
"""


def page(all: list[Facts]) -> str:
    """Returns the page of one lab's submissions; there must be at least one."""
    first = all[0]
    title = escape(f"{first['course']}, {first['lab']}: {first['title']}")
    of = f"roster {first['roster']}" if first["roster"] else f"seed {first['seed']}"
    facts = (
        f"{counted(all)}; {escape(of)},"
        f" commit {first['commit'][:12]}, nonce {first['nonce']}"
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
{STYLE}</style>
<h1>{title}</h1>
<p>{facts}</p>
{averages(all)}{submissions(all)}
<h2>Mistakes</h2>
{mistakes(all)}
<h2>Reasons</h2>
{"".join(reasons(i, facts) for i, facts in enumerate(all))}</html>
"""


def averages(all: list[Facts]) -> str:
    """Returns mean and median of the submissions that exist; empty if none do."""
    points = [facts["points"] for facts in handed_in(all)]
    if not points:
        return ""
    mean, median = statistics.mean(points), statistics.median(points)
    return (
        f"<p>mean {number(mean)} of {number(all[0]['of'])} points,"
        f" median {number(median)}</p>\n"
    )


def table(heads: list[str], rows: list[str]) -> str:
    cells = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    return (
        f"<div><table>\n<thead><tr>{cells}</tr></thead>\n"
        f"<tbody>\n{''.join(rows)}</tbody></table></div>"
    )


def submissions(all: list[Facts]) -> str:
    """Returns the table of submissions; failures link to their reasons."""
    rows = []
    for i, facts in enumerate(all):
        late = (
            f'<a href="#s{i}">&minus;{100 * facts["late"]:g} %</a>'
            if facts["late"]
            else ""
        )
        more = "".join(
            f', <a href="#s{i}">{what}</a>'
            for what in ("gate", "stores")
            if facts[what]
        )
        rows.append(
            f'<tr><th scope="row">{escape(facts["submission"])}</th>'
            f"{members(facts)}"
            f'<td class="right">{number(facts["points"])}</td>'
            f'<td class="right">{late}</td>'
            f"<td>{escape(facts['ended'])}{more}</td>"
            f"{outcomes(i, facts)}</tr>\n"
        )
    names = [test["name"] for test in all[0]["tests"]]
    who = ["who", "members"] if all[0]["roster"] else ["who"]
    return table([*who, "points", "late", "ended", *names], rows)


def outcomes(i: int, facts: Facts) -> str:
    """Returns a cell for each test; a single cell if it wasn't judged."""

    def no(text: str, columns: int = 1) -> str:
        span = f' colspan="{columns}"' if columns > 1 else ""
        return f'<td class="no"{span}><a href="#s{i}">{text}</a></td>'

    return "".join(
        '<td class="ok">ok</td>' if test["ok"] else no("no") for test in decided(facts)
    ) or no("not judged", len(facts["tests"]))


def members(facts: Facts) -> str:
    """Returns the cell with the members; empty without a roster."""
    if not facts["roster"]:
        return ""
    return f"<td>{escape(', '.join(facts['members']))}</td>"


def mistakes(all: list[Facts]) -> str:
    """Returns the table of tests: how many passed, and why the others failed."""
    rows = []
    there = handed_in(all)
    for i, test in enumerate(all[0]["tests"]):
        found = [facts["tests"][i] for facts in there]
        whys = collections.Counter(kind_of(t) for t in found if not t["ok"])
        lines = "".join(
            f"<li>{count} &times; {escape(why)}</li>"
            for why, count in sorted(whys.items(), key=lambda w: (-w[1], w[0]))
        )
        rows.append(
            f'<tr><th scope="row">{escape(test["name"])}</th>'
            f'<td class="right">{sum(t["ok"] for t in found)} of {len(there)}</td>'
            f"<td><ul>{lines}</ul></td></tr>\n"
        )
    return table(["test", "passed", "reasons"], rows)


def kind_of(test: dict[str, Any]) -> str:
    """Returns the part of a reason that is the same for the same mistake: without the
    step, whose numbers differ, and a race's seed."""
    first = test["why"].splitlines()[0] if test["why"] else "not judged"
    return re.sub(r" \(races \d+\)$", "", first.rpartition("`: ")[2])


def reasons(i: int, facts: Facts) -> str:
    good = all(test["ok"] for test in facts["tests"])
    if good and not facts["why"] and not facts["stores"] and not facts["late"]:
        return ""
    parts = [f'<section id="s{i}">\n<h3>{escape(facts["submission"])}</h3>\n']
    if facts["roster"]:
        parts.append(f"<p>seed {escape(facts['seed'])}</p>\n")
    if facts["why"]:
        parts.append(
            f"<p>{escape(facts['ended'])}</p>\n" f"<pre>{escape(facts['why'])}</pre>\n"
        )
    if facts["gate"]:
        parts.append(f"<p>{escape(facts['gate'])}</p>\n")
    if facts["late"]:
        parts.append(f"<p>{escape(lateness(facts))}</p>\n")
    parts += [f"<p>{escape(line)}</p>\n" for line in strays(facts)]
    for test in facts["tests"]:
        if not test["ok"] and test["why"]:
            why = "\n".join(filter(None, [test["why"], again(facts, test)]))
            parts.append(f"<p>{escape(test['name'])}</p>\n<pre>{escape(why)}</pre>\n")
    parts.append("</section>\n")
    return "".join(parts)

"""scripts/tally-diff: see tally-diff(1)."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Optional
from xml.sax.saxutils import quoteattr

from tally.base.cli import Parser, amount, complain, number, put, script
from tally.base.errors import ConvertError
from tally.base.table import Table
from tally.commands.naming import add_no_demangle
from tally.formats.demangle import original
from tally.profile import compare, read_pprof, write_diff
from tally.profile.compare import Change, Comparison, What
from tally.profile.compare_lines import Lines
from tally.profile.read_pprof import Place, Stack

ME = "tally-diff"
STATUS_GREW, STATUS_ERROR = 1, 2
ROWS = 12  # of a table
SHOWN = 4  # callers of a path, the innermost


@dataclasses.dataclass(frozen=True)
class Options:
    """All that was asked of scripts/tally-diff."""

    fail: Optional[float]
    only: Optional[str]
    sources: Optional[tuple[str, str]]
    n: int
    json: Optional[str]
    junit: Optional[str]
    svg: Optional[str]
    no_demangle: bool
    base: str
    new: str


def parse(words: list[str]) -> Options:
    p = Parser(ME)
    p.add_argument(
        "--fail",
        type=amount,
        metavar="PERCENT",
        help="exit with status 1 if NEW is more than PERCENT above BASE",
    )
    p.add_argument(
        "--only",
        metavar="FUNCTION",
        help="compare only FUNCTION and what it calls",
    )
    p.add_argument(
        "--sources",
        nargs=2,
        metavar=("FOLDER", "FOLDER"),
        help="also compare lines; the folders hold the sources of BASE and NEW",
    )
    p.add_argument(
        "-n",
        type=number(0, 10**9),
        default=ROWS,
        metavar="COUNT",
        help=f"show at most COUNT rows of each table ({ROWS})",
    )
    p.add_argument("--json", metavar="FILE", help="write the comparison as JSON")
    p.add_argument(
        "--junit", metavar="FILE", help="write the verdict of --fail as JUnit XML"
    )
    p.add_argument(
        "-o", dest="svg", metavar="FILE.svg", help="write a differential flame graph"
    )
    add_no_demangle(p)
    p.add_argument("base", metavar="BASE", help="a recording (.pb.gz)")
    p.add_argument("new", metavar="NEW", help="a later recording")
    return Options(**vars(p.parse(words)))


def read(file: str, demangle: bool) -> read_pprof.Recording:
    try:
        with open(file, "rb") as data:  # which may have no end
            recording = read_pprof.read(file, data.read(read_pprof.LIMIT + 1), demangle)
    except OSError as error:
        raise ConvertError(file, error.strerror or str(error)) from error
    if not recording.total:
        raise ConvertError(file, f"no {recording.unit} besides idle ones")
    return recording


def meant(place: Place, wanted: str) -> Optional[str]:
    """Returns the name, with the program's, of the wanted function if the place is in
    it or in a clone of it."""
    for p in (place, place._replace(function=original(place.function))):
        if wanted in (p.name, p.function):
            return p.name
    return None


def only(comparison: Comparison, function: str) -> Change:
    """Returns the change of one function with what it calls."""
    every = {
        place
        for recording in (comparison.base, comparison.new)
        for stack in recording.stacks
        for place in stack.places
    }
    found = sorted(set(filter(None, (meant(place, function) for place in every))))
    if not found:
        raise ConvertError(function, "no such function in either recording")
    if len(found) > 1:
        raise ConvertError(function, f"this name may mean {' or '.join(found)}")

    def within(stack: Stack) -> set[What]:
        return {found[0] for place in stack.places if meant(place, function)}

    return comparison.change(within, found[0])


# --- The page -----------------------------------------------------------------


def growth(change: Change) -> str:
    if not change.base:
        return "new" if change.new else "-"
    return f"{change.percent:+.2f} %" if change.new else "gone"


def columns(title: str) -> Table:
    return Table(
        ("before", ">15,.0f"),
        ("now", ">15,.0f"),
        ("change", ">10"),
        ("of all", ">10"),
        (title, ""),
    )


def row(change: Change, whole: float, what: str) -> str:
    share = 100 * change.difference / whole if whole else 0.0
    sizes = change.base, change.new, growth(change), f"{share:+.3f} %"
    return columns("").row(*sizes, what)


def path_text(change: Change) -> str:
    names = list(change.what)
    cut = "...; " if len(names) > SHOWN else ""
    return cut + "; ".join(names[-SHOWN:])


def table(title: str, changes: list[Change], whole: float, rows: int) -> list[str]:
    moved = [c for c in changes if c.sure]
    if not moved:
        return []
    lines = ["", columns(title).head()]
    for change in moved[:rows]:
        text = change.what if isinstance(change.what, str) else path_text(change)
        lines.append(row(change, whole, text))
    if len(moved) > rows:
        lines.append(f"and {len(moved) - rows} more (a larger -n shows them)")
    return lines


def page(
    comparison: Comparison, subject: Change, by_line: list[Change], rows: int
) -> str:
    base, new = comparison.base, comparison.new
    whole = base.total * comparison.scale
    lines = [
        f"{base.file} -> {new.file}, in {new.unit}",
        row(subject, whole, str(subject.what))
        + ("" if subject.sure or not subject.difference else "  (may be chance)"),
    ]
    own = comparison.changes(compare.function)
    lines += table("function, itself", own, whole, rows)
    lines += table(
        "function, with what it calls",
        comparison.changes(compare.functions),
        whole,
        rows,
    )
    lines += table("line", by_line, whole, rows)
    lines += table("call path", comparison.changes(compare.path), whole, rows)
    if not comparison.exact:
        unsure = sum(1 for c in own if c.difference and not c.sure)
        lines += [
            "",
            f"{unsure} of {len(own)} functions changed, but perhaps by chance, and are"
            f" not shown (significance level for all together: {compare.SURE:.0%})",
        ]
    return "\n".join(lines) + "\n"


# --- For programs -------------------------------------------------------------


def failed(subject: Change, limit: Optional[float]) -> bool:
    return limit is not None and subject.percent > limit and subject.sure


def as_json(
    comparison: Comparison, subject: Change, by_line: list[Change], bad: bool
) -> str:
    def plain(change: Change) -> dict[str, object]:
        return {
            "what": change.what,
            "base": change.base,
            "new": change.new,
            "chance": change.chance,
        }

    return (
        json.dumps(
            {
                "unit": comparison.new.unit,
                "base": comparison.base.file,
                "new": comparison.new.file,
                "subject": plain(subject),
                "failed": bad,
                "functions": [plain(c) for c in comparison.changes(compare.function)],
                "with_callees": [
                    plain(c) for c in comparison.changes(compare.functions)
                ],
                "lines": [plain(c) for c in by_line],
                "paths": [plain(c) for c in comparison.changes(compare.path)],
            },
            indent=1,
        )
        + "\n"
    )


def as_junit(subject: Change, limit: Optional[float], bad: bool) -> str:
    what = "the total" if subject.what == "all" else subject.what
    allowed = "no limit" if limit is None else f"at most {limit:g} %"
    name = quoteattr(f"growth of {what}: {allowed}")
    text = f"{subject.base:,.0f} -> {subject.new:,.0f}, {growth(subject)}"
    fail = f"<failure message={quoteattr(text)}/>" if bad else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="{ME}" tests="1" failures="{int(bad)}">'
        f'<testcase classname="{ME}" name={name}>{fail}'
        f"<system-out>{text}</system-out></testcase></testsuite>\n"
    )


def run(options: Options) -> int:
    demangle = not options.no_demangle
    comparison = Comparison(read(options.base, demangle), read(options.new, demangle))
    subject = comparison.change(compare.whole, "all")
    if options.only is not None:
        subject = only(comparison, options.only)
    by_line = Lines(*options.sources).changes(comparison) if options.sources else []
    bad = failed(subject, options.fail)
    if options.json is not None:
        put(options.json, as_json(comparison, subject, by_line, bad).encode())
    if options.junit is not None:
        put(options.junit, as_junit(subject, options.fail, bad).encode())
    if options.svg is not None:
        title = f"{options.base} -> {options.new}"
        put(options.svg, write_diff.write(comparison, title))
    sys.stdout.write(page(comparison, subject, by_line, options.n))
    sys.stdout.flush()
    if bad:
        limit = f"the limit of {options.fail:g} %"
        text = f"{subject.what}: {growth(subject)}, more than {limit}"
        complain(text, ME)
    return STATUS_GREW if bad else 0


def main() -> int:
    return run(parse(sys.argv[1:]))


def entry() -> int:
    return script(ME, main, ConvertError, status=STATUS_ERROR)

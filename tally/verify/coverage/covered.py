"""Reports which lines and functions of the sources boots reached: as text, as a page,
and for lcov."""

from __future__ import annotations

import collections
import dataclasses
import html
from typing import Iterable, Iterator

from tally.base.table import Table
from tally.formats.demangle import original
from tally.verify.coverage.record import Boots

FOLDERS = ("boot/", "kernel/", "lib/")
SHOWN = 12  # files in the summary: those with the most lines unreached

PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Coverage</title>
<style>
body {{ font-family: sans-serif; margin: 2em; }}
td, th {{ padding: 0 1em 0 0; text-align: right; }}
td:first-child, th:first-child {{ text-align: left; }}
</style></head><body>
<h1>What the tests reach of the kernel</h1>
<p>{boots}</p>
<table>
<tr><th>file</th><th colspan="2">lines</th><th colspan="2">functions</th></tr>
{table}
</table>
{files}
</body></html>
"""
ROW = (
    "<tr><td>{name}</td><td>{lines}</td><td>{lines:%}</td>"
    "<td>{functions}</td><td>{functions:%}</td></tr>"
)


@dataclasses.dataclass
class Share:
    """A part of a whole. As a format, % means the percentage."""

    reached: int
    all: int

    def __format__(self, how: str) -> str:
        if how == "%":
            return f"{100 * self.reached / self.all:.1f}%" if self.all else ""
        return f"{self.reached}/{self.all}"


def share(times: Iterable[int]) -> Share:
    known = list(times)
    return Share(sum(map(bool, known)), len(known))


@dataclasses.dataclass
class File:
    """A source file: how many boots reached each line with code, and entered each
    function that is not only inlined."""

    name: str
    lines: dict[int, int] = dataclasses.field(default_factory=dict)
    functions: dict[str, int] = dataclasses.field(default_factory=dict)
    begins: dict[str, int] = dataclasses.field(default_factory=dict)  # first lines

    def unreached(self) -> list[int]:
        return sorted(n for n, times in self.lines.items() if not times)

    def never_entered(self) -> list[str]:
        names = (name for name, times in self.functions.items() if not times)
        return sorted(names, key=self.begins.__getitem__)


def files(boots: Boots) -> list[File]:
    """Returns the files in the order of their names."""
    image = boots.image
    entries = {f.start: original(f.name) for f in image.functions}
    found: dict[str, File] = collections.defaultdict(lambda: File(""))
    for address, times in boots.times():
        line = image.line(address)
        if line is None or not line.file.startswith(FOLDERS) or not line.number:
            continue
        file = found[line.file]
        file.name = line.file
        file.lines[line.number] = max(times, file.lines.get(line.number, 0))
        if address in entries:
            name = entries[address]
            file.functions[name] = max(times, file.functions.get(name, 0))
            file.begins[name] = min(line.number, file.begins.get(name, line.number))
    return [found[name] for name in sorted(found)]


def totals(all: list[File]) -> tuple[Share, Share]:
    """Returns the share of lines, and that of functions."""
    return (
        share(times for file in all for times in file.lines.values()),
        share(times for file in all for times in file.functions.values()),
    )


def said_of(boots: Boots) -> str:
    return (
        f"QEMU was started {boots.started} times with this kernel,"
        f" which began to run {boots.reached} times."
    )


# --- For lcov ----------------------------------------------------------------


def lcov(all: list[File], root: str) -> str:
    """Returns the file for lcov, with names below root."""
    return "".join(f"{line}\n" for file in all for line in _lcov_lines(file, root))


def _lcov_lines(file: File, root: str) -> Iterator[str]:
    yield "TN:"
    yield f"SF:{root}/{file.name}"
    for name in sorted(file.functions, key=file.begins.__getitem__):
        yield f"FN:{file.begins[name]},{name}"
        yield f"FNDA:{file.functions[name]},{name}"
    entered, reached = share(file.functions.values()), share(file.lines.values())
    yield f"FNF:{entered.all}"
    yield f"FNH:{entered.reached}"
    for number in sorted(file.lines):
        yield f"DA:{number},{file.lines[number]}"
    yield f"LF:{reached.all}"
    yield f"LH:{reached.reached}"
    yield "end_of_record"


# --- For readers -------------------------------------------------------------


def page(all: list[File], boots: Boots, texts: dict[str, list[str]]) -> str:
    """Returns the page. texts: the sources' lines, by file."""
    rows = [_row("all", *totals(all))]
    for file in all:
        link = f'<a href="#{file.name}">{file.name}</a>'
        rows.append(_row(link if file.unreached() else file.name, *totals([file])))
    sections = (_section(f, texts[f.name]) for f in all if f.unreached())
    return PAGE.format(
        boots=said_of(boots), table="\n".join(rows), files="\n".join(sections)
    )


def _row(name: str, lines: Share, functions: Share) -> str:
    return ROW.format(name=name, lines=lines, functions=functions)


def _section(file: File, text: list[str]) -> str:
    parts = [f'<h2 id="{file.name}">{file.name}</h2>']
    if file.never_entered():
        parts.append(
            f"<p>Functions never entered: {', '.join(file.never_entered())}</p>"
        )
    lines, last = [], 0
    for number in file.unreached():
        if last and number > last + 1:
            lines.append("")
        last = number
        lines.append(f"{number:5}  {html.escape(text[number - 1])}")
    return "\n".join([*parts, "<pre>", *lines, "</pre>"])


def summary(all: list[File], boots: Boots) -> str:
    """Returns a summary of one screen: the files with the most lines unreached."""
    worst = sorted(all, key=lambda file: -len(file.unreached()))[:SHOWN]
    table = Table(("", "<28"), ("lines", ">18"), ("functions", ">18"))
    rows = [said_of(boots), "", table.head()]
    for name, counted in [("all", all), *((file.name, [file]) for file in worst)]:
        cells = (f"{format(s):>11} {format(s, '%'):>6}" for s in totals(counted))
        rows.append(table.row(name, *cells))
    return "\n".join(rows)

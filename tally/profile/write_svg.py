"""Draws a flame graph: one SVG file that needs nothing but a browser.

A frame's width is its share of the samples, and it stands on its caller. Without
scripts it is a still picture; flame.js adds zooming and searching.
"""

from __future__ import annotations

import html
import json
import re
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator, Optional

from tally.base.text import plural
from tally.profile.profile import IDLE, INTERRUPT, KERNEL, USER, Profile
from tally.profile.stacks import PROCESS, Callers, Frame, Stacks, mode_counts

HERE = Path(__file__).parent

WIDTH, MARGIN = 1200, 10  # pixels
HEAD, FOOT = 100, 34  # above the frames, and below
ROW = 18
LETTER = 7.3  # the width of a letter of 12 pixels in a monospaced typeface
TITLE_LETTER = 10.5
SUBTITLE_LETTER = 7.0

# Hue, saturation and lightness; names vary the last.
COLOURS = {
    PROCESS: (45, 25, 84),
    USER: (140, 42, 70),
    KERNEL: (30, 88, 70),
    INTERRUPT: (350, 72, 74),
    IDLE: (212, 25, 80),
}
LEGEND = {USER: "user", KERNEL: "kernel", INTERRUPT: "interrupt", IDLE: "idle"}
# Characters that XML 1.0 forbids, even escaped.
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Node:
    """A frame, with all stacks that contain it at this place."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.count = 0
        self.children: dict[tuple[str, str], Node] = {}

    def add(self, frames: list[Frame], count: int) -> None:
        node = self
        node.count += count
        for frame in frames:
            key = frame.name, frame.kind
            if key not in node.children:
                node.children[key] = Node(frame.name, frame.kind)
            node = node.children[key]
            node.count += count

    def walk(self, start: int = 0, depth: int = 0) -> Iterator[tuple["Node", int, int]]:
        """Yields each node with its first sample and its depth, callers first."""
        pending = [(self, start, depth)]
        while pending:
            node, start, depth = pending.pop()
            yield node, start, depth
            inner = []
            for key in sorted(node.children):
                inner.append((node.children[key], start, depth + 1))
                start += node.children[key].count
            pending += reversed(inner)


def _clean(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


def clip(name: str, width: float, letter: float = LETTER) -> str:
    """Shortens a name to a width."""
    room = int((width - 6) // letter)
    if len(name) <= room:
        return name
    return "" if room < 4 else name[: room - 2] + ".."


def visible(width: float) -> float:
    """Returns a frame's drawn width: less a gap, but never 0."""
    return max(width - 0.6 if width > 3 else width, 0.3)


def colour(name: str, kind: str) -> str:
    hue, saturation, lightness = COLOURS[kind]
    vary = zlib.crc32(name.encode()) % 9 - 4
    return f"hsl({hue + vary},{saturation}%,{lightness + vary}%)"


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.2f}%" if total else "0%"


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{more}>{html.escape(_clean(text))}</text>'


class Picture:
    """Draws the frames. Subclasses may change their notes and colours."""

    def __init__(self, root: Node, unit: str = "sample") -> None:
        self.root = root
        self.unit = unit
        self.nodes = list(root.walk())
        deepest = max(depth for _, _, depth in self.nodes)
        self.bottom = HEAD + ROW * (deepest + 1)
        self.height = self.bottom + FOOT
        self.width = WIDTH - 2 * MARGIN

    def note(self, node: Node) -> str:
        share = _percent(node.count, self.root.count)
        return f"{plural(node.count, self.unit)}, {share}"

    def fill(self, node: Node) -> str:
        return colour(node.name, node.kind)

    def frame(self, node: Node, start: int, depth: int) -> str:
        scale = self.width / (self.root.count or 1)
        x, width = MARGIN + start * scale, visible(node.count * scale)
        y = self.bottom - ROW * (depth + 1)
        name = _clean(node.name)
        title = f"{name}\n{self.note(node)}"
        return (
            f'<g class="frame {node.kind}" data-start="{start}"'
            f' data-count="{node.count}" data-depth="{depth}"'
            f' data-name="{html.escape(name)}"><title>{html.escape(title)}</title>'
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}"'
            f' rx="2" fill="{self.fill(node)}"/>'
            f"{_text(round(x + 3, 2), y + 13, clip(name, width))}</g>"
        )

    def legend(self, profile: Profile) -> Iterator[str]:
        """Yields the legend: each kind's colour, and the share of its samples."""
        counts = mode_counts(profile)
        x = MARGIN
        yield '<g class="legend">'
        for kind, word in LEGEND.items():
            if not counts[kind] and profile.total:
                continue
            label = f"{word} {_percent(counts[kind], profile.total)}"
            hue, saturation, lightness = COLOURS[kind]
            fill = f"hsl({hue},{saturation}%,{lightness}%)"
            yield f'<rect x="{x}" y="68" width="14" height="14" rx="2" fill="{fill}"/>'
            yield _text(x + 20, 80, label)
            x += 44 + round(SUBTITLE_LETTER * len(label))
        yield "</g>"

    def controls(self) -> Iterator[str]:
        right = WIDTH - MARGIN
        yield f'<foreignObject id="searchbox" x="{right - 210}" y="63" width="210"'
        yield ' height="24"/>'
        yield '<g id="reset" class="button hidden">'
        yield f'<rect x="{right - 320}" y="63" width="100" height="24" rx="3"/>'
        yield _text(right - 270, 79, "Reset zoom", ' text-anchor="middle"') + "</g>"
        y = self.height - 12
        yield '<g class="status">' + _text(MARGIN, y, "", ' id="details"')
        yield _text(right, y, "", ' id="matched" text-anchor="end"') + "</g>"


def _date(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def _when(profile: Profile) -> Optional[str]:
    if profile.begin is None:
        return None
    if profile.end is None or profile.end == profile.begin:
        return f"{_date(profile.begin)} UTC"
    return f"{_date(profile.begin)} to {_date(profile.end)[11:]} UTC"


def subtitle(profile: Profile) -> str:
    """Returns source, time and warnings in a line, whose end may be cut off."""
    harts = {s.hart for s in profile.samples if s.hart is not None}
    parts = [
        profile.source,
        plural(len(harts), "hart") if harts else None,
        plural(profile.total, profile.unit)
        + ("" if profile.exact else f" at {profile.rate} Hz"),
        _when(profile),
        *profile.cautions(),
        *profile.notes,
    ]
    return " \u00b7 ".join(part for part in parts if part)


def draw(picture: Picture, title: str, about: str, legend: Iterable[str]) -> bytes:
    """Returns the whole file."""
    view = {
        "left": MARGIN,
        "width": picture.width,
        "letter": LETTER,
        "unit": picture.unit,
    }
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}"'
        f' height="{picture.height}" viewBox="0 0 {WIDTH} {picture.height}">',
        f"<title>{html.escape(_clean(title))}</title>",
        f"<style>{(HERE / 'flame.css').read_text()}</style>",
        f'<metadata id="view">{json.dumps(view)}</metadata>',
        _text(MARGIN, 28, clip(title, picture.width, TITLE_LETTER), ' class="title"'),
        f"<g><title>{html.escape(_clean(about))}</title>",
        _text(
            MARGIN, 50, clip(about, picture.width, SUBTITLE_LETTER), ' class="subtitle"'
        ),
        "</g>",
        *legend,
        *picture.controls(),
        '<g id="frames">',
        *(picture.frame(*place) for place in picture.nodes),
        "</g>",
        f"<script>//<![CDATA[\n{(HERE / 'flame.js').read_text()}//]]></script>",
        "</svg>\n",
    ]
    return "\n".join(lines).encode()


def write(stacks: Stacks, title: str) -> bytes:
    profile = stacks.profile
    root = Node("all", PROCESS)
    alike: Counter[tuple[Callers, str, str]] = Counter()
    for sample in profile.samples:
        callers, own = stacks.split(sample)
        alike[callers, own.name, own.kind] += sample.count
    for (callers, name, kind), count in alike.items():
        root.add([*callers.frames, Frame(name, kind)], count)
    picture = Picture(root, profile.unit)
    return draw(picture, title, subtitle(profile), picture.legend(profile))

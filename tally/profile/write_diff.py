"""Draws a differential flame graph: frames as wide as in the new recording, red where
they grew, blue where they shrank. Functions only in the old recording have no frame."""

from __future__ import annotations

from typing import Iterator

from tally.profile.compare import Comparison
from tally.profile.profile import KERNEL, USER
from tally.profile.read_pprof import KERNEL_PROGRAM, Recording
from tally.profile.stacks import PROCESS, Frame
from tally.profile.write_svg import MARGIN, Node, Picture, draw

GREW, SHRANK, SAME = 4, 215, 210  # hues
DEEP = 0.05  # the share of all whose change gets the deepest colour


def tree(recording: Recording) -> Node:
    root = Node("all", PROCESS)
    for stack in recording.stacks:
        frames = [
            Frame(p.name, KERNEL if p.program == KERNEL_PROGRAM else USER)
            for p in reversed(stack.places)
        ]
        root.add(frames, stack.count)
    return root


class _Difference(Picture):
    def __init__(self, comparison: Comparison) -> None:
        super().__init__(tree(comparison.new), comparison.new.unit.rstrip("s"))
        self.scale = comparison.scale
        self.base: dict[int, float] = {}  # by the node's id
        self._match(self.root, tree(comparison.base))

    def _match(self, node: Node, base: Node | None) -> None:
        pending = [(node, base)]
        while pending:
            node, base = pending.pop()
            self.base[id(node)] = base.count * self.scale if base else 0
            for key, child in node.children.items():
                pending.append((child, base.children.get(key) if base else None))

    def note(self, node: Node) -> str:
        base = self.base[id(node)]
        change = f"{100 * (node.count - base) / base:+.2f} %" if base else "new"
        return f"{super().note(node)}; before {base:,.0f}, {change}"

    def fill(self, node: Node) -> str:
        change = (node.count - self.base[id(node)]) / (self.root.count or 1)
        if not change:
            return f"hsl({SAME},10%,88%)"
        depth = min(1.0, abs(change) / DEEP)
        hue = GREW if change > 0 else SHRANK
        return f"hsl({hue},{40 + 40 * depth:.0f}%,{90 - 28 * depth:.0f}%)"

    def colours(self) -> Iterator[str]:
        """Yields the legend."""
        yield '<g class="legend">'
        x = MARGIN
        for hue, word in ((GREW, "more than before"), (SHRANK, "less")):
            yield (
                f'<rect x="{x}" y="68" width="14" height="14" rx="2"'
                f' fill="hsl({hue},80%,62%)"/>'
            )
            yield f'<text x="{x + 20}" y="80">{word}</text>'
            x += 50 + 7 * len(word)
        yield "</g>"


def write(comparison: Comparison, title: str) -> bytes:
    picture = _Difference(comparison)
    about = (
        f"{comparison.new.total:,} {comparison.new.unit}; before"
        f" {comparison.base.total * comparison.scale:,.0f}"
    )
    return draw(picture, title, about, picture.colours())

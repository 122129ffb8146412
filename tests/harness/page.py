"""What a page of tally-convert's holds, read back."""

from __future__ import annotations

import array
import base64
import json
import re
from typing import Iterator, Optional

CODES = {"Uint8Array": "B", "Uint16Array": "H", "Uint32Array": "I",
         "Float64Array": "d"}
DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.S)


def unpack(packed: dict) -> list[int]:
    data = base64.b64decode(packed["data"])
    return list(map(int, array.array(CODES[packed["type"]], data)))


class Page:
    def __init__(self, html: bytes) -> None:
        self.html = html.decode()
        self.data = json.loads(DATA.search(self.html)[1])
        self.places = [place[0] for place in self.data["places"]]
        self.modes = [self.data["kinds"][place[1]] for place in self.data["places"]]
        self.parents, self.frames, self.own = (
            unpack(self.data[key]) for key in ("parents", "frames", "own"))
        samples = self.data["samples"]
        self.bins, self.width = samples["bins"], samples["width"]
        self.starts, self.node, self.who, self.count = (
            unpack(samples[key]) for key in ("starts", "node", "who", "count"))

    def path(self, node: int) -> tuple[str, ...]:
        """Names from the outermost frame on, without the root's."""
        names: list[str] = []
        while node:
            names.insert(0, self.places[self.frames[node]])
            node = self.parents[node]
        return tuple(names)

    def stacks(self) -> dict[tuple[str, ...], int]:
        return {self.path(n): count for n, count in enumerate(self.own) if count}

    def chosen(
        self, span: Optional[tuple[int, int]] = None, hart: Optional[int] = None
    ) -> Iterator[tuple[int, int]]:
        """Nodes where samples of these bins and this hart end, and how many."""
        low, high = (self.starts[i] for i in span) if span else (0, len(self.node))
        for i in range(low, high):
            if hart is None or self.data["whos"][self.who[i]][0] == hart:
                yield self.node[i], self.count[i]

    def total(self, span: Optional[tuple[int, int]] = None) -> int:
        return sum(count for _, count in self.chosen(span))

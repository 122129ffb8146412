"""Writes speedscope's JSON: a profile for each hart, in the order of time."""

from __future__ import annotations

import json
from collections import Counter
from typing import Optional, Union

from tally.formats.executable import Function, Image
from tally.profile.profile import Sample
from tally.profile.stacks import Callers, Frame, Stacks

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _Frames:
    """The frames of all profiles, each once."""

    def __init__(self) -> None:
        self.list: list[dict[str, Union[str, int]]] = []
        self._index: dict[
            tuple[str, str, Optional[Image], Optional[Function]], int
        ] = {}
        self._callers: dict[Callers, tuple[int, ...]] = {}

    def index(self, frame: Frame) -> int:
        """Returns a frame's index; all addresses of a function share one."""
        key = frame.name, frame.kind, frame.image, frame.function
        if key not in self._index:
            self._index[key] = len(self.list)
            entry: dict[str, Union[str, int]] = {"name": frame.name}
            if line := frame.start:
                entry.update(file=line.file)
                if line.number:
                    entry.update(line=line.number)
            self.list.append(entry)
        return self._index[key]

    def callers(self, callers: Callers) -> tuple[int, ...]:
        if callers not in self._callers:
            self._callers[callers] = tuple(map(self.index, callers.frames))
        return self._callers[callers]


def _title(hart: Optional[int]) -> str:
    return "all harts" if hart is None else f"hart {hart}"


def _weighted(
    stacks: Stacks, frames: _Frames, samples: list[Sample]
) -> tuple[list[list[int]], list[int]]:
    """Returns stacks and their weights: nanoseconds, in the order of time; or for each
    different stack its instructions."""
    profile = stacks.profile
    found = []
    for s in samples:
        callers, own = stacks.split(s)
        found.append(((*frames.callers(callers), frames.index(own)), s.count))
    if not profile.exact:
        return [list(f) for f, _ in found], [n * profile.period for _, n in found]
    counts: Counter[tuple[int, ...]] = Counter()
    for stack, n in found:
        counts[stack] += n
    return [list(stack) for stack in counts], list(counts.values())


def write(stacks: Stacks, title: str) -> bytes:
    profile = stacks.profile
    frames = _Frames()
    harts: dict[Optional[int], list[Sample]] = {}
    for s in profile.samples:
        harts.setdefault(s.hart, []).append(s)
    profiles = []
    for hart in sorted(harts or [None], key=lambda h: (h is None, h)):
        samples, weights = _weighted(stacks, frames, harts.get(hart, []))
        profiles.append(
            {
                "type": "sampled",
                "name": _title(hart) + (", instructions" if profile.exact else ""),
                "unit": "none" if profile.exact else "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    file = {
        "$schema": SCHEMA,
        "exporter": "tally-convert",
        "name": "; ".join([title, *profile.remarks()]),
        "activeProfileIndex": 0,
        "shared": {"frames": frames.list},
        "profiles": profiles,
    }
    return (json.dumps(file, indent=1) + "\n").encode()

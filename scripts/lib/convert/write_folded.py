"""Folded stacks: a line for each, its frames from the outermost, a count."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Iterable

from .stacks import Frame, Stacks


@functools.lru_cache(1 << 16)
def _clean(name: str) -> str:
    """What separates frames and lines can't be in a name."""
    return " ".join(name.replace(";", ",").split())


def fold(frames: Iterable[Frame]) -> str:
    return ";".join([_clean(frame.name) for frame in frames])


def write(stacks: Stacks) -> bytes:
    counts: Counter = Counter()
    for sample in stacks.profile.samples:
        counts[fold(stacks.frames(sample))] += sample.count
    lines = (f"{stack} {count}\n" for stack, count in counts.items())
    return "".join(sorted(lines)).encode()

"""Folded stacks: a line for each, its frames from the outermost, a count."""

from __future__ import annotations

from collections import Counter
from typing import Iterable

from .stacks import Frame, Stacks


def fold(frames: Iterable[Frame]) -> str:
    """What separates frames and lines can't be in a name."""
    return ";".join(" ".join(f.name.replace(";", ",").split()) for f in frames)


def write(stacks: Stacks) -> bytes:
    counts: Counter = Counter()
    for sample in stacks.profile.samples:
        counts[fold(stacks.frames(sample))] += sample.count
    lines = (f"{stack} {count}\n" for stack, count in counts.items())
    return "".join(sorted(lines)).encode()

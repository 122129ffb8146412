"""Writes folded stacks: lines with a stack's frames, outermost first, and a count."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Iterable

from tally.profile.stacks import Callers, Stacks


@functools.lru_cache(1 << 16)
def _clean(name: str) -> str:
    """Replaces characters that separate frames and lines."""
    return " ".join(name.replace(";", ",").split())


def fold(names: Iterable[str]) -> str:
    return ";".join(map(_clean, names))


def write(stacks: Stacks) -> bytes:
    alike: Counter[tuple[Callers, str]] = Counter()
    for sample in stacks.profile.samples:
        callers, own = stacks.split(sample)
        alike[callers, own.name] += sample.count
    counts: Counter[str] = Counter()
    for (callers, name), count in alike.items():
        counts[fold([*(frame.name for frame in callers.frames), name])] += count
    lines = (f"{stack} {count}\n" for stack, count in counts.items())
    return "".join(sorted(lines)).encode()

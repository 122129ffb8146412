"""GNU's gmon.out: a histogram of one executable, for gprof."""

from __future__ import annotations

import struct
from typing import Optional

from .profile import IDLE, USER, Profile, Sample, is_kernel, plural
from .stacks import Stacks

BIN_LIMIT = 0xFFFF  # samples; what is over comes in a further record
COUNT_LIMIT = 0xFFFFFFFF  # calls
UNIT = b"seconds".ljust(15, b"\0")


def _belongs(s: Sample, of: object) -> bool:
    """of: "kernel", a pid, or None for user code of no known process."""
    if s.pc is None or (s.mode != USER) != (of == "kernel"):
        return False
    return of == "kernel" or s.pid == of


def choose(stacks: Stacks, wanted: Optional[str]) -> object:
    """What the histogram is of: the kernel, or a process by pid or name."""
    samples = stacks.profile.samples
    if wanted is None:
        plain = [s for s in samples if s.pc is not None and s.pid is None]
        return None if plain and not is_kernel(plain[0].pc or 0) else "kernel"
    if wanted == "kernel":
        return "kernel"
    pids = sorted({s.pid for s in samples if s.pid})
    for pid in pids:
        if wanted == str(pid):
            return pid
    named = [p for p in pids if (i := stacks.image(p)) and i.name == wanted]
    if len(named) == 1:
        return named[0]
    raise LookupError("no such process" if not named else "several processes")


def _range(stacks: Stacks, of: object, pcs: list[int]) -> tuple[int, int]:
    """What the histogram spans: what was counted, or the whole text."""
    profile = stacks.profile
    low, high = min(pcs, default=0) & ~1, max(pcs, default=0) + 1
    if profile.text:
        low, high = profile.text
    elif of == "kernel":
        low, high = stacks.kernel().text
    elif (image := stacks.image(of)) is not None:
        low, high = image.text
    width = profile.width
    return low, low + max(1, -(-(high - low) // width)) * width


def write(stacks: Stacks, wanted: Optional[str]) -> tuple[bytes, list[str]]:
    """The file, and what it lacks."""
    profile = stacks.profile
    of = choose(stacks, wanted)
    mine = [s for s in profile.samples if _belongs(s, of)]
    low, high = _range(stacks, of, [s.pc for s in mine])
    bins = [0] * ((high - low) // profile.width)
    inside = 0
    for s in mine:
        if low <= s.pc < high:
            bins[(s.pc - low) // profile.width] += s.count
            inside += s.count
    out = struct.pack("<4sI12x", b"gmon", 1)
    out += _histograms(profile, low, high, bins)
    out += _arcs(stacks, low)
    return out, _remarks(profile, inside)


def _arcs(stacks: Stacks, low: int) -> bytes:
    """Calls. gprof drops those from nowhere, so if the caller isn't known the
    first function stands for it."""
    image = stacks.image(None)
    first = image.functions[0].start if image else low
    return b"".join(
        struct.pack("<BQQI", 1, start or first, target, min(count, COUNT_LIMIT))
        for start, target, count in stacks.profile.calls
    )


def _histograms(profile: Profile, low: int, high: int, bins: list[int]) -> bytes:
    """Records over one range are added up."""
    head = struct.pack("<BQQII15sc", 0, low, high, len(bins), profile.rate, UNIT, b"s")
    out = bytearray()
    while True:
        part = [min(count, BIN_LIMIT) for count in bins]
        out += head + struct.pack(f"<{len(part)}H", *part)
        bins = [count - taken for count, taken in zip(bins, part)]
        if not any(bins):
            return bytes(out)


def _remarks(profile: Profile, inside: int) -> list[str]:
    idle = sum(s.count for s in profile.samples if s.mode == IDLE and s.pc is None)
    left = profile.total - inside
    if not left:
        return []
    text = f"{plural(left, 'sample')} of other code not in the histogram"
    return [f"{text}, {idle:,} of them idle" if idle else text]

"""Writes GNU's gmon.out: a histogram of one executable, for gprof."""

from __future__ import annotations

import struct
from typing import Iterator, Literal, Optional, Union

from tally.base.text import plural
from tally.profile.profile import IDLE, USER, Profile, Sample, Unfit, is_kernel
from tally.profile.stacks import Stacks

BIN_LIMIT = 0xFFFF  # samples in a bin; the rest is in further records
RECORD_LIMIT = 1 << 20  # further records at most
RANGE_LIMIT = 1 << 22  # bins
ADDRESS_LIMIT = 1 << 64
COUNT_LIMIT = 0xFFFFFFFF  # calls
UNIT = b"seconds".ljust(15, b"\0")


#: The code of a histogram: the kernel, a pid, or None: user code of unknown processes.
Of = Union[Literal["kernel"], int, None]


def _belongs(s: Sample, of: Of) -> bool:
    return s.mode != USER if of == "kernel" else s.mode == USER and s.pid == of


def choose(stacks: Stacks, wanted: Optional[str]) -> Of:
    """Chooses the kernel, or a process by pid or name."""
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
    why = "no such process" if not named else "several processes"
    raise Unfit(f"--of {wanted}: {why}")


def _range(stacks: Stacks, of: Of, pcs: list[int]) -> tuple[int, int]:
    """Returns the histogram's range: that of the counters, or the whole text."""
    profile = stacks.profile
    low, high = min(pcs, default=0) & ~1, max(pcs, default=0) + 1
    if profile.text:
        low, high = profile.text
    elif of == "kernel":
        low, high = stacks.kernel().text
    elif (image := stacks.image(of)) is not None:
        low, high = image.text
    width = profile.width
    bins = max(1, -(-(high - low) // width))
    if bins > RANGE_LIMIT or low + bins * width >= ADDRESS_LIMIT:
        raise Unfit(f"a gmon.out can't have a range from {low:#x} to {high:#x}")
    return low, low + bins * width


def write(stacks: Stacks, wanted: Optional[str]) -> tuple[bytes, list[str]]:
    """Returns the file, and remarks about samples that it lacks."""
    profile = stacks.profile
    of = choose(stacks, wanted)
    mine = [
        (s.pc, s.count) for s in profile.samples if s.pc is not None and _belongs(s, of)
    ]
    low, high = _range(stacks, of, [pc for pc, _ in mine])
    image = None if of == "kernel" else stacks.image(of)
    base = image.base if image else 0  # gprof knows the file's own addresses
    bins = [0] * ((high - low) // profile.width)
    inside = 0
    for pc, count in mine:
        if low <= pc < high:
            bins[(pc - low) // profile.width] += count
            inside += count
    out = struct.pack("<4sI12x", b"gmon", 1)
    out += _histograms(profile, low - base, bins)
    out += _arcs(stacks, low, base)
    return out, _remarks(profile, inside)


def _arcs(stacks: Stacks, low: int, base: int) -> bytes:
    """Returns the records of calls. gprof drops calls without a caller, so the first
    function stands for unknown callers."""
    image = stacks.image(None)
    first = image.functions[0].start if image else low
    return b"".join(
        struct.pack(
            "<BQQI", 1, (start or first) - base, target - base, min(count, COUNT_LIMIT)
        )
        for start, target, count in stacks.profile.calls
    )


def _pieces(bins: list[int]) -> Iterator[tuple[int, int]]:
    """Yields the ranges of bins for records. A bin with more than BIN_LIMIT is alone,
    so that its further records are short."""
    start = 0
    for i, count in enumerate(bins):
        if count > BIN_LIMIT:
            if start < i:
                yield start, i
            yield i, i + 1
            start = i + 1
    if start < len(bins):
        yield start, len(bins)


def _histograms(profile: Profile, low: int, bins: list[int]) -> bytes:
    """Returns the records of the histogram. gprof adds up records of one range."""
    records = sum(count // BIN_LIMIT for count in bins)
    if records > RECORD_LIMIT:
        raise Unfit(f"too large for a gmon.out: its counts fill {records:,} records")
    out = bytearray()
    for first, last in _pieces(bins):
        head = struct.pack(
            "<BQQII15sc",
            0,
            low + first * profile.width,
            low + last * profile.width,
            last - first,
            profile.rate,
            UNIT,
            b"s",
        )
        part = [min(count, BIN_LIMIT) for count in bins[first:last]]
        out += head + struct.pack(f"<{len(part)}H", *part)
        full, rest = divmod(max(bins[first] - BIN_LIMIT, 0), BIN_LIMIT)
        out += (head + struct.pack("<H", BIN_LIMIT)) * full
        if rest:
            out += head + struct.pack("<H", rest)
    return bytes(out)


def _remarks(profile: Profile, inside: int) -> list[str]:
    idle = sum(s.count for s in profile.samples if s.mode == IDLE and s.pc is None)
    left = profile.total - inside
    if not left:
        return []
    text = f"the histogram omits {plural(left, 'sample')} of other code"
    return [f"{text}, {idle:,} of them idle" if idle else text]

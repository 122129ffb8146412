"""Reads histograms: mon.out of programs that use profil, and GNU's gmon.out."""

from __future__ import annotations

import struct
from typing import Any, Callable, Optional

from tally.base.errors import ConvertError
from tally.formats.executable import Image
from tally.profile.profile import HZ_MAX, KERNEL, USER, Profile, Sample, is_kernel

# Returns the executable that contains an address, if it was named.
Finder = Callable[[int], Optional[Image]]


def _add_bins(
    profile: Profile, low: int, high: int, bins: tuple[int, ...], find: Finder
) -> None:
    """Adds a histogram whose bins divide [low, high) evenly."""
    image = find(low) if any(bins) else None
    mode = KERNEL if is_kernel(low) else USER
    for i, count in enumerate(bins):
        if count:
            start = low + i * (high - low) // len(bins)
            end = low + (i + 1) * (high - low) // len(bins)
            pc = image.charged(start, max(end, start + 1)) if image else start
            profile.samples.append(Sample(mode, count, pc))


def _width(low: int, high: int, bins: int) -> int:
    """Returns the bytes of each bin; 2, the least, if bins differ."""
    even = bins and (high - low) % bins == 0 and (high - low) // bins % 2 == 0
    return (high - low) // bins if even else 2


# --- mon.out: { low, high, cells }, the cells { pc, calls }, 16-bit counters ---


def looks_like_mon(data: bytes) -> bool:
    if len(data) < 24:
        return False
    low, high, cells = struct.unpack_from("<3Q", data)
    same = is_kernel(low) == is_kernel(high - 1)
    return low < high and same and 24 + 16 * cells <= len(data)


def read_mon(file: str, data: bytes, find: Finder) -> Profile:
    if len(data) < 24:
        raise ConvertError(file, "truncated: the header is incomplete")
    low, high, cells = struct.unpack_from("<3Q", data)
    if low >= high:
        raise ConvertError(file, f"not a mon.out: {low:#x} is not below {high:#x}")
    at = 24 + 16 * cells
    if len(data) < at:
        raise ConvertError(file, f"truncated: too short for its {cells} call counts")
    if (len(data) - at) % 2:
        raise ConvertError(file, "truncated: it ends within a counter")
    bins = struct.unpack_from(f"<{(len(data) - at) // 2}H", data, at)
    profile = Profile("mon.out", text=(low, high), width=_width(low, high, len(bins)))
    for i in range(cells):
        pc, calls = struct.unpack_from("<2Q", data, 24 + 16 * i)
        if pc and calls:
            profile.calls.append((0, pc, calls))
    _add_bins(profile, low, high, bins, find)
    return profile


# --- gmon.out: records with a tag each -----------------------------------------

GMON_MAGIC = b"gmon"
GMON_HEADER = 20
TAG_HISTOGRAM, TAG_ARC, TAG_BLOCKS = range(3)


class _Cut(Exception):
    pass


class _Gmon:
    """Reads one field after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = GMON_HEADER

    def take(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize(form)
        if self.at + size > len(self.data):
            raise _Cut
        self.at += size
        return struct.unpack_from(form, self.data, self.at - size)

    def histogram(self, file: str, profile: Profile, find: Finder) -> None:
        low, high, count, rate, _unit, letter = self.take("<QQII15sc")
        if low >= high or not count or not 0 < rate <= HZ_MAX or letter != b"s":
            raise ConvertError(
                file, "not a gmon.out: a histogram's range, size or rate is invalid"
            )
        bins = self.take(f"<{count}H")
        profile.hz = rate
        profile.width = _width(low, high, count)
        before = profile.text or (low, high)
        profile.text = min(low, before[0]), max(high, before[1])
        _add_bins(profile, low, high, bins, find)

    def blocks(self) -> None:
        (count,) = self.take("<I")
        self.take(f"<{2 * count}Q")


def read_gmon(file: str, data: bytes, find: Finder) -> Profile:
    if len(data) < GMON_HEADER:
        raise ConvertError(file, "truncated: the header is incomplete")
    magic, version = struct.unpack_from("<4sI", data)
    if magic != GMON_MAGIC or version != 1:
        raise ConvertError(file, "not a gmon.out of version 1")
    gmon = _Gmon(data)
    profile = Profile("gmon.out")
    try:
        while gmon.at < len(data):
            (tag,) = gmon.take("<B")
            if tag == TAG_HISTOGRAM:
                gmon.histogram(file, profile, find)
            elif tag == TAG_ARC:
                caller, function, count = gmon.take("<QQI")
                profile.calls.append((caller, function, count))
            elif tag == TAG_BLOCKS:
                gmon.blocks()
            else:
                raise ConvertError(file, f"not a gmon.out: unknown record tag {tag}")
    except _Cut:
        raise ConvertError(file, "truncated: its last record is cut off") from None
    return profile

"""Writes pprof's profile.proto, gzipped.

A message is a sequence of fields: number and wire type in one varint, then a
varint, or a length and bytes. Fields that are 0 or empty are left out.
"""

from __future__ import annotations

import functools
import gzip
import os
from typing import Iterable, Optional, Union

from tally.formats.demangle import INLINED
from tally.formats.executable import Image
from tally.profile.profile import NANOSECONDS, USER, Sample, Unfit, is_kernel
from tally.profile.stacks import Callers, Frame, Stacks

VARINT, BYTES = 0, 2  # wire types
MASK = (1 << 64) - 1
PAGE = 4096
LABELS = "hart", "mode", "pid", "command", "level"


@functools.lru_cache(1 << 16)  # most are ids, lengths and small counts
def varint(value: int) -> bytes:
    value &= MASK  # a negative number is its two's complement
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(value) if value else b""


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | BYTES) + varint(len(content)) + content


def packed(field: int, values: Iterable[int]) -> bytes:
    content = b"".join(map(varint, values))
    return message(field, content) if content else b""


class _Builder:
    """The tables that samples refer to; ids count from 1."""

    def __init__(self, stacks: Stacks) -> None:
        self.stacks = stacks
        self.strings: dict[str, int] = {"": 0}
        self.mappings: dict[Image, int] = {}
        self.functions: dict[tuple[object, ...], int] = {}
        self.locations: dict[tuple[str, Optional[Image], Optional[int]], int] = {}
        # Encoded callers and labels, which many samples share.
        self._callers: dict[Callers, bytes] = {}
        self._labels: dict[tuple[Union[int, str, None], ...], bytes] = {}
        self.samples: dict[tuple[bytes, bytes], int] = {}
        self.tables = bytearray()

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def value_type(self, kind: str, unit: str) -> bytes:
        return number(1, self.string(kind)) + number(2, self.string(unit))

    def mapping(self, image: Image) -> int:
        if image not in self.mappings:
            self.mappings[image] = len(self.mappings) + 1
            low, high = image.text
            self.tables += message(
                3,
                b"".join(
                    [
                        number(1, self.mappings[image]),
                        number(2, low // PAGE * PAGE),
                        number(3, -(-high // PAGE) * PAGE),
                        number(5, self.string(_file(image))),
                        number(7, True),  # has functions, so don't look for them
                        number(8, image.has_lines),
                        number(9, image.has_lines),
                    ]
                ),
            )
        return self.mappings[image]

    def function(self, frame: Frame) -> int:
        """A function has the same entry wherever it was inlined, as it has for pprof."""
        entry, line = frame.function, frame.start
        name = frame.name.removesuffix(INLINED) if frame.inlined else frame.name
        key = name, frame.image, entry or line
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            # pprof has both, the demangled name first.
            symbol = entry.symbol if entry else frame.inlined or name
            self.tables += message(
                5,
                b"".join(
                    [
                        number(1, self.functions[key]),
                        number(2, self.string(name)),
                        number(3, self.string(symbol)),
                        number(4, self.string(line.file) if line else 0),
                        number(5, line.number if line else 0),
                    ]
                ),
            )
        return self.functions[key]

    def location(self, frame: Frame) -> int:
        key = frame.name, frame.image, frame.address
        if key not in self.locations:
            self.locations[key] = len(self.locations) + 1
            frames = [frame]
            if frame.inlined and frame.address is not None:
                outer = self.stacks.frame(frame.address, frame.kind, frame.image)
                frames = self.stacks.with_inlined([outer])
            self.tables += message(
                4,
                b"".join(
                    [
                        number(1, self.locations[key]),
                        number(2, self.mapping(frame.image) if frame.image else 0),
                        number(3, frame.address or 0),
                        *(message(4, self.line(f)) for f in reversed(frames)),
                    ]
                ),
            )
        return self.locations[key]

    def line(self, frame: Frame) -> bytes:
        line = frame.line
        return number(1, self.function(frame)) + number(2, line.number if line else 0)

    def callers(self, callers: Callers) -> bytes:
        """Returns the callers' locations, innermost first. Frames of one address share
        the innermost one's location."""
        if callers not in self._callers:
            self._callers[callers] = b"".join(
                varint(self.location(frame))
                for frame in reversed(callers.code)
                if not frame.call
            )
        return self._callers[callers]

    def labels(self, s: Sample) -> bytes:
        """Returns a sample's labels. All are strings, as pprof drops the number 0,
        which may be a hart."""
        texts = s.hart, s.mode, s.pid, self.stacks.command(s), s.level
        if texts not in self._labels:
            self._labels[texts] = b"".join(
                message(
                    3, number(1, self.string(key)) + number(2, self.string(str(text)))
                )
                for key, text in zip(LABELS, texts)
                if text is not None
            )
        return self._labels[texts]

    def add(self, s: Sample) -> None:
        callers, own = self.stacks.split(s)
        ids = varint(self.location(own)) + self.callers(callers)
        key = ids, self.labels(s)
        self.samples[key] = self.samples.get(key, 0) + s.count


def _file(image: Image) -> str:
    """Returns the file that a mapping names: the host's, or only the program's name if
    it was executed under another one than that file's."""
    name = os.path.basename(image.name)
    same = name == image.origin.name or is_kernel(image.text[0])
    return str(image.origin) if same else name


def _duration(stacks: Stacks) -> int:
    """Returns the duration in nanoseconds: the recorded one, or else that of the busiest
    hart's samples."""
    profile = stacks.profile
    if profile.elapsed:
        return profile.elapsed
    if profile.begin is not None and profile.end is not None:
        if profile.end > profile.begin:
            return (profile.end - profile.begin) * NANOSECONDS
    harts: dict[Optional[int], int] = {}
    for s in profile.samples:
        harts[s.hart] = harts.get(s.hart, 0) + s.count
    return max(harts.values(), default=0) * profile.period


def write(stacks: Stacks, title: str) -> bytes:
    profile = stacks.profile
    if profile.total * profile.period > MASK >> 1:
        raise Unfit("its counts are too high for pprof")
    builder = _Builder(stacks)
    out = bytearray()
    each = builder.value_type(profile.unit + "s", "count")
    out += message(1, each)
    if not profile.exact:
        each = builder.value_type("cpu", "nanoseconds")
        out += message(1, each)
    if any(s.pc is not None and s.mode != USER for s in profile.samples):
        builder.mapping(stacks.kernel())  # the first is what pprof names
    for s in profile.samples:
        builder.add(s)
    for (ids, labels), count in builder.samples.items():
        counts = [count] if profile.exact else [count, count * profile.period]
        values = packed(2, counts)
        out += message(2, message(1, ids) + values + labels)
    comments = [builder.string(text) for text in (title, *profile.remarks())]
    out += builder.tables
    out += b"".join(
        message(6, text.encode(errors="replace")) for text in builder.strings
    )
    if not profile.exact:
        out += number(9, (profile.begin or 0) * NANOSECONDS)
        out += number(10, _duration(stacks))
    out += message(11, each) + number(12, profile.period) + packed(13, comments)
    return gzip.compress(bytes(out), mtime=0)

"""Reads pprof's profile.proto, as written by write_pprof: stacks with names, to compare
recordings of different builds."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, NamedTuple, Union

from tally.base.errors import ConvertError
from tally.base.text import clean, in_program
from tally.profile.profile import IDLE, is_kernel

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
FIXED = {FIXED64: 8, FIXED32: 4}
LIMIT = 256 << 20  # bytes of a profile, packed or not
# Unpacking takes time, so its result may be at most TIMES the packed size, or SMALL:
# recursion packs well.
TIMES, SMALL = 50, 16 << 20
FRAMES_MAX = 32 << 20  # of all different stacks
KERNEL_PROGRAM = "kernel"

#: The fields of a Profile that are read, by number.
(TYPES, SAMPLES, MAPPINGS, LOCATIONS, FUNCTIONS, STRINGS) = range(1, 7)
PERIOD = 12
NAME, SYMBOL = 2, 3  # fields of a Function
COUNTED = ("instructions", "samples")  # accepted units, the best first


class Place(NamedTuple):
    """A line in a function; for a caller, that of its call."""

    program: str
    function: str
    file: str
    line: int

    @property
    def name(self) -> str:
        return (
            in_program(self.function, self.program) if self.program else self.function
        )


class Stack(NamedTuple):
    places: tuple[Place, ...]  # innermost first
    # The samples with these places.
    count: int  # type: ignore[assignment]  # a tuple has one


class Recording(NamedTuple):
    file: str
    unit: str  # one of COUNTED
    period: int  # nanoseconds of a sample; for instructions 1
    stacks: list[Stack]  # without idle ones

    @property
    def total(self) -> int:
        return sum(s.count for s in self.stacks)


Message = dict[int, list[Any]]  # numbers or bytes, by field


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number and where it ends."""
    value = data[at]
    if value < 0x80:  # most are short
        return value, at + 1
    value, shift = value & 0x7F, 7
    while True:
        at += 1
        value |= (data[at] & 0x7F) << shift
        shift += 7
        if data[at] < 0x80:
            return value, at + 1


def _message(data: bytes) -> Message:
    found: Message = {}
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        value: Union[int, bytes]
        if kind == VARINT:
            value, at = _varint(data, at)
        else:
            size, at = _varint(data, at) if kind == BYTES else (FIXED[kind], at)
            value = data[at : at + size]
            at += size
            if at > end:
                raise IndexError
        found.setdefault(key >> 3, []).append(value)
    return found


def _one(message: Message, field: int) -> int:
    """Returns a field's number; a missing field is 0."""
    return int(message.get(field, [0])[-1])


def _numbers(values: list[Any]) -> list[int]:
    """Returns the numbers of a repeated field, packed or not."""
    found: list[int] = []
    for value in values:
        if isinstance(value, int):
            found.append(value)
            continue
        number = shift = 0
        for byte in value:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                found.append(number)
                number = shift = 0
    return found


class _Reader:
    def __init__(self, data: bytes, demangle: bool) -> None:
        self.message = _message(data)
        self._name = NAME if demangle else SYMBOL
        self.strings = [text.decode() for text in self.message.get(STRINGS, [])]
        self.functions = self._table(FUNCTIONS)
        self.mappings = self._table(MAPPINGS)
        self.places = {
            id: self._places(found) for id, found in self._table(LOCATIONS).items()
        }
        self._callers: dict[bytes, tuple[int, ...]] = {}
        self._idle: dict[bytes, bool] = {}  # by label, as samples share labels

    def _table(self, field: int) -> dict[int, Message]:
        found = map(_message, self.message.get(field, []))
        return {_one(entry, 1): entry for entry in found}

    def _places(self, location: Message) -> tuple[Place, ...]:
        """Returns the places of a location: several if functions were inlined there."""
        program = ""
        if _one(location, 2):
            path = self.strings[_one(self.mappings[_one(location, 2)], 5)]
            program = clean(path.rpartition("/")[2])
        if is_kernel(_one(location, 3)):
            program = KERNEL_PROGRAM
        return tuple(self._place(program, _message(line)) for line in location[4])

    def _place(self, program: str, line: Message) -> Place:
        function = self.functions[_one(line, 1)]
        return Place(
            program,
            clean(self.strings[_one(function, self._name) or _one(function, NAME)]),
            self.strings[_one(function, 4)],
            _one(line, 2),
        )

    def counted(self) -> tuple[int, str]:
        """Returns which of a sample's values to use, and its unit."""
        types = [self.strings[_one(_message(t), 1)] for t in self.message[TYPES]]
        for unit in COUNTED:
            if unit in types:
                return types.index(unit), unit
        raise KeyError

    def idle(self, label: bytes) -> bool:
        if label not in self._idle:
            self._idle[label] = self.strings[_one(_message(label), 2)] == IDLE
        return self._idle[label]

    def _locations(self, values: list[Any], same: dict[int, int]) -> tuple[int, ...]:
        """Returns a sample's locations, innermost first. Callers are decoded once for
        all samples that share them, as most do."""
        packed = values[0] if len(values) == 1 else b""
        if not packed or not isinstance(packed, bytes):
            return tuple([same[id] for id in _numbers(values)])
        own, at = _varint(packed, 0)
        rest = packed[at:]
        if rest not in self._callers:
            self._callers[rest] = tuple([same[id] for id in _numbers([rest])])
        return same[own], *self._callers[rest]

    def stacks(self, file: str, which: int) -> list[Stack]:
        """Returns the stacks. Several locations may be of one line, so samples with the
        same places are merged."""
        first: dict[tuple[Place, ...], int] = {}
        same = {id: first.setdefault(at, id) for id, at in self.places.items()}
        counts: dict[tuple[int, ...], int] = {}
        for data in self.message.get(SAMPLES, []):
            sample = _message(data)
            if any(map(self.idle, sample.get(3, []))):
                continue
            key = self._locations(sample.get(1, []), same)
            counts[key] = counts.get(key, 0) + _numbers(sample[2])[which]
        total = sum(len(self.places[id]) for key in counts for id in key)
        if total > FRAMES_MAX:
            raise ConvertError(file, f"more than {FRAMES_MAX:,} frames")
        return [
            Stack(tuple([place for id in key for place in self.places[id]]), n)
            for key, n in counts.items()
        ]


def read(file: str, data: bytes, demangle: bool = True) -> Recording:
    if not data:
        raise ConvertError(file, "empty")
    if len(data) > LIMIT:
        raise ConvertError(file, f"more than {LIMIT:,} bytes")
    try:
        unpacker = zlib.decompressobj(wbits=31)
        room = min(LIMIT, max(SMALL, TIMES * len(data)))
        plain = unpacker.decompress(data, room)
        if not unpacker.eof:
            more = f"more than {room:,} bytes when unpacked"
            raise ConvertError(file, more if len(plain) == room else "cut off")
        reader = _Reader(plain, demangle)
        which, unit = reader.counted()
        period = _one(reader.message, PERIOD) or 1
        return Recording(file, unit, period, reader.stacks(file, which))
    except (zlib.error, gzip.BadGzipFile):
        raise ConvertError(file, "not a pprof profile (.pb.gz)") from None
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeError, ValueError):
        raise ConvertError(file, "a damaged profile, or not written by Tally") from None

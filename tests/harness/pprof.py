"""Reads profile.proto, apart from what writes it."""

from __future__ import annotations

import gzip
from typing import Iterator, Union

Field = tuple[int, Union[int, bytes]]


def fields(data: bytes) -> Iterator[Field]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            size = varint()
            assert at + size <= len(data)
            yield key >> 3, data[at : at + size]
            at += size


def numbers(packed: bytes) -> list[int]:
    """A packed field: its varints end at bytes below 0x80."""
    values, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


class Pprof:
    """A profile, with its strings and ids replaced by what they stand for."""

    def __init__(self, data: bytes) -> None:
        self.all = list(fields(gzip.decompress(data)))
        self.strings = [text.decode() for text in self._every(6)]
        assert self.strings[0] == ""
        self.types = [self._type(t) for t in self._every(1)]
        self.mappings = {m[1]: m for m in map(dict, map(fields, self._every(3)))}
        self.functions = {f[1]: f for f in map(dict, map(fields, self._every(5)))}
        self.locations = {x[1]: x for x in map(dict, map(fields, self._every(4)))}
        (self.period_type,) = [self._type(t) for t in self._every(11)]
        self.comments = [self.strings[i] for p in self._every(13) for i in numbers(p)]
        self.samples = [self._sample(s) for s in self._every(2)]

    def _every(self, number: int) -> list:
        return [value for field, value in self.all if field == number]

    def number(self, field: int) -> int:
        (value,) = self._every(field) or [0]
        return value

    def _type(self, data: bytes) -> tuple[str, str]:
        pair = dict(fields(data))
        return self.strings[pair[1]], self.strings[pair[2]]

    def _sample(self, data: bytes) -> dict:
        parts = list(fields(data))
        ids = [i for field, value in parts if field == 1 for i in numbers(value)]
        labels = [dict(fields(value)) for field, value in parts if field == 3]
        return {
            "stack": [self._frame(i) for i in ids],
            "values": [v for f, p in parts if f == 2 for v in numbers(p)],
            "labels": {self.strings[x[1]]: self.strings[x[2]] for x in labels},
        }

    def _frame(self, location: int) -> tuple[str, int, str, int]:
        """Function, address, file and line."""
        entry = self.locations[location]
        line = dict(fields(entry[4]))
        function = self.functions[line[1]]
        name, file = self.strings[function[2]], self.strings[function.get(4, 0)]
        return name, entry.get(3, 0), file, line.get(2, 0)

    def mapping_of(self, location: int) -> int:
        return self.locations[location].get(2, 0)

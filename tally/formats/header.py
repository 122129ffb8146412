"""Reads constants and structures from the C headers that the guest's programs include,
so that each format is described only there.

This understands the C that those headers use: #define NAME EXPRESSION, enumerations,
and structures of integers, arrays and other structures. Members have the sizes and
alignment of RISC-V's ABI.
"""

from __future__ import annotations

import collections
import functools
import itertools
import re
import struct
from typing import Any, Iterator, NamedTuple, Optional, Union

from tally import ROOT

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINE = re.compile(r"^#define (\w+) +(.+)$", re.MULTILINE)
ENUM = re.compile(r"enum(?: \w+)? \{(.*?)\};", re.DOTALL)
STRUCT = r"struct %s \{(.*?)\n\};"
MEMBERS = re.compile(r"((?:unsigned |struct )?\w+) ([^;]+);")
MEMBER = re.compile(r"(\w+)(?:\[(\w*)\])?")
OCTAL = re.compile(r"\b0(?=\d)")

#: An Any, as mypy accepts only literal names in namedtuple().
namedtuple: Any = collections.namedtuple

#: The struct module's letters for C's types.
INTEGERS = {
    "char": "B",
    "unsigned char": "B",
    "short": "h",
    "unsigned short": "H",
    "int": "i",
    "unsigned int": "I",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
}


class Member(NamedTuple):
    name: str
    kind: Union[str, Layout]
    many: Optional[int]  # elements of an array; None: not an array

    @property
    def align(self) -> int:
        kind = self.kind
        return kind.align if isinstance(kind, Layout) else struct.calcsize(kind)

    @property
    def form(self) -> str:
        if isinstance(self.kind, Layout):
            return self.kind.form * (1 if self.many is None else self.many)
        if self.many is None:
            return self.kind
        return f"{self.many}{'s' if self.kind == 'B' else self.kind}"

    def take(self, values: Iterator[Any]) -> Any:
        """Takes the member's values from those that struct has unpacked."""
        if isinstance(self.kind, Layout):
            if self.many is None:
                return self.kind.gather(values)
            return tuple(self.kind.gather(values) for _ in range(self.many))
        if self.many is None or self.kind == "B":
            return next(values)
        return tuple(itertools.islice(values, self.many))


class Layout:
    """A structure without its flexible array. Unpacking makes a named tuple: an inner
    structure is a named tuple, too, an array of characters is bytes, and any other
    array a tuple."""

    def __init__(self, name: str, members: list[Member]) -> None:
        self.align = max(m.align for m in members)
        self.form = ""
        for m in members:
            self.form += f"{-struct.calcsize('<' + self.form) % m.align}x{m.form}"
        self.form += f"{-struct.calcsize('<' + self.form) % self.align}x"
        self._struct = struct.Struct("<" + self.form)
        self.size = self._struct.size
        self._members = members
        self._record = namedtuple(name, [m.name for m in members])
        self._flat = all(isinstance(m.kind, str) and not m.many for m in members)

    def unpack(self, data: bytes, at: int = 0) -> Any:
        values = self._struct.unpack_from(data, at)
        return self._record(*values) if self._flat else self.gather(iter(values))

    def gather(self, values: Iterator[Any]) -> Any:
        return self._record(*(m.take(values) for m in self._members))


@functools.lru_cache(maxsize=None)
def header(name: str) -> Header:
    """Reads a header once. name: its path from the root, as include/sys/pcs.h."""
    return Header((ROOT / name).read_text())


class Header:
    def __init__(self, text: str) -> None:
        self._text = COMMENT.sub("", text)
        self._constants: dict[str, int] = {}
        for body in ENUM.findall(self._text):
            for number, each in enumerate(filter(None, re.split(r"[,\s]+", body))):
                self._constants[each] = number
        for each, expression in DEFINE.findall(self._text):
            text = OCTAL.sub("0o", expression).replace("'P'", str(ord("P")))
            if re.fullmatch(r"[\w() |<+-]+", text):
                self._define(each, text)

    def _define(self, name: str, expression: str) -> None:
        try:
            self._constants[name] = eval(expression, {}, dict(self._constants))
        except NameError:  # it uses another header, or a macro with arguments
            pass

    def __getitem__(self, name: str) -> int:
        return self._constants[name]

    @functools.lru_cache(maxsize=None)
    def layout(self, name: str) -> Layout:
        """Returns the layout of a structure."""
        found = re.search(STRUCT % name, self._text, re.DOTALL)
        if not found:
            raise KeyError(name)
        members = []
        for kind, declared in MEMBERS.findall(found[1]):
            of = INTEGERS.get(kind) or self.layout(kind.removeprefix("struct "))
            for each, count in MEMBER.findall(declared):
                if f"{each}[]" not in declared:
                    members.append(Member(each, of, self._count(count)))
        return Layout(name, members)

    def _count(self, text: str) -> Optional[int]:
        if not text:
            return None
        return int(text) if text.isdecimal() else self[text]

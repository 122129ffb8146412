"""Device trees, taken apart and put together again: enough to change one."""

from __future__ import annotations

import dataclasses
import struct
from typing import Iterator

BEGIN, END, PROP, NOP, LAST = 1, 2, 3, 4, 9
HEADER = struct.Struct(">10I")


@dataclasses.dataclass
class Node:
    name: str
    props: dict[str, bytes] = dataclasses.field(default_factory=dict)
    children: list["Node"] = dataclasses.field(default_factory=list)

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, name: str) -> "Node":
        """The first of that name, or of that name and an address."""
        return next(n for n in self.walk() if n.name.split("@")[0] == name)


def parse(data: bytes) -> Node:
    """The tree's root."""
    head = HEADER.unpack_from(data)
    at, names = head[2], head[3]
    stack: list[Node] = [Node("")]
    while True:
        (token,) = struct.unpack_from(">I", data, at)
        at += 4
        if token == BEGIN:
            end = data.index(0, at)
            node = Node(data[at:end].decode())
            stack[-1].children.append(node)
            stack.append(node)
            at = (end + 4) & ~3
        elif token == END:
            stack.pop()
        elif token == PROP:
            size, name = struct.unpack_from(">II", data, at)
            key = data[names + name : data.index(0, names + name)].decode()
            stack[-1].props[key] = data[at + 8 : at + 8 + size]
            at = (at + 8 + size + 3) & ~3
        elif token == LAST:
            return stack[0].children[0]


def build(root: Node) -> bytes:
    names: dict[str, int] = {}
    strings = bytearray()
    body = bytearray()

    def put(node: Node) -> None:
        body.extend(struct.pack(">I", BEGIN) + _padded(node.name.encode() + b"\0"))
        for key, value in node.props.items():
            if key not in names:
                names[key] = len(strings)
                strings.extend(key.encode() + b"\0")
            body.extend(struct.pack(">III", PROP, len(value), names[key]))
            body.extend(_padded(value))
        for child in node.children:
            put(child)
        body.extend(struct.pack(">I", END))

    put(root)
    body.extend(struct.pack(">I", LAST))
    at = HEADER.size + 16  # after a list of reservations, empty
    size = at + len(body) + len(strings)
    head = HEADER.pack(
        0xD00DFEED, size, at, at + len(body), 40, 17, 16, 0, len(strings), len(body)
    )
    return head + bytes(16) + bytes(body) + bytes(strings)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)

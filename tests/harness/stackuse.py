"""How much of its stack the kernel can use, by the compiler's own account.

With each object the build leaves a .ci file: a node for each function, with
the size of its frame, and an edge for each call. A call by way of a pointer has
no target there. It counts as one of each function that the sources put into a
member, or give to a function, of that pointer's name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Collection, Mapping

FOLDERS = ("boot", "kernel", "lib")  # in the build: the kernel's objects

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \((\w+)\)')
_EDGE = re.compile(
    r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]*)")?'
)
_INDIRECT = "__indirect_call"

#: Where the functions come from that a pointer of another kind may point to.
_SOURCES = {
    "ended": r"(?:wait_common\(q, lk, |\.killed = )(\w+)",
    "on_readable": r"uart_init\((\w+), ",
    "on_writable": r"uart_init\(\w+, (\w+)\)",
    "panic_process": r"panic_process = (\w+);",
    "handlers": r"plic_register\([^;]*?, (\w+)\)",
    "op": r"\.(?:read|write) = (\w+)\b",
    "alloc_fails": r"alloc_fails = [^;]*?(\w+) :",
    "request_done": r"virtio_open\(\w+, (\w+)\)",
    "ring": r"timer_init\([^;]*?, (\w+), ",
    "spins": r"\] = (ktest_spin_\w+),",
    "linux_table": r"\b(sys_\w+)\b",
    "own_table": r"\b(sys_\w+)\b",
}


class CallGraph:
    """The kernel's functions, by name: their frames in bytes, and their calls."""

    def __init__(self, build: Path, sources: Path) -> None:
        self.frames: dict[str, int] = {}
        self.calls: dict[str, set[str]] = {}
        self._sources = sources
        self._text = "".join(
            file.read_text()
            for file in sorted((sources / "kernel").rglob("*.c"))
        )
        edges = []
        for folder in FOLDERS:
            for file in sorted((build / folder).rglob("*.ci")):
                for line in file.read_text().splitlines():
                    if node := _NODE.match(line):
                        name, size, kind = node.groups()
                        assert kind == "static", f"{name}: a frame of varying size"
                        self.frames[name] = int(size)
                    elif edge := _EDGE.match(line):
                        edges.append(edge.groups())
        for caller, target, place in edges:
            targets = self._pointed_to(place) if target == _INDIRECT else {target}
            self.calls.setdefault(caller, set()).update(targets)

    def _pointed_to(self, place: str) -> set[str]:
        """The functions that may be called at FILE:LINE:COLUMN."""
        file, line, _ = place.rsplit(":", 2)
        text = (self._sources / file).read_text().splitlines()[int(line) - 1]
        found = set()
        for pointer in re.findall(r"((?:\bops\.)?\w+)(?:\[\w+\])?\(", text):
            pattern = _SOURCES.get(pointer, rf"\.{re.escape(pointer)} = (\w+)\b")
            found |= set(re.findall(pattern, self._text))
        functions = {
            title for title in self.frames if title.rpartition(":")[2] in found
        }
        assert functions, f"{place}: whom does it call?\n{text}"
        return functions

    def deepest(
        self, start: str, cut: Collection[str], often: Mapping[str, int]
    ) -> list[str]:
        """The chain of calls from `start` that takes most of a stack.

        Those in `cut` are left out. Who comes back to itself is an error, but
        for those in `often`, which may be under way so many times.
        """
        known: dict[tuple[str, tuple[str, ...]], tuple[int, list[str]]] = {}
        path: list[str] = []

        def visit(function: str) -> tuple[int, list[str]]:
            name = plain(function)
            again = tuple(sorted(plain(f) for f in path if plain(f) in often))
            if name in cut or again.count(name) == often.get(name):
                return 0, []
            if function in path:
                circle = path[path.index(function) :]
                assert any(plain(f) in often for f in circle), (
                    f"recursion: {' > '.join([*circle, function])}"
                )
            key = function, again
            if key not in known:
                path.append(function)
                below = map(visit, sorted(self.calls.get(function, ())))
                size, chain = max(below, default=(0, []))
                known[key] = self.frames[function] + size, [function, *chain]
                path.pop()
            return known[key]

        return visit(start)[1]

    def size(self, chain: list[str]) -> int:
        return sum(self.frames[function] for function in chain)


def plain(function: str) -> str:
    """Its name, without its file and what the compiler adds."""
    return function.rpartition(":")[2].partition(".")[0]
